"""What the turn graph works with: the vault, the deciders, the counters."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal
from zoneinfo import ZoneInfo

from automemory import planning
from automemory._process import alive, owner, renew_after_fork
from automemory._worker import Worker
from automemory.content import clean
from automemory.decision import EventSummary, EventView
from automemory.errors import Busy, ConfigError, Conflict, Unwritable, VaultError
from automemory.intake import Accepted, Intake, Submission, local_time
from automemory.judge import Judge
from automemory.locator import Locator
from automemory.message import shown
from automemory.planning import Limits, Located, Place
from automemory.result import EventRef, TurnResult
from automemory.turn import Turn, fingerprint, turn_id
from automemory.vault.catalog import head_of, stream_key
from automemory.vault.commit import Basis
from automemory.vault.edits import Edit, Plan, merged
from automemory.vault.event import Event, EventHead
from automemory.vault.state import TurnRow
from automemory.vault.store import Store

UNSTORED = 1000  # turns that wait in memory
_REMEMBERED = 1000  # results of turns filed lately
_REPAIRS = 5
_log = logging.getLogger(__name__)
_STEPS = 250  # of a graph run: some thirty times through it
_CHECKPOINT = 100
_NEAR = 20  # events looked through for one that is not settled


@dataclass(frozen=True, slots=True)
class Options:
    """The settings of a memory; see `AutoMemory` for their meaning."""

    root: Path
    agent: str
    zone: ZoneInfo | None
    limits: Limits
    scope: Literal["agent", "stream"]
    single_stream: bool
    decide_timeout_s: float
    lock_timeout_s: float
    sync: bool
    placeholders: tuple[str, ...] = ()


class Engine:
    """The working parts behind one `AutoMemory`; everything here runs on the private loop."""

    def __init__(
        self,
        options: Options,
        intake: Intake,
        judge: Judge,
        clock: Callable[[], datetime],
        worker: Worker,
    ) -> None:
        from automemory.segmenter import build

        self.options = options
        self.agent = options.agent
        self.limits = options.limits
        self.intake = intake
        self.worker = worker
        self.counters = judge.counters
        self.paused = 0
        self.last_error = ""
        self.judge = judge
        self._clock = clock
        self._store: Store | None = None
        self._locator: Locator | None = None
        self._blocked = False
        self._done: OrderedDict[str, TurnResult] = OrderedDict()
        self.renew()
        self.graph = build(self)
        renew_after_fork(self)

    def renew(self) -> None:
        """Begin with nothing under way; what the parent of a fork has opened stays as it is, unused."""
        self.waiting: set[str] = set()
        self.stuck: set[str] = set()
        self.unstored: deque[Submission] = deque()
        self._storing = asyncio.Lock()
        self._commits = ThreadPoolExecutor(1, thread_name_prefix="automemory-commit")
        self._inherited = self._store  # to collect it would close the parent's files
        self._store = self._locator = None

    def over(self, root: Path) -> Engine:
        """The same over another vault."""
        options = replace(self.options, root=root, placeholders=())
        return Engine(options, self.intake, self.judge, self._clock, self.worker)

    @property
    def store(self) -> Store:
        """The vault, opened when first needed.

        Raises:
            Unwritable: if it cannot be opened now; the next use tries again.
        """
        if self._store is None:
            o = self.options
            if o.placeholders:
                raise ConfigError(
                    f"vault={str(o.root)!r}: give values for {', '.join(o.placeholders)} with `filled`"
                )
            self._store = Store(o.root, sync=o.sync, lock_timeout_s=o.lock_timeout_s)
            self._locator = Locator(self._store, o.agent, o.limits, o.scope)
            self.waiting |= {r.id for r in self.pending() if not alive(r.owner)}
        return self._store

    @property
    def locator(self) -> Locator:
        if self._locator is None:
            _ = self.store
        assert self._locator is not None
        return self._locator

    def pending(self) -> list[TurnRow]:
        """This agent's turns that are not filed yet, oldest first."""
        own = stream_key(self.agent, "")
        return [row for row in self.store.state.pending() if row.stream.startswith(own)]

    def stream(self, thread: str) -> str:
        return stream_key(self.agent, self.thread(thread))

    def thread(self, thread: Any) -> str:
        """The thread that a caller names, as it is written.

        Raises:
            ConfigError: if it is no text, or empty.
        """
        if not isinstance(thread, str) or not thread:
            raise ConfigError(f"thread_id={shown(thread)}: give a text that is not empty")
        return "main" if self.options.single_stream else clean(thread)

    async def open(self) -> None:
        """Open the vault off the loop, since that may have to read all of it."""
        async with self._storing:
            if self._store is None:
                await asyncio.to_thread(lambda: self.store)

    async def close(self) -> None:
        if self._store is not None:
            await asyncio.to_thread(self._store.close)
        self._store = self._locator = None

    # accept

    async def accept(self, handed: Submission) -> TurnRow | TurnResult:
        """Store a turn durably; a row that is to be filed, or the result if there is nothing to file."""
        try:
            await self.open()
            await self.store_unstored()
            return await asyncio.to_thread(self._accept, handed)
        except VaultError as error:
            if self._store is not None and self._store.state.damaged:
                self._store = self._locator = None  # the next use sets it aside and reads the notes
                return await self.accept(handed)
            if self.paused or len(self.unstored) >= UNSTORED:
                raise
            id = self._id_of(handed)
            drafts = [u for u in self.unstored if id and not u.turn.complete and self._id_of(u) == id]
            for draft in drafts:
                self.unstored.remove(draft)
            self.unstored.append(replace(handed, turn=self._timed(handed.turn)))
            self.last_error = str(error)
            return TurnResult("deferred", id, error=str(error))

    async def store_unstored(self) -> None:
        """Store the turns that wait in memory, oldest first."""
        async with self._storing:
            while self.unstored:
                found = await asyncio.to_thread(self._accept, self.unstored[0])
                self.unstored.popleft()
                self.waiting |= {found.id} if isinstance(found, TurnRow) else set()

    def _id_of(self, handed: Submission) -> str:
        """The turn's id as far as it is known without the vault."""
        first = self.intake.first(handed.turn)
        return handed.id or (turn_id(self.stream(handed.thread), first) if first.id else "")

    def _timed(self, turn: Turn) -> Turn:
        if turn.at is not None:
            return turn
        first, *rest = turn.messages
        return replace(turn, messages=(replace(first, at=self._clock()), *rest))

    def _accept(self, handed: Submission) -> TurnRow | TurnResult:
        with suppress(Conflict):  # another process has the same turn in hand
            return self._accept_now(handed)
        return self._accept_now(handed)

    def _accept_now(self, handed: Submission) -> TurnRow | TurnResult:
        turn, id = handed.turn, handed.id
        state, stream = self.store.state, self.stream(handed.thread)
        first = self.intake.first(turn)
        first_print = fingerprint(first)
        if id is None:
            id = turn_id(stream, first, seen := state.seen(stream, first_print) if not first.id else 0)
            while not first.id and state.turn(id) is not None:
                id = turn_id(stream, first, seen := seen + 1)
        row = state.turn(id)
        taken = self.intake.take(turn)
        if row is not None and (known := self._known(row, taken)):
            return known
        if self.paused or not taken.messages:
            self.store.exclude(id, stream, first_print)
            return TurnResult("excluded", id)
        at = local_time(taken.at or self._clock(), self.options.zone)
        if row is not None and row.payload is not None:
            at = Accepted.load(row.payload).at
        notify = tuple(map(self.intake.offer, handed.notify))
        payload = Accepted(taken, self.thread(handed.thread), at, handed.event, notify).dump()
        draft = "accepted" if taken.complete else "draft"
        size = len(taken.messages)
        new = row or TurnRow(0, id, stream, first_print, draft, size, 0, 0, "", owner(), payload)
        stored = state.put_turn(replace(new, state=draft, messages=size, owner=owner(), payload=payload))
        return stored if taken.complete else TurnResult("accepted", id)

    def _known(self, row: TurnRow, taken: Turn) -> TurnRow | TurnResult | None:
        """What becomes of a turn that is known already; None if there is more of it to store."""
        if row.state == "excluded":
            return TurnResult("excluded", row.id)
        more = len(taken.messages) > (row.filed if row.payload is None else row.messages)
        if more or (row.state == "draft" and taken.complete):
            return None
        if row.payload is None:
            return self.duplicate(row)
        return TurnResult("accepted", row.id) if row.state == "draft" else row

    # file

    async def file(self, row: TurnRow) -> TurnResult:
        """Take an accepted turn through the graph; if the vault refuses it now, it is deferred."""
        try:
            if self._blocked:
                await self._on_commit_thread(self.store.committer.probe)
                self._blocked = False
            state = await self.graph.ainvoke(
                {"row": row}, {"recursion_limit": _STEPS, "run_name": "automemory"}
            )
            result: TurnResult = state["result"]
        except VaultError as error:
            self._blocked = isinstance(error, (Unwritable, Busy))
            self.waiting.add(row.id)
            self.last_error = str(error)
            return TurnResult("deferred", row.id, error=str(error))
        except Exception as error:  # a mistake of ours may cost this turn its place, but no other turn
            self.stuck.add(row.id)
            self.last_error = f"{type(error).__name__} while filing turn {row.id}: please report it"
            _log.exception("turn %s could not be filed", row.id)
            return TurnResult("deferred", row.id, error=self.last_error)
        self.waiting.discard(row.id)
        self._done[row.id] = result
        if len(self._done) > _REMEMBERED:
            self._done.popitem(last=False)
        return result

    async def locate(self, row: TurnRow, accepted: Accepted) -> tuple[TurnRow | None, Located | None]:
        """Where the turn stands, once the stream's older turns are filed; its row as it is by then."""
        deadline = time.monotonic() + self.options.decide_timeout_s
        while isinstance(found := await asyncio.to_thread(self._locate, row, accepted), TurnRow):
            theirs = found.state != "draft" and found.owner != owner() and alive(found.owner)
            if theirs and time.monotonic() < deadline:
                await asyncio.sleep(0.02)
            elif (result := await self.file(found)).outcome == "deferred":
                raise Unwritable(result.error)
        return found

    def _locate(self, row: TurnRow, accepted: Accepted) -> TurnRow | tuple[TurnRow | None, Located | None]:
        """The stream's older turn that has to go first; or where this one stands, None if it is filed."""
        state = self.store.state
        self.store.committer.recover()  # it may be this very turn that an interrupted plan files
        older = [r for r in state.pending(row.stream, row.seq) if r.id not in self.stuck]
        if older:
            return older[0]
        current = state.turn(row.id)
        if current is None or current.payload is None:
            return current, None
        place = self.locator.place(current.path) if current.filed else None
        if place is not None:
            links = self.locator.links(accepted, ())
            return current, Located(
                place.head.date, state.version(row.stream), place, links=links, extends=True
            )
        return current, self.locator.locate(row.stream, accepted)

    def duplicate(self, row: TurnRow) -> TurnResult:
        return TurnResult("duplicate", row.id, event=self._ref(row.path))

    def finished(self, row: TurnRow, current: TurnRow | None) -> TurnResult:
        """The result of a turn that was filed by another run meanwhile."""
        path = current.path if current else ""
        return self._done.get(row.id) or TurnResult("recorded", row.id, event=self._ref(path), files=(path,))

    # close

    async def sum_up(self, place: Place, spent_ms: float = 0.0) -> tuple[EventSummary | None, bool]:
        """An event's final summary (None keeps the description), and whether one is still owed.

        Args:
            place: The event's note.
            spent_ms: How much of the turn's time budget the decision took.
        """
        view = place.view
        if view is None or not view.turns or planning.trivial(view):
            return None, False
        turns = await asyncio.to_thread(self.locator.exchanges, place.head.path)
        summary = await self.judge.summarize(view, turns, spent_ms)
        return summary, summary is None

    async def close_stream(self, stream: str, closed_by: str) -> EventRef | None:
        """Close a stream's active event, and any other it left open; None if there was none."""
        for row in await asyncio.to_thread(self.store.state.pending, stream):
            await self.file(row)
        for _ in range(3):
            version, places = await asyncio.to_thread(self.locator.open_places, stream)
            if not places:
                return None
            edits: list[Edit] = []
            for i, place in enumerate(places):
                summary, pending = await self.sum_up(place) if i == 0 else (None, False)
                at = self._closing_time(place, closed_by)
                edits += planning.close_edits(
                    place.head, at, closed_by if i == 0 else "recovery", summary, pending
                )
            with suppress(Conflict):
                known = {place.head.path: place.signature for place in places}
                head = places[0].head
                await self.commit(Plan(merged(edits), stream), Basis(version, known), head.path, None)
                return EventRef(head.path, head.slug, head.title, "closed")
        raise Busy(f"the active event of {stream!r} keeps changing: close it in other programs")

    def unsummed(self) -> list[EventHead]:
        """A few of this agent's events whose final summary is owed."""
        return self.store.catalog.unsummed(self.agent, _REPAIRS)

    async def repair_summary(self, head: EventHead) -> bool:
        """Sum up an event that was closed while the summarizer failed; False if it fails again."""
        stream = stream_key(head.agent, head.thread)
        version = await asyncio.to_thread(self.store.state.version, stream)
        place = await asyncio.to_thread(self.locator.viewed, head)
        if place is None or place.view is None:
            return True
        turns = await asyncio.to_thread(self.locator.exchanges, head.path)
        summary = await self.judge.summarize(place.view, turns)
        if summary is None:
            return False
        plan = Plan(merged(planning.summary_edits(place.head, summary)), stream)
        basis = Basis(version, {head.path: place.signature})
        with suppress(Conflict):  # whoever changed it meanwhile may be summing it up
            await self._on_commit_thread(lambda: self.store.committer.commit(plan, basis))
        return True

    def _closing_time(self, place: Place, closed_by: str) -> datetime:
        last = place.view.recent[-1].at if place.view and place.view.recent else None
        return last if closed_by == "end" and last else local_time(self._clock(), self.options.zone)

    # tell

    def latest(self, thread: str) -> tuple[Event, bool] | None:
        """The thread's active event, or the agent's latest unsettled one; and whether it is the thread's."""
        catalog, stream = self.store.catalog, self.stream(thread)
        today = local_time(self._clock(), self.options.zone).date()
        since = str(today - timedelta(days=self.limits.window_days))
        own = [head for head in catalog.open_events(stream)[:1] if head.date >= since]
        others = self.options.scope == "agent" and not own
        near = catalog.recent("agent", self.agent, since, str(today), _NEAR) if others else []
        heads = own or [head for head in near if head.status == "active"]
        event = catalog.event(heads[0].path) if heads else None
        return (event, bool(own)) if event else None

    # commit

    async def commit(self, plan: Plan, basis: Basis, path: str, view: EventView | None) -> None:
        """Apply a plan, and keep the view of the event at `path` for the stream's next turn, if given."""

        def work() -> None:
            self.store.committer.commit(plan, basis)
            self.locator.remember(plan.stream, path, view)
            self.counters["commits"] += 1
            if self.counters["commits"] % _CHECKPOINT == 0:
                self.store.state.checkpoint()

        await self._on_commit_thread(work)

    async def _on_commit_thread(self, work: Callable[[], None]) -> None:
        await asyncio.get_running_loop().run_in_executor(self._commits, work)

    def _ref(self, path: str) -> EventRef | None:
        row = self.store.catalog.refresh_note(path) if path else None
        if row is None:
            return None
        head = head_of(row)
        return EventRef(head.path, head.slug, head.title, "continued")

"""What the turn graph works with: the vault, the deciders, the counters."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Literal
from zoneinfo import ZoneInfo

from automemory import planning
from automemory._process import alive, owner
from automemory._worker import Worker
from automemory.decision import (
    BoundaryDecision,
    Decider,
    DecisionContext,
    EventSummary,
    EventView,
    Exchange,
    Granularity,
    NotifyCandidate,
    Summarizer,
    Verdict,
)
from automemory.errors import Busy, Conflict, Unwritable, VaultError
from automemory.intake import Accepted, Intake, local_time
from automemory.locator import Locator
from automemory.planning import Limits, Located, Place
from automemory.result import EventRef, TurnResult
from automemory.turn import Turn, fingerprint, steps, turn_id
from automemory.vault.catalog import head_of, stream_key
from automemory.vault.commit import Basis
from automemory.vault.edits import Edit, Plan, merged
from automemory.vault.layout import slugify
from automemory.vault.state import TurnRow
from automemory.vault.store import Store

UNSTORED = 1000
_CHECKPOINT = 100


@dataclass(frozen=True, slots=True)
class Options:
    """The settings of a memory; see `AutoMemory` for their meaning."""

    root: Path
    agent: str
    zone: ZoneInfo | None
    granularity: Granularity
    limits: Limits
    scope: Literal["agent", "stream"]
    single_stream: bool
    decide_timeout_s: float
    lock_timeout_s: float
    sync: bool


class Engine:
    """The working parts behind one `AutoMemory`; everything here runs on the private loop."""

    def __init__(
        self,
        options: Options,
        intake: Intake,
        decider: Decider,
        fallback: Decider,
        summarizer: Summarizer,
        clock: Callable[[], datetime],
        worker: Worker,
    ) -> None:
        from automemory.segmenter import build

        self.options = options
        self.agent = options.agent
        self.limits = options.limits
        self.intake = intake
        self.worker = worker
        self.counters: Counter[str] = Counter()
        self.waiting: set[str] = set()
        self.unstored: deque[tuple[Turn, str, str | None, tuple[NotifyCandidate, ...], str | None]] = deque()
        self.paused = 0
        self.last_error = ""
        self._decider, self._fallback, self._summarizer = decider, fallback, summarizer
        self._clock = clock
        self._store: Store | None = None
        self._locator: Locator | None = None
        self._blocked = False
        self._done: OrderedDict[str, TurnResult] = OrderedDict()
        self._commits = ThreadPoolExecutor(1, thread_name_prefix="automemory-commit")
        self.graph = build(self)

    @property
    def store(self) -> Store:
        """The vault, opened when first needed.

        Raises:
            Unwritable: if it cannot be opened now; the next use tries again.
        """
        if self._store is None:
            o = self.options
            self._store = Store(o.root, sync=o.sync, lock_timeout_s=o.lock_timeout_s)
            self._locator = Locator(self._store, o.agent, o.limits, o.scope)
            self.waiting |= {r.id for r in self._store.state.pending() if not alive(r.owner)}
        return self._store

    @property
    def locator(self) -> Locator:
        if self._locator is None:
            _ = self.store
        assert self._locator is not None
        return self._locator

    def stream(self, thread: str) -> str:
        return stream_key(self.agent, self.thread(thread))

    def thread(self, thread: str) -> str:
        return "main" if self.options.single_stream else thread

    async def open(self) -> None:
        """Open the vault off the loop, since that may have to read all of it."""
        if self._store is None:
            await asyncio.to_thread(lambda: self.store)

    async def close(self) -> None:
        if self._store is not None:
            await asyncio.to_thread(self._store.close)
        self._store = self._locator = None

    # accept

    async def accept(
        self,
        turn: Turn,
        thread: str,
        event: str | None,
        notify: tuple[NotifyCandidate, ...],
        id: str | None = None,
    ) -> TurnRow | TurnResult:
        """Store a turn durably; a row that is to be filed, or the result if there is nothing to file."""
        try:
            await self.open()
            while self.unstored:
                await asyncio.to_thread(self._accept, *self.unstored[0])
                self.unstored.popleft()
            return await asyncio.to_thread(self._accept, turn, thread, event, notify, id)
        except VaultError as error:
            if len(self.unstored) >= UNSTORED:
                raise
            self.unstored.append((turn, thread, event, notify, id))
            self._note_failure(error)
            return TurnResult("deferred", id or "", error=str(error))

    def _accept(
        self, turn: Turn, thread: str, event: str | None, notify: tuple[NotifyCandidate, ...], id: str | None
    ) -> TurnRow | TurnResult:
        state, stream = self.store.state, self.stream(thread)
        first = self.intake.first(turn)
        first_print = fingerprint(first)
        if id is None:
            id = turn_id(stream, first, seen := state.seen(stream, first_print) if not first.id else 0)
            while not first.id and state.turn(id) is not None:
                id = turn_id(stream, first, seen := seen + 1)
        row = state.turn(id)
        taken = self.intake.take(turn)
        if row is None and (self.paused or not taken.messages):
            self.store.exclude([(id, stream, first_print)])
            return TurnResult("excluded", id)
        if row is not None and (known := self._known(row, taken)):
            return known
        at = local_time(taken.at or self._clock(), self.options.zone)
        if row is not None and row.payload is not None:
            at = Accepted.load(row.payload).at
        payload = Accepted(taken, self.thread(thread), at, event, notify).dump()
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
            state = await self.graph.ainvoke({"row": row}, {"recursion_limit": 50, "run_name": "automemory"})
            result: TurnResult = state["result"]
        except VaultError as error:
            self._blocked = isinstance(error, (Unwritable, Busy))
            self.waiting.add(row.id)
            self._note_failure(error)
            return TurnResult("deferred", row.id, error=str(error))
        self.waiting.discard(row.id)
        self._done[row.id] = result
        if len(self._done) > UNSTORED:
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
        if older := state.pending(row.stream, row.seq):
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

    # decide

    async def decide(self, located: Located, accepted: Accepted) -> Verdict:
        """Ask the decider, within its time; else the local one; if that fails too, the event goes on."""
        if located.earlier and located.active:
            return Verdict(BoundaryDecision(continue_=True), "placed")
        context = self._context(located, accepted)
        named = accepted.event
        if named and named != "new":
            return self._host_verdict(
                await self._ask(replace(context, active=None, recent=())), located, named
            )
        if named == "new":
            verdict = await self._ask(replace(context, active=None, recent=()))
            decision = verdict.decision.model_copy(update={"continue_": False})
            return replace(verdict, decision=decision, by="host", p=None)
        return await self._ask(context)

    async def _ask(self, context: DecisionContext) -> Verdict:
        began = time.perf_counter()
        error = ""
        for decider in dict.fromkeys((self._decider, self._fallback)):
            try:
                async with asyncio.timeout(self.options.decide_timeout_s):
                    verdict = await decider.decide(context)
                break
            except Exception as failure:  # a decider is anybody's code: whatever it raises, the turn goes on
                error = error or f"{type(failure).__name__}: {failure}"
                self.counters["fallback"] += 1
        else:
            verdict = Verdict(BoundaryDecision(continue_=True), "fallback")
        proposed = verdict.decision.new_event_slug
        if not verdict.decision.continue_ and proposed and slugify(proposed) is None:
            error = error or "the proposed name is no name"
        self.counters["calls"] += verdict.calls
        self.counters["prompt_tokens"] += verdict.prompt_tokens
        self.counters["completion_tokens"] += verdict.completion_tokens
        clean = {
            name: self.intake.redact(getattr(verdict.decision, name))
            for name in ("new_event_slug", "summary_patch")
        }
        return replace(
            verdict,
            decision=verdict.decision.model_copy(update=clean),
            title=self.intake.redact(verdict.title),
            by="fallback" if error else verdict.by,
            error=error,
            ms=round((time.perf_counter() - began) * 1000, 1),
        )

    def _host_verdict(self, named: Verdict, located: Located, event: str) -> Verdict:
        """The caller's choice: the active event if it has that slug, else one to go back to or open."""
        slug = slugify(self.intake.redact(event)) or ""
        active = located.active.head.slug if located.active else None
        decision = named.decision.model_copy(update={"continue_": slug == active, "new_event_slug": slug})
        return replace(named, decision=decision, title="", by="host", p=None)

    def _context(self, located: Located, accepted: Accepted) -> DecisionContext:
        return DecisionContext(
            turn=Exchange.of(steps(accepted.turn.messages), accepted.at),
            active=located.active.view if located.active else None,
            recent=tuple(planning.recent_event(head) for head in located.recent),
            notify=accepted.notify,
            granularity=self.options.granularity,
        )

    # close

    async def sum_up(self, place: Place) -> tuple[EventSummary | None, bool]:
        """An event's final summary (None keeps the description), and whether one is still owed."""
        view = place.view
        if view is None or not view.turns or planning.trivial(view):
            return None, False
        try:
            turns = await asyncio.to_thread(self.locator.exchanges, place.head.path)
            async with asyncio.timeout(self.options.decide_timeout_s):
                summary = await self._summarizer.summarize(view, turns)
        except VaultError:
            raise
        except Exception as failure:  # a summarizer is anybody's code: the event is closed all the same
            self.last_error = f"summary: {type(failure).__name__}"
            self.counters["summaries_pending"] += 1
            return None, True
        redacted = replace(
            summary,
            description=self.intake.redact(summary.description),
            title=self.intake.redact(summary.title),
        )
        return redacted, False

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

    def _closing_time(self, place: Place, closed_by: str) -> datetime:
        last = place.view.recent[-1].at if place.view and place.view.recent else None
        return last if closed_by == "end" and last else local_time(self._clock(), self.options.zone)

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

    def _note_failure(self, error: Exception) -> None:
        self.last_error = str(error)

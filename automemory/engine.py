"""Takes accepted turns through the turn graph, those of a stream in their order."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

from automemory._process import alive, owner, renew_after_fork
from automemory._worker import Worker
from automemory.acceptance import Acceptance
from automemory.agent_store import Options
from automemory.agent_vault import AgentVault
from automemory.closer import Closer
from automemory.decision import NotifyCandidate
from automemory.errors import Busy, Unwritable, VaultError
from automemory.intake import Accepted, Intake
from automemory.judge import Judge
from automemory.result import TurnResult
from automemory.routing import Located
from automemory.segmenter import build
from automemory.turn_nodes import Components
from automemory.vault.tables import TurnRow
from automemory.view_keeper import ViewKeeper

_REMEMBERED = 1000  # results of turns filed lately
_log = logging.getLogger(__name__)
_STEPS = 250  # of a graph run: some thirty times through it


class Engine:
    """The working parts behind one `AutoMemory`; everything here runs on the private loop.

    Attributes:
        vault: The vault, as this agent uses it.
        acceptance: Takes turns in.
        judge: Decides and sums up.
        closer: Closes events.
        graph: The compiled turn graph.
        counters: What happened so far.
        last_error: What failed last, or empty.
        stuck: Ids of turns that could not be filed for a mistake of ours.
    """

    def __init__(
        self, options: Options, intake: Intake, judge: Judge, clock: Callable[[], datetime], worker: Worker
    ) -> None:
        self._clock = clock
        self.worker = worker
        self.vault = AgentVault(options, clock, intake.redact)
        self.acceptance = Acceptance(self.vault, intake)
        self.judge = judge
        self.closer = Closer(self.vault, judge)
        self.counters = judge.counters
        self.last_error = ""
        self._blocked = False
        self._done: OrderedDict[str, TurnResult] = OrderedDict()
        self.renew()
        self.graph = build(
            Components(
                worker,
                self.vault,
                self.acceptance,
                judge,
                self.closer,
                ViewKeeper(self.vault, judge),
                self.locate,
                self.finished,
            )
        )
        renew_after_fork(self)

    def renew(self) -> None:
        """Begin with nothing under way."""
        self.stuck: set[str] = set()

    def over(self, root: Path) -> Engine:
        """The same over another vault."""
        options = replace(self.vault.options, root=root, placeholders=())
        return Engine(options, self.acceptance.intake, self.judge, self._clock, self.worker)

    async def file(self, row: TurnRow) -> TurnResult:
        """Take an accepted turn through the graph; if the vault refuses it now, it is deferred."""
        try:
            if self._blocked:
                await self.vault.on_commit_thread(self.vault.store.committer.probe)
                self._blocked = False
            state = await self.graph.ainvoke(
                {"row": row}, {"recursion_limit": _STEPS, "run_name": "automemory"}
            )
            result: TurnResult = state["result"]
        except VaultError as error:
            self._blocked = isinstance(error, (Unwritable, Busy))
            self.vault.waiting.add(row.id)
            self.last_error = str(error)
            return TurnResult("deferred", row.id, error=str(error))
        except Exception as error:  # a mistake of ours may cost this turn its place, but no other turn
            self.stuck.add(row.id)
            self.last_error = f"{type(error).__name__} while filing turn {row.id}: please report it"
            _log.exception("turn %s could not be filed", row.id)
            return TurnResult("deferred", row.id, error=self.last_error)
        self.vault.waiting.discard(row.id)
        self._done[row.id] = result
        if len(self._done) > _REMEMBERED:
            self._done.popitem(last=False)
        return result

    async def locate(self, row: TurnRow, accepted: Accepted) -> tuple[TurnRow | None, Located | None]:
        """Where the turn stands, once the stream's older turns are filed; its row as it is by then."""
        deadline = time.monotonic() + self.vault.options.decide_timeout_s
        while isinstance(found := await asyncio.to_thread(self._locate, row, accepted), TurnRow):
            theirs = found.state != "draft" and found.owner != owner() and alive(found.owner)
            if theirs and time.monotonic() < deadline:
                await asyncio.sleep(0.02)
            elif (result := await self.file(found)).outcome == "deferred" and found.id not in self.stuck:
                raise Unwritable(result.error)
        return found

    def _locate(self, row: TurnRow, accepted: Accepted) -> TurnRow | tuple[TurnRow | None, Located | None]:
        """The stream's older turn that has to go first; or where this one stands, None if it is filed."""
        state = self.vault.store.state
        self.vault.store.committer.recover()  # it may be this very turn that an interrupted plan files
        older = [r for r in state.pending(row.stream, row.seq) if r.id not in self.stuck]
        if older:
            return older[0]
        current = state.turn(row.id)
        if current is None or current.payload is None:
            return current, None
        offers = self._offers(current, accepted)
        place = self.vault.locator.place(current.path) if current.filed else None
        if place is not None:
            links, version = self.vault.locator.links(accepted, ()), state.version(row.stream)
            return current, Located(place.head.date, version, place, links=links, extends=True, offers=offers)
        return current, replace(self.vault.locator.locate(row.stream, accepted), offers=offers)

    def _offers(self, row: TurnRow, accepted: Accepted) -> tuple[NotifyCandidate, ...]:
        limits = self.vault.options.limits
        since = accepted.at - timedelta(days=limits.window_days)
        state = self.vault.store.state
        return tuple(state.offers(row.stream, row.seq, limits.offer_turns, since.timestamp()))

    def finished(self, row: TurnRow, current: TurnRow | None) -> TurnResult:
        """The result of a turn that was filed by another run meanwhile."""
        path = current.path if current else ""
        files = (path,) if path else ()
        return self._done.get(row.id) or TurnResult(
            "recorded", row.id, event=self.vault.ref(path), files=files
        )

"""The end of an event: its final summary, and what closing it writes."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import datetime

from automemory import planning, routing
from automemory.agent_vault import AgentVault
from automemory.decision import EventSummary
from automemory.errors import Busy, Conflict
from automemory.judge import Judge
from automemory.result import EventRef
from automemory.routing import Place
from automemory.vault.commit import Basis
from automemory.vault.edits import Edit, Plan, merged
from automemory.vault.event import EventHead
from automemory.vault.tables import stream_key

_TRIES = 3
_REPAIRS = 5


class Closer:
    """Closes events, and fills in summaries that are owed."""

    def __init__(self, vault: AgentVault, judge: Judge) -> None:
        self._vault = vault
        self._judge = judge

    async def sum_up(self, place: Place, spent_ms: float = 0.0) -> tuple[EventSummary | None, bool]:
        """An event's final summary (None keeps the description), and whether one is still owed.

        Args:
            place: The event's note.
            spent_ms: How much of the turn's time budget the decision took.
        """
        view = place.view
        if view is None or not view.turns or routing.trivial(view):
            return None, False
        turns = await asyncio.to_thread(self._vault.locator.exchanges, place.head.path)
        summary = await self._judge.summarize(view, turns, spent_ms)
        return summary, summary is None

    async def close_stream(self, stream: str, closed_by: str) -> EventRef | None:
        """Close a stream's active event, and any other it left open; None if there was none."""
        for _ in range(_TRIES):
            version, places = await asyncio.to_thread(self._vault.locator.open_places, stream)
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
                known = {path: seen for place in places for path, seen in place.known.items()}
                head = places[0].head
                await self._vault.commit(Plan(merged(edits), stream), Basis(version, known), head.path, None)
                return EventRef(head.path, head.slug, head.title, "closed")
        raise Busy(f"the active event of {stream!r} keeps changing: close it in other programs")

    def unsummed(self) -> list[EventHead]:
        """A few of this agent's events whose final summary is owed."""
        return self._vault.store.catalog.unsummed(self._vault.options.agent, _REPAIRS)

    async def repair_summary(self, head: EventHead) -> bool:
        """Sum up an event that was closed while the summarizer failed; False if it fails again."""
        stream = stream_key(head.agent, head.thread)
        version = await asyncio.to_thread(self._vault.store.state.version, stream)
        place = await asyncio.to_thread(self._vault.locator.viewed, head)
        if place is None or place.view is None:
            return True
        turns = await asyncio.to_thread(self._vault.locator.exchanges, head.path)
        summary = await self._judge.summarize(place.view, turns)
        if summary is None:
            return False
        plan = Plan(merged(planning.summary_edits(place.head, summary)), stream)
        basis = Basis(version, place.known)
        with suppress(Conflict):  # whoever changed it meanwhile may be summing it up
            await self._vault.on_commit_thread(lambda: self._vault.store.committer.commit(plan, basis))
        return True

    def _closing_time(self, place: Place, closed_by: str) -> datetime:
        last = place.view.recent[-1].at if place.view and place.view.recent else None
        return last if closed_by == "end" and last else self._vault.now()

"""Decisions made ahead: conversations are decided in parallel, each by itself, and filed by one writer.

A decision of a replay depends on its own conversation alone (`recent_scope="stream"`). So a worker records a
conversation into a scratch vault and hands on what was decided; the writer records it again into the vault
with these decisions. A conversation of which something is in the vault already is decided by the writer.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from automemory.decision import (
    Decider,
    DecisionContext,
    EventSummary,
    EventView,
    Exchange,
    ReadsAhead,
    RecentEvent,
    Summarizer,
    Verdict,
    ViewContext,
    ViewPatch,
    ViewWriter,
)
from automemory.errors import DecisionError
from automemory.replay.reading import shown_ahead
from automemory.settings import Settings
from automemory.turn import Turn
from automemory.vault.layout import fold
from automemory.vault.naming import slugify

if TYPE_CHECKING:
    from automemory.memory import AutoMemory


@dataclass(frozen=True, slots=True)
class Step:
    """What was decided at one turn of a conversation, or at its end.

    Attributes:
        verdict: The decision; None where none was asked for.
        back_to: Which of the recent events, by its place among those shown, the turn goes back to, if any.
        summed_up: Whether an event was to be summed up.
        summary: Its summary; None if that failed.
        kept: Whether it was asked what the turn adds to its event's sections.
        views: What it adds; None if no model was there to be asked.
        views_failed: Whether the model failed.
    """

    verdict: Verdict | None = None
    back_to: int | None = None
    summed_up: bool = False
    summary: EventSummary | None = None
    kept: bool = False
    views: ViewPatch | None = None
    views_failed: bool = False


class Ahead:
    """A decider that says what was decided ahead, and asks another one where nothing was.

    Attributes:
        step: What was decided ahead of the turn that is recorded now; None if nothing was.
    """

    def __init__(self, decider: Decider, summarizer: Summarizer) -> None:
        self._decider, self._summarizer = decider, summarizer
        self.name = str(getattr(decider, "name", type(decider).__name__))
        self.step: Step | None = None

    async def decide(self, context: DecisionContext) -> Verdict:
        step = self.step
        if step is None or step.verdict is None:
            return await self._decider.decide(context)
        if step.back_to is None or step.back_to >= len(context.recent):
            return step.verdict
        # The event may have a number here that it had not among its own.
        slug = context.recent[step.back_to].slug
        decision = step.verdict.decision.model_copy(update={"new_event_slug": slug})
        return replace(step.verdict, decision=decision)

    async def summarize(self, event: EventView, turns: list[Exchange]) -> EventSummary:
        step = self.step
        if step is None or not step.summed_up:
            return await self._summarizer.summarize(event, turns)
        if step.summary is None:
            raise DecisionError("the summary failed when the conversation was decided")
        return step.summary

    async def write_views(self, context: ViewContext) -> ViewPatch | None:
        step = self.step
        if step is None or not step.kept:
            return await _write_views(self._summarizer, context)
        if step.views_failed:
            raise DecisionError("the views failed when the conversation was decided")
        return step.views


def decide_ahead(turns: Sequence[Turn], settings: Settings) -> list[Step]:
    """Decide a whole conversation by itself.

    Args:
        turns: Its turns, with their times.
        settings: Those of the replay; their vault is not touched.

    Returns:
        A step a turn, and one for the end.
    """
    watched = _Watched(*_deciders(settings))
    with tempfile.TemporaryDirectory(prefix="automemory-", ignore_cleanup_errors=True) as scratch:
        kept = settings.model_copy(update={"vault": scratch, "agent_id": None})
        with kept.memory(durability="os", recent_scope="stream", decider=watched) as memory:
            steps = [watched.step(memory, turn) for turn in shown_ahead(turns, memory.read_ahead)]
            memory.close_event(closed_by="end")
            return [*steps, watched.last()]


class _Watched:
    """A decider that keeps what it was shown and what it said."""

    def __init__(self, decider: Decider, summarizer: Summarizer) -> None:
        self._decider, self._summarizer = decider, summarizer
        self._recent: tuple[RecentEvent, ...] = ()
        self._summed_up = False
        self._summary: EventSummary | None = None
        self._kept = Step()

    async def decide(self, context: DecisionContext) -> Verdict:
        self._recent = context.recent
        return await self._decider.decide(context)

    def read_ahead(self, turns: Sequence[Exchange]) -> None:
        if isinstance(self._decider, ReadsAhead):
            self._decider.read_ahead(turns)

    async def summarize(self, event: EventView, turns: list[Exchange]) -> EventSummary:
        self._summed_up, self._summary = True, None
        self._summary = await self._summarizer.summarize(event, turns)
        return self._summary

    async def write_views(self, context: ViewContext) -> ViewPatch | None:
        self._kept = Step(kept=True, views_failed=True)
        patch = await _write_views(self._summarizer, context)
        self._kept = Step(kept=True, views=patch)
        return patch

    def step(self, memory: AutoMemory, turn: Turn) -> Step:
        """Record a turn; gives what was decided at it."""
        self._summed_up, self._kept = False, Step()
        verdict = memory.record(turn).verdict
        return replace(self.last(), verdict=verdict, back_to=self._back_to(verdict))

    def last(self) -> Step:
        """What was summed up since the last turn."""
        summary = self._summary if self._summed_up else None
        step = replace(self._kept, summed_up=self._summed_up, summary=summary)
        self._summed_up, self._kept = False, Step()
        return step

    def _back_to(self, verdict: Verdict | None) -> int | None:
        slug = fold(slugify(verdict.decision.new_event_slug) or "") if verdict else ""
        places = (i for i, event in enumerate(self._recent) if slug and fold(event.slug) == slug)
        return next(places, None)


async def _write_views(summarizer: Summarizer, context: ViewContext) -> ViewPatch | None:
    """What a model says of an event's sections; None without one."""
    return await summarizer.write_views(context) if isinstance(summarizer, ViewWriter) else None


@lru_cache(maxsize=1)
def _deciders(settings: Settings) -> tuple[Decider, Summarizer]:
    """Who decides and sums up by these settings; loaded once a process."""
    return settings.deciders()

"""Asks deciders and summarizers, within their time, and makes what they say fit to be written."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TypeVar, get_args

from automemory import planning
from automemory.boundary import BoundaryDecision
from automemory.checks import one_of
from automemory.content import clean
from automemory.deciders import extract
from automemory.decision import (
    By,
    Decider,
    DecisionContext,
    EventSummary,
    EventView,
    Exchange,
    Granularity,
    ReadsAhead,
    Summarizer,
    Verdict,
    ViewContext,
    ViewPatch,
    ViewWriter,
)
from automemory.errors import DecisionError
from automemory.intake import Accepted
from automemory.offers import SHOWN
from automemory.redact import Redactor
from automemory.routing import Located
from automemory.schema import NoteSchema
from automemory.turn import steps
from automemory.vault.naming import slugify
from automemory.views import Patch, extracted

T = TypeVar("T")


@dataclass(slots=True)
class Judge:
    """Who decides and sums up for a memory.

    Attributes:
        decider: Asked first.
        fallback: Decides where the decider fails.
        summarizer: Sums up events that end.
        redact: Masks secrets in whatever they write.
        timeout_s: Time for one decision or summary of each of them, in seconds.
        granularity: How small a step away makes a new event.
        counters: Where decisions, failures and costs are counted.
        last_error: What failed last, or empty.
        sums_up_again: Whether a summary succeeded after one that failed, in this process or an earlier one.
    """

    decider: Decider
    fallback: Decider
    summarizer: Summarizer
    redact: Redactor
    timeout_s: float
    granularity: Granularity
    counters: Counter[str]
    last_error: str = ""
    sums_up_again: bool = False
    _summary_failed: bool = True

    def __post_init__(self) -> None:
        one_of("granularity", self.granularity, get_args(Granularity))

    @property
    def decider_name(self) -> str:
        return str(getattr(self.decider, "name", type(self.decider).__name__))

    async def decide(self, located: Located, accepted: Accepted) -> Verdict:
        """Ask the decider; if it fails, the fallback; if that fails too, the active event goes on."""
        if located.earlier and located.active:
            return Verdict(BoundaryDecision(continue_=True), "placed")
        context = self._context(located, accepted)
        named = accepted.event
        if not named:
            return await self._ask(context)
        verdict = await self._ask(replace(context, active=None, recent=()))
        slug = slugify(self.redact(named)) or "" if named != "new" else verdict.decision.new_event_slug
        goes_on = named != "new" and located.active is not None and slug == located.active.head.slug
        decision = verdict.decision.model_copy(update={"continue_": goes_on, "new_event_slug": slug})
        title = verdict.title if named == "new" else ""
        return replace(verdict, decision=decision, title=title, by="host", p=None)

    def read_ahead(self, turns: Sequence[Exchange]) -> None:
        """Have the decider read turns that will be decided soon, if it makes any use of that."""
        if isinstance(self.decider, ReadsAhead):
            with suppress(Exception):  # a decider is anybody's code, and its decisions will tell
                self.decider.read_ahead(turns)

    async def summarize(
        self, view: EventView, turns: list[Exchange], spent_ms: float = 0.0
    ) -> EventSummary | None:
        """The final summary of an event; None if the summarizer fails, or if `spent_ms` left it no time."""
        try:
            summary = self._sound_summary(
                await self._given(self._left(spent_ms), self.summarizer.summarize, view, turns)
            )
        except Exception as failure:  # a summarizer is anybody's code: the event is closed all the same
            self._failed(failure, "summary")
            self.counters["summaries_pending"] += 1
            self._summary_failed, self.sums_up_again = True, False
            return None
        self.sums_up_again = self._summary_failed
        self._summary_failed = False
        return summary

    async def keep(
        self, schema: NoteSchema, event: EventView, turn: Exchange, current: Mapping[str, str]
    ) -> Patch:
        """What a turn adds to its event's sections: by the model, within a time of its own, else extracted.

        Nothing if the model fails.
        """
        patch: ViewPatch | None = None
        if isinstance(self.summarizer, ViewWriter):
            context = ViewContext(event, turn, schema.sections, current)
            try:
                patch = self._sound_patch(
                    await self._given(self.timeout_s, self.summarizer.write_views, context)
                )
            except Exception as failure:  # as for a summary: the turn is recorded all the same
                self._failed(failure, "views")
                self.counters["views_failed"] += 1
                return {}
        return patch.new if patch else extracted(schema, event, turn, current, extract.summary)

    async def _ask(self, context: DecisionContext) -> Verdict:
        began = time.perf_counter()
        error = ""
        verdict = Verdict(BoundaryDecision(continue_=True), "fallback")
        for decider in dict.fromkeys((self.decider, self.fallback)):
            try:
                verdict = self._sound_verdict(await self._given(self.timeout_s, decider.decide, context))
                break
            except Exception as failure:  # a decider is anybody's code: whatever it raises, the turn goes on
                error = error or self._failed(failure, "decision")
        proposed = verdict.decision.new_event_slug
        if not verdict.decision.continue_ and proposed and slugify(proposed) is None:
            error = error or "the proposed name is no name"
        self.counters["fallback"] += bool(error)
        ms = round((time.perf_counter() - began) * 1000, 1)
        return replace(verdict, by="fallback" if error else verdict.by, error=error, ms=ms)

    def _left(self, spent_ms: float) -> float:
        return max(0.0, self.timeout_s - spent_ms / 1000)

    async def _given(self, timeout_s: float, ask: Callable[..., Awaitable[T]], *question: object) -> T:
        """An answer within its time; anybody's code may raise what would end the loop's thread as well."""
        try:
            async with asyncio.timeout(timeout_s):
                return await ask(*question)
        except (SystemExit, KeyboardInterrupt, asyncio.CancelledError) as stopped:
            task = asyncio.current_task()
            if isinstance(stopped, asyncio.CancelledError) and task is not None and task.cancelling():
                raise  # it is we who are cancelled
            raise DecisionError(f"it ended with {type(stopped).__name__}") from stopped

    def _sound_verdict(self, given: object) -> Verdict:
        """A decider's answer, fit to be written.

        Raises:
            Exception: if it is none, of whatever kind.
        """
        if not isinstance(given, Verdict) or not isinstance(given.decision, BoundaryDecision):
            raise DecisionError(f"the decider answered with {type(given).__name__}: give a Verdict")
        if given.by not in get_args(By) or not (given.p is None or 0 <= given.p <= 1):
            raise DecisionError(f"by={given.by!r}, p={given.p!r} is no verdict: see `automemory.Verdict`")
        self._count(given)
        names = ("new_event_slug", "summary_patch")
        texts = {name: self._text(getattr(given.decision, name)) for name in names}
        decision = given.decision.model_copy(update=texts)
        return replace(given, decision=decision, title=self._text(given.title))

    def _sound_summary(self, given: object) -> EventSummary:
        """A summarizer's answer, fit to be written; raises as `_sound_verdict` does."""
        if not isinstance(given, EventSummary) or given.by not in ("model", "extract"):
            raise DecisionError(f"the summarizer answered with {given!r:.80}: give an EventSummary")
        self._count(given)
        return replace(given, description=self._text(given.description), title=self._text(given.title))

    def _sound_patch(self, given: object) -> ViewPatch | None:
        """A writer's answer, fit to be written; raises as `_sound_verdict` does."""
        if given is None:
            return None
        if not isinstance(given, ViewPatch):
            raise DecisionError(f"write_views answered with {type(given).__name__}: give a ViewPatch or None")
        self._count(given)
        new = {
            name: self._text(text) if isinstance(text, str) else tuple(map(self._text, text))
            for name, text in given.new.items()
        }
        return replace(given, new=new)

    def _text(self, text: str) -> str:
        return self.redact(clean(text))

    def _failed(self, failure: Exception, what: str) -> str:
        """Note a failure and what it cost; gives it as one redacted line."""
        self._count(failure)
        line = self.redact(f"{type(failure).__name__}: {failure}")
        self.last_error = f"{what}: {line}"
        return line

    def _count(self, spent: object) -> None:
        for name in ("calls", "prompt_tokens", "completion_tokens"):
            self.counters[name] += getattr(spent, name, 0)

    def _context(self, located: Located, accepted: Accepted) -> DecisionContext:
        return DecisionContext(
            turn=Exchange.of(steps(accepted.turn.messages), accepted.at),
            active=located.active.view if located.active else None,
            recent=tuple(planning.recent_event(head) for head in located.recent),
            notify=located.offers[:SHOWN],
            granularity=self.granularity,
        )

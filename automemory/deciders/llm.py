"""The model decides: one bounded question a turn, to any chat model, and a second look at doubtful cuts."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from automemory.deciders import extract
from automemory.deciders.cues import is_acknowledgement
from automemory.deciders.endpoint import Answer, Endpoint
from automemory.deciders.local import LocalDecider
from automemory.deciders.prompting import boundary_messages, confirm_messages, summary_messages
from automemory.decision import (
    BoundaryDecision,
    DecisionContext,
    EventSummary,
    EventView,
    Exchange,
    Verdict,
    Words,
)
from automemory.errors import DecisionError

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

_INTENTS_THAT_CONTINUE = {"answer", "acknowledge", "correct", "develop", "side-task"}


class BoundaryReply(BaseModel):
    """A model's answer, in the order asked for: what the turn does, the decision, how sure it is."""

    model_config = ConfigDict(populate_by_name=True, extra="ignore")

    intent: str = ""
    continue_: bool = Field(alias="continue")
    new_event_slug: Words = ""
    summary_patch: Words = ""
    confidence: float | None = None

    @field_validator("intent", mode="before")
    @classmethod
    def _one_word(cls, value: Any) -> Any:
        return value.strip().lower() if isinstance(value, str) else ""

    @field_validator("confidence", mode="before")
    @classmethod
    def _a_share(cls, value: Any) -> Any:
        try:
            return min(1.0, max(0.0, float(value)))
        except (TypeError, ValueError):
            return None


def leaves_event(reply: BoundaryReply) -> bool:
    """Whether an answer cuts: not if what it says the turn does is something that continues."""
    return not reply.continue_ and reply.intent not in _INTENTS_THAT_CONTINUE


class ConfirmReply(BaseModel):
    """A model's answer to the second look at a cut."""

    leaves_event: bool


class SummaryReply(BaseModel):
    """A model's final summary of an event."""

    model_config = ConfigDict(extra="ignore")

    title: str = ""
    summary: str = Field(min_length=1)
    completed: bool = False

    @field_validator("title", mode="before")
    @classmethod
    def _text(cls, value: Any) -> Any:
        return value if isinstance(value, str) else ""


class LLMDecider:
    """Decides, names and sums up with a chat model.

    Args:
        model: A LangChain chat model, or an init string such as `openai:gpt-5-mini`.
        local: Decides once the day's calls are used up.
        prompts_dir: A folder whose prompt files replace those that ship.
        confirm_below: A cut the model is less sure of than this (0 to 1) is confirmed by a second, short
            call.
        timeout_s: Time for all calls of one decision or summary, in seconds.
        max_calls_per_day: Hard budget of model calls; None for no limit.
        today: Gives the day that calls are counted on.
    """

    name = "llm"

    def __init__(
        self,
        model: BaseChatModel | str,
        *,
        local: LocalDecider | None = None,
        prompts_dir: Path | None = None,
        confirm_below: float = 0.6,
        timeout_s: float = 20.0,
        max_calls_per_day: int | None = None,
        today: Callable[[], date] = date.today,
    ) -> None:
        self.endpoint = Endpoint(model)
        self._local = local or LocalDecider()
        self._prompts = prompts_dir
        self._confirm_below = confirm_below
        self._timeout_s = timeout_s
        self._budget = max_calls_per_day
        self._today = today
        self._spent: tuple[date, int] = (today(), 0)

    async def decide(self, context: DecisionContext, *, shown: int = 1) -> Verdict:
        """Decide with one call, or two.

        Args:
            context: What is known of the turn.
            shown: How many turns before it the model sees.

        Raises:
            DecisionError: if the model gives no usable answer in time, or is left alone after failures.
        """
        if self.budget_spent or (context.active and is_acknowledgement(context.turn.user)):
            return await self._local.decide(context)
        began = time.monotonic()
        answer = await self._ask(
            boundary_messages(context, self._prompts, shown=shown), BoundaryReply, self._timeout_s
        )
        reply, calls = answer.value, [answer]
        assert isinstance(reply, BoundaryReply)
        cut = context.active is None or leaves_event(reply)
        unsure = reply.confidence is not None and reply.confidence < self._confirm_below
        if cut and context.active is not None and unsure and not self.budget_spent:
            left = self._timeout_s - (time.monotonic() - began)
            second = await self._ask(confirm_messages(context, self._prompts), ConfirmReply, left)
            calls.append(second)
            assert isinstance(second.value, ConfirmReply)
            cut = second.value.leaves_event
        return self._verdict(context, reply, cut, calls)

    async def summarize(self, event: EventView, turns: list[Exchange]) -> EventSummary:
        """Sum up an event with one call.

        Raises:
            DecisionError: if the model gives no usable answer in time, or the day's calls are used up.
        """
        if self.budget_spent:
            return await self._local.summarize(event, turns)
        answer = await self._ask(summary_messages(event, turns, self._prompts), SummaryReply, self._timeout_s)
        reply = answer.value
        assert isinstance(reply, SummaryReply)
        return EventSummary(
            reply.summary,
            reply.title,
            reply.completed,
            by="model",
            calls=answer.calls,
            prompt_tokens=answer.prompt_tokens,
            completion_tokens=answer.completion_tokens,
        )

    @property
    def budget_spent(self) -> bool:
        """Whether today's calls are used up."""
        day, count = self._spent
        return self._budget is not None and day == self._today() and count >= self._budget

    async def _ask(
        self, messages: list[tuple[str, str]], schema: type[BaseModel], timeout_s: float
    ) -> Answer:
        try:
            answer = await self.endpoint.ask(messages, schema, timeout_s)
        except DecisionError as error:
            self._count(getattr(error, "calls", 0))
            raise
        self._count(answer.calls)
        return answer

    def _count(self, calls: int) -> None:
        day, count = self._spent
        today = self._today()
        self._spent = (today, count + calls if day == today else calls)

    def _verdict(
        self, context: DecisionContext, reply: BoundaryReply, cut: bool, answers: list[Answer]
    ) -> Verdict:
        slug = reply.new_event_slug if cut else ""
        if cut and not slug:
            words = extract.title(context.turn.user) or extract.title(context.turn.reply)
            slug = extract.slug(words)
        decision = BoundaryDecision(continue_=not cut, new_event_slug=slug, summary_patch=reply.summary_patch)
        sure = reply.confidence
        verdict = Verdict(
            decision, "llm", p=None if sure is None else round(1 - sure if not cut else sure, 2)
        )
        return replace(
            verdict,
            calls=sum(a.calls for a in answers),
            prompt_tokens=sum(a.prompt_tokens for a in answers),
            completion_tokens=sum(a.completion_tokens for a in answers),
        )

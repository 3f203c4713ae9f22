"""The model decides: one bounded question a turn, to any chat model, and a second look at doubtful cuts."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model, field_validator

from automemory.boundary import BoundaryDecision, Words
from automemory.deciders import extract
from automemory.deciders.cues import is_acknowledgement
from automemory.deciders.endpoint import Answer, AskError, Endpoint, Messages
from automemory.deciders.local import LocalDecider
from automemory.deciders.prompting import (
    boundary_messages,
    check_prompts,
    confirm_messages,
    summary_messages,
    view_messages,
)
from automemory.decision import (
    DecisionContext,
    EventSummary,
    EventView,
    Exchange,
    KeptSection,
    Verdict,
    ViewContext,
    ViewPatch,
)

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

_VIEW_TOKENS = 900
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


def is_asked(context: DecisionContext) -> bool:
    """Whether a turn is worth a call: an acknowledgement goes on with the event that is open."""
    return context.active is None or not is_acknowledgement(context.turn.user)


def leaves_event(reply: BoundaryReply, active: EventView | None) -> bool:
    """Whether an answer cuts: not if what it says the turn does continues, or goes back to the open event."""
    if active is None:
        return True
    stays = reply.intent == "return" and reply.new_event_slug == active.slug
    return not (reply.continue_ or reply.intent in _INTENTS_THAT_CONTINUE or stays)


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


def _as_entries(value: Any) -> Any:
    given = [value] if isinstance(value, str) else value or []
    return [str(entry) for entry in given if entry] if isinstance(given, list) else given


def _as_text(value: Any) -> Any:
    return "\n".join(map(str, value)) if isinstance(value, list) else value or ""


Entries = Annotated[list[str], BeforeValidator(_as_entries)]
Text = Annotated[str, BeforeValidator(_as_text)]


@lru_cache(maxsize=16)
def view_reply(sections: tuple[KeptSection, ...]) -> type[BaseModel]:
    """The model of an answer on an event's sections: a list or a text by each one's key.

    An answer has to have the first key; where others are missing, there is nothing new.
    """
    fields: dict[str, Any] = {}
    for number, section in enumerate(sections):
        default: Any = None if number else ...
        kind = Entries if section.items else Text
        fields[f"section_{number}"] = (kind, Field(default, alias=section.key))
    return create_model("ViewReply", __config__=ConfigDict(extra="ignore", validate_default=True), **fields)


class LLMDecider:
    """Decides, names and sums up with a chat model.

    Args:
        model: A LangChain chat model, or an init string such as `openai:gpt-5-mini`.
        local: Decides once the day's calls are used up.
        prompts_dir: A folder whose prompt files replace those that ship.
        confirm_below: A cut the model is less sure of than this (0 to 1) is confirmed by a second, short
            call.
        timeout_s: Time for all calls of one decision or summary, in seconds. Less than the
            `decide_timeout_s` of the memory, or failures go unnoticed here.
        max_calls_per_day: Budget of model calls, past which nothing is asked; None for no limit.
        today: Gives the day that calls are counted on.

    Raises:
        ConfigError: if `model` is none, or a prompt cannot be read.
    """

    name = "llm"

    def __init__(
        self,
        model: BaseChatModel | str,
        *,
        local: LocalDecider | None = None,
        prompts_dir: Path | None = None,
        confirm_below: float = 0.6,
        timeout_s: float = 18.0,
        max_calls_per_day: int | None = None,
        today: Callable[[], date] = date.today,
    ) -> None:
        check_prompts(prompts_dir)
        self.endpoint = Endpoint(model)
        self.views_endpoint = Endpoint(model, max_tokens=_VIEW_TOKENS)
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
        if self.budget_spent or not is_asked(context):
            return await self._local.decide(context)
        deadline = time.monotonic() + self._timeout_s
        messages = boundary_messages(context, self._prompts, shown=shown)
        try:
            first = await self._ask(messages, BoundaryReply, self._timeout_s)
        except AskError as error:
            if self.budget_spent and not error.calls:  # other streams used it up meanwhile
                return await self._local.decide(context)
            raise
        assert isinstance(first.value, BoundaryReply)
        cut = leaves_event(first.value, context.active)
        sure = first.value.confidence is None or first.value.confidence >= self._confirm_below
        if not cut or sure or context.active is None or self.budget_spent:
            return _verdict(context, cut, first)
        messages = confirm_messages(context, self._prompts, shown=shown)
        second = await self._confirm(messages, first, deadline - time.monotonic())
        assert isinstance(second.value, ConfirmReply)
        return _verdict(context, second.value.leaves_event, first, second)

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

    async def write_views(self, context: ViewContext) -> ViewPatch | None:
        """Say what a turn adds to its event's sections, with one call; None if the day's calls are used up.

        Raises:
            DecisionError: if the model gives no usable answer in time.
        """
        if self.budget_spent:
            return None
        messages = view_messages(context, self._prompts)
        schema = view_reply(context.sections)
        answer = await self.views_endpoint.ask(messages, schema, self._timeout_s, self._may_call)
        said = answer.value.model_dump(by_alias=True)
        new = {s.name: tuple(given) if s.items else given for s in context.sections if (given := said[s.key])}
        return ViewPatch(new, answer.calls, answer.prompt_tokens, answer.completion_tokens)

    @property
    def budget_spent(self) -> bool:
        """Whether today's calls are used up."""
        day, count = self._spent
        return self._budget is not None and day == self._today() and count >= self._budget

    async def _confirm(self, messages: Messages, first: Answer, timeout_s: float) -> Answer:
        try:
            return await self._ask(messages, ConfirmReply, timeout_s)
        except AskError as error:  # what the first look cost is spent too
            error.calls += first.calls
            error.prompt_tokens += first.prompt_tokens
            error.completion_tokens += first.completion_tokens
            raise

    async def _ask(self, messages: Messages, schema: type[BaseModel], timeout_s: float) -> Answer:
        return await self.endpoint.ask(messages, schema, timeout_s, self._may_call)

    def _may_call(self) -> bool:
        """Count a call of today, unless they are used up."""
        if self.budget_spent:
            return False
        day, count = self._spent
        today = self._today()
        self._spent = (today, count + 1 if day == today else 1)
        return True


def _verdict(context: DecisionContext, cut: bool, *answers: Answer) -> Verdict:
    """The verdict of the first answer, whose cut a second one may have taken back."""
    reply = answers[0].value
    assert isinstance(reply, BoundaryReply)
    slug, title, p = reply.new_event_slug if cut else "", "", None
    if cut and not slug:
        title = extract.title(context.turn.user) or extract.title(context.turn.reply)
        slug = extract.slug(title)
    if context.active is not None and reply.confidence is not None:
        leaves = leaves_event(reply, context.active)
        p = round(reply.confidence if leaves else 1 - reply.confidence, 2)
    decision = BoundaryDecision(continue_=not cut, new_event_slug=slug, summary_patch=reply.summary_patch)
    return Verdict(
        decision,
        "llm",
        p=p,
        title=title,
        calls=sum(answer.calls for answer in answers),
        prompt_tokens=sum(answer.prompt_tokens for answer in answers),
        completion_tokens=sum(answer.completion_tokens for answer in answers),
    )

"""One question to a chat model, one validated answer, within one time budget.

Works with any LangChain chat model and any OpenAI-compatible server: the mode of structured output and the
parameters a server takes are found by asking, kept, and asked for with a single request from then on.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pydantic import BaseModel

from automemory.content import clean
from automemory.deciders.breaker import Breaker
from automemory.deciders.chat import Chat, LazyChat, call_config
from automemory.deciders.dialect import Dialect, recall, remember
from automemory.deciders.outcome import Refusal, Reply, failure_of, reply_of
from automemory.deciders.replies import read_object
from automemory.deciders.wire import parse, required_keys, strict_schema
from automemory.errors import ConfigError, DecisionError

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

Messages = Sequence[tuple[str, str]]
SHOWN_CHARS = 500


@dataclass(frozen=True, slots=True)
class Answer:
    """A model's answer and what it cost.

    Attributes:
        value: The reply, an instance of the reply model asked for.
        calls: Requests sent, refused ones included.
        prompt_tokens, completion_tokens: Their sum over these requests; 0 where the server does not say.
    """

    value: BaseModel
    calls: int
    prompt_tokens: int
    completion_tokens: int


class AskError(DecisionError):
    """The model gave no usable answer; `calls` and the tokens say what was spent on it."""

    def __init__(
        self, message: str, *, calls: int = 0, prompt_tokens: int = 0, completion_tokens: int = 0
    ) -> None:
        super().__init__(message)
        self.calls = calls
        self.prompt_tokens = prompt_tokens
        self.completion_tokens = completion_tokens


class _UnusableError(Exception):
    """Why there is no answer, in one sentence."""


@dataclass(slots=True)
class _Question:
    """A question while it is asked."""

    messages: Messages
    schema: type[BaseModel]
    timeout_s: float
    may_call: Callable[[], bool]
    spent: dict[str, int] = field(
        default_factory=lambda: {"calls": 0, "prompt_tokens": 0, "completion_tokens": 0}
    )


class Endpoint:
    """A chat model that is asked for structured answers.

    Args:
        model: A LangChain chat model, which is not changed, or an init string such as `openai:gpt-5-mini`,
            which is loaded at the first question.
        max_tokens: Longest reply, in tokens.
        breaker: Leaves the model alone after failures in a row; by default an own one.
        clock: Seconds, for the default breaker.

    Raises:
        ConfigError: if `model` is neither.
    """

    def __init__(
        self,
        model: BaseChatModel | str,
        *,
        max_tokens: int = 400,
        breaker: Breaker | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._model = LazyChat(model, "with_structured_output")
        self.breaker = breaker or Breaker(clock=clock)
        self._max_tokens = max_tokens

    def load(self) -> Chat:
        """Set the model up now instead of at the first question.

        Raises:
            ConfigError: if the string names no model, or the model cannot be set up (a missing key, say).
        """
        return self._model.load()

    async def ask(
        self,
        messages: Messages,
        schema: type[BaseModel],
        timeout_s: float,
        may_call: Callable[[], bool] = lambda: True,
    ) -> Answer:
        """Ask once, and have an unusable reply repaired once.

        Args:
            messages: Pairs of a role (`system`, `user`, `assistant`) and a text. They have to describe the
                object wanted. What is under `user` counts as shown, not as said by the model.
            schema: The reply model.
            timeout_s: Time for everything, in seconds; a reply that comes later is ignored.
            may_call: Asked before each request; if it says no, there is no answer.

        Raises:
            DecisionError: an `AskError`, if there is no usable answer in time, or at once while the breaker
                is open.
        """
        if not self.breaker.allow():
            raise AskError(f"the model is left alone for {self.breaker.left_s:.0f} s after failures in a row")
        question = _Question([(role, clean(text)) for role, text in messages], schema, timeout_s, may_call)
        try:
            async with asyncio.timeout(timeout_s):
                value = await self._converse(question)
        except asyncio.CancelledError:
            self.breaker.release()
            raise
        except Exception as error:
            if question.spent["calls"]:
                self.breaker.fail()
            else:
                self.breaker.release()  # nothing was asked, so nothing is known of the model
            raise AskError(_sentence(error, timeout_s), **question.spent) from error
        self.breaker.succeed()
        return Answer(value, **question.spent)

    async def _converse(self, question: _Question) -> BaseModel:
        chat = await self._model.loaded()
        known = recall(chat.identity)
        dialect = known or chat.first_guess
        asked, repaired = question.messages, False
        while True:
            reply = await self._send(chat, dialect, asked, question)
            if isinstance(reply, Refusal):
                dialect = _or_raise(dialect.after(reply.reason), reply.sentence)
                continue
            value, problem = _read(reply, question)
            if value is not None:
                remember(chat.identity, dialect)
                return value
            following = None if known else dialect.next_mode()
            if following and reply.ignored(dialect.mode):
                dialect = following
                continue
            if repaired:
                raise _UnusableError(problem)
            asked, repaired = [*question.messages, *_repair(reply, problem, question.schema)], True

    async def _send(
        self, chat: Chat, dialect: Dialect, messages: Messages, question: _Question
    ) -> Reply | Refusal:
        schema = strict_schema(question.schema)
        runnable = chat.speaking(dialect, schema, self._max_tokens, question.timeout_s)
        if runnable is None:
            return Refusal(dialect.mode, f"the model class does not offer {dialect.mode}")
        if dialect.mode in {"json_mode", "text"}:
            messages = _with_schema(messages, schema)
        if not question.may_call():
            raise _UnusableError("the calls it may be asked are used up")
        question.spent["calls"] += 1
        try:
            result = await runnable.ainvoke(list(messages), call_config())
        except Exception as error:
            outcome = failure_of(error)
            if isinstance(outcome, str):
                raise _UnusableError(outcome) from error
        else:
            outcome = reply_of(result)
        if isinstance(outcome, Reply):
            question.spent["prompt_tokens"] += outcome.prompt_tokens
            question.spent["completion_tokens"] += outcome.completion_tokens
        return outcome


def _read(reply: Reply, question: _Question) -> tuple[BaseModel | None, str]:
    """The answer in a reply, or what is wrong with it."""
    if reply.problem:
        return None, reply.problem
    keys = required_keys(question.schema)
    shown = "\n".join(text for role, text in question.messages if role in {"user", "human"})
    found = next(filter(None, (read_object(text, keys, shown) for text in reply.texts)), None)
    if found is None:
        return None, f"it holds no whole JSON object with the keys {', '.join(sorted(keys))}"
    try:
        return parse(question.schema, found), ""
    except ValueError as error:
        return None, str(error)


def _repair(reply: Reply, problem: str, schema: type[BaseModel]) -> list[tuple[str, str]]:
    bad = clean(" ".join(reply.texts).strip())[:SHOWN_CHARS] or "(empty)"
    keys = ", ".join(f'"{key}"' for key in strict_schema(schema)["properties"])
    wanted = f"Answer again with one short JSON object with the keys {keys}, and nothing else."
    return [("assistant", bad), ("user", f"That reply cannot be used: {problem}. {wanted}")]


def _with_schema(messages: Messages, schema: dict[str, object]) -> Messages:
    """The schema in words, for modes that do not carry it; last, so that the fixed part stays cached."""
    told = "Reply with one JSON object and nothing else. Its JSON schema: " + json.dumps(
        schema, ensure_ascii=False, separators=(",", ":")
    )
    *earlier, (role, text) = messages
    if role in {"user", "human"}:
        return [*earlier, (role, f"{text}\n\n{told}")]
    return [*messages, ("user", told)]


def _or_raise(dialect: Dialect | None, sentence: str) -> Dialect:
    if dialect is None:
        raise _UnusableError(sentence)
    return dialect


def _sentence(error: Exception, timeout_s: float) -> str:
    if isinstance(error, TimeoutError):
        return f"the model gave no answer within {timeout_s:g} s"
    if isinstance(error, (_UnusableError, ConfigError)):
        return (
            f"the model gave no usable answer: {error}" if isinstance(error, _UnusableError) else str(error)
        )
    return f"asking the model failed with {type(error).__name__}"

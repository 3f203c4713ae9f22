"""A chat model in the loop: one private, bounded call after another, with tools."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langchain_core.messages import AIMessage, AnyMessage
from pydantic import ValidationError

from automemory.deciders.chat import Chat, LazyChat, call_config
from automemory.deciders.dialect import Dialect, recall
from automemory.deciders.outcome import Refusal, failure_of, reply_of
from automemory.errors import DecisionError

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.tools import BaseTool

_UNREADABLE = "(a call whose arguments are no JSON object)"


@dataclass(frozen=True, slots=True)
class Step:
    """One call of the model.

    Attributes:
        message: What it said; its tool calls are still to be made.
        problem: Why there is nothing to go on with; empty if there is.
        tokens: Of prompt and reply; estimated where the server does not say.
    """

    message: AIMessage
    problem: str
    tokens: int


class Caller:
    """Calls a chat model with tools.

    Args:
        model: A LangChain chat model, which is not changed, or an init string.
        max_tokens: Longest reply, in tokens.

    Raises:
        ConfigError: if `model` is neither.
    """

    def __init__(self, model: BaseChatModel | str, *, max_tokens: int) -> None:
        self._model = LazyChat(model, "bind_tools")
        self._max_tokens = max_tokens
        self._dialect: Dialect | None = None

    async def call(self, talk: Sequence[AnyMessage], tools: Sequence[BaseTool], timeout_s: float) -> Step:
        """Ask once; parameters that the server does not take are left out from then on.

        Raises:
            DecisionError: if the call fails, or takes longer than `timeout_s` seconds.
            ConfigError: if the model cannot be set up.
        """
        chat = await self._model.loaded()
        known = self._dialect or recall(chat.identity) or chat.first_guess
        dialect: Dialect | None = Dialect("text", known.limits, known.temperature)
        try:
            async with asyncio.timeout(timeout_s):
                while dialect is not None:
                    found = await self._send(chat, dialect, talk, tools, timeout_s)
                    if isinstance(found, AIMessage):
                        self._dialect = dialect
                        return _step(talk, found)
                    dialect, sentence = dialect.after(found.reason), found.sentence
        except TimeoutError as error:
            raise DecisionError(f"the model gave no answer within {timeout_s:.0f} s") from error
        raise DecisionError(f"{sentence}; if it has no tools, use strategy='patch'")

    async def _send(
        self,
        chat: Chat,
        dialect: Dialect,
        talk: Sequence[AnyMessage],
        tools: Sequence[BaseTool],
        timeout_s: float,
    ) -> AIMessage | Refusal:
        runnable = chat.calling(dialect, tools, self._max_tokens, timeout_s)
        if runnable is None:
            raise DecisionError("the model class takes no tools: use strategy='patch'")
        try:
            message = await runnable.ainvoke(list(talk), call_config())
        except ValidationError:  # LangChain's, of a call whose arguments are JSON but no object
            return AIMessage(_UNREADABLE)
        except Exception as error:  # each client has its own
            outcome = failure_of(error)
            if isinstance(outcome, Refusal):
                return outcome
            said = outcome if isinstance(outcome, str) else outcome.problem or "it cannot be read"
            raise DecisionError(f"the model gave no usable answer: {said}") from error
        if not isinstance(message, AIMessage):
            raise DecisionError(f"the model answered with a {type(message).__name__}: give a chat model")
        return message


def _step(talk: Sequence[AnyMessage], message: AIMessage) -> Step:
    reply = reply_of(message)
    problem = "" if message.tool_calls or message.invalid_tool_calls else reply.problem
    tokens = reply.prompt_tokens + reply.completion_tokens
    return Step(message, problem, tokens or _estimate([*talk, message]))


def _estimate(talk: Sequence[Any]) -> int:
    calls = (json.dumps(call["args"]) for m in talk for call in getattr(m, "tool_calls", ()))
    return (sum(len(str(m.text)) for m in talk) + sum(map(len, calls))) // 4

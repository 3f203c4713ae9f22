"""Compaction of an agent's context: when it is due, what stays, and the note that stands for the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.messages.utils import count_tokens_approximately
from langchain_core.runnables import Runnable, RunnableConfig, ensure_config
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from automemory.errors import ConfigError
from automemory.injected import CONTEXT_CHARS

if TYPE_CHECKING:
    from automemory.memory import AutoMemory
    from automemory.synchronizer.settings import Strategy

ContextSize = tuple[Literal["tokens", "messages", "fraction"], float]
SOURCE = {"lc_source": "summarization"}
"""Marks a message that stands for others, as LangChain's own middleware does."""
_CHARS_PER_TOKEN = 4  # as LangChain estimates


@dataclass(frozen=True, slots=True)
class Compaction:
    """When a context is compacted, and how much of it stays.

    Attributes:
        at: From which size on: so many tokens (as LangChain estimates them), messages, or such a fraction of
            what the model takes.
        keep: How much of its end stays, in the same units.
        model_tokens: How many tokens the model takes; needed for fractions only.

    Raises:
        ConfigError: if a size makes no sense.
    """

    at: ContextSize
    keep: ContextSize
    model_tokens: int | None = None

    def __post_init__(self) -> None:
        for name, size in (("compact_at", self.at), ("keep", self.keep)):
            try:
                kind, value = size
                known = kind in {"tokens", "messages", "fraction"} and value > 0
            except (TypeError, ValueError):
                known = False
            if not known or (kind == "fraction" and value > 1):
                raise ConfigError(
                    f"{name}={size!r}: give ('tokens', n), ('messages', n) or ('fraction', 0.8)"
                )
            if kind == "fraction" and self.model_tokens is None:
                raise ConfigError(
                    f"{name}={size!r}: the memory's model does not say how much it takes; give tokens"
                )

        if self.at[0] == self.keep[0] and self.keep[1] >= self.at[1]:
            raise ConfigError(f"keep={self.keep!r}: give less than compact_at={self.at!r}, or all is kept")

    @property
    def note_chars(self) -> int:
        """Longest note: half of a context measured in tokens, which is not to be due at once again."""
        if self.at[0] == "messages":
            return CONTEXT_CHARS
        return min(CONTEXT_CHARS, int(self._limit(self.at) * _CHARS_PER_TOKEN / 2))

    def cut(self, messages: Sequence[AnyMessage]) -> int:
        """From which message on a context is kept; 0 if it is to stay as it is."""
        if self._size(messages, self.at[0]) < self._limit(self.at):
            return 0
        at = len(messages)
        while at and self._size(messages[at - 1 :], self.keep[0]) <= self._limit(self.keep):
            at -= 1
        return _whole(messages, min(at, len(messages) - 1))

    def _limit(self, size: ContextSize) -> float:
        kind, value = size
        return value * (self.model_tokens or 0) if kind == "fraction" else value

    def _size(self, messages: Sequence[AnyMessage], kind: str) -> int:
        return len(messages) if kind == "messages" else count_tokens_approximately(messages)


def compacted(messages: Sequence[AnyMessage], cut: int, note: str) -> list[Any]:
    """What is put in a context's place: instructions, the note, the question under way, and the end."""
    before = messages[:cut]
    instructions = [message for message in before if message.type == "system"]
    stands_for = HumanMessage(note, additional_kwargs=dict(SOURCE))
    return [
        RemoveMessage(id=REMOVE_ALL_MESSAGES),
        *instructions,
        stands_for,
        *_question(before, messages[cut:]),
        *messages[cut:],
    ]


class NoteSummarizer(Runnable[Any, str]):
    """Summarizes by a memory's note; see `AutoMemory.summarizer`."""

    def __init__(self, memory: AutoMemory, strategy: Strategy, max_chars: int) -> None:
        self._memory, self._strategy, self._max_chars = memory, strategy, max_chars

    def invoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> str:
        from automemory.host import run_of

        run = run_of(ensure_config(config))
        with self._memory.filled(run.values) as memory:
            return memory.context(
                input, thread_id=run.thread, strategy=self._strategy, max_chars=self._max_chars
            )

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **_: Any) -> str:
        from automemory.host import run_of

        run = run_of(ensure_config(config))
        with self._memory.filled(run.values) as memory:
            return await memory.acontext(
                input, thread_id=run.thread, strategy=self._strategy, max_chars=self._max_chars
            )


def _whole(messages: Sequence[AnyMessage], cut: int) -> int:
    """The place at or before `cut` that parts no tool's result from its call."""
    wanted = {m.tool_call_id for m in messages[cut:] if isinstance(m, ToolMessage)}
    for i in range(cut - 1, -1, -1):
        message = messages[i]
        if isinstance(message, AIMessage) and any(call["id"] in wanted for call in message.tool_calls):
            return _whole(messages, i)
    return cut


def _question(before: Sequence[AnyMessage], kept: Sequence[AnyMessage]) -> list[AnyMessage]:
    """What the person asked last, if it is among what goes and no later question is kept."""
    if any(message.type == "human" for message in kept):
        return []
    said = [m for m in before if m.type != "system" and not m.additional_kwargs.get("lc_source")]
    while said and said[-1].type != "human":
        said.pop()
    at = len(said)
    while at and said[at - 1].type == "human":
        at -= 1
    return list(said[at:])

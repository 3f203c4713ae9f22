"""What happened in one agent turn: the person's words, the agent's steps and its reply."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from automemory.errors import ConfigError
from automemory.message import ROLES, Message, ToolCall, parse_time, read_messages, shown

__all__ = [
    "ROLES",
    "Message",
    "Step",
    "ToolCall",
    "Turn",
    "align",
    "fingerprint",
    "iter_turns",
    "parse_time",
    "read_messages",
    "split_turns",
    "steps",
    "turn_id",
]


@dataclass(frozen=True, slots=True)
class Step:
    """A message as it stands in a note: words under a role, or a tool call with its result.

    Attributes:
        role: `user`, `assistant`, `tool`, or an unknown role's label.
        text: The words, or the tool's output.
        tool: The tool's name where `role` is `tool`, else empty.
        arguments: The tool's arguments; None where no call is known.
        status: `ok`, `error` or `no result`.
    """

    role: str
    text: str
    tool: str = ""
    arguments: str | None = None
    status: str = "ok"


@dataclass(frozen=True, slots=True)
class Turn:
    """One agent turn.

    Attributes:
        messages: In the order they happened; instructions (system and developer messages) are not part of a
            turn.
        complete: False while the agent is still at it; such a turn is kept as a draft until it is completed
            or superseded.
    """

    messages: tuple[Message, ...]
    complete: bool = True

    @classmethod
    def of(cls, value: Any, *, complete: bool = True) -> Turn:
        """Make one turn of a turn, a message, or a list of LangChain messages or role/content dicts.

        Raises:
            ConfigError: if nothing in it was said by anybody.
        """
        if isinstance(value, Turn):
            return value
        messages = tuple(m for m in read_messages(value) if m.role != "system")
        if not messages:
            raise ConfigError(
                f"no message to record in {shown(value)}: give at least one user or assistant message"
            )
        return cls(messages, complete)

    @property
    def at(self) -> datetime | None:
        """The time of the first message that has one."""
        return next((m.at for m in self.messages if m.at is not None), None)

    @property
    def user_text(self) -> str:
        return "\n\n".join(m.text for m in self.messages if m.role == "user" and m.text)

    @property
    def reply_text(self) -> str:
        """What the agent said last, or everything it said where the turn ends with a tool."""
        said = [m.text for m in self.messages if m.role == "assistant" and m.text.strip()]
        return said[-1] if said else ""


def split_turns(messages: Iterable[Message]) -> list[Turn]:
    """Cut a history into turns: a turn begins with a person's message that follows anything else."""
    return list(iter_turns(messages))


def iter_turns(messages: Iterable[Message]) -> Iterator[Turn]:
    """As `split_turns`, each turn as soon as the next one begins."""
    said: list[Message] = []
    for message in messages:
        if message.role == "system":
            continue
        if said and message.role == "user" and said[-1].role != "user":
            yield Turn(tuple(said))
            said = []
        said.append(message)
    if said:
        yield Turn(tuple(said))


def steps(messages: Sequence[Message], start: int = 0) -> list[Step]:
    """The messages from `start` on as steps, each tool result joined by id to the call it answers."""
    calls: dict[str | None, ToolCall] = {c.id: c for m in messages for c in m.tool_calls if c.id}
    shown = {call.id for message in messages[start:] for call in message.tool_calls if call.id}
    results = {m.tool_call_id: m for m in messages[start:] if m.role == "tool" and m.tool_call_id}
    found: list[Step] = []
    for message in messages[start:]:
        if message.role == "tool":
            if message.tool_call_id in shown:
                continue
            found.append(_result_step(message, calls.get(message.tool_call_id)))
            continue
        if message.text or not message.tool_calls:
            found.append(Step(message.role, message.text))
        for call in message.tool_calls:
            result = results.get(call.id) if call.id else None
            if result is None:
                found.append(Step("tool", "", call.name, call.arguments, "no result"))
            else:
                found.append(_result_step(result, call))
    return found


def fingerprint(message: Message) -> str:
    """A hash of who said what; equal for equal words, whatever their ids and times."""
    return _hash(
        "message", message.role, message.text, *(f"{c.name}\0{c.arguments}" for c in message.tool_calls)
    )


def turn_id(stream: str, first: Message, seen: int = 0) -> str:
    """The id of the turn that `first` begins: 16 hex digits.

    Args:
        stream: The stream's key.
        first: The turn's first message, as recorded.
        seen: Where the message has no id, how many turns of the stream already began with the same words.
    """
    if first.id:
        return _hash("id", stream, first.id)
    return _hash("words", stream, fingerprint(first), str(seen))


def align(history: Sequence[str], recorded: Sequence[str]) -> int:
    """How many of a history's turns are recorded: up to the longest run that `recorded` ends with.

    Args:
        history: Fingerprints of the history's turns, oldest first.
        recorded: Fingerprints of the turns recorded so far, oldest first.
    """
    backwards = [*reversed(recorded), None, *reversed(history)]
    # Z function: the length of the common prefix of `backwards` and each of its suffixes.
    runs = [0] * len(backwards)
    left = right = 0
    for i in range(1, len(backwards)):
        if i < right:
            runs[i] = min(right - i, runs[i - left])
        while i + runs[i] < len(backwards) and backwards[runs[i]] == backwards[i + runs[i]]:
            runs[i] += 1
        if i + runs[i] > right:
            left, right = i, i + runs[i]
    ends = [(runs[len(recorded) + 1 + i], len(history) - i) for i in range(len(history))]
    length, end = max(ends, key=lambda pair: (pair[0], -pair[1]), default=(0, 0))
    return end if length else 0


def _result_step(result: Message, call: ToolCall | None) -> Step:
    name = (call.name if call else None) or result.name or "tool"
    return Step(
        "tool", result.text, name, call.arguments if call else None, "error" if result.error else "ok"
    )


def _hash(*parts: str) -> str:
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "replace")).hexdigest()[:16]

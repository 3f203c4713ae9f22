"""Labelled conversations, read as turns of the product.

One is a JSON object a line: `{"id", "turns": [{"role", "text"}…], "boundaries": [i…]}`, where `i` means
that utterance `i` begins a new event. Optional: `soft_boundaries`, utterances at which either answer is
right; `returns`, utterances that go back to an earlier event, each with the one that event began with;
`family`, what kind of conversation it is.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from automemory.errors import ImportFailed
from automemory.turn import ROLES, Message, ToolCall, Turn

Level = Literal["turn", "utterance"]

_TOOL_LINE = re.compile(r"^\[tool_(call|result)\][ \t]*", re.MULTILINE)
_TOOL_NAME = re.compile(r"\s*(MCP tool call|[\w.-]+)")


@dataclass(frozen=True, slots=True)
class Labelled:
    """A labelled conversation as turns of the product.

    Attributes:
        id: Its name.
        turns: In order.
        labels: For each turn, whether it begins a new event; None where either answer is right.
        returns: Turns that go back to an event, each with the turn that event began with; None where that is
            not labelled.
        family: What kind of conversation it is, or empty.
    """

    id: str
    turns: tuple[Turn, ...]
    labels: tuple[bool | None, ...]
    returns: Mapping[int, int] | None = field(default=None, hash=False)
    family: str = ""


class _Utterance(BaseModel):
    role: str
    text: str


class _Record(BaseModel):
    """A line as it stands in a file."""

    model_config = ConfigDict(extra="ignore", coerce_numbers_to_str=True)

    id: str
    turns: list[_Utterance]
    boundaries: list[int]
    soft_boundaries: list[int] = []
    returns: dict[int, int] | None = None
    family: str = ""

    @model_validator(mode="after")
    def _points_into_the_turns(self) -> Self:
        if not self.turns:
            raise ValueError("it has no turns")
        returns = [i for pair in (self.returns or {}).items() for i in pair]
        for i in (*self.boundaries, *self.soft_boundaries, *returns):
            if not 0 <= i < len(self.turns):
                raise ValueError(f"there is no turn {i}: its turns are 0 to {len(self.turns) - 1}")
        return self


def is_labelled(path: Path) -> bool:
    """Whether a file's first record is a labelled conversation."""
    with path.open("rb") as lines:
        first = next((line for line in lines if line.strip()), b"").removeprefix(codecs.BOM_UTF8)
    return first.lstrip().startswith(b"{") and b'"boundaries"' in first


def read_labelled(path: Path, *, level: Level = "turn", limit: int | None = None) -> list[Labelled]:
    """The labelled conversations of a JSONL file.

    Args:
        path: The file.
        level: What a turn is: `turn`, a user's utterance with everything up to the next one; `utterance`,
            every utterance. A turn begins an event if one of its utterances does.
        limit: Read no more than so many conversations.

    Raises:
        ImportFailed: if a line is none; the message says which.
    """
    return list(islice(_read(path, level), limit))


def _read(path: Path, level: Level) -> Iterator[Labelled]:
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if line.removeprefix(codecs.BOM_UTF8).strip():
                    yield _parsed(line.removeprefix(codecs.BOM_UTF8), f"{path}: line {number}", level)
    except OSError as error:
        raise ImportFailed(f"{path}: cannot be read ({error.strerror or error})") from error


def _parsed(line: bytes, where: str, level: Level) -> Labelled:
    try:
        return _labelled(_Record.model_validate_json(line), level)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        reason = f"{place}: {first['msg']}" if place else first["msg"].removeprefix("Value error, ")
        more = f" and {error.error_count() - 1} more" if error.error_count() > 1 else ""
        raise ImportFailed(
            f"{where} is no labelled conversation ({reason}{more}): give one JSON object a line, with id, "
            "turns (a list of role and text) and boundaries (numbers of turns)"
        ) from error


def _labelled(record: _Record, level: Level) -> Labelled:
    starts = [
        i for i, u in enumerate(record.turns) if i == 0 or level == "utterance" or _role(u.role) == "user"
    ]
    spans = [range(a, b) for a, b in zip(starts, [*starts[1:], len(record.turns)], strict=True)]
    hard, soft = set(record.boundaries), set(record.soft_boundaries)
    turn_of = {i: number for number, span in enumerate(spans) for i in span}
    returns = record.returns
    return Labelled(
        record.id,
        tuple(_turn(record, span) for span in spans),
        tuple(_label(span, hard, soft) for span in spans),
        None if returns is None else {turn_of[i]: turn_of[began] for i, began in returns.items()},
        record.family,
    )


def _role(role: str) -> str:
    return ROLES.get(role, role)


def _label(span: range, hard: set[int], soft: set[int]) -> bool | None:
    return True if hard.intersection(span) else None if soft.intersection(span) else False


def _turn(record: _Record, span: Sequence[int]) -> Turn:
    messages = [
        message
        for i in span
        for message in _messages(f"{record.id}/{i}", _role(record.turns[i].role), record.turns[i].text)
    ]
    said = [m for m in messages if m.role != "system" and (m.text or m.tool_calls or m.role == "tool")]
    return Turn(tuple(said or messages[:1]))


def _messages(id: str, role: str, text: str) -> Iterator[Message]:
    """An utterance's messages: tool traffic that stands in an assistant's text becomes calls and results."""
    parts = _TOOL_LINE.split(text) if role == "assistant" else [text]
    yield Message(role, parts[0].strip(), id=id)
    call = None
    for number, (kind, body) in enumerate(zip(parts[1::2], parts[2::2], strict=True)):
        if kind == "call":
            name = _TOOL_NAME.match(body)
            called = (name[1], body[name.end() :].strip()) if name else ("tool", body.strip())
            call = ToolCall(*called, id=f"{id}/{number}")
            yield Message("assistant", "", id=f"{id}/{number}", tool_calls=(call,))
        else:
            yield Message("tool", body.strip(), id=f"{id}/{number}", tool_call_id=call.id if call else None)
            call = None

"""Labelled conversations, and how decisions on them are scored.

A labelled conversation is a JSON object a line: `{"id", "turns": [{"role", "text"}…], "boundaries": [i…]}`,
where `i` means that utterance `i` begins a new event; `soft_boundaries` are utterances at which either
answer is right.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from automemory.errors import ImportFailed
from automemory.turn import ROLES, Message, ToolCall, Turn, split_turns

_TOOL_LINE = re.compile(r"^\[tool_(call|result)\][ \t]*", re.MULTILINE)
_TOOL_NAME = re.compile(r"\s*(MCP tool call|[\w.-]+)")


@dataclass(frozen=True, slots=True)
class Labelled:
    """A labelled conversation as turns of the product.

    Attributes:
        id: Its name.
        turns: In order; each begins with a person's message.
        labels: For each turn, whether it begins a new event; None where either answer is right.
    """

    id: str
    turns: tuple[Turn, ...]
    labels: tuple[bool | None, ...]


@dataclass(frozen=True, slots=True)
class Score:
    """How well boundaries were found, over all turns but each conversation's first and those left open.

    Attributes:
        turns, boundaries, predicted, hits: Counts.
    """

    turns: int
    boundaries: int
    predicted: int
    hits: int

    @property
    def precision(self) -> float:
        return self.hits / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        return self.hits / self.boundaries if self.boundaries else 0.0

    @property
    def f1(self) -> float:
        found = self.predicted + self.boundaries
        return 2 * self.hits / found if found else 0.0


def is_labelled(path: Path) -> bool:
    """Whether a file's first record is a labelled conversation."""
    with path.open("rb") as lines:
        first = next((line for line in lines if line.strip()), b"")
    return first.lstrip().startswith(b"{") and b'"boundaries"' in first


def read_labelled(path: Path) -> list[Labelled]:
    """The labelled conversations of a JSONL file.

    Raises:
        ImportFailed: if a line is none; the message says which.
    """
    found = []
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    found.append(_labelled(json.loads(line)))
                except (ValueError, KeyError, TypeError) as error:
                    raise ImportFailed(
                        f"{path}: line {number} is no labelled conversation ({error!r})"
                    ) from error
    return found


def score(pairs: Iterable[tuple[bool, bool | None]]) -> Score:
    """Scores decisions.

    Args:
        pairs: For each turn, whether a boundary was predicted, and the label.
    """
    counted = [(predicted, label) for predicted, label in pairs if label is not None]
    hits = sum(predicted and label is True for predicted, label in counted)
    truth, predictions = sum(label is True for _, label in counted), sum(p for p, _ in counted)
    return Score(len(counted), truth, predictions, hits)


def _labelled(data: Mapping[str, Any]) -> Labelled:
    hard, soft = set(data["boundaries"]), set(data.get("soft_boundaries", ()))
    messages: list[Message] = []
    origins: list[int] = []
    for i, utterance in enumerate(data["turns"]):
        role = ROLES.get(utterance["role"], utterance["role"])
        for j, message in enumerate(_messages(f"{data['id']}/{i}", role, utterance["text"])):
            if j or message.text:
                messages.append(message)
                origins.append(i)
    turns = split_turns(messages)
    labels, at = [], 0
    for turn in turns:
        inside = set(origins[at : at + len(turn.messages)])
        at += len(turn.messages)
        labels.append(True if inside & hard else None if inside & soft else False)
    return Labelled(data["id"], tuple(turns), tuple(labels))


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

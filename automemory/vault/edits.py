"""A plan as data: what a change of the vault means, so that it can be stored, applied, and applied again.

An edit says what is to be true afterwards, not which bytes to write where: after a crash, or when a person
saved the file in between, it is computed again on what is there.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, get_args

from automemory.vault.revisions import Revision


@dataclass(frozen=True, slots=True)
class Create:
    """Make the event's folder and its note, which must not exist; `block` is the turn in it."""

    path: str
    text: str
    block: str


@dataclass(frozen=True, slots=True)
class CreateFile:
    """Make a file that holds no turns: a workspace's note, or a material beside it."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Merge:
    """Merge new text into a note's sections, see `sections.merge`.

    Attributes:
        path: The note.
        new: New text by section name.
        scope_changed: Whether `set-once` sections take it.
        sections: Name, policy and whether it holds entries, for each section; a summary note's if empty.
    """

    path: str
    new: dict[str, str]
    scope_changed: bool = False
    sections: list[list[Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Append:
    """Add a turn's block to the end of a note that was `size` bytes long.

    What is written is `lead` (a blank line, or what closes a torn block) and `block`, with `newline` as line
    ends.
    """

    path: str
    size: int
    lead: str
    block: str
    newline: str = "\n"

    @property
    def data(self) -> bytes:
        return (self.lead + self.block).replace("\n", self.newline).encode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class SetFields:
    """Set frontmatter fields of a note; None removes one."""

    path: str
    fields: dict[str, str | None]


@dataclass(frozen=True, slots=True)
class Closing:
    """A closed event's line in the day index: its summary, and the one the library wrote there before."""

    path: str
    summary: str
    previous: str


@dataclass(frozen=True, slots=True)
class UpdateIndex:
    """Bring a day's index up to date: lines of events that opened, closed, or are gone from the disk."""

    path: str
    opened: list[str] = field(default_factory=list)
    closed: list[Closing] = field(default_factory=list)
    gone: list[Closing] = field(default_factory=list)


Edit = Create | CreateFile | Merge | Append | SetFields | UpdateIndex | Revision
_KINDS: dict[str, type[Any]] = {kind.__name__: kind for kind in get_args(Edit)}


@dataclass(frozen=True, slots=True)
class Filing:
    """What a plan means for a turn's row once it is applied.

    Attributes:
        turn: The turn's id.
        path: Its note.
        messages: How many messages of it stand there then.
        part: In how many blocks.
        at: The turn's time, in seconds since 1970.
    """

    turn: str
    path: str
    messages: int
    part: int
    at: float


@dataclass(frozen=True, slots=True)
class Plan:
    """Edits of one stream that belong together, and the turn they file (a close has none)."""

    edits: tuple[Edit, ...]
    stream: str
    filing: Filing | None = None

    @property
    def paths(self) -> list[str]:
        return list(dict.fromkeys(edit.path for edit in self.edits))


def dump(plan: Plan) -> str:
    edits = [
        {"kind": type(edit).__name__} | {name: getattr(edit, name) for name in edit.__dataclass_fields__}
        for edit in plan.edits
    ]
    told = {"edits": edits, "stream": plan.stream, "filing": plan.filing}
    return json.dumps(told, ensure_ascii=False, default=asdict)


def load(text: str) -> Plan:
    data = json.loads(text)
    filing = Filing(**data["filing"]) if data["filing"] else None
    return Plan(tuple(_edit(raw) for raw in data["edits"]), data["stream"], filing)


def merged(edits: Sequence[Edit]) -> tuple[Edit, ...]:
    """The same edits with one rewrite per day index, indexes last: a note exists before a line names it."""
    indexes: dict[str, UpdateIndex] = {}
    others: list[Edit] = []
    for edit in edits:
        if isinstance(edit, UpdateIndex):
            index = indexes.setdefault(edit.path, UpdateIndex(edit.path))
            index.opened.extend(edit.opened)
            index.closed.extend(edit.closed)
            index.gone.extend(edit.gone)
        else:
            others.append(edit)
    return (*others, *indexes.values())


def _edit(raw: dict[str, Any]) -> Edit:
    kind = raw.pop("kind")
    if kind == "UpdateIndex":
        for key in ("closed", "gone"):
            raw[key] = [Closing(**item) for item in raw[key]]
    edit: Edit = _KINDS[kind](**raw)
    return edit

"""Edits that correct or repair what stands in the vault: a person's command, never a turn's.

As all edits they say what is to be true afterwards, and to apply one again changes nothing. Nothing is
removed before what is kept of it stands elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class TakeTurns:
    """Add turns of the note `source` to a note, in the order of time; all of them if `turns` is empty."""

    path: str
    source: str
    turns: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class DropTurns:
    """Take turns out of a note: those that stand in the note `kept_in`; without one they are forgotten."""

    path: str
    turns: list[str]
    kept_in: str = ""


@dataclass(frozen=True, slots=True)
class AddText:
    """Add a text before a note's turns, unless it stands there."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class MoveMaterials:
    """Move all that lies beside an event's note, but for `record`, to the event whose note is `to`.

    A name that is taken there is numbered.
    """

    path: str
    to: str
    record: str = ""


@dataclass(frozen=True, slots=True)
class RemoveEvent:
    """Remove an event's note, and its folder if nothing else is in it.

    Attributes:
        path: The note.
        record: The file with its turns, where they do not stand in the note.
        kept_in: Where all of its turns have to stand, or it stays; empty if they are forgotten, and with
            them what the library derived from them.
    """

    path: str
    record: str = ""
    kept_in: str = ""


@dataclass(frozen=True, slots=True)
class Relink:
    """Have links lead to other vault paths, by how they are written now; to nowhere if that is empty."""

    path: str
    links: dict[str, str]


@dataclass(frozen=True, slots=True)
class Mend:
    """Close a note's last block where it was cut off, and mark it."""

    path: str


Revision = TakeTurns | DropTurns | AddText | MoveMaterials | RemoveEvent | Relink | Mend

"""Events by the heads of their notes: what the frontmatter says, and when the first turn happened."""

from __future__ import annotations

import re
from dataclasses import dataclass

from automemory.errors import PathEscape
from automemory.vault import frontmatter, note
from automemory.vault.event import EventHead, read_head
from automemory.vault.places import Found, Places

_SIZE = 4 * 1024  # frontmatter is about 500 bytes; the first marker stands near it
_FIRST_TURN = re.compile(r"^<!-- turn id=\S+ at=(\S+)(?=\s)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Opening:
    """What the beginning of a note tells.

    Attributes:
        head: The event's head, or what is wrong with the note.
        first: When the first turn happened, in a form that can be compared; empty if there is none.
    """

    head: EventHead | str
    first: str = ""


def read_opening(places: Places, found: Found) -> Opening:
    """Read the beginning of an event's note; never fails."""
    try:
        data = places.read(found, _SIZE)
        text = data.decode("utf-8", "replace")
        if len(data) == _SIZE and not (_FIRST_TURN.search(text) and frontmatter.read(text).body):
            text = places.read(found).decode("utf-8", "replace")
    except FileNotFoundError:
        return Opening("the folder has no summary note of its name")
    except (OSError, PathEscape) as error:
        return Opening(f"cannot be read: {error}")
    front = frontmatter.read(text)
    if front.error or not front.fields:
        return Opening(front.error or "the note has no frontmatter")
    head = read_head(found.path, front.fields)
    if head is None:
        return Opening("the path is not that of an event's note")
    return Opening(head, _first_turn(_start_of(places, head.turns) if head.turns else text))


def may_inherit(places: Places, found: Found) -> bool:
    """Whether a note's frontmatter may say that the event goes on with another one; quick."""
    try:
        data = places.read(found, _SIZE)
        return b"inherits" in data or (len(data) == _SIZE and b"\n---" not in data)
    except (OSError, PathEscape):
        return False


def in_order(openings: list[Opening]) -> list[EventHead]:
    """The readable events of one day in the order of their first turns."""
    readable = [(o.first or "~", o.head) for o in openings if isinstance(o.head, EventHead)]
    return [head for _, head in sorted(readable, key=lambda pair: (pair[0], pair[1].name))]


def _start_of(places: Places, path: str) -> str:
    try:
        return places.read(Found(path, ""), _SIZE).decode("utf-8", "replace")
    except (OSError, PathEscape):
        return ""


def _first_turn(text: str) -> str:
    match = _FIRST_TURN.search(text)
    at = note.read_time(match[1]) if match else None
    return f"{at.timestamp():020.6f}" if at else ""

"""A note in less room: what grows loses its oldest entries, what is rewritten its end, and both say so."""

from __future__ import annotations

import re
from heapq import heapify, heappop, heapreplace

_SECTION = re.compile(r"^(?=## )", re.MULTILINE)
_ENTRY = re.compile(r"^(?=[-*+] )", re.MULTILINE)
_TURNS = re.compile(r"^## Turns[ \t]*$", re.MULTILINE)
_GROWING = ("Progress", "Findings", "Decisions", "Materials")
_LEFT_OUT = "- (… {count} older entries: see the full note)\n"
_CUT = "(…)"
_SHARE = 5  # of the room, a piece that cannot be parted


def shortened(note: str, room: int) -> str:
    """A note in at most `room` characters.

    Its turns go first, then the end of a piece that takes more than a fifth of the room where others need it
    (a plan that is rewritten at length, say), then its oldest entries, then its end.
    """
    if len(note) <= room:
        return note
    turns = _TURNS.search(note)
    text = note[: turns.start()].rstrip() if turns else note
    if len(text) <= room:
        return text
    parts = [_Part(section, room, room - len(text)) for section in _SECTION.split(text)]
    size = sum(len(part.text) for part in parts)
    longest = [(-part.spare, number) for number, part in enumerate(parts) if part.spare]
    heapify(longest)
    while size > room and longest:
        number = longest[0][1]
        size += parts[number].drop_oldest()
        if parts[number].spare:
            heapreplace(longest, (-parts[number].spare, number))
        else:
            heappop(longest)
    return cut("".join(part.text for part in parts), room)


def cut(text: str, room: int) -> str:
    """The beginning of a text, with a mark if that is not all of it."""
    return text if len(text) <= room else text[: max(0, room - len(_CUT))] + _CUT[: max(0, room)]


class _Part:
    """A section while it is shortened; what stands before the first one too.

    Args:
        text: The section.
        room: Of the whole note.
        spare: What is left of it beside the whole note, below 0 if that is too long.
    """

    def __init__(self, text: str, room: int, spare: int) -> None:
        name = text.split("\n", 1)[0].removeprefix("## ").strip()
        least = max(room // _SHARE, len(_CUT) + 1)
        parts = _ENTRY.split(text) if name in _GROWING else [text]
        pieces = [_piece(part, max(least, spare + len(part.rstrip("\n")))) for part in parts]
        self._lead, self._entries = pieces[0], pieces[1:]
        self._dropped = 0
        self.spare = sum(map(len, self._entries[:-1]))
        """How many characters of it may go: all but the newest entry."""

    @property
    def text(self) -> str:
        return self._lead + self._mark + "".join(self._entries[self._dropped :])

    @property
    def _mark(self) -> str:
        return _LEFT_OUT.format(count=self._dropped) if self._dropped else ""

    def drop_oldest(self) -> int:
        """Drop an entry; returns by how many characters the text is longer then."""
        gone, before = len(self._entries[self._dropped]), len(self._mark)
        self.spare -= gone
        self._dropped += 1
        return len(self._mark) - before - gone


def _piece(text: str, most: int) -> str:
    """A piece without the end of its words, but with the empty lines after it."""
    words = text.rstrip("\n")
    return text if len(words) <= most else cut(words, most) + text[len(words) :]

"""A note's text in pieces: what stands before its turns, and each turn's block. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from heapq import merge

from automemory.vault import note

_BEGIN = re.compile(r"<!-- turn((?: \w+=\S+)+) -->\r?")
_END = re.compile(r"<!-- /turn (\S+?)(?: torn)? -->\r?")
_ATTRIBUTE = re.compile(r"(\w+)=(\S+)")
_HEADING = re.compile(r"### \d\d:\d\d:\d\d[ \t]*\r?")
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Piece:
    """A turn's block as it is written.

    Attributes:
        id: The turn's id.
        at: When it happened; None where the marker does not say.
        raw: The blank line before it, its heading, its markers and what is between them.
        after: What stands between it and the next one: nothing, or what a person put there.
    """

    id: str
    at: datetime | None
    raw: str
    after: str = ""

    @property
    def key(self) -> str:
        """Equal for the same block in another note, whatever the line ends there and whether it is closed."""
        return _plain(self.raw).strip().removesuffix(f"<!-- /turn {self.id} torn -->").rstrip()


def cut(text: str) -> tuple[str, list[Piece]]:
    """What stands before the first block, and the blocks; put together again they are the text.

    A block without an end goes on to the next one, or to the end of the text.
    """
    spans = list(_spans(text))
    if not spans:
        return text, []
    starts = [*(start for start, _, _ in spans[1:]), len(text)]
    pieces = [
        Piece(
            marker.get("id", ""), note.read_time(marker.get("at", "")), text[start:end], text[end:following]
        )
        for (start, end, marker), following in zip(spans, starts, strict=True)
    ]
    return text[: spans[0][0]], pieces


def with_turns(text: str, source: str, ids: Collection[str] = ()) -> str:
    """A note with turns of another one added in the order of time; those it has are not added again.

    Args:
        text: The note.
        source: The other note's text.
        ids: Which of its turns; all if empty.
    """
    head, own = cut(text + note.mend(text))
    there = {piece.key for piece in own}
    found = cut(source + note.mend(source))[1]
    new = [piece for piece in found if piece.key not in there and (not ids or piece.id in ids)]
    if not new:
        return text
    newline = note.newline_of(text.encode("utf-8", "surrogatepass"))
    fitted = [_fitted(piece, newline) for piece in new]
    if not own and note.turns_start(head) == len(head):
        gap = note.gap(head.encode("utf-8", "surrogatepass")[-4:]).replace("\n", newline)
        head = f"{head}{gap}{note.TURNS}{newline}"
    return _joined(head, _in_time_order(own, fitted), newline)


def without_turns(text: str, ids: Collection[str], kept_in: str | None = None) -> str:
    """A note without the blocks of some turns.

    Args:
        text: The note.
        ids: Whose blocks go.
        kept_in: Another note's text; only what stands there goes, and what a person wrote behind it with it.
    """
    there = None if kept_in is None else _keys(kept_in)
    head, pieces = cut(text + note.mend(text))
    gone = [piece for piece in pieces if piece.id in ids and (there is None or piece.key in there)]
    if not gone:
        return text
    moved = there is not None
    return head + "".join(
        piece.raw + piece.after if piece not in gone else "" if moved else piece.after for piece in pieces
    )


def holds_all(text: str, source: str) -> bool:
    """Whether every block of `source` stands in `text` as well."""
    return _keys(source) <= _keys(text)


def _keys(text: str) -> set[str]:
    return {piece.key for piece in cut(text + note.mend(text))[1]}


def _plain(text: str) -> str:
    """Text with plain line ends, as a reader of blocks takes it."""
    return re.sub(r"\r+\n", "\n", text)


def _spans(text: str) -> Iterator[tuple[int, int, dict[str, str]]]:
    """Start, end and marker's attributes of each block."""
    begun: tuple[int, dict[str, str]] | None = None
    at = last = 0
    lines = text.split("\n")
    for number, line in enumerate(lines):
        begin, end = _BEGIN.fullmatch(line), _END.fullmatch(line)
        if begin:
            start = max(last, at - _lead_of(lines, number))
            if begun:
                yield begun[0], start, begun[1]
            begun, last = (start, dict(_ATTRIBUTE.findall(begin[1]))), at + len(line) + 1
        elif begun and end and end[1] == begun[1].get("id"):
            last = min(len(text), at + len(line) + 1)
            yield begun[0], last, begun[1]
            begun = None
        at += len(line) + 1
    if begun:
        yield begun[0], len(text), begun[1]


def _lead_of(lines: Sequence[str], number: int) -> int:
    """How much text before the marker in a line belongs to its block: the heading and a blank line."""
    if number < 1 or not _HEADING.fullmatch(lines[number - 1]):
        return 0
    heading = len(lines[number - 1]) + 1
    blank = number > 1 and not lines[number - 2].strip()
    return heading + (len(lines[number - 2]) + 1 if blank else 0)


def _fitted(piece: Piece, newline: str) -> Piece:
    """A block as it is added to another note: behind a blank line, with that note's line ends."""
    after = piece.after if piece.after.strip() else ""
    raw = "\n" + _plain(piece.raw).lstrip("\n")
    whole = raw if raw.endswith("\n") else f"{raw}\n"
    return replace(
        piece,
        raw=whole.replace("\n", newline),
        after=_plain(after).replace("\n", newline),
    )


def _in_time_order(own: list[Piece], new: list[Piece]) -> Iterator[Piece]:
    """Both lists as one by time; neither is put in another order in itself."""
    timed_own, timed_new = _timed(own), _timed(new)
    first_is_new = bool(own) and timed_new[0][0] < timed_own[0][0]
    both = (timed_new, timed_own) if first_is_new else (timed_own, timed_new)
    return (piece for _, piece in merge(*both, key=lambda timed: timed[0]))


def _timed(pieces: list[Piece]) -> list[tuple[datetime, Piece]]:
    latest = _LONG_AGO
    timed = []
    for piece in pieces:
        latest = max(latest, piece.at or latest)
        timed.append((latest, piece))
    return timed


def _joined(head: str, pieces: Iterator[Piece], newline: str) -> str:
    text = head
    for piece in pieces:
        text += ("" if not text or text.endswith("\n") else newline) + piece.raw + piece.after
    return text

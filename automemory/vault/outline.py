"""Where the sections of a Markdown text are: its lines, and the headings outside code and comments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_HEADING = re.compile(r"(#{1,6})[ \t]+(.*)")
_FENCE = r"(`{3,}(?=[^`]*$)|~{3,})"
_OPENER = re.compile(rf" {{0,3}}{_FENCE}|[ \t]*(<!--|%%)")
_NESTED_OPENER = re.compile(rf"[ \t\ufeff>\-*+.)0-9]*(?:{_FENCE}|(<!--))")
_COMMENTS = {"<!--": "-->", "%%": "%%"}


@dataclass(frozen=True, slots=True)
class Part:
    """A section in a body, as line numbers.

    Attributes:
        name: Key of its name.
        heading: Its heading.
        first, last: The text that may be written to, without blank lines around it.
        own_end: The next heading of any level, or the end.
        end: The next heading of level 1 or 2, or the end.
    """

    name: str
    heading: int
    first: int
    last: int
    own_end: int
    end: int


def outline(lines: Sequence[str]) -> Iterator[Part]:
    """The sections: what follows each heading of level 2."""
    parts: list[Part] = []
    own_end = end = len(lines)
    for heading, level, name in reversed(headings(lines)):
        if level == 2:
            first, last = trimmed(lines, heading + 1, own_end)
            parts.append(Part(name, heading, first, last, own_end, end))
        own_end, end = heading, heading if level <= 2 else end
    yield from reversed(parts)


def headings(lines: Sequence[str]) -> list[tuple[int, int, str]]:
    """Line, level and key of each heading outside code and comments."""
    found = []
    for number, inside in enumerate(hidden(lines)):
        match = None if inside else _HEADING.match(lines[number])
        if match:
            found.append((number, len(match[1]), key_of(match[2])))
    return found


def trimmed(lines: Sequence[str], first: int, last: int) -> tuple[int, int]:
    """The range without blank lines at its ends; empty at its beginning if all are blank."""
    end = last
    while end > first and not lines[end - 1].strip():
        end -= 1
    start = first
    while start < end and not lines[start].strip():
        start += 1
    return (start, end) if start < end else (first, first)


def lines_of(text: str) -> list[str]:
    """Lines with their ends; only a newline ends one."""
    return [line for line in re.split(r"(?<=\n)", text) if line]


def key_of(title: str) -> str:
    """What makes two headings the same: their words, however they are emphasised."""
    return title.strip(" \t\r\n#*_:：").casefold()


def hidden(lines: Sequence[str], first: int = 0, *, nested: bool = False) -> bytearray:
    """For each line whether it stands in fenced code or in a comment; what is never closed hides nothing.

    Args:
        lines: The lines, with their ends or without.
        first: The number of lines at the beginning that are hidden anyway.
        nested: Whether regions within lists and quotes count too, and comments only if they are HTML's.
    """
    marks = bytearray(len(lines))
    marks[:first] = b"\1" * first
    for start, end in regions(lines, first, nested=nested):
        marks[start:end] = b"\1" * (end - start)
    return marks


def regions(lines: Sequence[str], first: int = 0, *, nested: bool = False) -> Iterator[tuple[int, int]]:
    """Where fenced code and comments begin and end, the lines with their marks included; see `hidden`."""
    unclosed: set[str] = set()
    number = first
    while number < len(lines):
        closer = _closer(lines, number, unclosed, nested)
        if closer is not None:
            yield number, closer + 1
            number = closer
        number += 1


def _closer(lines: Sequence[str], number: int, unclosed: set[str], nested: bool) -> int | None:
    """The line that closes the region opened in this line; None if it opens none."""
    content = lines[number].rstrip()
    match = (_NESTED_OPENER if nested else _OPENER).match(content)
    mark = (match[1] or match[2]) if match else ""
    if not match or mark in unclosed or (match[2] and _COMMENTS[mark] in content[match.start(2) + 2 :]):
        return None
    for later in range(number + 1, len(lines)):
        if _closes(lines[later], mark, nested):
            return later
    unclosed.add(mark)
    return None


def _closes(line: str, mark: str, nested: bool) -> bool:
    if mark in _COMMENTS:
        return _COMMENTS[mark] in line
    line = line.strip(" \t\r\n>" if nested else None)
    return line.startswith(mark) and not line.strip(mark[0])

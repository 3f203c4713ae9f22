"""Where the sections of a Markdown text are: its lines, and the headings outside code and comments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_HEADING = re.compile(r"(#{1,6})[ \t]+(.*)")
_OPENER = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})|[ \t]*(<!--|%%)")


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
    found = headings(lines)
    for number, (heading, level, name) in enumerate(found):
        if level == 2:
            later = found[number + 1 :]
            own_end = later[0][0] if later else len(lines)
            end = next((h for h, other, _ in later if other <= 2), len(lines))
            first, last = trimmed(lines, heading + 1, own_end)
            yield Part(name, heading, first, last, own_end, end)


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


def hidden(lines: Sequence[str]) -> bytearray:
    """For each line whether it stands in fenced code or in a comment; what is never closed hides nothing."""
    marks = bytearray(len(lines))
    unclosed: set[str] = set()
    number = 0
    while number < len(lines):
        closer = _closer(lines, number, unclosed)
        if closer is not None:
            marks[number : closer + 1] = b"\1" * (closer + 1 - number)
            number = closer
        number += 1
    return marks


def _closer(lines: Sequence[str], number: int, unclosed: set[str]) -> int | None:
    """The line that closes the region opened in this line; None if it opens none."""
    content = lines[number].rstrip()
    match = _OPENER.match(content)
    mark = (match[1] or match[2]) if match else ""
    if not match or mark in unclosed or (match[2] and _end_of(mark) in content[match.end() :]):
        return None
    for later in range(number + 1, len(lines)):
        line = lines[later].strip()
        if _end_of(mark) in line if match[2] else line.startswith(mark) and not line.strip(mark[0]):
            return later
    unclosed.add(mark)
    return None


def _end_of(comment: str) -> str:
    return "-->" if comment == "<!--" else comment

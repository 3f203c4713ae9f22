"""The records of a file of saved conversations: JSON lines, the items of an array, or objects.

Memory grows neither with the file nor with a record. A record that cannot be read is told by its place, and
the next one is read.
"""

from __future__ import annotations

import codecs
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, BinaryIO, Literal

from automemory.redact import redact
from automemory.replay.importers.json_stream import (
    DEEPEST,
    PIECE,
    Broken,
    begin,
    bounded,
    is_begun,
    stream,
)
from automemory.replay.importers.tidy import MAX_TEXT

Layout = Literal["jsonl", "array", "object", "empty", "other"]

_SAMPLE_RECORDS, _SAMPLE_BYTES, _SAMPLE_EVENTS = 50, 4_000_000, 20_000
_LONG_LINE = 4_000_000
_JSON = json.JSONDecoder(strict=False)  # takes raw control characters
_KIND_READ, _KIND_SHOWN = 400, 40
_BLANK = b" \t\r\n\x00" + codecs.BOM_UTF8


@dataclass(frozen=True, slots=True)
class BadRecord:
    """Something in a file that could not be read.

    Attributes:
        position: Where.
        reason: Why.
        rest: Whether nothing behind it is read either.
    """

    position: str
    reason: str
    rest: bool = False


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Records of a file that are read but not wanted: why, and how many."""

    reason: str
    count: int = 1

    @classmethod
    def unknown(cls, kind: str) -> LeftOut:
        """A record of a kind that nobody knows, which may be named by anything."""
        return cls(f"records of an unknown kind ({redact(kind[:_KIND_READ])[:_KIND_SHOWN]})")


@dataclass(frozen=True, slots=True)
class Sample:
    """How a file begins.

    Attributes:
        layout: JSON lines, an array, an object (or several), nothing at all, or no JSON.
        records: Its first records; the last one may be cut short anywhere.
    """

    layout: Layout
    records: tuple[Any, ...] = ()


def text(value: Any) -> str:
    """A JSON value if it is text, else nothing."""
    return value if isinstance(value, str) else ""


def sample(file: BinaryIO) -> Sample:
    """Look at the beginning of a file."""
    layout = _layout(file)
    file.seek(0)
    if layout == "jsonl":
        return Sample(layout, tuple(islice(_readable_lines(file), _SAMPLE_RECORDS)))
    if layout in {"array", "object"}:
        value = begin(file, _SAMPLE_EVENTS, _SAMPLE_BYTES)
        return Sample(layout, tuple(value) if isinstance(value, list) else (value,))
    return Sample(layout)


def records(file: BinaryIO) -> Iterator[tuple[str, Any]]:
    """Every record with its position; a `BadRecord` stands for one that could not be read."""
    layout = _layout(file)
    file.seek(0)
    if layout == "jsonl":
        yield from _lines(file)
    elif layout in {"array", "object"}:
        yield from _values(file, layout)


def _layout(file: BinaryIO) -> Layout:
    file.seek(0)
    first, whole = _line(file, _LONG_LINE)
    if not first:
        return "empty"
    if first.startswith(b"["):
        several = whole and _line(file, 1024)[0].startswith(b"[") and _is_json(first)
        return "jsonl" if several else "array"
    if first.startswith(b"{"):
        if not whole:
            return "jsonl" if _skip_line(file) and _line(file, 1024)[0][:1] in {b"{", b""} else "object"
        if _is_json(first):
            return "jsonl"
        file.seek(0)
        return "object" if is_begun(io.BytesIO(file.read(1 << 16))) else "jsonl"
    later = (_line(file, _SAMPLE_BYTES)[0] for _ in range(_SAMPLE_RECORDS))
    return "jsonl" if any(map(_is_json, later)) else "other"


def _line(file: BinaryIO, limit: int) -> tuple[bytes, bool]:
    """The next line that is not blank, or its first `limit` bytes, and whether that is all of it.

    Empty at the end.
    """
    while line := file.readline(limit):
        if stripped := line.strip(_BLANK):
            return stripped, len(line) < limit or line.endswith(b"\n")
    return b"", True


def _skip_line(file: BinaryIO) -> bool:
    while (piece := file.readline(1 << 20)) and not piece.endswith(b"\n"):
        pass
    return True


def _is_json(line: bytes) -> bool:
    return line.startswith((b"{", b"[")) and not isinstance(_parse(line, ""), BadRecord)


def _lines(file: BinaryIO) -> Iterator[tuple[str, Any]]:
    number = 0
    while line := file.readline(_LONG_LINE):
        number += 1
        position = f"line {number}"
        if len(line) == _LONG_LINE and not line.endswith(b"\n"):
            yield position, _parse_long(_Line(line, file), position)
        elif line.removeprefix(codecs.BOM_UTF8).strip():
            yield position, _parse(line, position)


def _readable_lines(file: BinaryIO) -> Iterator[Any]:
    for _, value in _lines(file):
        if not isinstance(value, BadRecord):
            yield value
            if file.tell() > _SAMPLE_BYTES:
                return


def _parse(line: bytes, position: str) -> Any:
    clear = line.removeprefix(codecs.BOM_UTF8)
    if not clear.strip(_BLANK):
        return BadRecord(position, "nothing but NUL bytes")
    try:
        value = _JSON.decode(clear.decode("utf-8", "replace"))
        may_be_deep = clear.count(b"[") + clear.count(b"{") > DEEPEST
        return _bounded(value) if may_be_deep or len(clear) > MAX_TEXT else value
    except json.JSONDecodeError as error:
        return BadRecord(position, f"not JSON ({error.msg} at character {error.pos + 1})")
    except (ValueError, RecursionError) as error:
        return BadRecord(position, f"not to be read as JSON ({type(error).__name__})")


class _Line:
    """A line that is too long to be held, to be read in pieces."""

    def __init__(self, begin: bytes, file: BinaryIO) -> None:
        self._begin = io.BytesIO(begin)
        self._file = file
        self._ended = False

    def read(self, size: int) -> bytes:
        if found := self._begin.read(size):
            return found
        if self._ended or not size:
            return b""
        found = self._file.readline(size)
        self._ended = not found or found.endswith(b"\n")
        return found


def _parse_long(line: _Line, position: str) -> Any:
    try:
        found = list(stream(line, items=False))
    except Broken as error:
        found = [BadRecord(position, str(error))]
    while line.read(1 << 20):
        pass
    return found[0] if len(found) == 1 else BadRecord(position, "not JSON (nothing, or several values)")


def _values(file: BinaryIO, layout: Layout) -> Iterator[tuple[str, Any]]:
    number, items = 0, layout == "array"
    try:
        for number, value in enumerate(stream(file, items=items), 1):
            yield f"record {number}", value
    except Broken as error:
        position, where = f"record {number + 1}", ""
        if not error.ended:  # the parser tells no place, and crashes on some numbers if given less at a time
            end = file.tell()
            where = f" between bytes {max(0, end - PIECE) + 1} and {end}"
        read = f"{number} records were read, the rest of the file is left out"
        yield position, BadRecord(position, f"{error}{where}; {read}", rest=True)


def _bounded(value: Any, deep: int = 0) -> Any:
    if isinstance(value, str):
        return bounded(value)
    if not isinstance(value, (dict, list)):
        return value
    if deep == DEEPEST:
        return None
    if isinstance(value, dict):
        return {key: _bounded(item, deep + 1) for key, item in value.items()}
    return [_bounded(item, deep + 1) for item in value]

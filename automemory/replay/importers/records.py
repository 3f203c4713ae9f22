"""The records of a file of saved conversations: JSON lines, the items of an array, or objects.

Memory grows with the largest record, not with the file. A record that cannot be read is told by its place,
and the next one is read.
"""

from __future__ import annotations

import codecs
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, BinaryIO, Literal

from pydantic_core import from_json

from automemory.replay.importers.json_stream import MAX_TEXT, Broken, begin, bounded, is_begun, stream

Layout = Literal["jsonl", "array", "object", "empty", "other"]

_SAMPLE_RECORDS, _SAMPLE_BYTES, _SAMPLE_EVENTS = 50, 4_000_000, 3000
_LONGEST_LINE = 32_000_000
_BLANK = b" \t\r\n\x00" + codecs.BOM_UTF8


@dataclass(frozen=True, slots=True)
class BadRecord:
    """Something in a file that could not be read: where, and why."""

    position: str
    reason: str


@dataclass(frozen=True, slots=True)
class Sample:
    """How a file begins.

    Attributes:
        layout: JSON lines, an array, an object (or several), nothing at all, or no JSON.
        records: Its first records; the last one may be cut short anywhere.
    """

    layout: Layout
    records: tuple[Any, ...] = ()


def sample(file: BinaryIO) -> Sample:
    """Look at the beginning of a file."""
    layout = _layout(file)
    file.seek(0)
    if layout == "jsonl":
        return Sample(layout, tuple(islice(_readable_lines(file), _SAMPLE_RECORDS)))
    if layout in {"array", "object"}:
        value = begin(file, _SAMPLE_EVENTS)
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
    first = _line(file, _LONGEST_LINE)
    if not first:
        return "empty"
    if first.startswith(b"["):
        several = _line(file, 1024).startswith(b"[") and _is_json(first)
        return "jsonl" if several else "array"
    if first.startswith(b"{"):
        if _is_json(first):
            return "jsonl"
        file.seek(0)
        return "object" if is_begun(io.BytesIO(file.read(1 << 16))) else "jsonl"
    later = (_line(file, _SAMPLE_BYTES) for _ in range(_SAMPLE_RECORDS))
    return "jsonl" if any(map(_is_json, later)) else "other"


def _line(file: BinaryIO, limit: int) -> bytes:
    """The next line that is not blank, at most `limit` bytes of it; empty at the end."""
    while line := file.readline(limit):
        if stripped := line.strip(_BLANK):
            return stripped
    return b""


def _is_json(line: bytes) -> bool:
    return line.startswith((b"{", b"[")) and not isinstance(_parse(line, ""), BadRecord)


def _lines(file: BinaryIO) -> Iterator[tuple[str, Any]]:
    for number, line in enumerate(file, 1):
        if line.removeprefix(codecs.BOM_UTF8).strip():
            yield f"line {number}", _parse(line, f"line {number}")


def _readable_lines(file: BinaryIO) -> Iterator[Any]:
    for _, value in _lines(file):
        if not isinstance(value, BadRecord):
            yield value
            if file.tell() > _SAMPLE_BYTES:
                return


def _parse(line: bytes, position: str) -> Any:
    text = line.removeprefix(codecs.BOM_UTF8)
    if not text.strip(_BLANK):
        return BadRecord(position, "nothing but NUL bytes")
    try:
        value = from_json(text)
    except ValueError:  # it takes no half of a surrogate pair, no raw control character, no damaged UTF-8
        try:
            value = json.loads(text.decode("utf-8", "replace"), strict=False)
        except json.JSONDecodeError as error:
            return BadRecord(position, f"not JSON ({error.msg} at character {error.pos + 1})")
        except (ValueError, RecursionError) as error:
            return BadRecord(position, f"not to be read as JSON ({type(error).__name__})")
    return _bounded(value) if len(text) > MAX_TEXT else value


def _values(file: BinaryIO, layout: Layout) -> Iterator[tuple[str, Any]]:
    number = 0
    try:
        for number, value in enumerate(stream(file, items=layout == "array"), 1):
            yield f"record {number}", value
    except Broken as error:
        position = f"record {number + 1}"
        yield position, BadRecord(position, str(error))


def _bounded(value: Any) -> Any:
    if isinstance(value, str):
        return bounded(value)
    if isinstance(value, dict):
        return {key: _bounded(item) for key, item in value.items()}
    return [_bounded(item) for item in value] if isinstance(value, list) else value

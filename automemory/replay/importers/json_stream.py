"""The values of a JSON document of any size, one at a time, with ijson.

Its parser takes only clean JSON and stops at the first fault, so what can be mended is mended before it.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from decimal import Decimal
from itertools import islice
from typing import Any, BinaryIO

import ijson  # type: ignore[import-untyped]
from ijson.common import ObjectBuilder  # type: ignore[import-untyped]

from automemory.content import clean

MAX_TEXT = 100_000
"""Characters kept of one string: several times what a note shows, and thousands of them fit in memory."""

_SPACED = b" " * 32 + bytes(range(32, 256))
_BASE64 = re.compile(r"data:|[A-Za-z0-9+/=_-]{256}")
_OPEN_ESCAPE = re.compile(
    r"\\(?:u[0-9a-fA-F]{0,3}|u[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u[0-9a-fA-F]{0,3})?)?)?\Z"
)
_HALVES = re.compile(
    r"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)


# A number that Python takes for none can crash the parser. An escape among its digits makes it no number, and
# changes nothing where the digits are text; it comes after those that an escape before them may need. Half
# the length that Python takes, since a number may be cut in two where the file is read in pieces.
_ENDLESS = re.compile(r"(?<![0-9])([0-9]{4})([0-9])([0-9]{2000,})|([eE][+-]?[0-9]{4})([0-9])([0-9]{8,})")


class Broken(ValueError):
    """The document cannot be read from here on."""


def stream(file: BinaryIO, *, items: bool) -> Iterator[Any]:
    """The items of an array, or else the values that stand one after another in the file.

    Raises:
        Broken: where the parser gives up; what came before has been yielded.
    """
    top, depth = int(items), 0
    builder: ObjectBuilder | None = None
    for event, value in _events(file, several=not items):
        if event in {"end_map", "end_array"}:
            depth -= 1
        if depth >= top:
            builder = builder or ObjectBuilder()
            builder.event(event, value)
        if event in {"start_map", "start_array"}:
            depth += 1
        elif builder is not None and depth == top:
            yield builder.value
            builder = None


def begin(file: BinaryIO, events: int) -> Any:
    """The first value of the file as far as `events` parser events tell; None if there is none."""
    builder = ObjectBuilder()
    try:
        for event, value in islice(_events(file, several=True), events):
            builder.event(event, value)
            if not builder.containers:
                break
    except Broken:
        pass
    return getattr(builder, "value", None)


def is_begun(file: BinaryIO) -> bool:
    """Whether all of the file is JSON, or would be if it went on."""
    try:
        for _ in _events(file, several=True):
            pass
    except Broken as error:
        return "ends" in str(error)
    return True


def bounded(text: str) -> str:
    """A string cut to its head and tail. Encoded data stays whole: the placeholder for it tells its size."""
    if len(text) <= MAX_TEXT or _BASE64.match(text):
        return text
    text = clean(text)
    left_out = len(text) - MAX_TEXT
    if left_out <= 0:
        return text
    head = MAX_TEXT * 2 // 3
    return f"{text[:head]}\n(… {left_out} characters left out …)\n{text[head + left_out :]}"


def _events(file: BinaryIO, *, several: bool) -> Iterator[tuple[str, Any]]:
    try:
        for event, value in ijson.basic_parse(_Tidy(file), multiple_values=several):
            if isinstance(value, str):
                value = bounded(value)
            elif isinstance(value, Decimal):
                value = float(value)
            yield event, value
    except ijson.JSONError as error:
        reason = str(error).removeprefix("b'").split("\n")[0].split("\\n")[0].strip()
        if "EOF" in reason or "ncomplete" in reason:
            raise Broken("the file ends in the middle of it") from error
        raise Broken(f"not JSON ({reason}); the rest of the file is left out") from error


class _Tidy:
    """A file as the parser takes it: UTF-8, no BOM, no raw control character, no half of a surrogate pair."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._rest = ""

    def read(self, size: int = -1) -> bytes:
        while size:
            piece = self._file.read(size)
            text = self._rest + self._decoder.decode(piece.translate(_SPACED), final=not piece)
            end = _whole(text) if piece else len(text)
            self._rest = text[end:]
            if end or not piece:
                return _mended(text[:end])
        return b""


def _whole(text: str) -> int:
    """Where an escape sequence begins that may go on after the text; its length if there is none."""
    for start in range(max(0, len(text) - 11), len(text)):
        before = len(text[:start]) - len(text[:start].rstrip("\\")) if text[start] == "\\" else 1
        if before % 2 == 0 and _OPEN_ESCAPE.match(text, start):
            return start
    return len(text)


def _mended(text: str) -> bytes:
    if "\\u" in text:
        text = _HALVES.sub(lambda escape: "\\ufffd" if escape[1] else escape[0], text)
    return _ENDLESS.sub(_escaped, text).encode()


def _escaped(number: re.Match[str]) -> str:
    before, digit, after = number.groups()[:3] if number[1] else number.groups()[3:]
    return f"{before}\\u{ord(digit):04x}{after}"

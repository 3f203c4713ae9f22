"""JSON as the parser takes it: clean, and without strings that are too long to be held.

What can be mended in a document is mended as its bytes are read.
"""

from __future__ import annotations

import codecs
import re
from collections import deque
from typing import Protocol

MAX_TEXT = 100_000
"""Characters kept of one string: several times what a note shows, and thousands of them fit in memory."""

LONGEST = 8_000_000
"""Characters of one string that are read in one piece."""

_SPACED = b" " * 32 + bytes(range(32, 256))
_DIGITS = bytes(48 if 48 <= byte < 58 else 32 for byte in range(256))
_ONLY_BASE64 = re.compile(r"[A-Za-z0-9+/=_-]+")
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


class Readable(Protocol):
    """What bytes are read from."""

    def read(self, size: int, /) -> bytes: ...


class Tidy:
    """A file as the parser takes it: UTF-8, no BOM, no raw control character, no half of a surrogate pair."""

    def __init__(self, file: Readable) -> None:
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._rest = ""
        self._shortened = _Shortener()

    def read(self, size: int = -1) -> bytes:
        while size:
            piece = self._file.read(size)
            text = self._rest + self._decoder.decode(piece.translate(_SPACED), final=not piece)
            end = _whole(text) if piece else len(text)
            self._rest, text = text[end:], _mended(text[:end])
            if b"0" * 12 in piece.translate(_DIGITS):  # few pieces have to be searched for endless numbers
                text = _ENDLESS.sub(_escaped, text)
            if found := self._shortened(text):
                return found.encode()
            if not piece:
                break
        return b""


class _Shortener:
    """Takes the middle out of strings that are too long to be held, piece by piece of the text."""

    def __init__(self) -> None:
        self._inside = False
        self._length = self._left_out = self._tail_length = 0
        self._tail: deque[str] = deque()

    def __call__(self, text: str) -> str:
        plain = text.replace("\\\\", "") if "\\" in text else text
        quotes = plain.count('"') - plain.count('\\"')
        if self._inside and not quotes:
            self._length += len(text)
            if self._length <= LONGEST:
                return text
            self._put_aside(text)
            return ""
        before = self._resumed()
        if quotes % 2:
            self._inside = not self._inside
        if quotes:
            self._length = len(text) - text.rindex('"') if self._inside else 0
        return before + text

    def _put_aside(self, text: str) -> None:
        """Keep the last pieces, since the string may end with them, and count the others."""
        self._tail.append(text)
        self._tail_length += len(text)
        while self._tail_length - len(self._tail[0]) >= 6 * MAX_TEXT:  # a character may be an escape of six
            dropped = self._tail.popleft()
            self._tail_length -= len(dropped)
            self._left_out += _characters(dropped)

    def _resumed(self) -> str:
        """The end of what was left out, and what stands for the rest of it unless that is encoded data."""
        tail, left_out = "".join(self._tail), self._left_out
        self._tail.clear()
        self._left_out = self._tail_length = 0
        if not left_out or _ONLY_BASE64.fullmatch(tail):
            return tail
        return f"\\n(… {left_out} characters left out …)\\n{tail}"


def _whole(text: str) -> int:
    """Where an escape sequence begins that may go on after the text; its length if there is none."""
    for start in range(max(0, len(text) - 11), len(text)):
        before = len(text[:start]) - len(text[:start].rstrip("\\")) if text[start] == "\\" else 1
        if before % 2 == 0 and _OPEN_ESCAPE.match(text, start):
            return start
    return len(text)


def _mended(text: str) -> str:
    """Text without halves of surrogate pairs."""
    if "\\ud" in text or "\\uD" in text:
        return _HALVES.sub(lambda escape: "\\ufffd" if escape[1] else escape[0], text)
    return text


def _characters(text: str) -> int:
    """How many characters a piece of a string stands for."""
    plain = text.replace("\\\\", " ")
    codes = plain.count("\\u")
    return len(plain) - 5 * codes - (plain.count("\\") - codes)


def _escaped(number: re.Match[str]) -> str:
    before, digit, after = number.groups()[:3] if number[1] else number.groups()[3:]
    return f"{before}\\u{ord(digit):04x}{after}"

"""The values of a JSON document of any size, one at a time, with ijson.

Its parser takes only clean JSON, stops at the first fault and holds whole strings; `tidy` does what can be
done about that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from itertools import islice
from typing import Any

import ijson  # type: ignore[import-untyped]

from automemory.content import clean
from automemory.replay.importers.spill import LIMIT, SpillList, SpillMap
from automemory.replay.importers.tidy import MAX_TEXT, Readable, Tidy

DEEPEST = 200
"""Levels of lists and objects in a value; what lies deeper is null, since nothing recursive could take it."""

_BASE64 = re.compile(r"data:|[A-Za-z0-9+/=_-]{256}")
_LEFT_OUT = re.compile(r"\n\(… (\d{1,12}) characters left out …\)\n")


PIECE = 1 << 16
"""Bytes that the parser is given at a time."""


class Broken(ValueError):
    """The document cannot be read from here on.

    Attributes:
        ended: Whether it only ends too early.
    """

    def __init__(self, message: str, *, ended: bool = False) -> None:
        super().__init__(message)
        self.ended = ended


def stream(file: Readable, *, items: bool) -> Iterator[Any]:
    """The items of an array, or else the values that stand one after another in the file.

    A list or an object directly within a value may be a `SpillList` or a `SpillMap` if it is large.

    Raises:
        Broken: where the parser gives up; what came before has been yielded.
    """
    top, depth = int(items), 0
    builder: _Builder | None = None
    for event, value in _events(file, several=not items):
        if event in {"end_map", "end_array"}:
            depth -= 1
        if depth >= top:
            builder = builder or _Builder()
            builder.event(event, value)
        if event in {"start_map", "start_array"}:
            depth += 1
        elif builder is not None and depth == top:
            yield builder.value
            builder = None


def begin(file: Readable, events: int, characters: int) -> Any:
    """The first value of the file as far as so many parser events or characters tell; else None."""
    builder = _Builder(spills=False)
    try:
        for event, value in islice(_events(file, several=True), events):
            builder.event(event, value)
            characters -= len(value) if isinstance(value, str) else 0
            if not builder.open or characters < 0:
                break
    except Broken:
        pass
    return builder.as_far()


def is_begun(file: Readable) -> bool:
    """Whether all of the file is JSON, or would be if it went on."""
    try:
        for _ in _events(file, several=True):
            pass
    except Broken as error:
        return error.ended
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
    if before := _LEFT_OUT.search(text, head, head + left_out):
        left_out += int(before[1]) - len(before[0])
    return f"{text[:head]}\n(… {left_out} characters left out …)\n{text[head - MAX_TEXT :]}"


def _events(file: Readable, *, several: bool) -> Iterator[tuple[str, Any]]:
    try:
        for event, value in ijson.basic_parse(Tidy(file), buf_size=PIECE, multiple_values=several):
            if isinstance(value, str):
                value = bounded(value) if len(value) > MAX_TEXT else value
            elif isinstance(value, Decimal):
                value = float(value)
            yield event, value
    except ijson.JSONError as error:
        reason = str(error).removeprefix("b'").split("\n")[0].split("\\n")[0].strip()
        if "EOF" in reason or "ncomplete" in reason:
            raise Broken("it ends in the middle", ended=True) from error
        raise Broken(f"not JSON ({reason})") from error


class _Level:
    """A list or an object that is being read."""

    __slots__ = ("found", "key", "size")

    def __init__(self, found: Any) -> None:
        self.found = found
        self.key: Any = None
        self.size = 0

    def add(self, value: Any, size: int) -> None:
        self.size += size
        if isinstance(self.found, list):
            self.found.append(value)
        elif isinstance(self.found, dict):
            self.found[self.key] = value
        elif isinstance(self.found, SpillList):
            self.found.append(value, size)
        else:
            self.found.put(self.key, value)

    def spill(self) -> None:
        """Put what there is so far on disk, and whatever follows."""
        if isinstance(self.found, list):
            rows, self.found = self.found, SpillList[Any](limit=LIMIT // 4)
            for row in rows:
                self.found.append(row, self.size // len(rows))
        elif isinstance(self.found, dict):
            values, self.found = self.found, SpillMap()
            for key, value in values.items():
                self.found.put(key, value)


class _Builder:
    """A value, built of what the parser tells."""

    def __init__(self, *, spills: bool = True) -> None:
        self._spills = spills
        self.open: list[_Level] = []
        self.value: Any = None
        self._below = 0

    def event(self, event: str, value: Any) -> None:
        start, end = event in {"start_map", "start_array"}, event in {"end_map", "end_array"}
        if self._below or (start and len(self.open) == DEEPEST):
            self._below += start - end
            if not self._below:
                self._add(None, 0)
        elif event == "map_key":
            self.open[-1].key = value
        elif event == "start_map":
            self.open.append(_Level({}))
        elif event == "start_array":
            self.open.append(_Level([]))
        elif end:
            level = self.open.pop()
            self._add(level.found, level.size if isinstance(level.found, (dict, list)) else 0)
        else:
            self._add(value, len(value) if isinstance(value, str) else 0)

    def as_far(self) -> Any:
        """The value with all that is still open in it closed."""
        self._below = 0
        while self.open:
            level = self.open[-1]
            if isinstance(level.found, dict) and level.key is not None:
                level.found.setdefault(level.key, None)
            self.event("end_map", None)
        return self.value

    def _add(self, value: Any, size: int) -> None:
        if not self.open:
            self.value = value
            return
        level = self.open[-1]
        level.add(value, size + 100)
        if level.size > LIMIT and len(self.open) == 2 and self._spills:
            level.spill()

"""Lists and mappings that may be larger than memory: what is too much waits in a temporary file.

The files have no name, are private to the process and gone with it.
"""

from __future__ import annotations

import pickle
import weakref
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any, TypeVar, overload

T = TypeVar("T")

LIMIT = 16_000_000
"""Characters, about, that are held in memory."""

_COST = 200  # characters that an item takes beside its text


class SpillList(Sequence[T]):
    """A list that grows and shrinks at its end."""

    def __init__(self, file: IO[bytes] | None = None, limit: int = LIMIT) -> None:
        """Begin an empty list.

        Args:
            file: Where to put what is too much; one of its own if not given.
            limit: How many characters to hold.
        """
        self._file = file
        self._limit = limit
        self._recent: list[T] = []
        self._size = self._stored = 0
        self._starts: list[int] = []
        self._places: list[int] = []

    def append(self, item: T, size: int = 0) -> None:
        """Add an item of about `size` characters."""
        self._recent.append(item)
        self._size += size + _COST
        if self._size > self._limit:
            self.store()

    def truncate(self, length: int) -> None:
        """Forget all but the first `length` items."""
        if length < self._stored:
            batch = bisect_right(self._starts, length) - 1
            found = self._load(self._places[batch])
            self._stored = self._starts[batch]
            self._recent = found[: length - self._stored]
            self._size = self._limit * len(self._recent) // len(found)  # about
            del self._starts[batch:], self._places[batch:]
        del self._recent[length - self._stored :]

    @property
    def spilled(self) -> bool:
        """Whether not all of it is in memory."""
        return bool(self._places)

    def __len__(self) -> int:
        return self._stored + len(self._recent)

    def __iter__(self) -> Iterator[T]:
        for place in self._places:
            yield from self._load(place)
        yield from self._recent

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            return list(self)[index]
        at = range(len(self))[index]
        if at >= self._stored:
            return self._recent[at - self._stored]
        batch = bisect_right(self._starts, at) - 1
        return self._load(self._places[batch])[at - self._starts[batch]]

    def store(self) -> None:
        """Hold nothing in memory."""
        if not self._recent:
            return
        self._file = self._file or _temporary(self)
        self._starts.append(self._stored)
        self._places.append(_dump(self._file, self._recent))
        self._stored += len(self._recent)
        self._recent, self._size = [], 0

    def _load(self, place: int) -> list[T]:
        assert self._file is not None
        self._file.seek(place)
        found: list[T] = pickle.load(self._file)
        return found


class SpillMap(Mapping[str, Any]):
    """A mapping whose values are in a file, its keys in memory."""

    def __init__(self) -> None:
        self._file = _temporary(self)
        self._places: dict[str, int] = {}

    def put(self, key: str, value: Any) -> None:
        self._places[key] = _dump(self._file, value)

    def __getitem__(self, key: str) -> Any:
        self._file.seek(self._places[key])
        return pickle.load(self._file)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def _temporary(owner: object) -> IO[bytes]:
    import tempfile  # most lists need none

    file = tempfile.TemporaryFile()  # noqa: SIM115 - closed with its owner
    weakref.finalize(owner, file.close)
    return file


def _dump(file: IO[bytes], value: Any) -> int:
    place = file.seek(0, 2)
    pickle.dump(value, file, pickle.HIGHEST_PROTOCOL)
    return place

"""What file operations are made of: single steps on places of this system, and what their errors mean."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
from collections.abc import Iterator
from pathlib import Path

from automemory.errors import Busy, Conflict, PathEscape, Unwritable

_LINKLESS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}
_WAIT_ERRORS = {errno.EACCES, errno.EPERM} if os.name == "nt" else set()


@contextlib.contextmanager
def changing(path: str) -> Iterator[None]:
    """As `unwritable`, for a file that was there just now: if it is gone, that is a `Conflict`."""
    try:
        with unwritable(path):
            yield
    except FileNotFoundError as error:
        raise Conflict(f"{path!r} was removed by somebody else meanwhile") from error


@contextlib.contextmanager
def unwritable(what: str) -> Iterator[None]:
    """Name what could not be written; a missing file stays what it is."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        advice = "free some space" if error.errno == errno.ENOSPC else "check its permissions and the disk"
        raise Unwritable(f"{what!r} cannot be read or written ({reason}): {advice}") from error


@contextlib.contextmanager
def opened(place: Path, flags: int, mode: int = 0o777) -> Iterator[int]:
    """A descriptor of a file or folder, its bytes as they are on any system.

    Args:
        place: Where it is; to be written, where it really is, with no symbolic link on the way.
        flags, mode: See `os.open`.

    Raises:
        PathEscape: if a link was put on the way to what is to be written; what it leads to is left alone.
    """
    descriptor = os.open(place, flags | getattr(os, "O_BINARY", 0), mode)
    try:
        if flags & (os.O_RDWR | os.O_WRONLY) and not _is_at(descriptor, place):
            if flags & os.O_EXCL:
                remove(place)
            raise PathEscape(f"{str(place)!r} is reached by a symbolic link now: remove the link")
        yield descriptor
    finally:
        os.close(descriptor)


def _is_at(descriptor: int, place: Path) -> bool:
    """Whether what was opened lies at a place itself, and not behind a link that was put there just now."""
    at = os.fspath(place)
    return os.path.samestat(os.fstat(descriptor), place.stat()) and os.path.realpath(at) == at


def write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        written = os.write(descriptor, view)
        if not written:
            raise OSError(errno.EIO, "nothing could be written")
        view = view[written:]


def put_in_place(prepared: Path, place: Path) -> None:
    try:
        prepared.replace(place)
    except OSError as error:  # another program has the file open: Windows only, and soon over
        if error.errno not in _WAIT_ERRORS:
            raise
        raise Busy(f"{place.name!r} is open in another program: close it there") from error


def add_name(place: Path, to: Path) -> bool:
    """Give a file a second name; False where the file system has no such thing."""
    try:
        os.link(place, to)
    except OSError as error:
        if error.errno not in _LINKLESS:
            raise
        return False
    return True


def numbered(folder: Path, name: str) -> Iterator[Path]:
    """`a.txt`, `a-2.txt`, `a-3.txt`, … in a folder."""
    place = folder / name
    yield place
    for number in itertools.count(2):
        yield place.with_name(f"{place.stem}-{number}{place.suffix}")


def exists(place: Path) -> bool:
    return os.path.lexists(place)


def is_plain_file(place: Path) -> bool:
    return place.is_file() and not place.is_symlink()


def same_file(one: Path, other: Path) -> bool:
    """Whether two names are one file's: a move was interrupted between making one and removing the other."""
    return is_plain_file(one) and is_plain_file(other) and one.samefile(other)


def remove(place: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        place.unlink()

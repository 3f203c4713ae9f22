"""What file operations are made of: single steps in folders that are held, and what their errors mean."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import stat
from collections.abc import Iterator
from pathlib import PurePath

from automemory.errors import Busy, Conflict, Unwritable
from automemory.vault.held import Folder

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


def write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        written = os.write(descriptor, view)
        if not written:
            raise OSError(errno.EIO, "nothing could be written")
        view = view[written:]


def put_in_place(folder: Folder, prepared: str, name: str) -> None:
    try:
        rename(folder, prepared, folder, name, over=True)
    except OSError as error:  # another program has the file open: Windows only, and soon over
        if error.errno not in _WAIT_ERRORS:
            raise
        raise Busy(f"{name!r} is open in another program: close it there") from error


def rename(folder: Folder, name: str, to: Folder, new: str, *, over: bool = False) -> None:
    move = os.replace if over else os.rename
    move(folder.at(name), to.at(new), src_dir_fd=folder.descriptor, dst_dir_fd=to.descriptor)


def add_name(folder: Folder, name: str, to: Folder, new: str) -> bool:
    """Give a file a second name; False where the file system has no such thing."""
    try:
        os.link(
            folder.at(name),
            to.at(new),
            src_dir_fd=folder.descriptor,
            dst_dir_fd=to.descriptor,
            follow_symlinks=folder.descriptor is None,
        )
    except OSError as error:
        if error.errno not in _LINKLESS:
            raise
        return False
    return True


def remove(folder: Folder, name: str) -> None:
    """Remove a file, or the symbolic link that it is; nothing happens if it is not there."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(folder.at(name), dir_fd=folder.descriptor)


def numbered(name: str) -> Iterator[str]:
    """`a.txt`, `a-2.txt`, `a-3.txt`, …."""
    path = PurePath(name)
    yield name
    for number in itertools.count(2):
        yield f"{path.stem}-{number}{path.suffix}"


def same_file(folder: Folder, name: str, to: Folder, new: str) -> bool:
    """Whether two names are one file's: a move was interrupted between making one and removing the other."""
    one, other = folder.status(name), to.status(new)
    return bool(one and other and stat.S_ISREG(one.st_mode) and os.path.samestat(one, other))

"""Folders of the vault that are held open, so that no link put on the way leads elsewhere.

A path is checked first and used a moment later: by then one of its folders may have been replaced by a
symbolic link. Here a folder is opened name by name, none of which may be a link; what is then done in it is
done in this folder, whatever its name leads to by now. Where a system has no such operations (Windows), the
way is checked once more just before.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from automemory.errors import PathEscape

HOLDS = os.open in os.supports_dir_fd
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_FILE = getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder that is held.

    Attributes:
        place: Where it is.
        descriptor: What holds it; None where nothing can.
    """

    place: Path
    descriptor: int | None

    def at(self, name: str) -> str:
        """A name in it, as the functions of `os` take it together with the descriptor."""
        return name if self.descriptor is not None else str(self.place / name)

    def status(self, name: str) -> os.stat_result | None:
        """What lies at a name, a link itself and not what it leads to; None if there is nothing."""
        try:
            return os.stat(self.at(name), dir_fd=self.descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def is_file(self, name: str) -> bool:
        found = self.status(name)
        return found is not None and stat.S_ISREG(found.st_mode)

    def is_folder(self, name: str) -> bool:
        found = self.status(name)
        return found is not None and stat.S_ISDIR(found.st_mode)

    def holds(self, name: str, descriptor: int) -> bool:
        """Whether a file that was opened is still what lies at a name."""
        found = self.status(name)
        return found is not None and os.path.samestat(found, os.fstat(descriptor))

    @contextlib.contextmanager
    def opened(self, name: str, flags: int, mode: int = 0o777) -> Iterator[int]:
        """A descriptor of a file, its bytes as they are on any system; see `os.open`.

        Raises:
            PathEscape: if it is a symbolic link.
        """
        try:
            descriptor = os.open(self.at(name), flags | _FILE, mode, dir_fd=self.descriptor)
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise _swapped(self.place / name) from error
            raise
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    @contextlib.contextmanager
    def listing(self) -> Iterator[int | Path]:
        """What `os.scandir` takes for it."""
        if self.descriptor is None:
            yield self.place
            return
        listing = os.open(".", os.O_RDONLY, dir_fd=self.descriptor)  # what holds a folder cannot read it
        try:
            yield listing
        finally:
            os.close(listing)


@contextlib.contextmanager
def held(root: Path, place: Path) -> Iterator[Folder]:
    """Hold a folder.

    Args:
        root: The vault's own real place.
        place: The folder's, in the vault or `root` itself, links followed (`files.resolve`).

    Raises:
        PathEscape: if a link was put on the way.
        OSError: if there is no such folder.
    """
    descriptor = _descend(root, place)
    try:
        yield Folder(place, descriptor)
    finally:
        if descriptor is not None:
            os.close(descriptor)


def read_file(root: Path, place: str | Path, size: int = -1) -> bytes:
    """A file's first `size` bytes, or all.

    Args:
        root: The vault's own real place.
        place: The file's, links followed.
        size: How much of it.

    Raises:
        PathEscape: if a link was put on the way.
        OSError: if it cannot be read, or is no file: a pipe would never end.
    """
    with contextlib.suppress(OSError):  # the short way, where the system says what was opened
        descriptor = os.open(place, os.O_RDONLY | _FILE)
        try:
            if os.readlink(f"/proc/self/fd/{descriptor}") == f"{place}":
                return _read_file(descriptor, size)
        finally:
            os.close(descriptor)
    folder, _, name = f"{place}".rpartition(os.sep)
    with held(root, Path(folder)) as parent, parent.opened(name, os.O_RDONLY) as descriptor:
        return _read_file(descriptor, size)


def _read_file(descriptor: int, size: int) -> bytes:
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        raise OSError(errno.EINVAL, "it is no file")
    return read_all(descriptor, size)


def read_all(descriptor: int, size: int = -1) -> bytes:
    with open(descriptor, "rb", buffering=0, closefd=False) as file:
        return file.read(size) or b""


def _descend(root: Path, place: Path) -> int | None:
    """What holds a folder; None where nothing can."""
    names = _way(root, place)
    if not HOLDS:
        if place.resolve() != place:
            raise _swapped(place)
        return None
    descriptor = os.open(root, _FOLDER)
    try:
        for name in names:
            above, descriptor = descriptor, os.open(name, _FOLDER, dir_fd=descriptor)
            os.close(above)
    except OSError as error:
        is_link = error.errno == errno.ELOOP or _is_link(descriptor, name)
        os.close(descriptor)
        if is_link:
            raise _swapped(place) from error
        raise
    return descriptor


def _way(root: Path, place: Path) -> list[str]:
    """The names on the way from the vault to a folder in it."""
    before = f"{root}".rstrip(os.sep) + os.sep
    if not f"{place}{os.sep}".startswith(before):
        raise PathEscape(f"{str(place)!r} is no folder in the vault: remove the symbolic link to it")
    return [name for name in str(place)[len(before) :].split(os.sep) if name]


def _is_link(above: int, name: str) -> bool:
    with contextlib.suppress(OSError):
        return stat.S_ISLNK(os.stat(name, dir_fd=above, follow_symlinks=False).st_mode)
    return False


def _swapped(place: Path) -> PathEscape:
    return PathEscape(f"{str(place)!r} is reached by a symbolic link now: remove the link")

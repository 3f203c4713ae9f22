"""The file operations a commit is made of: confined to the vault, synced, and safe to repeat.

Paths are vault-relative with `/`. Nothing here knows what a note is.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from automemory.errors import Conflict, PathEscape, Unwritable
from automemory.vault import files
from automemory.vault.file_operations import (
    add_name,
    changing,
    numbered,
    put_in_place,
    remove,
    rename,
    same_file,
    unwritable,
    write_all,
)
from automemory.vault.files import Signature
from automemory.vault.held import Folder, held, read_all, read_file

TAIL = 2048
PROBE = ".automemory-probe.tmp"
T = TypeVar("T")


class Disk:
    """A vault's folder.

    Args:
        root: The vault; made if it does not exist.
        sync: Whether to wait until the system has written what was written (`durability="fsync"`).
    """

    def __init__(self, root: Path, *, sync: bool = True) -> None:
        self.root = root
        self.sync = sync
        self._unsynced: dict[Path, None] = {}
        with unwritable(str(root)):
            if root.exists() and not root.is_dir():
                raise Unwritable(f"{str(root)!r} is a file: give a folder for the vault")
            made = [p for p in (root.absolute(), *root.absolute().parents) if not p.exists()]
            try:
                root.mkdir(mode=0o700, parents=True, exist_ok=True)
            except FileNotFoundError as error:  # a system's own folder, where nothing can be made
                raise Unwritable(f"{str(root)!r} cannot be made: choose another folder") from error
            self._real = root.resolve()
            above = [self._real.parent, *(p.parent for p in made)]
            self._unsynced = dict.fromkeys([self._real, *(p for p in above if os.access(p, os.R_OK))])
            self._mode = stat.S_IMODE(self._real.stat().st_mode)

    def resolve(self, path: str) -> Path:
        """The real place of a vault path, links followed.

        Raises:
            PathEscape: if it lies outside the vault.
        """
        return files.resolve(self._real, path)

    def holds(self, path: str) -> bool:
        """Whether a path lies in the vault, links followed."""
        try:
            self.resolve(path)
        except PathEscape:
            return False
        return True

    def is_gone(self, path: str) -> bool:
        """Whether nothing lies at a path, other than that it cannot be reached now."""
        try:
            return self.signature(path) is None
        except Unwritable:
            return False

    def is_writable(self, path: str) -> bool:
        """Whether a file in the vault can be read and written."""
        with contextlib.suppress(PathEscape):
            return os.access(self.resolve(path), os.R_OK | os.W_OK)
        return False

    def is_plain(self, path: str) -> bool:
        """Whether nothing on the way to a path in the vault, nor what lies there, is a symbolic link."""
        return self.holds(path) and self.resolve(path) == self._real / files.checked(path)

    def signature(self, path: str) -> Signature | None:
        """The signature of what lies at a path, whose content stays unread; None if there is nothing."""
        try:
            return Signature.of(os.stat(f"{self._real}/{files.checked(path)}"))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            if error.errno == errno.ELOOP:
                return None
            raise Unwritable(f"{path!r} cannot be read ({error.strerror}): check its permissions") from error

    def read(self, path: str, size: int = -1) -> bytes | None:
        """A file's bytes, at most `size`; None if there is no such file, but a folder, say, or a pipe."""
        try:
            with unwritable(path):
                place = self.resolve(path)
                return read_file(self._real, place, size) if stat.S_ISREG(os.stat(place).st_mode) else None
        except FileNotFoundError:
            return None

    def tail(self, path: str) -> bytes:
        """The last bytes of a file, at most `TAIL`."""
        with unwritable(path), self._opened(path, os.O_RDONLY) as descriptor:
            os.lseek(descriptor, max(0, os.fstat(descriptor).st_size - TAIL), os.SEEK_SET)
            return read_all(descriptor)

    def names(self, path: str) -> list[str]:
        """The names of the folders in a folder, hidden ones left out; empty if there is no such folder.

        Args:
            path: The folder; the vault's own if empty.
        """
        return self._list(path, files.folder_names) or []

    def entries(self, path: str) -> set[str]:
        """All names in a folder, as `names`."""
        return self._list(path, files.entry_names) or set()

    def make_folder(self, path: str) -> None:
        """Make a folder and those above it, with the vault's own mode."""
        place = self.resolve(path)
        for made in reversed([p for p in (place, *place.parents) if self._real in p.parents]):
            with unwritable(path), held(self._real, made.parent) as above:
                try:
                    os.mkdir(above.at(made.name), self._mode & 0o777 | 0o700, dir_fd=above.descriptor)
                except OSError:
                    if not above.is_folder(made.name):
                        raise
            self._unsynced[made.parent] = None  # if it was there, who made it may have died before this

    def create(self, path: str, data: bytes, temporary: str) -> bool:
        """Write a new file whole and link it into place; False if the name is taken by now.

        Args:
            path: The file's path; its folder exists.
            data: Its content.
            temporary: Name, in the same folder, of the file it is prepared in.

        Raises:
            Conflict: if the folder was removed by now.
        """
        with changing(path), self._parent(path) as (folder, name):
            self._write_whole(folder, temporary, data, self._mode & 0o666 | 0o600)
            try:
                if not add_name(folder, temporary, folder, name):
                    if folder.status(name):
                        return False
                    rename(folder, temporary, folder, name)
            except FileExistsError:
                return False
            finally:
                remove(folder, temporary)
        self._unsynced[folder.place] = None
        return True

    def replace(self, path: str, data: bytes, temporary: str, expected: bytes) -> None:
        """Put new content in a file's place, keeping its mode; a link to it stays a link.

        Raises:
            Conflict: if the file no longer holds `expected`.
        """
        with changing(path), self._parent(path) as (folder, name):
            if not (found := folder.status(name)):
                raise FileNotFoundError(path)
            self._write_whole(folder, temporary, data, stat.S_IMODE(found.st_mode))
            try:
                with folder.opened(name, os.O_RDONLY) as descriptor:
                    if read_all(descriptor) != expected:
                        raise Conflict(f"{path!r} was saved by somebody else meanwhile")
                put_in_place(folder, temporary, name)
            finally:
                remove(folder, temporary)
        self._unsynced[folder.place] = None

    def append(self, path: str, size: int, data: bytes) -> None:
        """Add bytes at the end of a file that is `size` bytes long; whatever fails, no part of them stays.

        Raises:
            Conflict: if the file has another length by now, or another one was put in its place.
        """
        meanwhile = Conflict(f"{path!r} was saved by somebody else meanwhile")
        with (
            changing(path),
            self._parent(path) as (folder, name),
            folder.opened(name, os.O_RDWR | os.O_APPEND) as descriptor,
        ):
            if os.fstat(descriptor).st_size != size:
                raise meanwhile
            try:
                write_all(descriptor, data)
                self._fsync(descriptor)
            except OSError:
                with contextlib.suppress(OSError):
                    os.ftruncate(descriptor, size)
                raise
            if not folder.holds(name, descriptor):
                raise meanwhile

    def cut(self, path: str, size: int) -> None:
        """Cut a file back to `size` bytes."""
        with changing(path), self._opened(path, os.O_RDWR) as descriptor:
            os.ftruncate(descriptor, size)
            self._fsync(descriptor)

    def settle(self, path: str) -> None:
        """Make a file that is as it should be durable: who wrote it may have died before its sync."""
        if self.sync:
            with changing(path), self._opened(path, os.O_RDWR) as descriptor:
                os.fsync(descriptor)
            self._unsynced[self.resolve(path).parent] = None

    def probe(self, path: str) -> None:
        """Raise `Unwritable` if a small file cannot be written in a folder."""
        with unwritable(path), held(self._real, self.resolve(path)) as folder:
            with contextlib.suppress(FileNotFoundError):  # who opened the vault took it for left behind
                self._write_whole(folder, PROBE, b"\0" * 4096, 0o600)
            remove(folder, PROBE)

    def remove_temporary(self, path: str, temporary: str) -> None:
        """Remove what an interrupted `create` or `replace` of `path` left."""
        with contextlib.suppress(FileNotFoundError), unwritable(path), self._parent(path) as (folder, _):
            remove(folder, temporary)

    def remove(self, path: str) -> None:
        """Remove a file, or the symbolic link that it is; nothing happens if it is not there."""
        place = self._entry(path)
        gone = contextlib.suppress(FileNotFoundError)
        with gone, unwritable(path), held(self._real, place.parent) as folder:
            remove(folder, place.name)
        self._unsynced[place.parent] = None

    def remove_folder(self, path: str) -> None:
        """Remove a folder in which there is nothing; any other stays."""
        place = self._entry(path)
        with unwritable(path):
            try:
                with held(self._real, place.parent) as above:
                    os.rmdir(above.at(place.name), dir_fd=above.descriptor)
            except (FileNotFoundError, NotADirectoryError):
                return
            except OSError as error:
                if error.errno not in {errno.ENOTEMPTY, errno.EEXIST}:
                    raise
                return
        self._unsynced[place.parent] = None

    def move(self, name: str, source: str, target: str) -> None:
        """Move what is called `name` from one folder to another, there under the first free name.

        Nothing that is there is replaced, and at no time is it in neither folder.
        """
        name, above, below = files.native(name), self.resolve(source), self.resolve(target)
        with unwritable(f"{source}/{name}"), held(self._real, above) as folder, held(self._real, below) as to:
            free = next(n for n in numbered(name) if not to.status(n) or same_file(folder, name, to, n))
            if folder.is_file(name):
                if not to.status(free) and not add_name(folder, name, to, free):
                    rename(folder, name, to, free)
                self._unsynced[to.place] = None
                self.sync_folders()
                remove(folder, name)
            elif folder.status(name):
                rename(folder, name, to, free)
        self._unsynced |= {to.place: None, folder.place: None}

    def sync_folders(self) -> None:
        """Make the names written since the last call durable."""
        folders, self._unsynced = list(self._unsynced), {}
        if not self.sync or os.name == "nt":
            return
        for folder in folders:
            gone = contextlib.suppress(FileNotFoundError)  # one that is gone needs none
            with gone, unwritable(str(folder)):
                descriptor = os.open(folder, os.O_RDONLY)
                try:
                    os.fsync(descriptor)
                finally:
                    os.close(descriptor)

    @contextlib.contextmanager
    def _parent(self, path: str) -> Iterator[tuple[Folder, str]]:
        """The folder in which a file really lies, held, and the file's name in it."""
        place = self.resolve(path)
        with held(self._real, place.parent) as folder:
            yield folder, place.name

    @contextlib.contextmanager
    def _opened(self, path: str, flags: int) -> Iterator[int]:
        with self._parent(path) as (folder, name), folder.opened(name, flags) as descriptor:
            yield descriptor

    def _list(self, path: str, names: Callable[[int | Path], T]) -> T | None:
        with unwritable(path):
            try:
                place = self.resolve(path) if path else self._real
                with held(self._real, place) as folder, folder.listing() as listing:
                    return names(listing)
            except (FileNotFoundError, NotADirectoryError):
                return None

    def _entry(self, path: str) -> Path:
        """Where a name itself lies, not what it links to."""
        folder, _, name = path.rpartition("/")
        files.checked(path)
        return (self.resolve(folder) if folder else self._real) / files.native(name)

    def _write_whole(self, folder: Folder, name: str, data: bytes, mode: int) -> None:
        remove(folder, name)
        with folder.opened(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode) as descriptor:
            try:
                if os.name != "nt":
                    os.fchmod(descriptor, mode)
                write_all(descriptor, data)
                self._fsync(descriptor)
            except OSError:
                remove(folder, name)
                raise

    def _fsync(self, descriptor: int) -> None:
        if self.sync:
            os.fsync(descriptor)

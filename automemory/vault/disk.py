"""The file operations a commit is made of: confined to the vault, synced, and safe to repeat.

Paths are vault-relative with `/`. Nothing here knows what a note is.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from pathlib import Path

from automemory.errors import Conflict, PathEscape, Unwritable
from automemory.vault import files
from automemory.vault.file_operations import (
    add_name,
    changing,
    exists,
    is_plain_file,
    numbered,
    opened,
    put_in_place,
    remove,
    same_file,
    unwritable,
    write_all,
)
from automemory.vault.files import Signature

TAIL = 2048
PROBE = ".automemory-probe.tmp"


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
        if root.exists() and not root.is_dir():
            raise Unwritable(f"{str(root)!r} is a file: give a folder for the vault")
        with unwritable(str(root)):
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

    def read(self, path: str) -> bytes | None:
        """A file's bytes; None if there is no such file, but a folder, say, or a pipe."""
        try:
            with unwritable(path):
                place = self.resolve(path)
                return place.read_bytes() if stat.S_ISREG(place.stat().st_mode) else None
        except FileNotFoundError:
            return None

    def tail(self, path: str) -> bytes:
        """The last bytes of a file, at most `TAIL`."""
        with unwritable(path), self.resolve(path).open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL))
            return file.read()

    def names(self, path: str) -> list[str]:
        """The names of the folders in a folder, hidden ones left out; empty if there is no such folder."""
        with unwritable(path):
            return files.folder_names(self.resolve(path))

    def entries(self, path: str) -> set[str]:
        """All names in a folder; empty if there is no such folder."""
        with unwritable(path):
            return files.entry_names(self.resolve(path))

    def make_folder(self, path: str) -> None:
        """Make a folder and those above it, with the vault's own mode."""
        place = self.resolve(path)
        for folder in reversed([p for p in (place, *place.parents) if self._real in p.parents]):
            with unwritable(path):
                try:
                    folder.mkdir(mode=self._mode & 0o777 | 0o700)
                except OSError:
                    if not folder.is_dir():
                        raise
            self._unsynced[folder.parent] = None  # if it was there, who made it may have died before this

    def create(self, path: str, data: bytes, temporary: str) -> bool:
        """Write a new file whole and link it into place; False if the name is taken by now.

        Args:
            path: The file's path; its folder exists.
            data: Its content.
            temporary: Name, in the same folder, of the file it is prepared in.
        """
        place = self.resolve(path)
        prepared = place.with_name(temporary)
        self._write_whole(prepared, data, self._mode & 0o666 | 0o600)
        with changing(path):
            try:
                if not add_name(prepared, place):
                    if place.exists():
                        return False
                    prepared.rename(place)
            except FileExistsError:
                return False
            finally:
                remove(prepared)
        self._unsynced[place.parent] = None
        return True

    def replace(self, path: str, data: bytes, temporary: str, expected: bytes) -> None:
        """Put new content in a file's place, keeping its mode; a link to it stays a link.

        Raises:
            Conflict: if the file no longer holds `expected`.
        """
        place = self.resolve(path)
        prepared = place.with_name(temporary)
        with changing(path):
            self._write_whole(prepared, data, stat.S_IMODE(place.stat().st_mode))
            try:
                if place.read_bytes() != expected:
                    raise Conflict(f"{path!r} was saved by somebody else meanwhile")
                put_in_place(prepared, place)
            finally:
                remove(prepared)
        self._unsynced[place.parent] = None

    def append(self, path: str, size: int, data: bytes) -> None:
        """Add bytes at the end of a file that is `size` bytes long; whatever fails, no part of them stays.

        Raises:
            Conflict: if the file has another length by now.
        """
        with changing(path), opened(self.resolve(path), os.O_RDWR | os.O_APPEND) as descriptor:
            if os.fstat(descriptor).st_size != size:
                raise Conflict(f"{path!r} was saved by somebody else meanwhile")
            try:
                write_all(descriptor, data)
                self._fsync(descriptor)
            except OSError:
                with contextlib.suppress(OSError):
                    os.ftruncate(descriptor, size)
                raise

    def cut(self, path: str, size: int) -> None:
        """Cut a file back to `size` bytes."""
        with changing(path), opened(self.resolve(path), os.O_RDWR) as descriptor:
            os.ftruncate(descriptor, size)
            self._fsync(descriptor)

    def settle(self, path: str) -> None:
        """Make a file that is as it should be durable: who wrote it may have died before its sync."""
        if self.sync:
            place = self.resolve(path)
            with changing(path), opened(place, os.O_RDWR) as descriptor:
                os.fsync(descriptor)
            self._unsynced[place.parent] = None

    def probe(self, folder: str) -> None:
        """Raise `Unwritable` if a small file cannot be written in a folder."""
        place = self.resolve(folder) / PROBE
        with contextlib.suppress(FileNotFoundError):  # who opened the vault just now took it for left behind
            self._write_whole(place, b"\0" * 4096, 0o600)
        remove(place)

    def remove_temporary(self, path: str, temporary: str) -> None:
        """Remove what an interrupted `create` or `replace` of `path` left."""
        with unwritable(path):
            remove(self.resolve(path).with_name(temporary))

    def remove(self, path: str) -> None:
        """Remove a file, or the symbolic link that it is; nothing happens if it is not there."""
        place = self._entry(path)
        with unwritable(path):
            remove(place)
        self._unsynced[place.parent] = None

    def remove_folder(self, path: str) -> None:
        """Remove a folder in which there is nothing; any other stays."""
        place = self._entry(path)
        with unwritable(path):
            try:
                place.rmdir()
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
        place, folder = self.resolve(source) / files.native(name), self.resolve(target)
        with unwritable(f"{source}/{name}"):
            free = next(p for p in numbered(folder, place.name) if not exists(p) or same_file(p, place))
            if is_plain_file(place):
                if not exists(free) and not add_name(place, free):
                    place.rename(free)
                self._unsynced[folder] = None
                self.sync_folders()
                remove(place)
            elif exists(place):
                place.rename(free)
        self._unsynced |= {folder: None, place.parent: None}

    def sync_folders(self) -> None:
        """Make the names written since the last call durable."""
        folders, self._unsynced = list(self._unsynced), {}
        if not self.sync or os.name == "nt":
            return
        for folder in folders:
            gone = contextlib.suppress(FileNotFoundError)  # one that is gone needs none
            with gone, unwritable(str(folder)), opened(folder, os.O_RDONLY) as descriptor:
                os.fsync(descriptor)

    def _entry(self, path: str) -> Path:
        """Where a name itself lies, not what it links to."""
        folder, _, name = path.rpartition("/")
        files.checked(path)
        return (self.resolve(folder) if folder else self._real) / files.native(name)

    def _write_whole(self, place: Path, data: bytes, mode: int) -> None:
        with unwritable(place.name):
            remove(place)
            with opened(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode) as descriptor:
                try:
                    if os.name != "nt":
                        os.fchmod(descriptor, mode)
                    write_all(descriptor, data)
                    self._fsync(descriptor)
                except OSError:
                    remove(place)
                    raise

    def _fsync(self, descriptor: int) -> None:
        if self.sync:
            os.fsync(descriptor)

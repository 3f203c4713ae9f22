"""Which files a vault has and where they lie; reads names, and contents for those who ask.

Listing a folder says of each entry whether it is a symbolic link. What is none lies inside the vault with its
folder, so only links cost the walk along all components that `files.resolve` is.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from automemory.errors import PathEscape, VaultError
from automemory.vault.files import (
    checked,
    entry_names,
    folder_names,
    is_folder,
    native,
    portable,
    resolve,
    spelled,
)
from automemory.vault.held import read_file
from automemory.vault.layout import DAILY, DAY, day_index_path

# How Syncthing, Dropbox, Nextcloud and Obsidian name the copy of a file that was changed in two places.
_COPY = re.compile(
    r"\.sync-conflict-\d|\((?:[^()]*conflicted copy[^()]*|conflict(?: \d+)?)\)(?:\.md)?$", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Found:
    """A file of the vault.

    Attributes:
        path: Its vault path.
        place: Where to open it; empty if that is not known to lie in the vault (`Places.place`).
    """

    path: str
    place: str


class Places:
    """The files of a vault.

    Args:
        vault: Its folder.

    Raises:
        VaultError: if there is no such folder.
    """

    def __init__(self, vault: str | os.PathLike[str]) -> None:
        self.root = Path(vault).expanduser()
        if not os.path.isdir(self.root):  # noqa: PTH112 - takes any name
            raise VaultError(f"{str(self.root)!r} is no folder: give the vault's folder")
        self.real = self.root.resolve()

    def days(self, since: str | None = None, until: str | None = None) -> list[str]:
        """The names of the day folders from one day to another, in order.

        Raises:
            VaultError: if `daily/` cannot be read.
        """
        try:
            names = folder_names(self.real / DAILY)
        except OSError as error:
            raise VaultError(f"'{DAILY}' cannot be read ({error.strerror}): check its permissions") from error
        return [
            name
            for name in names
            if DAY.fullmatch(name) and (since is None or name >= since) and (until is None or name <= until)
        ]

    def folders(self, path: str) -> list[str]:
        """The names of the folders in a folder, sorted; empty if there is none that can be read."""
        return [name for name, _, is_dir in _entries(self.real / native(path)) if is_dir]

    def notes(self, day: str, *, missing: bool = False) -> Iterator[Found]:
        """The summary notes of a day by name; with `missing` also where one ought to be and is not."""
        inside = self._is_plain(f"{DAILY}/{day}")
        for name, is_link, is_dir in _entries(self.real / DAILY / native(day)):
            if not is_dir:
                continue
            stem = self._stem(day, name)
            if stem or missing:
                path = f"{DAILY}/{day}/{name}/{stem or name}.md"
                yield Found(path, "" if is_link or not inside else f"{self.real}/{native(path)}")

    def markdown(self, since: str | None = None, until: str | None = None) -> Iterator[Found]:
        """All Markdown files under `daily/`; between two days, the indexes and folders of these days."""
        if since is None and until is None:
            yield from self.below(DAILY)
            return
        for day in self.days(since, until):
            if self.is_file(day_index_path(day)):
                yield Found(day_index_path(day), "")
            yield from self.below(f"{DAILY}/{day}")

    def below(self, folder: str) -> Iterator[Found]:
        """The Markdown files in a folder and in those below it, as far as `is_note` takes them for notes."""
        return (found for found in self._walk(folder, self._is_plain(folder)) if is_note(found.path))

    def others(self) -> Iterator[str]:
        """The vault paths of all files that are not under `daily/`."""
        for name, is_link, is_dir in _entries(self.real):
            if not is_dir:
                yield name
            elif name != DAILY and not is_link:
                yield from (found.path for found in self._walk(name, True))

    def is_file(self, path: str) -> bool:
        """Whether a vault path, which somebody else may have written, is that of a file in the vault."""
        try:
            place = f"{self.real}/{checked(path)}"
            if not stat.S_ISREG(os.stat(place).st_mode):  # noqa: PTH116 - takes any name
                return False
            return bool(self.place(path))
        except (OSError, ValueError, PathEscape):
            return False

    def is_gone(self, path: str) -> bool:
        """Whether nothing lies at a vault path, other than that it cannot be reached now."""
        try:
            os.lstat(f"{self.real}/{checked(path)}")
        except (FileNotFoundError, NotADirectoryError, PathEscape):
            return True
        except OSError:
            return False
        return False

    def place(self, path: str) -> Path:
        """Where a vault path lies, links followed.

        Raises:
            PathEscape: if that is outside the vault.
        """
        return resolve(self.real, path)

    def status(self, found: Found) -> os.stat_result | None:
        """A file's size and times, its content unread; None if it is none of the vault."""
        try:
            return os.stat(self._openable(found))  # noqa: PTH116 - as fast as it can be
        except (OSError, PathEscape):
            return None

    def read(self, found: Found, size: int = -1) -> bytes:
        """A file's first `size` bytes, or all.

        Raises:
            OSError: if it cannot be read.
            PathEscape: if it lies outside the vault.
        """
        return read_file(self.real, self._openable(found), size)

    def text(self, path: str) -> str:
        """A file's text, its bytes as `surrogateescape` keeps them; raises as `read`."""
        return self.read(Found(path, "")).decode("utf-8", "surrogateescape")

    def _openable(self, found: Found) -> str | Path:
        if found.place and stat.S_ISREG(os.lstat(found.place).st_mode):
            return found.place
        place = self.place(found.path)
        if not stat.S_ISREG(place.stat().st_mode):  # a pipe would never end
            raise OSError(errno.EINVAL, "it is no file")
        return place

    def _stem(self, day: str, name: str) -> str:
        """The stem of a folder's note as it is on disk, whatever Unicode form it is written in."""
        folder = f"{self.real}/{DAILY}/{day}/{name}"
        try:
            os.lstat(native(f"{folder}/{name}.md"))
        except FileNotFoundError:
            pass
        except OSError:
            return ""
        else:
            return name
        try:
            own = spelled(f"{name}.md", entry_names(native(folder)))
        except OSError:
            return ""
        return own.removesuffix(".md") if own else ""

    def _is_plain(self, path: str) -> bool:
        """Whether nothing on the way to a folder is a symbolic link."""
        place = f"{self.real}/{native(path)}"
        return os.path.realpath(place) == place

    def _walk(self, folder: str, inside: bool) -> Iterator[Found]:
        """All files under a folder. What a link to a folder leads to is found where it really is."""
        for name, is_link, is_dir in _entries(self.real / native(folder)):
            path = f"{folder}/{name}"
            if not is_dir:
                yield Found(path, f"{self.real}/{native(path)}" if inside and not is_link else "")
            elif not is_link:
                yield from self._walk(path, inside)


def is_note(path: str) -> bool:
    """Whether a vault path is that of Markdown that counts: neither hidden nor a synchronizer's copy."""
    parts = path.split("/")
    return path.endswith(".md") and not any(part.startswith(".") or _COPY.search(part) for part in parts)


def _entries(place: Path) -> list[tuple[str, bool, bool]]:
    """What is in a folder by name, hidden names left out: name, whether it is a link, whether a folder."""
    try:
        with os.scandir(place) as found:
            shown = [entry for entry in found if not entry.name.startswith(".")]
            return sorted((portable(e.name), e.is_symlink(), is_folder(e)) for e in shown)
    except OSError:
        return []

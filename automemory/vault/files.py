"""Reading folders and files of a vault: names as the format spells them, and places that stay inside.

Nothing here writes. A *place* is a path of this system, a *vault path* is relative and has `/`.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from unicodedata import normalize

from automemory.errors import ConfigError, PathEscape
from automemory.vault.layout import safe_path

_UTF8 = sys.getfilesystemencoding().lower() == "utf-8"


@dataclass(frozen=True, slots=True)
class Signature:
    """What tells one state of a file from another without reading it: size in bytes, mtime in ns, inode."""

    size: int
    mtime: int
    inode: int

    @classmethod
    def of(cls, found: os.stat_result) -> Signature:
        return cls(found.st_size, found.st_mtime_ns, found.st_ino)


def whole_path(place: str | os.PathLike[str]) -> Path:
    """A place as it is meant now, by a path that means the same wherever the process works later.

    Raises:
        ConfigError: if no place has that name, if it begins with a home that is not known, or if the working
            folder was removed.
    """
    if not (given := os.fspath(place)) or "\0" in given:
        raise ConfigError(f"{given!r} is no place: give a path")
    try:
        return Path(place).expanduser().absolute()
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(f"{given!r} cannot be followed ({reason}): give its whole path") from error


@lru_cache(maxsize=4096)
def checked(path: str) -> str:
    """A vault path as this process has to spell it.

    Raises:
        PathEscape: if it could lead out of the vault's visible part (`layout.safe_path`).
    """
    return native(str(safe_path(path)))


def resolve(root: Path, path: str) -> Path:
    """The real place of a vault path, links followed.

    Args:
        root: The vault's own real place.
        path: A vault path.

    Raises:
        PathEscape: if it lies outside the vault.
    """
    place = _below(root, spelling := checked(path))
    if os.name == "posix" and _is_without_links(str(root), spelling):
        return place
    try:
        real = place.resolve()
    except (OSError, RuntimeError) as error:
        raise PathEscape(f"{path!r} cannot be resolved ({error}): check its symbolic links") from error
    if real != root and root not in real.parents:
        raise PathEscape(f"{path!r} leads out of the vault to {str(real)!r}: remove the symbolic link")
    return real


@lru_cache(maxsize=1024)
def _below(root: Path, spelling: str) -> Path:
    """A place by its name; to make a `Path` takes longer than to look where it leads."""
    return root / spelling


def _is_without_links(root: str, path: str) -> bool:
    """Whether no name on a way down from a real place is a link: it needs no resolving, which is slow."""
    place = root
    for name in path.split("/"):
        place = f"{place}/{name}"
        try:
            if stat.S_ISLNK(os.lstat(place).st_mode):
                return False
        except FileNotFoundError:  # then nothing lies below it either
            return True
        except OSError:
            return False
    return True


def folder_names(place: int | str | os.PathLike[str]) -> list[str]:
    """The folders in a folder by name, sorted, hidden ones left out; empty if there is no such folder."""
    try:
        with os.scandir(place) as found:
            return sorted(portable(e.name) for e in found if not e.name.startswith(".") and is_folder(e))
    except (FileNotFoundError, NotADirectoryError):
        return []


def entry_names(place: int | str | os.PathLike[str]) -> set[str]:
    """All names in a folder; empty if there is no such folder."""
    try:
        with os.scandir(place) as found:
            return {portable(entry.name) for entry in found}
    except (FileNotFoundError, NotADirectoryError):
        return set()


def spelled(name: str, names: Iterable[str]) -> str | None:
    """A name as it stands among others, in whatever Unicode form; None if it is not there."""
    wanted = normalize("NFC", name)
    return next((found for found in names if normalize("NFC", found) == wanted), None)


def native(path: str) -> str:
    """A path as this process has to spell it: names on disk are UTF-8, whatever the locale says."""
    return path if _UTF8 else os.fsdecode(path.encode("utf-8", "surrogateescape"))


def portable(name: str) -> str:
    """The name that `native` spelled."""
    return name if _UTF8 else os.fsencode(name).decode("utf-8", "replace")


def is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether a name is a folder's; one whose links go round in a circle is not."""
    try:
        return entry.is_dir()
    except OSError:
        return False

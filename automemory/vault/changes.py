"""What changed in a vault since a watermark.

A watermark holds for every event's note a digest of its content and one of what the file system says of the
file: size, times, inode. Where the latter is the same, the note is not read again; where it differs, the
content decides. So a restored time hides nothing (on POSIX no program can set `ctime`), and a restored
backup, a checkout or a copy of the vault, where all times and inodes differ, changes nothing.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
import re
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass

from automemory.errors import PathEscape, VaultError
from automemory.vault.files import checked
from automemory.vault.layout import turns_path
from automemory.vault.places import Found, Places

_VERSION = 1
_FRESH = 2_000_000_000  # ns; a file that was written just now may be written again within the same tick
_UNSURE = ""
_HEAD = 4096
_SAYS_TURNS = re.compile(rb"^turns:", re.MULTILINE)  # in frontmatter, where the turns stand apart

_Seen = dict[str, list[str]]  # vault path: digest of the content, digest of the file's status


@dataclass(frozen=True, slots=True)
class Changes:
    """What changed between two watermarks.

    Attributes:
        new, changed, removed: Vault paths of events' notes, by path. A folder that was renamed is a removed
            and a new one.
        watermark: The state these lead up to: text to keep and hand back, about 30 characters an event.
    """

    new: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    watermark: str


def changes(places: Places, since: str | None = None, clock: Callable[[], int] = time.time_ns) -> Changes:
    """What changed since a watermark; without one, every event is new.

    Args:
        places: The vault.
        since: The watermark.
        clock: The time in ns since 1970.

    Raises:
        VaultError: if `since` is no watermark.
    """
    before = _decode(since) if since is not None else {}
    after: _Seen = {}
    for day in places.days():
        for found in places.notes(day):
            if seen := _look(places, found, before.get(found.path), clock()):
                after[found.path] = seen
    after |= {path: before[path] for path in before.keys() - after.keys() if not _gone(places, path)}
    return Changes(
        tuple(sorted(after.keys() - before.keys())),
        tuple(sorted(path for path in after.keys() & before.keys() if after[path][0] != before[path][0])),
        tuple(sorted(before.keys() - after.keys())),
        _encode(after),
    )


def _look(places: Places, found: Found, before: list[str] | None, at: int) -> list[str] | None:
    """An event's digests, its turns included; what was known of it where it cannot be read."""
    status = places.status(found)
    if status is None:
        return None
    turns = Found(turns_path(found.path), turns_path(found.place) if found.place else "")
    beside = places.status(turns)
    known = [s for s in (status, beside) if s]
    now = _digest(" ".join(f"{s.st_size} {s.st_mtime_ns} {s.st_ctime_ns} {s.st_ino}" for s in known).encode())
    if before and before[1] == now:
        return before
    fresh = max(max(s.st_mtime_ns, s.st_ctime_ns) for s in known) > at - _FRESH
    try:
        data = places.read(found)
        if beside and _SAYS_TURNS.search(data[:_HEAD]):
            data += places.read(turns)
    except (OSError, PathEscape):
        return before
    return [_digest(data), _UNSURE if fresh else now]


def _gone(places: Places, path: str) -> bool:
    """Whether there is no such file, other than that it cannot be reached now."""
    try:
        os.lstat(f"{places.real}/{checked(path)}")
    except (FileNotFoundError, NotADirectoryError, PathEscape):
        return True
    except OSError:
        return False
    return True  # it is there, and no event's note any more


def _digest(data: bytes) -> str:
    return base64.b85encode(hashlib.blake2b(data, digest_size=8).digest()).decode("ascii")


def _encode(seen: _Seen) -> str:
    data = json.dumps([_VERSION, seen], separators=(",", ":"), sort_keys=True).encode(
        "utf-8", "surrogatepass"
    )
    return base64.urlsafe_b64encode(zlib.compress(data, 6)).decode("ascii")


def _decode(watermark: str) -> _Seen:
    try:
        version, seen = json.loads(zlib.decompress(base64.urlsafe_b64decode(watermark)))
        if version == _VERSION:
            return dict(seen)
    except (ValueError, TypeError, binascii.Error, zlib.error):
        pass
    raise VaultError(f"{watermark[:40]!r} is no watermark of this version: ask for all changes, without one")

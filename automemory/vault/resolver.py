"""What a link leads to: full paths, paths beside the note, and short forms if only one file can be meant."""

from __future__ import annotations

import posixpath
from functools import cached_property
from pathlib import PurePosixPath
from unicodedata import normalize

from automemory.vault.layout import DAILY, day_index_path, event_path, fold
from automemory.vault.places import Places


class Resolver:
    """Resolves links against the files that a vault has now; make a new one for every question.

    A target is, in this order: a path from the vault's root; a path from the note's own folder; or the end of
    the path of exactly one file, whatever its case and Unicode form, among the notes of events, the day
    indexes and all files outside `daily/`. `.md` may be left out. What several files could be is none.
    """

    def __init__(self, places: Places) -> None:
        self._places = places
        self._known: dict[tuple[str, str], str | None] = {}

    def resolve(self, target: str, source: str) -> str | None:
        """The vault path of the file that a link in the note `source` leads to; None if there is none."""
        key = (target, posixpath.dirname(source))
        if key not in self._known:
            self._known[key] = self._find(*key)
        return self._known[key]

    def _find(self, target: str, folder: str) -> str | None:
        for path in (target, posixpath.normpath(posixpath.join(folder, target))):
            for spelling in (path, f"{path}.md"):
                if self._places.is_file(spelling):
                    return str(PurePosixPath(spelling))
        ending = f"/{fold(target).removesuffix('.md')}"
        same = [path for path in self._by_stem.get(_stem(target), ()) if _bare(path).endswith(ending)]
        exists = [path for path in same if self._places.is_file(path)]
        return exists[0] if len(exists) == 1 else None

    @cached_property
    def _by_stem(self) -> dict[str, list[str]]:
        paths = list(self._places.others())
        for day in self._places.days():
            paths.append(day_index_path(day))
            paths += [event_path(day, name) for name in self._places.folders(f"{DAILY}/{day}")]
        found: dict[str, list[str]] = {}
        for path in paths:
            found.setdefault(_stem(path), []).append(path)
        return found


def same_path(one: str, other: str) -> bool:
    return normalize("NFC", one) == normalize("NFC", other)


def _bare(path: str) -> str:
    return f"/{fold(path)}".removesuffix(".md")


def _stem(path: str) -> str:
    return fold(path.rpartition("/")[2]).removesuffix(".md")

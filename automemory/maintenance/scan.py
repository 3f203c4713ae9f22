"""What lies in a vault, listed; reads only."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from automemory.errors import PathEscape, VaultError
from automemory.vault.files import portable, whole_path
from automemory.vault.held import read_file
from automemory.vault.layout import fold
from automemory.vault.links import find_links
from automemory.vault.places import Places, is_note
from automemory.vault.resolver import Resolver, same_path
from automemory.vault.store import HOME, home


@dataclass(frozen=True, slots=True)
class Item:
    """A name in a vault.

    Attributes:
        path: Its vault path.
        root: The vault's own real place.
        place: Where it lies.
        is_link: Whether it is a symbolic link.
        is_folder: Whether it is a folder; a link to one is none.
        is_file: Whether it is a regular file; a link to one is none.
    """

    path: str
    root: Path
    place: Path
    is_link: bool
    is_folder: bool
    is_file: bool

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


def own_folder(vault: str | os.PathLike[str]) -> Path:
    """The vault's folder, if it is one that commands may change.

    Raises:
        VaultError: if there is no such folder, or if what the library keeps in it lies elsewhere.
    """
    root = whole_path(vault)
    if not root.is_dir():
        raise VaultError(f"{str(root)!r} is no folder: give the vault's folder")
    home(root)
    return root


def walk(root: Path, below: str = "") -> Iterator[Item]:
    """All names in a vault's folder and below it, by path, its own `.automemory` left out."""
    root = root.resolve()
    try:
        with os.scandir(root / below) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        path = f"{below}/{portable(entry.name)}".lstrip("/")
        if path == HOME:
            continue
        folder = entry.is_dir(follow_symlinks=False)
        file = entry.is_file(follow_symlinks=False)
        yield Item(path, root, Path(entry.path), entry.is_symlink(), folder, file)
        if folder and not entry.name.startswith("."):
            yield from walk(root, path)


def notes(root: Path, *, copies: bool = False) -> Iterator[Item]:
    """The Markdown files of a vault; with `copies` also what a synchronizer left of two versions of one."""
    for item in walk(root):
        wanted = item.name.endswith(".md") if copies else is_note(item.path)
        if wanted and item.is_file:
            yield item


def text_of(item: Item) -> str:
    """A file's text; empty if it is none that can be read."""
    try:
        return read_file(item.root, item.place).decode("utf-8", "surrogateescape") if item.is_file else ""
    except (OSError, PathEscape):
        return ""


def links_to(root: Path, moved: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Where notes link to files that are moved, or (empty) gone.

    Args:
        root: The vault.
        moved: New vault paths by old ones.

    Returns:
        By note: where its links are to lead by how they are written.
    """
    resolver = Resolver(Places(root))
    stems = {fold(path.rpartition("/")[2].removesuffix(".md")) for path in moved}
    found: dict[str, dict[str, str]] = {}
    for item in notes(root):
        text = text_of(item)
        folded = fold(text)
        if "[" not in text or not ("%" in text or any(stem in folded for stem in stems)):
            continue
        for target in {link.target for link in find_links(text)}:
            leads_to = resolver.resolve(target, item.path)
            new = next((n for old, n in moved.items() if leads_to and same_path(old, leads_to)), None)
            if new is not None and not _goes_along(item.path, target, leads_to or "", new):
                found.setdefault(item.path, {})[target] = new
    return found


def _goes_along(source: str, target: str, old: str, new: str) -> bool:
    """Whether a link to a file beside the note still leads there: both are moved and keep their names."""
    beside = source.rpartition("/")[0] == old.rpartition("/")[0]
    same_name = old.rpartition("/")[2] == new.rpartition("/")[2]
    return beside and same_name and "/" not in target

"""Checks of the files and folders of a vault: names, links that lead out, rights, what was left behind."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from unicodedata import normalize

from automemory.maintenance.finding import Finding, fixable, notice
from automemory.maintenance.scan import Item, walk
from automemory.vault.event import EventHead
from automemory.vault.heads import read_opening
from automemory.vault.layout import DAILY, TURNS_FILE, fold, turns_path
from automemory.vault.places import Found, Places, is_note
from automemory.vault.revise import is_temporary
from automemory.vault.store import HOME


def check_names(root: Path) -> Iterator[Finding]:
    """What is wrong with the names, rights and links in a vault."""
    real = root.resolve()
    for item in walk(root):
        yield from _check_item(item, real)
    places = Places(root)
    for day in places.days():
        yield from _check_day(places, day)
    if os.name != "nt":
        yield from _check_modes(root, places)


def excess(place: Path, root: Path) -> int:
    """The rights that a file or folder gives and the vault's own folder does not."""
    given = place.lstat()
    if stat.S_ISLNK(given.st_mode):
        return 0
    return stat.S_IMODE(given.st_mode) & 0o777 & ~root.stat().st_mode


def own_places(root: Path, places: Places) -> Iterator[tuple[str, Path]]:
    """The files and folders that the library makes: their paths, and where they lie."""
    for path in (DAILY, HOME):
        yield path, root / path
    for place in sorted((root / HOME).iterdir()) if (root / HOME).is_dir() else ():
        yield f"{HOME}/{place.name}", place
    for day in places.days():
        own = [found for found in places.notes(day) if found.place and _records(places, found)]
        for path in (f"{DAILY}/{day}", f"{DAILY}/{day}.md") if own else ():
            yield path, root / path
        for found in own:
            folder = Path(found.place).parent
            yield found.path.rpartition("/")[0], folder
            yield found.path, Path(found.place)
            yield turns_path(found.path), folder / TURNS_FILE


def _records(places: Places, found: Found) -> bool:
    """Whether a note is one of the library's, which a thread's turns are recorded in."""
    head = read_opening(places, found).head
    return isinstance(head, EventHead) and bool(head.thread)


def _check_item(item: Item, real: Path) -> Iterator[Finding]:
    if item.is_link:
        leads_to = Path(os.path.realpath(item.place))
        if leads_to != real and real not in leads_to.parents:
            what = f"the symbolic link leads out of the vault, to {str(leads_to)!r}"
            yield Finding(item.path, "link-outside", what, "remove it: nothing behind it is read or written")
    elif is_temporary(item.name):
        yield fixable(item.path, "left-temporary", "a writer was interrupted and left it", "is removed")
    elif _is_copy(item):
        what = "a synchronizer left it of two versions of a note"
        remedy = "compare it with the note, move over what is missing there, delete it"
        yield Finding(item.path, "conflict-copy", what, remedy)


def _is_copy(item: Item) -> bool:
    hidden = any(part.startswith(".") for part in item.path.split("/"))
    return item.name.endswith(".md") and not item.is_folder and not hidden and not is_note(item.path)


def _check_day(places: Places, day: str) -> Iterator[Finding]:
    names = places.folders(f"{DAILY}/{day}")
    noted = {found.path.split("/")[2] for found in places.notes(day)}
    seen: dict[str, str] = {}
    for name in names:
        path = f"{DAILY}/{day}/{name}"
        other = seen.setdefault(fold(name), name)
        if other != name:
            what = (
                f"the name differs from {other!r} in case or Unicode form only: not every system holds both"
            )
            yield Finding(
                path, "same-name", what, "join the two: `automemory edit merge`, or rename one by hand"
            )
        if normalize("NFC", name) != name:
            what = "the name is written in a decomposed Unicode form"
            yield notice(
                path, "unicode-form", what, "is read all the same; rename it to NFC if other tools fail"
            )
        if name not in noted:
            what = "the folder has no summary note of its name, so it is no event"
            yield notice(path, "no-note", what, "if it is to be one, give the note the folder's name")


def _check_modes(root: Path, places: Places) -> Iterator[Finding]:
    for path, place in own_places(root, places):
        try:
            more, own = excess(place, root), place.lstat().st_mode
        except OSError:
            continue
        if more:
            what = f"others have rights on it ({more:03o}) that the vault's folder does not give"
            yield fixable(path, "mode", what, "they are taken away")
        if not own & stat.S_IWUSR:
            yield Finding(path, "read-only", "its owner cannot write it", "give yourself the right to write")

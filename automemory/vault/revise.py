"""Applies revisions to what is there now, in an order in which no crash and no power cut loses a turn."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable

from automemory.errors import Busy, Conflict
from automemory.vault import blocks, note
from automemory.vault.disk import Disk
from automemory.vault.relink import relinked
from automemory.vault.revisions import (
    AddText,
    DropTurns,
    Mend,
    MoveMaterials,
    Relink,
    RemoveEvent,
    Revision,
    TakeTurns,
)

_TRIES = 8
_VIEW = re.compile(r"\ufeff?Part of \[\[[^\[\]\n]+\]\]\.\r?\n")


class Reviser:
    """Applies revisions to a vault's files."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk

    def apply(self, edit: Revision, temporary: str) -> None:
        """Apply one revision; on a note that is gone, it does nothing."""
        match edit:
            case TakeTurns(path, source, turns):
                given = self._text(source)
                if given is not None:
                    self._rewrite(path, lambda text: blocks.with_turns(text, given, turns), temporary)
            case DropTurns():
                self._drop(edit, temporary)
            case AddText(path, text):
                self._rewrite(path, lambda old: with_text(old, text), temporary)
            case MoveMaterials():
                self._move_materials(edit)
            case RemoveEvent():
                self._remove_event(edit)
            case Relink(path, links):
                self._rewrite(path, lambda text: relinked(text, links, path), temporary)
            case Mend(path):
                self._rewrite(path, lambda text: text + note.mend(text), temporary)

    def _drop(self, edit: DropTurns, temporary: str) -> None:
        kept = self._text(edit.kept_in) if edit.kept_in else None
        if edit.kept_in and kept is None:
            return
        self._disk.sync_folders()  # what is kept is durable before it goes from here
        self._rewrite(edit.path, lambda text: blocks.without_turns(text, edit.turns, kept), temporary)

    def _move_materials(self, edit: MoveMaterials) -> None:
        """Move materials one by one; the target's note has to be there, or they stay."""
        if self._disk.signature(edit.to) is None:
            return
        source = edit.path.rpartition("/")[0]
        for name in sorted(self._disk.entries(source)):
            if f"{source}/{name}" not in (edit.path, edit.record) and not is_temporary(name):
                self._disk.move(name, source, edit.to.rpartition("/")[0])

    def _remove_event(self, edit: RemoveEvent) -> None:
        text = self._text(edit.record or edit.path)
        if text is not None and edit.kept_in:
            kept = self._text(edit.kept_in)
            if kept is None or not blocks.holds_all(kept, text):
                return
        self._disk.sync_folders()
        folder = edit.path.rpartition("/")[0]
        for name in sorted(self._disk.entries(folder)):
            if is_temporary(name):
                self._disk.remove_temporary(edit.path, name)
            elif not edit.kept_in and is_view(self._text(f"{folder}/{name}") or "" if _is_note(name) else ""):
                self._disk.remove(f"{folder}/{name}")
        for path in filter(None, (edit.record, edit.path)):  # the note last: it says what there is to remove
            self._disk.remove(path)
        self._disk.remove_folder(folder)

    def _rewrite(self, path: str, change: Callable[[str], str], temporary: str) -> None:
        for _ in range(_TRIES):
            data = self._disk.read(path)
            if data is None:
                return
            changed = change(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
            with contextlib.suppress(Conflict):
                if changed == data:
                    self._disk.settle(path)
                else:
                    self._disk.replace(path, changed, temporary, data)
                return
        raise Busy(f"{path!r} keeps changing: close it in other programs")

    def _text(self, path: str) -> str | None:
        data = self._disk.read(path)
        return None if data is None else data.decode("utf-8", "surrogateescape")


def with_text(text: str, added: str) -> str:
    """A note with a text before its turns; as it is if the text stands there."""
    at = note.turns_start(text)
    newline = note.newline_of(text.encode("utf-8", "surrogateescape"))
    wanted = added.strip("\r\n").replace("\r\n", "\n").replace("\n", newline)
    if not wanted or wanted in blocks.cut(text)[0]:
        return text
    gap = note.gap(text[:at].encode("utf-8", "surrogateescape")).replace("\n", newline)
    return f"{text[:at]}{gap}{wanted}{newline * 2}{text[at:]}"


def is_view(text: str) -> bool:
    """Whether a file beside a note is one that the library derives from the event's turns."""
    return bool(_VIEW.match(text))


def _is_note(name: str) -> bool:
    return name.endswith(".md") and not name.startswith(".")


def is_temporary(name: str) -> bool:
    """Whether a file is what a writer has in hand, or left when it was interrupted."""
    return name.startswith(".automemory-") and name.endswith(".tmp")

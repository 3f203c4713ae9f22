"""Edits of the vault, each applied to what is there now: what a crash left, or a person saved meanwhile."""

from __future__ import annotations

import contextlib
from dataclasses import replace

from automemory.errors import Busy, Conflict, Unwritable, VaultError
from automemory.vault import frontmatter, index, note
from automemory.vault.disk import Disk
from automemory.vault.edits import Append, Create, CreateFile, Edit, Merge, Plan, SetFields, UpdateIndex
from automemory.vault.revise import Reviser
from automemory.vault.sections import SECTIONS, Section, merge_note

_TRIES = 8


class Applier:
    """Applies edits to a vault's files; to apply one again changes nothing.

    Attributes:
        problems: What could not be done to a note as it is now, by its path.
    """

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._reviser = Reviser(disk)
        self.problems: dict[str, str] = {}

    def apply(self, edit: Edit, plan: Plan, temporary: str) -> bool:
        """Apply one edit; False if the turn's note is gone, so that the turn has to be filed anew."""
        match edit:
            case Create():
                return self._create(edit, plan, temporary)
            case CreateFile():
                self._create_file(edit, temporary)
            case Merge():
                self._merge(edit, temporary)
            case Append():
                return self._append(edit, plan)
            case SetFields():
                self._set_fields(edit, temporary)
            case UpdateIndex():
                self._update_index(edit, temporary)
            case _:
                self._reviser.apply(edit, temporary)
        return True

    def _create(self, edit: Create, plan: Plan, temporary: str) -> bool:
        for _ in range(_TRIES):
            with contextlib.suppress(Conflict):  # the folder was removed again
                self._disk.make_folder(edit.path.rpartition("/")[0])
                made = self._disk.create(edit.path, edit.text.encode("utf-8", "replace"), temporary)
                return made or self._append_anew(edit.path, edit.block, plan)
        raise self._keeps_changing(edit.path)

    def _create_file(self, edit: CreateFile, temporary: str) -> None:
        """Make a file; one that somebody else made there meanwhile stays as it is."""
        for _ in range(_TRIES):
            with contextlib.suppress(Conflict):  # the folder was removed again
                self._disk.make_folder(edit.path.rpartition("/")[0])
                if not self._disk.create(edit.path, edit.text.encode("utf-8", "replace"), temporary):
                    self._disk.settle(edit.path)
                return
        raise self._keeps_changing(edit.path)

    def _merge(self, edit: Merge, temporary: str) -> None:
        known = tuple(Section(*section) for section in edit.sections) or SECTIONS
        for _ in range(_TRIES):
            data = self._disk.read(edit.path)
            if data is None:
                return
            text = data.decode("utf-8", "surrogateescape")
            merged = merge_note(text, edit.new, scope_changed=edit.scope_changed, sections=known)
            with contextlib.suppress(Conflict):
                self._replace(edit.path, merged, temporary, data)
                return
        raise self._keeps_changing(edit.path)

    def _append(self, edit: Append, plan: Plan) -> bool:
        found = self._disk.signature(edit.path)
        if found is None:
            return False
        data = edit.data
        if found.size > edit.size:
            rest = (self._disk.read(edit.path) or b"")[edit.size :]
            if rest != data and data.startswith(rest):
                self._disk.cut(edit.path, edit.size)
                found = replace(found, size=edit.size)
        try:
            if found.size != edit.size:
                raise Conflict(edit.path)
            self._disk.append(edit.path, edit.size, data)
        except Conflict:
            return self._append_anew(edit.path, edit.block, plan)
        return True

    def _append_anew(self, path: str, block: str, plan: Plan) -> bool:
        """Append, unless the block is there, to a note that is not as planned on; False if it is gone."""
        for _ in range(_TRIES):
            data = self._disk.read(path)
            if data is None:
                return False
            text = data.decode("utf-8", "replace")
            wanted = (plan.filing.turn, plan.filing.part) if plan.filing else ("", 0)
            anew = Append(path, len(data), note.lead(data), block, note.newline_of(data))
            with contextlib.suppress(Conflict):
                if any((b.id, b.part) == wanted for b in note.blocks(text)):
                    self._disk.settle(path)
                else:
                    self._disk.append(path, anew.size, anew.data)
                return True
        raise self._keeps_changing(path)

    def _set_fields(self, edit: SetFields, temporary: str) -> None:
        for _ in range(_TRIES):
            data = self._disk.read(edit.path)
            if data is None:
                return
            text = data.decode("utf-8", "surrogateescape")
            try:
                changed = frontmatter.edit(text, edit.fields)
            except VaultError as error:
                self.problems[edit.path] = str(error)
                return
            with contextlib.suppress(Conflict):
                self._replace(edit.path, changed, temporary, data)
                self.problems.pop(edit.path, None)
                return
        raise self._keeps_changing(edit.path)

    def _update_index(self, edit: UpdateIndex, temporary: str) -> None:
        for _ in range(_TRIES):
            data = self._disk.read(edit.path)
            day = edit.path.rpartition("/")[2].removesuffix(".md")
            text = index.new_index(day) if data is None else data.decode("utf-8", "surrogateescape")
            text = updated_index(text, edit)
            with contextlib.suppress(Conflict):
                if data is not None:
                    self._replace(edit.path, text, temporary, data)
                    return
                self._disk.make_folder("daily")
                if self._disk.create(edit.path, text.encode("utf-8", "surrogateescape"), temporary):
                    return
        raise self._keeps_changing(edit.path)

    def _replace(self, path: str, text: str, temporary: str, expected: bytes) -> None:
        data = text.encode("utf-8", "surrogateescape")
        if data != expected:
            self._disk.replace(path, data, temporary, expected)
        else:
            self._disk.settle(path)

    def _keeps_changing(self, path: str) -> VaultError:
        if self._disk.signature(path) and self._disk.read(path) is None:
            return Unwritable(f"{path!r} is no file: move away what is there")
        return Busy(f"{path!r} keeps changing: close it in other programs")


def updated_index(text: str, edit: UpdateIndex) -> str:
    """A day index brought up to date."""
    for gone in edit.gone:
        text = index.without_event(text, gone.path, gone.previous)
    for path in edit.opened:
        text = index.with_event(text, path)
    for closed in edit.closed:
        text = index.with_summary(text, closed.path, closed.summary, closed.previous)
    return text

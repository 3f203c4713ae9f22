"""How a change gets onto the disk: one lock, a stored plan, edits that can be repeated.

Every commit first finishes the plans it finds, whoever left them. A plan that cannot be finished now (a
read-only folder, say) stays, and holds up only its own stream and notes.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from filelock import FileLock, Timeout

from automemory.errors import Busy, Conflict, NameTaken, Unwritable, VaultError
from automemory.vault import frontmatter
from automemory.vault.apply import Applier
from automemory.vault.catalog import Catalog, head_of, head_row, moved_on, signature_of
from automemory.vault.disk import Disk
from automemory.vault.edits import Append, Create, CreateFile, Edit, Merge, Plan, SetFields, UpdateIndex
from automemory.vault.event import EventHead, read_head
from automemory.vault.files import Signature
from automemory.vault.layout import note_of
from automemory.vault.revisions import DropTurns, Mend, TakeTurns
from automemory.vault.state import State
from automemory.vault.tables import NoteRow

_PROBE_S = 0.1  # longer than any commit of a healthy writer


@dataclass(frozen=True, slots=True)
class Basis:
    """What a plan was made on; if it is no longer so, the plan is made anew.

    Attributes:
        version: The stream's commit counter (`State.version`).
        notes: Signatures of the files that are edited; None for one that is not there.
        absent: Folders that are to be made.
    """

    version: int
    notes: Mapping[str, Signature | None] = field(default_factory=dict)
    absent: tuple[str, ...] = ()


class Committer:
    """Applies plans to a vault, one at a time across threads and processes."""

    def __init__(self, disk: Disk, state: State, catalog: Catalog, *, lock_timeout_s: float) -> None:
        self._disk = disk
        self._state = state
        self._catalog = catalog
        self._mutex = threading.Lock()
        self._lock = FileLock(state.path.with_name("vault.lock"), timeout=lock_timeout_s, mode=0o600)
        self._applier = Applier(disk)
        self.problems = self._applier.problems

    def commit(self, plan: Plan, basis: Basis) -> None:
        """Apply a plan.

        Raises:
            Conflict: if the vault is no longer as in `basis`; nothing was done.
            Busy: if the lock was not to be had; nothing was done.
            Unwritable: if the disk refuses; the plan, if it was begun, stays and is finished later.
        """
        with self.locked():
            self._check(plan, basis, self._finish_found())
            self._apply(self._state.put_plan(plan), plan)

    def recover(self) -> list[str]:
        """Finish the plans that an earlier run left; gives why those that stay cannot be finished now."""
        if not self._state.has_plans():
            return []
        with self.locked():
            return [reason for _, reason in self._finish_found()]

    def probe(self) -> None:
        """Raise what a commit would raise now for want of a lock or of writable storage."""
        with self.locked(timeout=_PROBE_S):
            self._disk.make_folder("daily")
            self._disk.probe("daily")

    @contextlib.contextmanager
    def locked(self, timeout: float | None = None) -> Iterator[None]:
        with self._mutex:
            try:
                self._lock.acquire(timeout=timeout, poll_interval=0.005)
            except Timeout as error:
                raise Busy(
                    f"the vault {str(self._disk.root)!r} is locked by another process: try again"
                ) from error
            except OSError as error:
                raise Unwritable(
                    f"{self._lock.lock_file!r} cannot be locked ({error.strerror or error})"
                ) from error
            try:
                yield
            finally:
                self._lock.release()

    def _finish_found(self) -> list[tuple[Plan, str]]:
        """Finish what others left; gives the plans that cannot be finished now, and why."""
        left = []
        for number, plan in self._state.plans():
            for i, edit in enumerate(plan.edits):  # now, so that it is synced before the plan goes
                with contextlib.suppress(VaultError):
                    self._disk.remove_temporary(edit.path, _temporary(number, i))
            try:
                self._apply(number, plan)
            except VaultError as error:
                what = next(iter(plan.paths), plan.stream)
                left.append((plan, f"an earlier change of {what!r} cannot be finished: {error}"))
        return left

    def _check(self, plan: Plan, basis: Basis, left: list[tuple[Plan, str]]) -> None:
        for stuck, reason in left:
            if stuck.stream == plan.stream or set(stuck.paths) & set(plan.paths):
                raise Unwritable(reason)
        row = self._state.turn(plan.filing.turn) if plan.filing else None
        if plan.filing and (row is None or row.payload is None or row.filed >= plan.filing.messages):
            raise Conflict(f"turn {plan.filing.turn} was filed by somebody else meanwhile")
        if self._state.version(plan.stream) != basis.version:
            raise Conflict(f"stream {plan.stream!r} moved on meanwhile")
        for path, known in basis.notes.items():
            if self._disk.signature(path) != known:
                raise Conflict(f"{path!r} was changed meanwhile")
        for folder in basis.absent:
            if self._disk.signature(folder) is not None:
                raise NameTaken(f"{folder!r} was made by somebody else meanwhile")

    def _apply(self, number: int, plan: Plan) -> None:
        days = dict(self._day(edit.path) for edit in plan.edits if isinstance(edit, Create | CreateFile))
        of_notes = [edit for edit in plan.edits if not isinstance(edit, UpdateIndex)]
        before = {path: self._signature(path) for path in {_note_of(edit, plan) for edit in of_notes}}
        filed = True
        for i, edit in enumerate(plan.edits):
            filed &= self._applier.apply(edit, plan, _temporary(number, i))
        self._disk.sync_folders()
        self._state.finish(number, plan, self._rows(of_notes, plan, before), filed=filed)
        for day, mtime in days.items():
            if self._state.day(day) == mtime:
                found = self._disk.signature(f"daily/{day}")
                self._state.put_day(day, found.mtime if found else 0)

    def _day(self, path: str) -> tuple[str, int]:
        day = path.split("/")[1]
        found = self._disk.signature(f"daily/{day}")
        return day, found.mtime if found else 0

    def _rows(
        self, edits: Sequence[Edit], plan: Plan, before: Mapping[str, Signature | None]
    ) -> list[NoteRow]:
        """The notes' cache rows after the plan; a note that others changed as well is read again instead."""
        rows: dict[str, NoteRow] = {}
        for edit in edits:
            path = _note_of(edit, plan)
            known = rows.get(path) or self._state.note(path)
            found = self._signature(path, known)
            if found is None:
                if known:
                    self._state.drop_note(path)
                continue
            if (
                isinstance(edit, Create)
                and edit.path == path
                and found.size == len(edit.text.encode("utf-8", "replace"))
            ):
                head = read_head(path, frontmatter.read(edit.text).fields)
                if head and plan.filing:
                    rows[path] = head_row(head, plan.filing.at, found)
            elif (
                known
                and isinstance(edit, Append | Merge | SetFields)
                and (path in rows or signature_of(known) == before[path])
            ):
                fields = edit.fields if isinstance(edit, SetFields) else {}
                at = plan.filing.at if plan.filing and isinstance(edit, Append) else None
                told = {k: v or "" for k, v in fields.items() if k in EventHead.__dataclass_fields__}
                head = replace(head_of(known), **told)
                rows[path] = moved_on(known, head, at, found)
            else:
                rows.pop(path, None)
                self._catalog.refresh_note(path)
        return list(rows.values())

    def _signature(self, path: str, known: NoteRow | None = None) -> Signature | None:
        known = known or self._state.note(path)
        return self._catalog.signature(head_of(known)) if known else self._disk.signature(path)


def _note_of(edit: Edit, plan: Plan) -> str:
    """The note whose cached head an edit concerns, which the turns may stand apart from."""
    if isinstance(edit, TakeTurns | DropTurns | Mend):
        return note_of(edit.path)
    turns = isinstance(edit, Append | Create) and plan.filing
    return plan.filing.path if turns and plan.filing else edit.path


def _temporary(number: int, edit: int) -> str:
    return f".automemory-{number}-{edit}.tmp"

"""Keeps the cached heads in step with the notes on disk, and answers which events there are.

A note is read again when its size, time or inode changed, a day when its folder did; nothing is ever
concluded from a time itself. Which event is active follows from what the notes say (`docs/vault-format.md`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal

from automemory.errors import PathEscape, Unwritable
from automemory.turn import Message, fingerprint
from automemory.vault import frontmatter, note
from automemory.vault.disk import Disk
from automemory.vault.event import Event, EventHead, RecordedTurn, dump_head, read_head, stored_head
from automemory.vault.files import Signature, spelled
from automemory.vault.layout import DAY
from automemory.vault.state import State
from automemory.vault.tables import NoteRow, TurnRow, stream_key


class Catalog:
    """The events of a vault, through the caches of `state.db`."""

    def __init__(self, disk: Disk, state: State) -> None:
        self._disk = disk
        self._state = state
        self._read_whole: set[str] = set()

    def index_all(self) -> None:
        """Read every note once, so that turns recorded before `state.db` was made are known."""
        if self._state.indexed():
            return
        for day in self._disk.names("daily"):
            if DAY.fullmatch(day):
                self.refresh_day(day)
        self._state.set_indexed()

    def refresh(self, days: Sequence[str]) -> None:
        """Bring the cached heads of these days up to date; all notes of a day are looked at once."""
        known = self._state.days(days)
        for day in days:
            if day not in self._read_whole or known.get(day, 0) != self._changed(day):
                self.refresh_day(day)

    def refresh_day(self, day: str) -> None:
        folder, mtime = f"daily/{day}", self._changed(day)
        known = self._state.notes_of_day(day)
        try:
            names = self._names(folder)
        except Unwritable:
            return
        gone, unread = set(known), False
        for name in names:
            try:
                if path := self._note_of(folder, name):
                    gone.discard(path)
                    self._read_again(path, known.get(path))
            except Unwritable:  # what is known of it holds until it can be read again
                unread = True
                gone -= {path for path in gone if path.startswith(f"{folder}/{name}/")}
        for path in gone:
            self._state.drop_note(path)
        if unread:
            return
        self._read_whole.add(day)
        if self._state.day(day) != mtime:
            self._state.put_day(day, mtime)

    def _changed(self, day: str) -> int:
        """When names were last made or removed in a day's folder, in ns; 0 if there is none."""
        found = self._disk.signature(f"daily/{day}")
        return found.mtime if found else 0

    def refresh_note(self, path: str, known: NoteRow | None = None) -> NoteRow | None:
        """The note's cached head, read again if the file changed; None if it is gone or no event's.

        While it cannot be read, what is known of it holds.
        """
        known = known or self._state.note(path)
        try:
            return self._read_again(path, known)
        except Unwritable:
            return known

    def _read_again(self, path: str, known: NoteRow | None) -> NoteRow | None:
        if known and self.signature(head_of(known)) == signature_of(known):
            return known
        found = self._disk.signature(path)
        text = self._text(path) if found else None
        if found is None or text is None:
            if known:
                self._state.drop_note(path)
            return None
        front = frontmatter.read(text)
        # Where a person broke it, what was known of it still holds.
        head = head_of(known) if known and front.error else read_head(path, front.fields)
        if head is None:
            return None
        found = self.signature(head) or found
        blocks = note.blocks(self._read(head.turns) if head.turns else text)
        last = next((b.at for b in reversed(blocks) if b.at), None)
        row = head_row(head, last.timestamp() if last else 0.0, found)
        self._state.put_note(row, turn_rows(path, row.stream, blocks))
        return row

    def signature(self, head: EventHead) -> Signature | None:
        """What tells one state of an event's files from another: of its note, and of turns that are apart."""
        found = self._disk.signature(head.path)
        turns = self._disk.signature(head.turns) if found and head.turns else None
        if found is None or turns is None:
            return found
        return Signature(
            _both(found.size, turns.size), _both(found.mtime, turns.mtime), _both(found.inode, turns.inode)
        )

    def event(self, path: str) -> Event | None:
        """An event with its turns; None if there is no such note."""
        text = self._text(path)
        return note.read_event(path, text, self._read) if text is not None else None

    def open_events(self, stream: str) -> list[EventHead]:
        """Open events of a stream that can be written, the one with the newest turn first."""
        rows = (self.refresh_note(row.path, row) for row in self._state.open_notes(stream))
        return [head_of(row) for row in self._usable(rows) if row.is_open and row.stream == stream]

    def recent(
        self, column: Literal["agent", "stream"], key: str, since: str, until: str, limit: int
    ) -> list[EventHead]:
        """The latest events of an agent or a stream between two days, newest turn first, as far as usable."""
        rows = self._state.recent_notes(column, key, since, until, limit)
        return [head_of(row) for row in self._usable(self.refresh_note(row.path, row) for row in rows)]

    def unsummed(self, agent: str, limit: int) -> list[EventHead]:
        """Events of an agent whose final summary is owed, oldest first."""
        rows = (self.refresh_note(row.path, row) for row in self._state.unsummed_notes(agent, limit))
        return [head for head in map(head_of, self._usable(rows)) if head.summary_by == "pending"]

    def last_of_day(self, stream: str, day: str) -> EventHead | None:
        found = self.recent("stream", stream, day, day, 1)
        return found[0] if found else None

    def _usable(self, rows: Iterable[NoteRow | None]) -> list[NoteRow]:
        """Those whose files lie in the vault and can be written: what nobody can go on with is left alone."""
        return [row for row in rows if row and all(map(self._disk.is_writable, _files(head_of(row))))]

    def _read(self, path: str) -> str:
        return self._text(path) or ""

    def _text(self, path: str) -> str | None:
        """A note's text; None if there is none, or if it lies outside the vault."""
        try:
            data = self._disk.read(path)
        except PathEscape:
            return None
        return data.decode("utf-8", "replace") if data is not None else None

    def _names(self, folder: str) -> list[str]:
        try:
            return self._disk.names(folder)
        except PathEscape:
            return []

    def _note_of(self, folder: str, name: str) -> str | None:
        """The path of a folder's note, whatever Unicode form its name is written in."""
        if self._disk.signature(path := f"{folder}/{name}/{name}.md"):
            return path
        if name.isascii():
            return None
        try:
            own = spelled(f"{name}.md", self._disk.entries(f"{folder}/{name}"))
        except PathEscape:
            return None
        return f"{folder}/{name}/{own}" if own else None


def _both(one: int, other: int) -> int:
    """One number that tells of two, also where they change alike or against each other; fits into SQLite."""
    return (one * 1_000_003 + other) % 2**63


def _files(head: EventHead) -> tuple[str, ...]:
    return tuple(dict.fromkeys((head.path, head.record)))


def signature_of(row: NoteRow) -> Signature:
    return Signature(row.size, row.mtime, row.inode)


def head_of(row: NoteRow) -> EventHead:
    head = stored_head(row.head)
    assert head is not None  # others are not read
    return head


def head_row(head: EventHead, last_at: float, found: Signature) -> NoteRow:
    """The cache row of an event: `last_at` is the time of its newest turn in seconds since 1970."""
    stream = stream_key(head.agent, head.thread) if head.thread else ""
    order = f"{last_at:020.6f}"
    place = (found.size, found.mtime, found.inode)
    return NoteRow(head.path, head.date, stream, head.agent, head.open, order, dump_head(head), *place)


def moved_on(row: NoteRow, head: EventHead, last_at: float | None, found: Signature) -> NoteRow:
    """The cache row after a commit changed the note."""
    return head_row(head, float(row.last_at) if last_at is None else max(last_at, float(row.last_at)), found)


def turn_rows(path: str, stream: str, blocks: Sequence[RecordedTurn]) -> list[TurnRow]:
    """What a note's blocks say of its turns; empty for a note that belongs to no stream."""
    rows: dict[str, TurnRow] = {}
    for block in blocks if stream else ():
        first = rows.get(block.id)
        if first is not None:
            rows[block.id] = replace(first, messages=block.n, filed=block.n, parts=block.part)
            continue
        opening = next((Message(s.role, s.text) for s in block.steps if s.role != "tool"), Message("tool"))
        print_of = fingerprint(opening)
        rows[block.id] = TurnRow(
            0, block.id, stream, print_of, "filed", block.n, block.n, block.part, path, "", None
        )
    return list(rows.values())

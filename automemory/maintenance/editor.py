"""A person's corrections of a vault: join two events, cut one, have a turn or an event forgotten."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Self

from automemory.errors import ConfigError, Conflict, VaultError
from automemory.maintenance import correction_edits
from automemory.maintenance.correction import Correction
from automemory.maintenance.correction_edits import Noted
from automemory.maintenance.scan import links_to, notes, own_folder, text_of, walk
from automemory.vault import frontmatter, note
from automemory.vault.blocks import cut
from automemory.vault.catalog import turn_rows
from automemory.vault.commit import Basis
from automemory.vault.edits import Edit, Plan
from automemory.vault.event import EventHead, RecordedTurn, read_head
from automemory.vault.files import Signature
from automemory.vault.layout import (
    DAY,
    day_index_path,
    event_path,
    fold,
    folder_name,
    note_of,
    parse_event_path,
)
from automemory.vault.naming import fallback_slug, numbered, slug_from_words, slugify
from automemory.vault.reader import Reader
from automemory.vault.revise import is_view
from automemory.vault.revisions import DropTurns
from automemory.vault.store import HOME, Store
from automemory.vault.tables import TurnRow, stream_key

_TRIES, _NAMED = 3, 20
_LEFT = (
    "what other events and summaries say of it, and copies that other programs keep, cannot be known: "
    "look with `automemory events --grep`"
)


class Editor:
    """Plans and makes corrections.

    Args:
        vault: The vault's folder.
        sync: Whether to wait until the disk has what is written.

    Raises:
        VaultError: if there is no such folder, or it cannot be written.
    """

    def __init__(self, vault: str | os.PathLike[str], *, sync: bool = True) -> None:
        self._root = own_folder(vault)
        self._reader = Reader(self._root)
        self._store = Store(self._root, sync=sync)
        self._read: dict[str, Signature | None] = {}  # what notes were when they were read

    def merge(self, kept: str, joined: str) -> Correction:
        """Join two events of one stream and day: the first one stays, with the turns and materials of both.

        Args:
            kept, joined: See `Reader.event`.

        Raises:
            ConfigError: if they cannot be one event.
            VaultError: if there is no such event.
        """
        into, gone = self._noted(self._path(kept)), self._noted(self._path(joined))
        moved = self._moved(gone.head, into.head)
        stay = (gone.head.path, gone.head.record)
        found = links_to(self._root, moved)
        links = {path if path in stay else moved.get(path, path): where for path, where in found.items()}
        edits = correction_edits.merge_edits(into, gone, links)
        title = f"join {gone.head.path} to {into.head.path}"
        return self._correction(title, into, edits, stay)

    def split(self, event: str, at: str, slug: str | None = None) -> Correction:
        """Cut an event in two: from the turn `at` on it is an event of its own.

        Args:
            event: See `Reader.event`.
            at: The id of the turn that begins the new event, or its number, from 1.
            slug: The new event's name; else made from the turn's words.

        Raises:
            ConfigError: if there is no such turn, or the slug is no name.
            VaultError: if there is no such event.
        """
        whole = self._noted(self._path(event))
        turns = {turn.id: turn for turn in whole.turns}
        id = at if at in turns else dict(enumerate(turns, 1)).get(int(at) if at.isdecimal() else 0, at)
        name = slugify(slug) if slug else _slug_of(turns.get(id))
        if not name:
            raise ConfigError(f"--slug {slug!r} is no name: give a few words")
        date = whole.head.date
        taken = {fold(found) for found in self._store.disk.entries(f"daily/{date}")}
        folder = numbered(folder_name(name, whole.head.agent), taken.__contains__)
        path = event_path(date, folder)
        edits = correction_edits.split_edits(whole, id, path, name)
        title = f"cut {whole.head.path} at turn {id}: {path} begins there"
        return self._correction(title, whole, edits, absent=(path.rpartition("/")[0],))

    def forget(self, what: str) -> Correction:
        """Erase a turn (by its id) or an event everywhere, so that no import brings it back.

        Raises:
            VaultError: if there is no such turn or event.
        """
        for day in filter(
            DAY.fullmatch, self._store.disk.names("daily")
        ):  # no cache holds more than the notes
            with suppress(VaultError):  # a note that cannot be read
                self._store.catalog.refresh_day(day)
        row = self._store.state.turn(what)
        held = self._holding([what])
        if row is None and not held:
            return self._forget_event(self._noted(self._path(what), broken=True))
        events = [self._noted(path) for path in filter(None, map(self._event_of, held))]
        if len(events) == 1 and {turn.id for turn in events[0].turns} == {what}:
            return self._forget_event(events[0])
        return self._forget_turn(what, row, events, held)

    def make(self, plan: Callable[[], Correction], agreed: Callable[[Correction], bool]) -> Correction | None:
        """Plan a correction and, if it is agreed to, make it; planned anew if the vault changed meanwhile.

        Returns:
            What was made; None if it was not agreed to.

        Raises:
            VaultError: if it cannot be made.
        """
        for attempt in range(_TRIES):
            correction = plan()
            if attempt == 0 and not agreed(correction):
                return None
            with suppress(Conflict):
                self.apply(correction)
                return correction
        raise Conflict("the vault keeps changing: try again when no agent is at work")

    def apply(self, correction: Correction) -> None:
        """Make a correction.

        Raises:
            Conflict: if the vault changed since it was planned; nothing was changed then.
            VaultError: if it cannot be made; what was begun is finished when the vault is next opened.
        """
        if correction.forgotten:
            self._store.exclude_all([(row.id, row.stream, row.first) for row in correction.forgotten])
        if correction.plan:
            self._store.committer.commit(correction.plan, correction.basis)
        if correction.forgotten:
            self._store.state.forget(row.id for row in correction.forgotten)
            self._scrub(correction)
        self._store.state.checkpoint()

    def close(self) -> None:
        self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _forget_turn(self, id: str, row: TurnRow | None, events: list[Noted], held: list[str]) -> Correction:
        edits: list[Edit] = []
        for event in events:
            index = self._store.disk.read(day_index_path(event.head.date)) or b""
            edits += correction_edits.forget_turn_edits(event, [id], index.decode("utf-8", "surrogateescape"))
        records = {event.head.record for event in events}
        edits += [DropTurns(path, [id]) for path in held if path not in records]
        rows = [row] if row else [r for event in events for r in self._rows(event) if r.id == id]
        hints = [f"the name {e.head.name!r} stays: forget the event if it tells too much" for e in events[:1]]
        if quoting := [path for event in events for path in self._quoting(event)]:
            named = ", ".join(quoting[:_NAMED])
            more = f" and {len(quoting) - _NAMED} more" if len(quoting) > _NAMED else ""
            hints.append(f"no line says which turn it came from, and these may quote it: {named}{more}")
        title = f"forget turn {id}"
        first = events[0] if events else None
        return self._correction(title, first, edits, held, forgotten=tuple(rows), hints=(*hints, _LEFT))

    def _forget_event(self, event: Noted) -> Correction:
        path = event.head.path
        ids = {block.id for block in note.blocks(event.record)}
        own = (path, event.head.record)
        copies = [copy for copy in self._holding(ids) if copy not in own]
        edits = correction_edits.forget_event_edits(event, links_to(self._root, dict.fromkeys(own, "")))
        edits += [DropTurns(copy, sorted(ids)) for copy in copies]
        folder = path.rpartition("/")[0]
        files = [item for item in walk(self._root, folder) if item.path not in own and not item.is_folder]
        left = [item.path for item in files if not is_view(text_of(item))]
        materials = [f"{len(left)} materials stay in {folder}: remove them by hand"] if left else []
        rows = tuple(self._rows(event))
        title = f"forget event {path} and its {len(event.turns)} turns"
        hints = (*materials, _LEFT)
        return self._correction(title, event, edits, copies, forgotten=rows, hints=hints)

    def _quoting(self, event: Noted) -> Iterator[str]:
        """The files of an event in which a turn's words may stand besides its block."""
        own = (event.head.path, event.head.record)
        if correction_edits.says_more(event):
            yield event.head.path
        for item in walk(self._root, event.head.path.rpartition("/")[0]):
            if item.path not in own and not item.is_folder:
                yield item.path

    def _rows(self, event: Noted) -> Iterator[TurnRow]:
        """The turns of an event as `state.db` knows them, or as the note tells."""
        stream = stream_key(event.head.agent, event.head.thread)
        for row in turn_rows(event.head.path, stream, note.blocks(event.record)):
            yield self._store.state.turn(row.id) or row

    def _holding(self, ids: Collection[str]) -> list[str]:
        """The notes, and a synchronizer's copies of notes, in which blocks of these turns stand."""
        found = []
        for item in notes(self._root, copies=True):
            text = text_of(item)
            if "<!-- turn id=" in text and any(piece.id in ids for piece in cut(text + note.mend(text))[1]):
                found.append(item.path)
        return found

    def _path(self, ref: str) -> str:
        return self._reader.event(ref).head.path

    def _noted(self, path: str, *, broken: bool = False) -> Noted:
        """An event's note as it is now; with `broken` also one whose frontmatter cannot be read."""
        if not self._store.disk.is_plain(path):
            raise VaultError(f"{path!r} is, or lies behind, a symbolic link: correct it where it really is")
        self._store.catalog.refresh_note(path)
        text = self._text(path)
        front = frontmatter.read(text)
        head = read_head(path, front.fields)
        if head is None or (not broken and (front.error or not front.fields)):
            raise VaultError(f"{path!r}: {front.error or 'there is no frontmatter'}: repair it by hand first")
        return Noted(head, text, self._text(head.record) if head.record != path else text)

    def _text(self, path: str) -> str:
        self._read[path] = self._store.disk.signature(path)
        return (self._store.disk.read(path) or b"").decode("utf-8", "surrogateescape")

    def _event_of(self, path: str) -> str | None:
        """The event's note whose turns stand in a file; None if that is no event's."""
        own = note_of(path)
        head = self._noted(own).head if parse_event_path(own) and self._store.disk.signature(own) else None
        return own if head and head.record == path else None

    def _moved(self, head: EventHead, to: EventHead) -> dict[str, str]:
        """Where the files of an event will be when it is joined to another one."""
        source, target = head.path.rpartition("/")[0], to.path.rpartition("/")[0]
        own = {head.path: to.path, head.record: to.record}
        names = sorted(n for n in self._store.disk.entries(source) if f"{source}/{n}" not in own)
        new = correction_edits.free_names(names, self._store.disk.entries(target))
        for item in walk(self._root, source):
            top, slash, rest = item.path.removeprefix(f"{source}/").partition("/")
            if top in new:
                own[item.path] = f"{target}/{new[top]}{slash}{rest}"
        return own

    def _scrub(self, correction: Correction) -> None:
        """Remove databases that were set aside as damaged and hold something of what is forgotten."""
        known = [row.id for row in correction.forgotten] + [path for path, _ in correction.changes]
        for aside in (self._root / HOME).glob("state.db.broken-*"):
            data = aside.read_bytes()
            if any(word.encode("utf-8", "replace") in data for word in known):
                aside.unlink()

    def _correction(
        self,
        title: str,
        event: Noted | None,
        edits: list[Edit],
        further: Sequence[str] = (),
        *,
        absent: tuple[str, ...] = (),
        forgotten: tuple[TurnRow, ...] = (),
        hints: tuple[str, ...] = (),
    ) -> Correction:
        head = event.head if event else None
        stream = stream_key(head.agent, head.thread) if head and head.thread else ""
        edited = [*([head.path, head.record] if head else []), *further]
        signatures = {path: self._read.get(path) or self._store.disk.signature(path) for path in edited}
        known = {path: found for path, found in signatures.items() if found}
        basis = Basis(self._store.state.version(stream), known, absent)
        plan = Plan(tuple(edits), stream) if edits else None
        return Correction(title, plan, basis, head.agent if head else "", forgotten, hints)


def _slug_of(turn: RecordedTurn | None) -> str:
    """A name made of a turn's own words."""
    if turn is None:
        return "event"
    said = next((step.text for step in turn.steps if step.role == "user"), "")
    return slug_from_words(said) or (fallback_slug(turn.at) if turn.at else "event")

"""`state.db`: turns accepted and not yet filed, plans under way, and caches of what the notes say.

While nothing is pending the file can be deleted: everything in it but pending turns and plans is read back
from the notes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from automemory.decision import NotifyCandidate
from automemory.errors import Conflict, Unwritable
from automemory.vault.database import Database
from automemory.vault.event import stored_head
from automemory.vault.tables import NoteRow, TurnRow, forget, put_notes, put_offers

if TYPE_CHECKING:
    from automemory.vault.edits import Plan


class State(Database):
    """The vault's `state.db`; see `Database` for how it is opened."""

    # Turns

    def put_turn(self, row: TurnRow, notify: Iterable[NotifyCandidate] = (), at: float = 0.0) -> TurnRow:
        """Store a turn durably, new (`seq` 0) or with more in it; gives the row as stored.

        Args:
            row: The turn.
            notify: Resources offered with it.
            at: Its time, in seconds since 1970.

        Raises:
            Conflict: if another process stored it, or filed as much of it, since `row` was read.
        """
        with self._write() as db:
            if not row.seq:
                values = (row.id, row.stream, row.first, row.state, row.messages, row.owner, row.payload)
                done = db.execute(
                    "INSERT INTO turns(id, stream, first, state, messages, owner, payload) "
                    "VALUES(?,?,?,?,?,?,?) ON CONFLICT(id) DO NOTHING",
                    values,
                )
            else:
                changed = (row.state, row.messages, row.owner, row.payload, row.id, row.filed)
                done = db.execute(
                    "UPDATE turns SET state=?, messages=?, owner=?, payload=? WHERE id=? AND filed=?", changed
                )
            if done.rowcount:
                put_offers(db, row.stream, notify, at, row.id)
        if not done.rowcount:
            raise Conflict(f"turn {row.id} was handed in by another process too")
        found = self.turn(row.id)
        if found is None:
            raise Unwritable(f"turn {row.id} did not stay in {self.path.name!r}: check the disk")
        return found

    def turn(self, id: str) -> TurnRow | None:
        rows = self._rows("SELECT * FROM turns WHERE id=?", id)
        return TurnRow(*rows[0]) if rows else None

    def pending(self, stream: str | None = None, before: int | None = None) -> list[TurnRow]:
        """Turns not filed yet, oldest first: of one stream or all, accepted before `before`."""
        where = "payload IS NOT NULL AND (?1 IS NULL OR stream=?1) AND (?2 IS NULL OR seq<?2)"
        return [
            TurnRow(*row)
            for row in self._rows(f"SELECT * FROM turns WHERE {where} ORDER BY seq", stream, before)
        ]

    def seen(self, stream: str, first: str) -> int:
        """How many turns of the stream begin with these words."""
        return int(self._rows("SELECT count(*) FROM turns WHERE stream=? AND first=?", stream, first)[0][0])

    def recorded(self, stream: str) -> list[tuple[str, str]]:
        """Ids and first fingerprints of the stream's turns, oldest first."""
        rows = self._rows("SELECT id, first FROM turns WHERE stream=? ORDER BY seq", stream)
        return [(row[0], row[1]) for row in rows]

    # Offers

    def put_offers(self, stream: str, notify: Iterable[NotifyCandidate], at: float) -> None:
        """Put resources on offer for a stream's next turns.

        Args:
            stream: The stream.
            notify: The resources; one that is on offer already is offered anew.
            at: The time, in seconds since 1970.
        """
        with self._write() as db:
            put_offers(db, stream, notify, at)

    def offers(self, stream: str, seq: int, turns: int, since: float) -> list[NotifyCandidate]:
        """What is on offer for a turn of a stream, the latest first.

        Args:
            stream: The stream.
            seq: The turn's place in the order of acceptance.
            turns: For how many turns after its own something stays on offer.
            since: What was offered before is so no more (seconds since 1970).
        """
        later = "SELECT 1 FROM turns t WHERE t.stream=?1 AND t.seq>o.seq AND t.seq<=?2 LIMIT 1 OFFSET ?3"
        where = f"stream=?1 AND seq<=?2 AND at>=?4 AND NOT EXISTS ({later})"
        sql = f"SELECT path, title, reason FROM offers o WHERE {where} ORDER BY seq DESC, rowid DESC"
        return [NotifyCandidate(*row) for row in self._rows(sql, stream, seq, turns, since)]

    def end_offers(self, stream: str, paths: Iterable[str]) -> None:
        """No longer offer resources to a stream."""
        with self._write(sync="NORMAL") as db:
            db.executemany("DELETE FROM offers WHERE stream=? AND path=?", [(stream, path) for path in paths])

    # Plans

    def put_plan(self, plan: Plan) -> int:
        """Store a plan durably before it is applied."""
        from automemory.vault import edits

        with self._write() as db:
            return int(db.execute("INSERT INTO plans(plan) VALUES(?)", (edits.dump(plan),)).lastrowid or 0)

    def has_plans(self) -> bool:
        """Whether there are plans under way; what plans are is loaded by those who make and finish them."""
        return bool(self._rows("SELECT 1 FROM plans LIMIT 1"))

    def plans(self) -> list[tuple[int, Plan]]:
        """The plans under way, oldest first; what is no plan holds nothing up."""
        from automemory.vault import edits

        found = []
        for number, text in self._rows_present("SELECT id, plan FROM plans ORDER BY id"):
            with contextlib.suppress(ValueError, KeyError, TypeError):
                found.append((number, edits.load(text)))
        return found

    def finish(self, number: int, plan: Plan, notes: Iterable[NoteRow], *, filed: bool) -> None:
        """Drop an applied plan, mark its turn filed (or still to be filed), remember the notes as they are.

        Not synced: should a power cut undo it, the plan is found again and changes nothing.
        """
        from automemory.vault.revisions import DropTurns, RemoveEvent

        with self._write(sync="NORMAL") as db:
            db.execute("DELETE FROM plans WHERE id=?", (number,))
            if filed and plan.filing:
                f = plan.filing
                db.execute(  # more of the turn may have been accepted meanwhile: that part stays to be filed
                    "UPDATE turns SET filed=?1, parts=?2, path=?3, state=iif(messages>?1, state, 'filed'), "
                    "payload=iif(messages>?1, payload, NULL) WHERE id=?4",
                    (f.messages, f.part, f.path, f.turn),
                )
            for edit in plan.edits:
                if isinstance(edit, DropTurns) and not edit.kept_in:
                    forget(db, edit.turns)
                if isinstance(edit, RemoveEvent) and not edit.kept_in:
                    db.execute("UPDATE turns SET path='' WHERE path=?", (edit.path,))
            db.execute(
                "INSERT INTO streams VALUES(?, 1) ON CONFLICT(stream) DO UPDATE SET version=version+1",
                (plan.stream,),
            )
            put_notes(db, notes)

    def version(self, stream: str) -> int:
        """Counts the commits of a stream, by whatever process."""
        rows = self._rows("SELECT version FROM streams WHERE stream=?", stream)
        return int(rows[0][0]) if rows else 0

    # Caches

    def indexed(self) -> bool:
        """Whether every note of the vault has been read once since this database was made."""
        return bool(self._rows("SELECT 1 FROM meta WHERE key='indexed'"))

    def set_indexed(self) -> None:
        with self._write() as db:
            db.execute("INSERT OR REPLACE INTO meta VALUES('indexed', '1')")

    def put_note(self, row: NoteRow, turns: Iterable[TurnRow]) -> None:
        """Remember a note that was read, and the turns that stand in it."""
        with self._write(sync="NORMAL") as db:
            put_notes(db, [row])
            for turn in turns:
                values = (turn.id, turn.stream, turn.first, turn.messages, turn.filed, turn.parts, turn.path)
                db.execute(
                    "INSERT INTO turns(id, stream, first, state, messages, filed, parts, path) "
                    "VALUES(?,?,?,'filed',?,?,?,?) ON CONFLICT(id) DO UPDATE SET path=excluded.path, "
                    "filed=excluded.filed, parts=excluded.parts, messages=max(messages, excluded.messages)",
                    values,
                )

    def exclude(self, id: str, stream: str, first: str) -> None:
        """Remember that a turn is never to be recorded."""
        with self._write() as db:
            db.execute(
                "INSERT INTO turns(id, stream, first, state, messages) VALUES(?,?,?,'excluded',0) "
                "ON CONFLICT(id) DO UPDATE SET state='excluded', payload=NULL",
                (id, stream, first),
            )

    def forget(self, ids: Iterable[str]) -> None:
        """Keep of excluded turns only that they are never to be recorded."""
        with self._write() as db:
            forget(db, ids)

    def drop_turns(self, ids: Iterable[str]) -> None:
        """No longer know turns that are filed: they can be recorded again."""
        with self._write() as db:
            db.executemany("DELETE FROM turns WHERE id=? AND payload IS NULL", [(id,) for id in ids])

    def drop_note(self, path: str) -> None:
        with self._write(sync="NORMAL") as db:
            db.execute("DELETE FROM notes WHERE path=?", (path,))

    def note(self, path: str) -> NoteRow | None:
        return next(iter(self._notes("path=?", path)), None)

    def notes_of_day(self, day: str) -> dict[str, NoteRow]:
        return {row.path: row for row in self._notes("day=?", day)}

    def open_notes(self, stream: str) -> list[NoteRow]:
        """Open events of a stream, the one with the newest turn first."""
        return self._notes("stream=? AND is_open ORDER BY last_at DESC, path DESC", stream)

    def recent_notes(
        self, column: Literal["agent", "stream"], key: str, since: str, until: str, limit: int
    ) -> list[NoteRow]:
        """Events of an agent or a stream between two days, the one with the newest turn first."""
        where = f"{column}=? AND day>=? AND day<=? AND stream<>'' ORDER BY last_at DESC, path DESC LIMIT ?"
        return self._notes(where, key, since, until, limit)

    def unsummed_notes(self, agent: str, limit: int) -> list[NoteRow]:
        """Events of an agent that were closed without the summary they are owed, oldest first."""
        pending = "json_extract(head, '$.summary_by')='pending'"
        where = f"agent=? AND NOT is_open AND {pending} ORDER BY last_at LIMIT ?"
        return self._notes(where, agent, limit)

    def day(self, day: str) -> int:
        """The day folder's mtime (ns) when it was last read; 0 if it never was, or was not there."""
        rows = self._rows("SELECT mtime FROM days WHERE day=?", day)
        return int(rows[0][0]) if rows else 0

    def days(self, days: Sequence[str]) -> dict[str, int]:
        """As `day`, of several; those that were never read are left out."""
        places = ",".join("?" * len(days))
        return dict(self._rows(f"SELECT day, mtime FROM days WHERE day IN ({places})", *days))

    def put_day(self, day: str, mtime: int) -> None:
        with self._write(sync="NORMAL") as db:
            db.execute("INSERT OR REPLACE INTO days VALUES(?, ?)", (day, mtime))

    def _notes(self, where: str, *values: object) -> list[NoteRow]:
        rows = self._rows(f"SELECT * FROM notes WHERE {where}", *values)
        return [note for note in (NoteRow(*row) for row in rows) if stored_head(note.head)]

"""`state.db`: turns accepted and not yet filed, plans under way, and caches of what the notes say.

While nothing is pending the file can be deleted: everything in it but pending turns and plans is read back
from the notes. One connection, one mutex; every write is a short `BEGIN IMMEDIATE` transaction.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from automemory.decision import NotifyCandidate
from automemory.errors import Conflict, Unwritable
from automemory.vault import edits
from automemory.vault.edits import Plan
from automemory.vault.revisions import DropTurns, RemoveEvent

VERSION = 1
_WAIT_S = 10.0
_OFFERS = 50  # kept for a stream
_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta(key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS turns(
    seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, stream TEXT NOT NULL, first TEXT NOT NULL,
    state TEXT NOT NULL, messages INTEGER NOT NULL, filed INTEGER NOT NULL DEFAULT 0,
    parts INTEGER NOT NULL DEFAULT 0,
    path TEXT NOT NULL DEFAULT '', owner TEXT NOT NULL DEFAULT '', payload TEXT);
CREATE INDEX IF NOT EXISTS turns_stream ON turns(stream, seq);
CREATE INDEX IF NOT EXISTS turns_first ON turns(stream, first);
CREATE INDEX IF NOT EXISTS turns_pending ON turns(seq) WHERE payload IS NOT NULL;
CREATE TABLE IF NOT EXISTS plans(id INTEGER PRIMARY KEY AUTOINCREMENT, plan TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS streams(stream TEXT PRIMARY KEY, version INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS offers(
    stream TEXT NOT NULL, path TEXT NOT NULL, title TEXT NOT NULL, reason TEXT NOT NULL,
    seq INTEGER NOT NULL, at REAL NOT NULL, PRIMARY KEY(stream, path));
CREATE TABLE IF NOT EXISTS days(day TEXT PRIMARY KEY, mtime INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS notes(
    path TEXT PRIMARY KEY, day TEXT NOT NULL, stream TEXT NOT NULL, agent TEXT NOT NULL,
    is_open INTEGER NOT NULL, last_at TEXT NOT NULL, head TEXT NOT NULL, size INTEGER NOT NULL,
    mtime INTEGER NOT NULL, inode INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS notes_day ON notes(day);
CREATE INDEX IF NOT EXISTS notes_open ON notes(stream, last_at) WHERE is_open;
CREATE INDEX IF NOT EXISTS notes_agent ON notes(agent, last_at, path);
CREATE INDEX IF NOT EXISTS notes_stream ON notes(stream, last_at, path);
"""


@dataclass(frozen=True, slots=True)
class TurnRow:
    """A turn as `state.db` knows it.

    Attributes:
        seq: The order of acceptance.
        id, stream: The turn's id and its stream's key.
        first: Fingerprint of its first message.
        state: `draft`, `accepted`, `filed` or `excluded`.
        messages: How many messages of it are known.
        filed: How many of them stand in the note.
        parts: In how many blocks.
        path: The note, once filed.
        owner: The process that accepted it.
        payload: The turn itself until it is filed.
    """

    seq: int
    id: str
    stream: str
    first: str
    state: str
    messages: int
    filed: int
    parts: int
    path: str
    owner: str
    payload: str | None


@dataclass(frozen=True, slots=True)
class NoteRow:
    """A note's cached head (as JSON) and the signature of the file it was read from."""

    path: str
    day: str
    stream: str
    agent: str
    is_open: int
    last_at: str
    head: str
    size: int
    mtime: int
    inode: int


class State:
    """The vault's `state.db`.

    Args:
        folder: The vault's `.automemory` folder; made if missing.
        sync: Whether accepted turns and plans are synced before they are reported.
    """

    def __init__(self, folder: Path, *, sync: bool = True) -> None:
        self.path = folder / "state.db"
        self._sync = "FULL" if sync else "NORMAL"
        self.damaged = False  # somebody wrote into the file: it has to be opened anew
        self._mutex = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._pid = 0
        with self._mutex, self._storage():
            folder.mkdir(mode=0o700, exist_ok=True)
            self._db()

    @property
    def synced(self) -> bool:
        """Whether what is stored is synced before it is reported."""
        return self._sync == "FULL"

    def close(self) -> None:
        with self._mutex:
            if self._connection is not None and self._pid == os.getpid():
                with contextlib.suppress(sqlite3.Error):
                    self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                self._connection.close()
            self._connection = None

    def checkpoint(self) -> None:
        """Empty the write-ahead log into the database: filed text does not live on there."""
        with self._mutex, contextlib.suppress(sqlite3.Error):
            self._db().execute("PRAGMA wal_checkpoint(TRUNCATE)")

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
                _put_offers(db, row.stream, notify, at, row.id)
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
            _put_offers(db, stream, notify, at)

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
        with self._write() as db:
            return int(db.execute("INSERT INTO plans(plan) VALUES(?)", (edits.dump(plan),)).lastrowid or 0)

    def plans(self) -> list[tuple[int, Plan]]:
        return [(row[0], edits.load(row[1])) for row in self._rows("SELECT id, plan FROM plans ORDER BY id")]

    def finish(self, number: int, plan: Plan, notes: Iterable[NoteRow], *, filed: bool) -> None:
        """Drop an applied plan, mark its turn filed (or still to be filed), remember the notes as they are.

        Not synced: should a power cut undo it, the plan is found again and changes nothing.
        """
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
                    _forget(db, edit.turns)
                if isinstance(edit, RemoveEvent) and not edit.kept_in:
                    db.execute("UPDATE turns SET path='' WHERE path=?", (edit.path,))
            db.execute(
                "INSERT INTO streams VALUES(?, 1) ON CONFLICT(stream) DO UPDATE SET version=version+1",
                (plan.stream,),
            )
            _put_notes(db, notes)

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
            _put_notes(db, [row])
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
            _forget(db, ids)

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

    def put_day(self, day: str, mtime: int) -> None:
        with self._write(sync="NORMAL") as db:
            db.execute("INSERT OR REPLACE INTO days VALUES(?, ?)", (day, mtime))

    # Connection

    def _notes(self, where: str, *values: object) -> list[NoteRow]:
        rows = self._rows(f"SELECT * FROM notes WHERE {where}", *values)
        return [NoteRow(*row) for row in rows]

    def _rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        with self._mutex, self._storage():
            return self._db().execute(sql, values).fetchall()

    @contextlib.contextmanager
    def _write(self, sync: str | None = None) -> Iterator[sqlite3.Connection]:
        with self._mutex, self._storage():
            db = self._db()
            db.execute(f"PRAGMA synchronous={sync if sync and self._sync == 'FULL' else self._sync}")
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    db.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def _storage(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.DatabaseError, OSError) as error:
            passing = (OSError, sqlite3.OperationalError, sqlite3.IntegrityError)
            self.damaged = self.damaged or not isinstance(error, passing)
            reason = getattr(error, "strerror", None) or error
            raise Unwritable(
                f"{self.path.name!r} cannot be read or written ({reason}): check the disk and its permissions"
            ) from error

    def _db(self) -> sqlite3.Connection:
        """The connection of this process: one opened before a fork must not be used after it."""
        if self._connection is None or self._pid != os.getpid():
            self._pid = os.getpid()
            try:
                self._connection = self._open()
            except sqlite3.DatabaseError as error:
                if isinstance(error, sqlite3.OperationalError):
                    raise
                set_aside(self.path)
                self._connection = self._open()
        return self._connection

    def _open(self) -> sqlite3.Connection:
        """Open the file; where several processes do so at once, the wait built into SQLite is not enough."""
        if not self.path.exists():
            os.close(os.open(self.path, os.O_CREAT | os.O_WRONLY, 0o600))
        deadline = time.monotonic() + _WAIT_S
        while True:
            try:
                return self._connect()
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(self.path, timeout=_WAIT_S, isolation_level=None, check_same_thread=False)
        try:
            for pragma in (
                "journal_mode=WAL",
                "secure_delete=ON",
                "journal_size_limit=0",
                f"synchronous={self._sync}",
            ):
                db.execute(f"PRAGMA {pragma}")
            db.executescript(_SCHEMA)
            db.execute("INSERT OR IGNORE INTO meta VALUES('version', ?)", (str(VERSION),))
        except BaseException:
            db.close()
            raise
        return db


def set_aside(path: Path) -> None:
    """Keep a damaged database for a person to look at; what it knew is read back from the notes."""
    number = 1
    while (aside := path.with_name(f"state.db.broken-{number}")).exists():
        number += 1
    path.rename(aside)
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _forget(db: sqlite3.Connection, ids: Iterable[str]) -> None:
    """Keep of turns only that they are never to be recorded: not where they were, nor what came with them."""
    ids = list(ids)
    db.executemany(
        "DELETE FROM offers WHERE seq IN (SELECT seq FROM turns WHERE id=?)", [(id,) for id in ids]
    )
    db.executemany(
        "UPDATE turns SET state='excluded', messages=0, filed=0, parts=0, path='', payload=NULL WHERE id=?",
        [(id,) for id in ids],
    )


def _put_offers(
    db: sqlite3.Connection, stream: str, notify: Iterable[NotifyCandidate], at: float, turn: str = ""
) -> None:
    """Put resources on offer, with a turn or, without one, after those that are there."""
    if not (notify := list(notify)):
        return
    place = "SELECT seq FROM turns WHERE id=?5" if turn else "SELECT coalesce(max(seq), 0) FROM turns"
    for n in notify:
        db.execute(
            f"INSERT INTO offers VALUES(?1, ?2, ?3, ?4, ({place}), ?6) ON CONFLICT(stream, path) DO UPDATE "
            "SET title=excluded.title, reason=excluded.reason, seq=excluded.seq, at=excluded.at",
            (stream, n.path, n.title, n.reason, turn, at),
        )
    latest = "SELECT rowid FROM offers WHERE stream=?1 ORDER BY seq DESC, rowid DESC LIMIT ?2"
    db.execute(f"DELETE FROM offers WHERE stream=?1 AND rowid NOT IN ({latest})", (stream, _OFFERS))


def _put_notes(db: sqlite3.Connection, notes: Iterable[NoteRow]) -> None:
    for n in notes:
        values = (n.path, n.day, n.stream, n.agent, n.is_open, n.last_at, n.head, n.size, n.mtime, n.inode)
        db.execute("INSERT OR REPLACE INTO notes VALUES(?,?,?,?,?,?,?,?,?,?)", values)

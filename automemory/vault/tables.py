"""The tables of `state.db`, their rows, and the statements that several transactions share."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass

from automemory.decision import NotifyCandidate

VERSION = 1
SCHEMA = """
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
_OFFERS = 50  # kept for a stream


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


def stream_key(agent: str, thread: str) -> str:
    """The key of what one agent does in one thread."""
    return f"{agent}/{thread}"


def forget(db: sqlite3.Connection, ids: Iterable[str]) -> None:
    """Keep of turns only that they are never to be recorded: not where they were, nor what came with them."""
    ids = list(ids)
    db.executemany(
        "DELETE FROM offers WHERE seq IN (SELECT seq FROM turns WHERE id=?)", [(id,) for id in ids]
    )
    db.executemany(
        "UPDATE turns SET state='excluded', messages=0, filed=0, parts=0, path='', payload=NULL WHERE id=?",
        [(id,) for id in ids],
    )


def put_offers(
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


def put_notes(db: sqlite3.Connection, notes: Iterable[NoteRow]) -> None:
    for n in notes:
        values = (n.path, n.day, n.stream, n.agent, n.is_open, n.last_at, n.head, n.size, n.mtime, n.inode)
        db.execute("INSERT OR REPLACE INTO notes VALUES(?,?,?,?,?,?,?,?,?,?)", values)

"""A vault's SQLite file: opening it, transactions, and what becomes of a damaged one.

One connection, one mutex; every write is a short `BEGIN IMMEDIATE` transaction.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from automemory._forks import forks
from automemory.errors import Unwritable
from automemory.vault.tables import SCHEMA, VERSION

if TYPE_CHECKING:
    from filelock import FileLock

_WAIT_S = 10.0


class _Damaged(sqlite3.DatabaseError):
    """The file is no database, or not one of ours."""


class Database:
    """The connection to `state.db`.

    Args:
        folder: The vault's `.automemory` folder; made if missing.
        sync: Whether what is written is synced before it is reported.
    """

    def __init__(self, folder: Path, *, sync: bool = True) -> None:
        self.path = folder / "state.db"
        self._place = str(self.path)
        self._sync = self._synchronous = "FULL" if sync else "NORMAL"
        self.damaged = False  # somebody wrote into the file, or took it away: it has to be opened anew
        self._inode = 0
        self._mutex = forks.lock()  # SQLite's own locks would else stay taken in the child
        self._connection: sqlite3.Connection | None = None
        self._pid = 0
        with self._mutex, self._storage():
            folder.mkdir(mode=0o700, exist_ok=True)
            self._db()

    @property
    def synced(self) -> bool:
        """Whether what is stored is synced before it is reported."""
        return self._sync == "FULL"

    @property
    def lost(self) -> bool:
        """Whether the file has to be opened anew: it is damaged, or no longer the one that was opened."""
        try:
            return self.damaged or os.stat(self._place).st_ino != self._inode  # noqa: PTH116 - before each write
        except OSError:
            return True

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
            self._present().execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """What a query finds, also in a file that was taken away: who acts on it writes, and learns of it."""
        with self._mutex:
            try:
                return self._db().execute(sql, values).fetchall()
            except (sqlite3.DatabaseError, OSError) as error:
                raise self._unwritable(error) from error

    def _rows_present(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """As `_rows`, for what is acted on before anything is written here."""
        with self._mutex, self._storage():
            return self._present().execute(sql, values).fetchall()

    @contextlib.contextmanager
    def _write(self, sync: str | None = None) -> Iterator[sqlite3.Connection]:
        with self._mutex, self._storage():
            db = self._present()
            self._synchronize(db, sync if sync and self._sync == "FULL" else self._sync)
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    db.execute("ROLLBACK")
                raise

    def _synchronize(self, db: sqlite3.Connection, sync: str) -> None:
        """Have the connection's next transaction synced, or not."""
        if sync != self._synchronous:
            db.execute(f"PRAGMA synchronous={sync}")
            self._synchronous = sync

    @contextlib.contextmanager
    def _storage(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.DatabaseError, OSError) as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: Exception) -> Unwritable:
        passing = (OSError, sqlite3.OperationalError, sqlite3.IntegrityError)
        self.damaged = self.damaged or not isinstance(error, passing) or _lacks_something(error)
        reason = getattr(error, "strerror", None) or error
        return Unwritable(
            f"{self.path.name!r} cannot be read or written ({reason}): check the disk and its permissions"
        )

    def _db(self) -> sqlite3.Connection:
        """The connection of this process: one opened before a fork must not be used after it."""
        if self._connection is None or self._pid != os.getpid():
            self._pid = os.getpid()
            self._connection = self._open()
            self._synchronous = self._sync
            self._inode = self.path.stat().st_ino
        return self._connection

    def _present(self) -> sqlite3.Connection:
        """The connection, to a file that is still there."""
        db = self._db()
        if self.lost:
            raise sqlite3.DatabaseError("it was removed or replaced")
        return db

    def _open(self) -> sqlite3.Connection:
        """Open the file, made anew if there is none or it is damaged: by one process, in nobody's way."""
        if self.path.exists():
            with contextlib.suppress(_Damaged):
                return self._connected()
        with _file_lock(self.path.with_name("vault.lock")):
            if self.path.exists():
                try:
                    return self._connected()
                except _Damaged:
                    set_aside(self.path)
            _remove_logs(self.path)  # those of a file that was removed would be taken for the new one's
            os.close(os.open(self.path, os.O_CREAT | os.O_WRONLY, 0o600))
            return self._connected()

    def _connected(self) -> sqlite3.Connection:
        """Connect; where several processes do so at once, the wait built into SQLite is not enough."""
        deadline = time.monotonic() + _WAIT_S
        while True:
            try:
                return self._connect()
            except sqlite3.DatabaseError as error:
                if not isinstance(error, sqlite3.OperationalError) or _lacks_something(error):
                    raise _Damaged(str(error)) from error
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
            db.executescript(SCHEMA)
            db.execute("INSERT OR IGNORE INTO meta VALUES('version', ?)", (str(VERSION),))
            found = db.execute("SELECT value FROM meta WHERE key='version'").fetchone()[0]
            if found != str(VERSION):
                raise sqlite3.OperationalError(f"it is of version {found}, not {VERSION}: update automemory")
        except BaseException:
            db.close()
            raise
        return db


def _file_lock(path: Path) -> FileLock:
    """A lock between processes; most find the database there and load no locks.

    The library of locks makes threads wait while a process forks. A thread that waits so holds a database, so
    databases have to be waited for before it makes anybody wait.
    """
    _load_locks()
    from filelock import FileLock

    return FileLock(path, timeout=_WAIT_S, mode=0o600)


@lru_cache(maxsize=1)
def _load_locks() -> None:
    import filelock  # noqa: F401 - for what it registers

    forks.watch()


def set_aside(path: Path) -> None:
    """Keep a damaged database for a person to look at; what it knew is read back from the notes."""
    number = 1
    while (aside := path.with_name(f"state.db.broken-{number}")).exists():
        number += 1
    path.rename(aside)
    _remove_logs(path)


def _remove_logs(path: Path) -> None:
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _lacks_something(error: Exception) -> bool:
    """Whether a table or a column is missing: no wait will bring it back."""
    return isinstance(error, sqlite3.OperationalError) and "no such" in str(error)

"""What `state.db` holds, looked at without changing a byte of it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from automemory.errors import Unwritable
from automemory.vault.tables import TurnRow

_COLUMNS = "seq, id, stream, first, state, messages, filed, parts, path, owner, payload"
_HEADS = "SELECT path, head FROM notes"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a vault's `state.db` says.

    Attributes:
        exists: Whether there is one.
        turns: The turns it knows.
        plans: How many plans are under way.
        descriptions: What it last knew of the events, by their notes' paths.
        damage: What is wrong with it; empty if nothing is. What is readable stands in `turns` all the same.
    """

    exists: bool
    turns: tuple[TurnRow, ...] = ()
    plans: int = 0
    descriptions: Mapping[str, str] = field(default_factory=dict)
    damage: str = ""


def look(folder: Path) -> Snapshot:
    """Look at the `state.db` in a vault's `.automemory` folder.

    Raises:
        Unwritable: if it cannot be read for another reason than being damaged.
    """
    path = folder / "state.db"
    if not path.exists():
        return Snapshot(False)
    turns: list[TurnRow] = []
    try:
        with closing(_open(path)) as db:
            turns.extend(_turns(db))
            plans = int(db.execute("SELECT count(*) FROM plans").fetchone()[0])
            known = {path: str(json.loads(head)["description"]) for path, head in db.execute(_HEADS)}
            found = str(db.execute("PRAGMA quick_check(1)").fetchone()[0])
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError) and "no such" not in str(error):
            raise Unwritable(f"{str(path)!r} cannot be read ({error}): check its permissions") from error
        return Snapshot(True, tuple(turns), damage=str(error))
    return Snapshot(True, tuple(turns), plans, known, "" if found == "ok" else found.split("\n")[0])


def _open(path: Path) -> sqlite3.Connection:
    """A connection that does not write: without a log of changes, SQLite needs no files of its own either."""
    log = path.with_name("state.db-wal")
    under_way = log.exists() and log.stat().st_size > 0
    mode = "mode=ro" if under_way else "mode=ro&immutable=1"
    return sqlite3.connect(f"{path.absolute().as_uri()}?{mode}", uri=True, timeout=10)


def _turns(db: sqlite3.Connection) -> Iterator[TurnRow]:
    """All turns, as far as they can be read."""
    rows: Iterator[Any] = db.execute(f"SELECT {_COLUMNS} FROM turns ORDER BY seq")
    with suppress(StopIteration):
        while True:
            yield TurnRow(*next(rows))

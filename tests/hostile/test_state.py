"""`state.db` deleted, exchanged, damaged, or of another version; and clocks that are set wrong."""

from __future__ import annotations

import os
import shutil
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from automemory.errors import ConfigError, VaultError
from automemory.memory import AutoMemory
from automemory.vault.reader import Reader

Open = Callable[..., AutoMemory]
MakeTurn = Callable[..., list[dict[str, Any]]]
FUTURE = '{"edits": [{"kind": "Future", "path": "x"}], "stream": "/main", "filing": null}'
HARMED = {
    "junk plan": "INSERT INTO plans(plan) VALUES('junk')",
    "number for a plan": "INSERT INTO plans(plan) VALUES(7)",
    "plan of a kind unknown": f"INSERT INTO plans(plan) VALUES('{FUTURE}')",
    "junk head": "UPDATE notes SET head='junk'",
    "another head": 'UPDATE notes SET head=\'{"made": "by a newer version"}\'',
    "junk turn": "INSERT INTO turns(id, stream, first, state, messages, payload) "
    "VALUES('q', '/main', 'f', 'accepted', 1, 'x')",
    "no table": "DROP TABLE notes; DROP TABLE plans",
    "other columns": "DROP TABLE turns; CREATE TABLE turns(something)",
}


def asked(vault: Path) -> list[str]:
    reader = Reader(vault)
    return [t.steps[0].text for head in reader.events() for t in reader.event(head.path).turns]


def harm(vault: Path, sql: str) -> None:
    with closing(sqlite3.connect(vault / ".automemory" / "state.db")) as state:
        state.executescript(sql)


@pytest.mark.parametrize("how", HARMED)
def test_rows_that_make_no_sense_hold_up_nothing(
    open_memory: Open, turn: MakeTurn, vault: Path, how: str
) -> None:
    """B75: what `state.db` knows is read from the notes again; nothing is doubled, no later turn waits."""
    memory = open_memory("one")
    memory.record(turn(1))
    memory.close()
    harm(vault, HARMED[how])
    memory = open_memory()
    assert memory.record(turn(2)).outcome == "recorded"
    assert memory.record(turn(3), thread_id="b").outcome == "recorded"
    assert memory.record(turn(1)).outcome == "duplicate"
    event = memory.close_event()
    assert event and event.slug == "one"
    memory.flush()
    assert asked(vault) == ["Question 1?", "Question 2?", "Question 3?"]


def test_state_of_a_newer_version_is_left_alone(open_memory: Open, turn: MakeTurn, vault: Path) -> None:
    """It may hold turns that this version cannot read: the turn waits, and the error says what to do."""
    memory = open_memory("one")
    memory.record(turn(1))
    memory.close()
    harm(vault, "UPDATE meta SET value='99' WHERE key='version'")
    memory = open_memory()
    result = memory.record(turn(2))
    assert result.outcome == "deferred" and "version 99" in result.error
    harm(vault, "UPDATE meta SET value='1' WHERE key='version'")
    memory.flush()
    assert asked(vault) == ["Question 1?", "Question 2?"]


@pytest.mark.skipif(sys.platform == "win32", reason="an open file stays there")
@pytest.mark.parametrize("what", ["state.db", "all of it", "another's", "folder"])
def test_state_that_is_taken_away_while_it_is_open(
    open_memory: Open, turn: MakeTurn, vault: Path, tmp_path: Path, what: str
) -> None:
    """1: while nothing waits it can be deleted; two memories go on, with one new file and nothing doubled."""
    first, second = open_memory("one"), open_memory()
    first.record(turn(1))
    second.record(turn(2))
    home = vault / ".automemory"
    if what == "folder":
        shutil.rmtree(home)
    elif what == "all of it":
        for path in home.iterdir():
            path.unlink()
    else:
        (home / "state.db").unlink()
    if what == "another's":
        open_memory(vault=tmp_path / "other").record(turn(9))
        shutil.copy(tmp_path / "other" / ".automemory" / "state.db", home)
    for memory, number in ((first, 3), (second, 4), (first, 5), (second, 6)):
        assert memory.record(turn(number)).outcome == "recorded"
    if what != "another's":
        assert second.record(turn(3)).outcome == first.record(turn(2)).outcome == "duplicate"
    assert first.close_event()
    first.close()
    second.close()
    assert asked(vault) == [f"Question {number}?" for number in range(1, 7)]
    assert (home / "state.db").exists()
    with closing(sqlite3.connect(home / "state.db")) as state:
        assert state.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.parametrize("call", ["flush", "close_event", "status", "close", "reference"])
def test_every_call_finds_the_new_state(open_memory: Open, turn: MakeTurn, vault: Path, call: str) -> None:
    memory = open_memory("one")
    memory.record(turn(1))
    for path in (vault / ".automemory").glob("state.db*"):
        path.unlink()
    assert getattr(memory, call)() is not False
    assert not memory.status().last_error


@pytest.mark.parametrize("data", [b"", b"x" * 5000, None, b"flip"], ids=["empty", "junk", "half", "flipped"])
def test_damaged_bytes(open_memory: Open, turn: MakeTurn, vault: Path, data: bytes | None) -> None:
    """B75: set aside or begun anew, never taken for empty: what was recorded is known."""
    memory = open_memory("one")
    for number in range(3):
        memory.record(turn(number))
    memory.close()
    path = vault / ".automemory" / "state.db"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] if data is None else data)
    if data == b"flip":
        path.write_bytes(whole[:4096] + os.urandom(len(whole) - 4096))
    memory = open_memory()
    assert memory.record(turn(3)).outcome == "recorded"
    assert memory.record(turn(1)).outcome == "duplicate"
    assert asked(vault) == [f"Question {number}?" for number in range(4)]


@pytest.mark.parametrize("zone", ["UTC", "Asia/Shanghai", "America/Los_Angeles"])
@pytest.mark.parametrize(
    "clock",
    [
        datetime(1, 1, 1, tzinfo=UTC),
        datetime(1, 1, 1),
        datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))),
        datetime(1970, 1, 1, tzinfo=UTC),
        datetime(9999, 12, 31, 23, 59, 59, tzinfo=timezone(timedelta(hours=-12))),
        datetime.max,
    ],
    ids=str,
)
def test_clock_that_is_set_wrong_poisons_no_stream(
    open_memory: Open, turn: MakeTurn, vault: Path, clock: datetime, zone: str
) -> None:
    """A device without a battery starts in year 1: turns are filed, and later ones where they belong."""
    now = [clock]
    memory = open_memory("one", "two", timezone=zone, clock=lambda: now[0])
    said = [{"role": "user", "content": "Now?"}]
    assert memory.record(said).outcome == "recorded"
    assert memory.record(said).outcome == "recorded"
    assert memory.reference() and memory.close_event()
    now[0] = datetime(2026, 5, 27, 13, 0, tzinfo=UTC)
    result = memory.record(turn(1))
    assert result.outcome == "recorded" and result.event and "/2026-05-2" in result.event.path
    assert memory.close_event() and memory.status().waiting == 0
    assert Reader(vault).problems() == []


@pytest.mark.parametrize("by", ["", "x\n---\nname: evil", "Request", "model"])
def test_event_is_closed_by_a_known_cause_only(
    open_memory: Open, turn: MakeTurn, vault: Path, by: str
) -> None:
    """1.3: a reader may rely on what `closed_by` can be; the event stays open."""
    memory = open_memory("one")
    memory.record(turn(1))
    with pytest.raises(ConfigError, match="closed_by"):
        memory.close_event(closed_by=by)
    assert [head.open for head in Reader(vault).events()] == [True]
    with pytest.raises(VaultError):
        Reader(vault).event("evil")

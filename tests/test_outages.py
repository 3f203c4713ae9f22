"""The vault cannot be written for a while: nothing is lost, nothing is claimed, nothing else is held up."""

from __future__ import annotations

import errno
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from automemory import acceptance
from automemory.errors import Unwritable
from automemory.memory import AutoMemory
from automemory.vault.reader import Reader

Open = Callable[..., AutoMemory]
MakeTurn = Callable[..., list[dict[str, Any]]]
HOLD = """
import sys
from filelock import FileLock
with FileLock(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.readline()
"""


def asked(vault: Path) -> list[str]:
    reader = Reader(vault)
    turns = [turn for head in reader.events() for turn in reader.event(head.path).turns]
    return [turn.steps[0].text for turn in turns]


@contextmanager
def file_in_the_way(vault: Path) -> Iterator[None]:
    """Where the day folders go there is a file."""
    (vault / "daily").write_text("in the way", encoding="utf-8")
    yield
    (vault / "daily").unlink()


@contextmanager
def lock_held_elsewhere(vault: Path) -> Iterator[None]:
    command = [sys.executable, "-c", HOLD, str(vault / ".automemory" / "vault.lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout and holder.stdout.readline() == b"held\n"
        yield
        holder.communicate(b"\n")


@contextmanager
def full_disk(vault: Path) -> Iterator[None]:
    def full(descriptor: int, data: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "write", full)
        yield


@pytest.mark.parametrize("outage", [file_in_the_way, lock_held_elsewhere, full_disk])
def test_deferred_turns_are_filed_in_order_without_a_restart(
    open_memory: Open, turn: MakeTurn, vault: Path, outage: Callable[[Path], Any]
) -> None:
    """Each is `deferred`, with the reason; the first turn after the outage brings them all along."""
    memory = open_memory("one", lock_timeout_s=0.05)
    memory.status()
    with outage(vault):
        results = [memory.record(turn(number)) for number in range(3)]
        assert [result.outcome for result in results] == ["deferred"] * 3
        assert all(result.error and result.event is None and result.files == () for result in results)
        status = memory.status()
        assert status.waiting == 3 and status.last_error and status.counters["deferred"] == 3
    assert memory.record(turn(3)).outcome == "recorded"
    assert asked(vault) == [f"Question {number}?" for number in range(4)]
    assert memory.status().waiting == 0


@pytest.mark.parametrize("outage", [file_in_the_way, lock_held_elsewhere, full_disk])
def test_deferred_turns_outlive_the_process(
    open_memory: Open, turn: MakeTurn, vault: Path, outage: Callable[[Path], Any]
) -> None:
    """They wait in `state.db`; whoever opens the vault next files them."""
    memory = open_memory("one", lock_timeout_s=0.05)
    memory.status()
    with outage(vault):
        for number in range(2):
            memory.record(turn(number))
        memory.close()
    again = open_memory()
    again.flush()
    assert asked(vault) == ["Question 0?", "Question 1?"]


def test_existing_note_is_whole_after_a_full_disk(open_memory: Open, turn: MakeTurn, vault: Path) -> None:
    """An append that fails half-way leaves no part of itself behind."""
    memory = open_memory("one")
    memory.record(turn(1))
    note = vault / "daily/2026-05-27/one/one.md"
    before = note.read_bytes()
    write = os.write

    def half(descriptor: int, data: Any) -> int:
        if len(data) < 20:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(descriptor, bytes(data)[: len(data) // 2])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "write", half)
        assert memory.record(turn(2)).outcome == "deferred"
        assert note.read_bytes() == before
    memory.flush()
    assert asked(vault) == ["Question 1?", "Question 2?"]


def test_outage_of_one_day_holds_up_no_other_stream(open_memory: Open, turn: MakeTurn, vault: Path) -> None:
    memory = open_memory("one", "two")
    memory.status()
    (vault / "daily").mkdir()
    in_the_way = vault / "daily" / "2026-05-27"
    in_the_way.write_text("in the way", encoding="utf-8")
    assert memory.record(turn(1), thread_id="a").outcome == "deferred"
    next_day = datetime(2026, 5, 28, 12, tzinfo=UTC)
    assert memory.record(turn(2, next_day), thread_id="b").outcome == "recorded"
    assert memory.record(turn(3, next_day + timedelta(minutes=1)), thread_id="b").outcome == "recorded"
    in_the_way.unlink()
    memory.flush()
    assert asked(vault) == ["Question 1?", "Question 2?", "Question 3?"]


@pytest.mark.parametrize("then", ["record", "flush", "close"])
def test_turns_wait_in_memory_while_even_state_cannot_be_written(
    open_memory: Open, turn: MakeTurn, vault: Path, then: str
) -> None:
    """The status says so; the next turn, `flush` or `close` stores and files them, each with its own time."""
    vault.mkdir()
    home = vault / ".automemory"
    home.write_text("in the way", encoding="utf-8")
    now = [datetime(2026, 5, 27, 12, minute, tzinfo=UTC) for minute in (0, 1, 2, 59)]
    memory = open_memory("one", "two", clock=lambda: now[0])
    said = [[{"role": "user", "content": f"Question {number}?"}] for number in range(3)]
    for number, thread in enumerate("ab"):
        assert memory.record(said[number], thread_id=thread).outcome == "deferred"
        now.pop(0)
    status = memory.status()
    assert status.unstored == 2 and "state.db" in status.last_error
    with memory.paused(), pytest.raises(Unwritable):
        memory.record([{"role": "user", "content": "A secret."}])
    home.unlink()
    if then == "record":
        memory.record(said[2], thread_id="b")
        now.pop(0)
        memory.flush()
    else:
        getattr(memory, then)()
    reader = Reader(vault)
    times = [t.at for head in reader.events() for t in reader.event(head.path).turns]
    expected = 3 if then == "record" else 2
    assert times == [datetime(2026, 5, 27, 12, minute, tzinfo=UTC) for minute in range(expected)]
    assert asked(vault) == [f"Question {number}?" for number in range(expected)]


def test_queue_in_memory_is_bounded(
    open_memory: Open, turn: MakeTurn, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Past it a turn is refused with an error: nothing is taken that might silently be dropped."""
    monkeypatch.setattr(acceptance, "UNSTORED", 2)
    vault.mkdir()
    (vault / ".automemory").write_text("in the way", encoding="utf-8")
    memory = open_memory()
    assert [memory.record(turn(n)).outcome for n in range(2)] == ["deferred"] * 2
    with pytest.raises(Unwritable, match="cannot be read or written"):
        memory.record(turn(2))
    (vault / ".automemory").unlink()


def test_damaged_state_under_an_open_memory_is_opened_anew(
    open_memory: Open, turn: MakeTurn, vault: Path, tmp_path: Path
) -> None:
    """B75: a `state.db` that turns out to be no database costs no turn; what it knew is in the notes."""
    memory = open_memory("one")
    memory.record(turn(1))
    (tmp_path / "garbage").write_bytes(b"not a database " * 4096)
    state = memory._engine.vault.store.state
    state._connection = sqlite3.connect(tmp_path / "garbage", check_same_thread=False, isolation_level=None)
    assert memory.record(turn(2)).outcome == "recorded"
    assert memory.record(turn(1)).outcome == "duplicate"


def test_mistake_while_filing_holds_up_no_later_turn(
    open_memory: Open, turn: MakeTurn, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error that nobody foresaw defers its own turn only, and is told."""
    from automemory import planning

    memory = open_memory("one")
    memory.record(turn(1))
    real = planning.block_of

    def broken(accepted: Any, id: str, *rest: Any) -> Any:
        if "Question 2" in accepted.turn.user_text:
            raise RuntimeError("a mistake")
        return real(accepted, id, *rest)

    monkeypatch.setattr(planning, "block_of", broken)
    assert memory.record(turn(2)).outcome == "deferred"
    assert memory.record(turn(3)).outcome == "recorded"
    assert "RuntimeError" in memory.status().last_error
    monkeypatch.undo()
    memory.flush()
    assert memory.status().waiting == 0


def test_folder_in_an_index_s_place_is_told_as_such(open_memory: Open, turn: MakeTurn, vault: Path) -> None:
    """A person sees what to move away, and once it is, the turn is filed."""
    memory = open_memory("one")
    (index := vault / "daily" / "2026-05-27.md").mkdir(parents=True)
    result = memory.record(turn(0))
    assert result.outcome == "deferred" and "is no file: move away what is there" in result.error
    index.rmdir()
    memory.flush()
    assert "[[daily/2026-05-27/one/one.md|one]]" in index.read_text("utf-8")

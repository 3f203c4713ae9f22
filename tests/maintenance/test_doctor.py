"""What is wrong with a vault is told, what can be repaired is, and what is healthy is not touched."""

from __future__ import annotations

import os
import shutil
import socket
import sqlite3
import unicodedata
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from automemory.errors import ConfigError, VaultError
from automemory.maintenance.doctor import Diagnosis, examine, repair
from automemory.memory import AutoMemory
from automemory.turn import Turn
from automemory.vault.reader import Reader

Open = Callable[..., AutoMemory]
MakeTurn = Callable[..., list[dict[str, Any]]]
Doctor = Callable[..., Diagnosis]
DAY = "daily/2026-05-27"
ONE, TWO = f"{DAY}/one/one.md", f"{DAY}/two/two.md"
SOON = datetime(2026, 5, 27, 13, 0, tzinfo=UTC)


@pytest.fixture
def doctor(vault: Path, open_memory: Open) -> Doctor:
    """Repairs the vault."""

    def run(*, now: datetime = SOON) -> Diagnosis:
        memory_for = lambda agent: open_memory(agent_id=agent or None, clock=lambda: now)  # noqa: E731
        return repair(vault, now, memory_for, sync=False)

    return run


@pytest.fixture
def two_events(open_memory: Open, turn: MakeTurn) -> None:
    """`one`, closed, and `two`, open, of the thread `main`."""
    with open_memory("one", None, "two") as memory:
        for number in (1, 2, 3):
            memory.record(turn(number))


def _folder(path: Path) -> Path:
    path.mkdir()
    return path


def codes(diagnosis: Diagnosis, *, notices: bool = False) -> list[tuple[str, str]]:
    return [(f.code, f.path) for f in diagnosis.findings if f.notice is notices]


def check(vault: Path, now: datetime = SOON) -> list[tuple[str, str]]:
    return codes(examine(vault, now))


def state(vault: Path) -> dict[str, tuple[bytes, int]]:
    """All bytes and times of a vault, folders included."""
    found = {}
    for path in [vault, *vault.rglob("*")]:
        data = path.read_bytes() if path.is_file() else b""
        found[str(path)] = (data, path.stat().st_mtime_ns)
    return found


def rewrite(vault: Path, path: str, old: str, new: str) -> None:
    text = (vault / path).read_bytes().decode("utf-8")
    assert old in text
    (vault / path).write_bytes(text.replace(old, new, 1).encode("utf-8"))


@pytest.mark.usefixtures("two_events")
def test_a_healthy_vault_is_not_touched(vault: Path, doctor: Doctor) -> None:
    """Neither a check nor a repair changes a byte, a time, or the files that are there."""
    before = state(vault)
    assert examine(vault, SOON).findings == ()
    assert doctor() == Diagnosis(str(vault), ())
    assert state(vault) == before


def test_an_empty_folder_is_healthy(tmp_path: Path) -> None:
    """A vault that is yet to be used; and no folder is an error."""
    assert examine(tmp_path, SOON).healthy
    with pytest.raises(VaultError, match="no folder"):
        examine(tmp_path / "none", SOON)


@pytest.mark.usefixtures("two_events")
def test_index_out_of_step(vault: Path, doctor: Doctor) -> None:
    """B80: a deleted index comes back as it was; a person's lines in a damaged one stay."""
    index = vault / f"{DAY}.md"
    whole = index.read_bytes()
    index.unlink()
    assert check(vault) == [("index", f"{DAY}.md")]
    fixed = doctor()
    assert codes(fixed) == [] and [f.code for f in fixed.fixed] == ["index"]
    assert index.read_bytes() == whole
    index.write_text("# Mine\n\n- own words\n", "utf-8")
    assert doctor().healthy
    assert index.read_text("utf-8").startswith("# Mine\n\n- own words\n")
    assert [e.name for e in Reader(vault).events()] == ["one", "two"]


def test_summaries_that_are_owed(
    open_memory: Open, turn: MakeTurn, vault: Path, scripted: Any, doctor: Doctor
) -> None:
    """B05: of every agent, and more than are summed up at a time."""

    class Failing(scripted):  # type: ignore[misc]
        async def summarize(self, event: Any, turns: Any) -> Any:
            raise TimeoutError("no answer")

    for agent in (None, "bot"):
        answers = [slug for n in range(8) for slug in (f"e{n}", None)]
        with open_memory(decider=Failing(*answers), agent_id=agent) as memory:
            for number in range(16):
                memory.record(turn(number))
    found = check(vault)
    assert len(found) == 14 and {code for code, _ in found} == {"summary-pending"}
    assert doctor().healthy
    assert all(e.open or "came to an end" in e.description for e in Reader(vault).events())


@pytest.mark.parametrize("owner", ["dead process", "other machine"])
def test_waiting_turns_are_filed(
    open_memory: Open, turn: MakeTurn, vault: Path, doctor: Doctor, owner: str
) -> None:
    """2.7: a draft, and a turn that could not be filed, of agents that never run again."""
    for agent in (None, "bot"):
        memory = open_memory("one", agent_id=agent)
        memory.record(turn(1))
        memory.record(Turn.of(turn(2), complete=False))
    shutil.copytree(vault, vault.with_name("copy"))
    shutil.rmtree(vault)
    shutil.copytree(vault.with_name("copy"), vault)
    with sqlite3.connect(vault / ".automemory/state.db") as db:
        name = f"{socket.gethostname()}:1:0.00" if owner == "dead process" else "elsewhere:1:0.00"
        db.execute("UPDATE turns SET owner=?", (name,))
    db.close()
    soon, later = SOON, SOON + timedelta(days=2)
    if owner == "other machine":
        assert check(vault, soon) == []  # it may still be at work
    found = check(vault, later)
    assert found.count(("waiting", ".automemory/state.db")) == 2
    assert doctor(now=later).healthy
    assert sorted(len(Reader(vault).event(name).turns) for name in ("one", "bot_one")) == [2, 2]
    assert all(head.closed_by == "recovery" for head in Reader(vault).events())


def test_what_a_running_process_has_in_hand_is_left(
    open_memory: Open, turn: MakeTurn, vault: Path, doctor: Doctor
) -> None:
    """A draft of an agent at work is no finding."""
    memory = open_memory("one")
    memory.record(turn(1))
    memory.record(Turn.of(turn(2), complete=False))
    assert check(vault) == []
    assert doctor().findings == ()
    assert len(Reader(vault).event("one").turns) == 1


@pytest.mark.usefixtures("two_events")
def test_event_left_open(vault: Path, doctor: Doctor, open_memory: Open, turn: MakeTurn) -> None:
    """B32: closed a day after its last turn, not before, with its summary; the next turn opens another."""
    assert check(vault, SOON + timedelta(hours=22)) == []
    later = SOON + timedelta(days=2)
    assert check(vault, later) == [("left-open", TWO)]
    assert doctor(now=later).healthy
    head = Reader(vault).event("two").head
    assert (head.closed_by, head.closed[:10], head.summary_by) == ("recovery", "2026-05-29", "extract")
    result = open_memory("three").record(turn(4))
    assert result.event and result.event.how == "opened"


@pytest.mark.usefixtures("two_events")
def test_several_open_events_of_a_stream(vault: Path, doctor: Doctor) -> None:
    """2.2: as a restored backup leaves them: the one with the newest turn stays open, though it is fresh."""
    rewrite(vault, ONE, "closed: 2026-05-27T12:03:00+00:00\nclosed_by: switch\n", "")
    assert check(vault) == [("also-open", ONE)]
    assert doctor().healthy
    assert [(e.name, e.open, e.closed_by) for e in Reader(vault).events()] == [
        ("one", False, "recovery"),
        ("two", True, ""),
    ]


@pytest.mark.usefixtures("two_events")
def test_a_torn_turn(vault: Path, doctor: Doctor) -> None:
    """6.2: as in a vault that was copied while it was written: kept, closed and marked."""
    note = vault / TWO
    note.write_bytes(note.read_bytes()[:-40])
    assert ("torn", TWO) in check(vault)
    assert doctor().healthy
    assert note.read_text("utf-8").endswith(" torn -->\n")
    assert [t.torn for t in Reader(vault).event("two").turns] == [True]


@pytest.mark.usefixtures("two_events")
def test_name_that_is_not_the_folders(vault: Path, doctor: Doctor) -> None:
    """A person renamed the folder and its note: the name follows, nothing else changes."""
    (vault / DAY / "two").rename(vault / DAY / "zwei")
    (vault / DAY / "zwei/two.md").rename(vault / DAY / "zwei/zwei.md")
    path = f"{DAY}/zwei/zwei.md"
    before = (vault / path).read_text("utf-8")
    assert {("name", path), ("index", f"{DAY}.md")} <= set(check(vault))
    assert doctor().healthy
    assert (vault / path).read_text("utf-8") == before.replace("name: two", "name: zwei")
    assert "two" not in (vault / f"{DAY}.md").read_text("utf-8")


@pytest.mark.usefixtures("two_events")
@pytest.mark.parametrize("how", ["missing", "damaged", "emptied", "older"])
def test_state_that_is_not_as_it_has_to_be(
    vault: Path, doctor: Doctor, open_memory: Open, turn: MakeTurn, tmp_path: Path, how: str
) -> None:
    """1: made again from the notes, so that known turns stay known; a damaged file is kept."""
    db = vault / ".automemory/state.db"
    if how == "missing":
        db.unlink()
    elif how == "damaged":
        db.write_bytes(b"not a database" * 500)
    elif how == "emptied":
        with sqlite3.connect(db) as connection:
            connection.execute("DELETE FROM turns")
        connection.close()
    else:
        old = tmp_path / "old.db"
        shutil.copy(db, old)
        with open_memory(None) as memory:
            memory.record(turn(4))
        shutil.copy(old, db)
    code = {"missing": "state-missing", "damaged": "state-damaged"}.get(how, "turn-unknown")
    assert {found for found, _ in check(vault)} == {code}
    notes = {path: path.read_bytes() for path in (vault / "daily").rglob("*.md")}
    assert doctor().healthy
    assert {path: path.read_bytes() for path in notes} == notes
    assert (vault / ".automemory/state.db.broken-1").exists() == (how == "damaged")
    numbers = (1, 2, 3, 4) if how == "older" else (1, 2, 3)
    assert [open_memory().record(turn(n)).outcome for n in numbers] == ["duplicate"] * len(numbers)


def test_waiting_turns_of_a_damaged_state(
    open_memory: Open, turn: MakeTurn, vault: Path, doctor: Doctor
) -> None:
    """6.1: what is readable of a damaged `state.db` is not lost: a turn that waits in it is filed."""
    memory = open_memory("one")
    for number in range(1, 40):
        memory.record(turn(number))
    memory.record(Turn.of(turn(41), complete=False))
    shutil.copytree(vault, vault.with_name("copy"))
    shutil.rmtree(vault)
    shutil.copytree(vault.with_name("copy"), vault)
    db = sqlite3.connect(vault / ".automemory/state.db")
    db.execute("UPDATE turns SET owner=?", (f"{socket.gethostname()}:1:0.00",))
    db.commit()
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    root = db.execute("SELECT rootpage FROM sqlite_master WHERE name='notes_agent'").fetchone()[0]
    size = db.execute("PRAGMA page_size").fetchone()[0]
    db.close()
    data = bytearray((vault / ".automemory/state.db").read_bytes())
    data[(root - 1) * size : root * size] = b"\xff" * size
    (vault / ".automemory/state.db").write_bytes(data)
    assert ("state-damaged", ".automemory/state.db") in check(vault)
    assert doctor().healthy
    assert len(Reader(vault).event("one").turns) == 40


@pytest.mark.usefixtures("two_events")
def test_turns_that_are_known_and_gone(
    vault: Path, doctor: Doctor, open_memory: Open, turn: MakeTurn
) -> None:
    """The notes are the truth: what stands in none can be recorded again."""
    shutil.rmtree(vault / DAY / "two")
    assert set(check(vault)) == {("turn-lost", TWO), ("index", f"{DAY}.md")}
    assert doctor().healthy
    assert open_memory("three").record(turn(3)).outcome == "recorded"


@pytest.mark.usefixtures("two_events")
def test_temporary_files_and_rights(vault: Path, doctor: Doctor) -> None:
    """1.6: what a crash left goes, and nobody has more rights than the vault gives."""
    left = vault / DAY / "one/.automemory-7-0.tmp"
    left.write_text("half a n", "utf-8")
    (vault / ONE).chmod(0o644)
    (vault / DAY / "two").chmod(0o755)
    (vault / ".automemory/state.db").chmod(0o666)
    (vault / DAY / "one/material.txt").write_text("x", "utf-8")
    (vault / DAY / "one/material.txt").chmod(0o644)
    found = [code for code, _ in check(vault)]
    assert found.count("mode") == 3 and found.count("left-temporary") == 1 and len(found) == 4
    assert doctor().healthy
    assert not left.exists()
    assert (vault / ONE).stat().st_mode & 0o777 == 0o600
    assert (vault / DAY / "two").stat().st_mode & 0o777 == 0o700
    assert (vault / DAY / "one/material.txt").stat().st_mode & 0o777 == 0o644


@pytest.mark.usefixtures("two_events")
def test_what_only_a_person_can_repair(vault: Path, doctor: Doctor, tmp_path: Path) -> None:
    """B58, B70: told with its place and what to do, left as it is, also by a repair."""
    rewrite(vault, ONE, "title: one", "title: [one")
    shutil.copytree(vault / DAY / "two", vault / DAY / "copied")
    (vault / DAY / "copied/two.md").rename(vault / DAY / "copied/copied.md")
    rewrite(vault, f"{DAY}/copied/copied.md", "name: two", "name: copied")
    rewrite(vault, f"{DAY}/copied/copied.md", "thread: main", "thread: other")
    shutil.copy(vault / TWO, vault / DAY / "two/two (conflicted copy).md")
    (vault / DAY / "TWO").mkdir()
    (vault / DAY / unicodedata.normalize("NFD", "café")).mkdir()
    (vault / DAY / "out").symlink_to(tmp_path)
    os.mkfifo(_folder(vault / DAY / "pipe") / "pipe.md")
    _folder(_folder(vault / DAY / "nested") / "nested.md")
    (vault / DAY / "around").symlink_to("around")
    doctor()
    before = {p: p.read_bytes() for p in (vault / "daily").rglob("*") if p.is_file()}
    left = doctor()
    assert not left.healthy and not left.fixed and not left.error
    assert set(codes(left)) == {
        ("frontmatter", ONE),
        ("turn-twice", f"{DAY}/copied/copied.md"),
        ("conflict-copy", f"{DAY}/two/two (conflicted copy).md"),
        ("same-name", f"{DAY}/two"),
        ("link-outside", f"{DAY}/out"),
        ("unreadable", f"{DAY}/pipe/pipe.md"),
        ("unreadable", f"{DAY}/nested/nested.md"),
    }
    assert all(finding.what and finding.remedy for finding in left.findings)
    assert {p: p.read_bytes() for p in before} == before


@pytest.mark.usefixtures("two_events")
def test_notices_are_no_fault(vault: Path) -> None:
    """A folder that is no event, a name in another Unicode form, a link to what is not there any more."""
    name = unicodedata.normalize("NFD", "café")
    (vault / DAY / name).mkdir()
    rewrite(vault, TWO, "\n## Turns", "\nSee [[resource/gone.md]], [[not written yet]].\n\n## Turns")
    found = examine(vault, SOON)
    assert found.healthy
    assert codes(found, notices=True) == [
        ("no-note", f"{DAY}/{name}"),
        ("unicode-form", f"{DAY}/{name}"),
        ("dead-link", TWO),
    ]


@pytest.mark.usefixtures("two_events")
def test_interrupted_change(vault: Path, doctor: Doctor, open_memory: Open) -> None:
    """6.2: a plan that an earlier run left is finished."""
    from automemory.vault.edits import Plan, SetFields
    from automemory.vault.store import Store

    store = Store(vault, sync=False)
    store.state.put_plan(Plan((SetFields(TWO, {"title": "Another"}),), "/main"))
    store.close()
    assert check(vault) == [("plan", ".automemory/state.db")]
    assert doctor().healthy
    assert Reader(vault).event("two").head.title == "Another"


@pytest.mark.usefixtures("two_events")
def test_home_that_lies_elsewhere_is_refused(vault: Path, doctor: Doctor, tmp_path: Path) -> None:
    """6.1: nothing outside the vault is read or written."""
    shutil.move(vault / ".automemory", tmp_path / "home")
    (vault / ".automemory").symlink_to(tmp_path / "home")
    before = state(tmp_path)
    for run in (lambda: examine(vault, SOON), doctor):
        with pytest.raises(VaultError, match="is a symbolic link to"):
            run()
    assert state(tmp_path) == before
    (vault / ".automemory").unlink()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
@pytest.mark.usefixtures("two_events")
def test_a_note_that_cannot_be_written(vault: Path) -> None:
    """Told, since turns cannot be appended; who made it so may have meant it."""
    (vault / TWO).chmod(0o400)
    assert check(vault) == [("read-only", TWO)]


@pytest.mark.usefixtures("two_events")
def test_a_repair_that_fails_holds_up_no_other(vault: Path, open_memory: Open, turn: MakeTurn) -> None:
    """Told, and all the rest is repaired: another index, a torn turn, another agent's summary."""
    with open_memory("own", agent_id="bot") as bot:
        bot.record(turn(5, datetime(2026, 5, 28, 9, tzinfo=UTC)))
    for index in (vault / f"{DAY}.md", vault / "daily/2026-05-28.md"):
        index.unlink()
    (vault / f"{DAY}.md").mkdir()
    (vault / TWO).write_bytes((vault / TWO).read_bytes()[:-40])
    later = SOON + timedelta(days=3)

    def memory_for(agent: str) -> AutoMemory:
        if not agent:
            raise ConfigError("no model for this one")
        return open_memory(agent_id=agent, clock=lambda: later)

    left = repair(vault, later, memory_for, sync=False)
    assert set(codes(left)) == {("index", f"{DAY}.md"), ("left-open", TWO)}
    assert "is no file" in left.error and "no model for this one" in left.error
    assert {finding.code for finding in left.fixed} >= {"index", "torn", "left-open"}

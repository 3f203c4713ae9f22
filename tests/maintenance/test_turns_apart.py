"""Corrections and checks of events whose turns stand in a file of their own (schema `notes`)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from automemory.maintenance.doctor import examine, repair
from automemory.maintenance.editor import Editor
from automemory.memory import AutoMemory
from automemory.vault.reader import Reader

Open = Callable[..., AutoMemory]
MakeTurn = Callable[..., list[dict[str, Any]]]
DAY = "daily/2026-05-27"
SOON = datetime(2026, 5, 27, 13, 0, tzinfo=UTC)


@pytest.fixture
def ids(open_memory: Open, turn: MakeTurn, vault: Path) -> list[str]:
    """Four turns, two each in `one` and `two`; the second and the last tell of a xylophone."""
    with open_memory("one", None, "two", None, note_schema="notes") as memory:
        said = [turn(n, reply="The xylophone is in the cellar." if n % 2 == 0 else "") for n in (1, 2, 3, 4)]
        found = [memory.record(each).turn_id for each in said]
    assert (vault / DAY / "one/turns.md").exists()
    (vault / DAY / "two/progress.md").write_text(
        f"Part of [[{DAY}/two/two.md|two]].\n\n## Progress\n- x\n", "utf-8"
    )
    (vault / DAY / "two/progress.md").chmod(0o600)
    return found


def make(vault: Path, how: str, *what: str) -> None:
    with Editor(vault, sync=False) as editor:
        assert editor.make(lambda: getattr(editor, how)(*what), lambda correction: True)


def questions(vault: Path, ref: str) -> list[str]:
    return [s.text[9:10] for t in Reader(vault).event(ref).turns for s in t.steps if s.role == "user"]


def holding(vault: Path, words: str) -> list[str]:
    files = [path for path in vault.rglob("*") if path.is_file()]
    return [path.relative_to(vault).as_posix() for path in files if words.encode() in path.read_bytes()]


@pytest.mark.usefixtures("ids")
def test_joined(open_memory: Open, turn: MakeTurn, vault: Path) -> None:
    """The turns come into the one file, no second one is left, and views of the same name are numbered."""
    (vault / DAY / "one/progress.md").write_text("mine\n", "utf-8")
    make(vault, "merge", "one", "two")
    assert questions(vault, "one") == ["1", "2", "3", "4"]
    assert {p.name for p in (vault / DAY / "one").iterdir()} == {
        "one.md",
        "turns.md",
        "progress.md",
        "progress-2.md",
    }
    assert f"[[{DAY}/one/one.md|one]]" in (vault / DAY / "one/progress-2.md").read_text("utf-8")
    assert not (vault / DAY / "two").exists()
    (vault / DAY / "one/progress.md").unlink()
    memory = open_memory(note_schema="notes")
    assert [memory.record(turn(n)).outcome for n in (3, 5)] == ["duplicate", "recorded"]
    assert questions(vault, "one") == ["1", "2", "3", "4", "5"]


@pytest.mark.parametrize("schemas", [("notes", "append"), ("append", "notes")])
def test_joined_with_another_schema(
    open_memory: Open, turn: MakeTurn, vault: Path, schemas: tuple[str, str]
) -> None:
    """The event that stays keeps its form."""
    for number, (name, schema) in enumerate(zip(("one", "two"), schemas, strict=True)):
        with open_memory(name, note_schema=schema) as memory:
            memory.record(turn(number))
    make(vault, "merge", "one", "two")
    assert questions(vault, "one") == ["0", "1"]
    assert (vault / DAY / "one/turns.md").exists() == (schemas[0] == "notes")


@pytest.mark.usefixtures("ids")
def test_cut(open_memory: Open, turn: MakeTurn, vault: Path) -> None:
    """The new event has a file of turns too, and is the active one."""
    make(vault, "split", "two", "2", "three")
    assert (questions(vault, "two"), questions(vault, "three")) == (["3"], ["4"])
    assert "<!-- turn" not in (vault / DAY / "three/three.md").read_text("utf-8")
    result = open_memory(note_schema="notes").record(turn(5))
    assert result.event and result.event.slug == "three"
    assert questions(vault, "three") == ["4", "5"]
    assert {found.code for found in examine(vault, SOON).findings} == {"summary-pending"}


def test_forgotten_turn(ids: list[str], vault: Path) -> None:
    """The overview, which is made of the turns' own words, goes with it."""
    make(vault, "forget", ids[1])
    assert questions(vault, "one") == ["1"]
    make(vault, "forget", ids[3])
    assert questions(vault, "two") == ["3"]
    assert holding(vault, "xylophone") == []


@pytest.mark.usefixtures("ids")
def test_forgotten_event(vault: Path) -> None:
    """With its turns and what was derived from them; what a person put there stays."""
    (vault / DAY / "two/own.txt").write_text("mine", "utf-8")
    make(vault, "forget", "two")
    assert [path.name for path in (vault / DAY / "two").iterdir()] == ["own.txt"]
    (vault / DAY / "two/own.txt").unlink()
    make(vault, "forget", "one")
    assert holding(vault, "xylophone") == holding(vault, "two") == []


@pytest.mark.usefixtures("ids")
def test_checked_and_repaired(open_memory: Open, vault: Path) -> None:
    """Healthy as it is; a torn turn in the file and a lost `state.db` are found and repaired."""
    assert examine(vault, SOON).findings == ()
    turns = vault / DAY / "two/turns.md"
    turns.write_bytes(turns.read_bytes()[:-40])
    (vault / ".automemory/state.db").unlink()
    found = [(f.code, f.path) for f in examine(vault, SOON).findings]
    assert found == [("state-missing", ".automemory/state.db"), ("torn", f"{DAY}/two/turns.md")]
    assert repair(vault, SOON, lambda agent: open_memory(note_schema="notes"), sync=False).healthy
    assert [t.torn for t in Reader(vault).event("two").turns] == [False, True]

"""Day indexes that are brought back in step: what is missing comes, what people wrote stays."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from automemory.errors import Conflict, VaultError
from automemory.maintenance.rebuild import rebuild, rebuild_day
from automemory.memory import AutoMemory
from automemory.vault.store import Store

Open = Callable[..., AutoMemory]
MakeTurn = Callable[..., list[dict[str, Any]]]
DAY = "daily/2026-05-27"
NEXT_DAY = datetime(2026, 5, 28, 9, tzinfo=UTC)
LINES = [
    f"- [[{DAY}/one/one.md|one]] — On one.",
    f"- [[{DAY}/two/two.md|two]] — On two.",
    f"- [[{DAY}/three/three.md|three]]",
]


@pytest.fixture
def index(open_memory: Open, turn: MakeTurn, vault: Path) -> Path:
    """The index of a day with two closed events and an open one."""
    with open_memory("one", "two", "three") as memory:
        for number in (1, 2, 3):
            memory.record(turn(number))
    return vault / f"{DAY}.md"


def written(index: Path, text: str) -> str:
    """What becomes of an index."""
    index.write_bytes(text.encode("utf-8"))
    rebuild(index.parent.parent, sync=False)
    return index.read_bytes().decode("utf-8")


def test_healthy_days_are_not_written(index: Path, vault: Path) -> None:
    """No byte and no time changes."""
    before = [(p, p.read_bytes(), p.stat().st_mtime_ns) for p in sorted((vault / "daily").rglob("*.md"))]
    assert rebuild(vault, sync=False) == []
    assert [(p, p.read_bytes(), p.stat().st_mtime_ns) for p, _, _ in before] == before


def test_a_missing_index_is_as_it_was(index: Path, vault: Path) -> None:
    """Its lines in the order of the events' first turns."""
    before = index.read_bytes()
    index.unlink()
    assert rebuild(vault, sync=False) == [f"{DAY}.md"]
    assert index.read_bytes() == before


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_what_people_wrote_stays(index: Path, newline: str) -> None:
    """B80: text around and between, other sections, an edited tail, and the file's line ends."""
    mine = [
        "---",
        "tags: [x]",
        "---",
        "# Mine",
        "",
        "## Events",
        "words",
        f"- [x] [[{DAY}/two/two.md|two]] — my own words",
        "  - below it",
        "",
        "## After",
        "- [ ] task",
        "",
    ]
    wanted = [*mine[:9], LINES[0], LINES[2], *mine[9:]]
    assert written(index, newline.join(mine)) == newline.join(wanted)


def test_heading_and_summaries_come_back(index: Path) -> None:
    """A file without its heading, a line without its final summary; an open event's has none."""
    assert written(index, "# Mine\n") == "# Mine\n\n## Events\n" + "\n".join(LINES) + "\n"
    bare = [line.partition(" — ")[0] for line in LINES]
    assert written(index, "## Events\n" + "\n".join(bare) + "\n") == "## Events\n" + "\n".join(LINES) + "\n"


def test_lines_of_events_that_are_gone(index: Path, vault: Path) -> None:
    """Taken out if only the library wrote them; a person's words stay, and so do links to other days."""
    before = index.read_text("utf-8")
    shutil.rmtree(vault / DAY / "two")
    rebuild(vault, sync=False)
    assert index.read_text("utf-8") == before.replace(f"{LINES[1]}\n", "")
    mine = f"- [[{DAY}/gone/gone.md|gone]] — I did that\n- [[daily/2026-05-01/x/x.md|x]]\n"
    assert written(index, before.replace("## Events\n", f"## Events\n{mine}")).count(mine) == 1


def test_only_the_day_that_is_asked_for(index: Path, open_memory: Open, turn: MakeTurn, vault: Path) -> None:
    """And a day that is not there is an error."""
    with open_memory() as memory:
        memory.record(turn(4, NEXT_DAY))
    other = vault / "daily/2026-05-28.md"
    index.unlink()
    other.unlink()
    assert rebuild(vault, "2026-05-28", sync=False) == ["daily/2026-05-28.md"]
    assert other.exists() and not index.exists()
    for day in ("2026-05-29", "nonsense"):
        with pytest.raises(VaultError, match="no day"):
            rebuild(vault, day, sync=False)


def test_folders_of_people_get_no_line(index: Path, vault: Path) -> None:
    """B58: a note without the library's properties is no event of ours; one that is broken by now is."""
    before = index.read_bytes()
    for name, text in {"mine": "# My notes\n", "odd [1]": "---\nname: x\nthread: y\n---\n"}.items():
        (vault / DAY / name).mkdir()
        (vault / DAY / name / f"{name}.md").write_text(text, "utf-8")
    assert rebuild(vault, sync=False) == []
    note = vault / DAY / "three/three.md"
    note.write_text(note.read_text("utf-8").replace("title: ", "title: ["), "utf-8")
    index.unlink()
    rebuild(vault, sync=False)
    assert index.read_bytes() == before


@pytest.mark.parametrize("saves", [1, 100])
def test_events_that_change_meanwhile(
    index: Path, vault: Path, saves: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B74: planned anew if a note was saved meanwhile; if that goes on, told, and nothing is written."""
    before = index.read_text("utf-8")
    index.unlink()
    note = vault / DAY / "one/one.md"
    store = Store(vault, sync=False)
    commit, numbers = store.committer.commit, iter(range(saves))

    def after_a_save(*given: Any) -> Any:
        if (number := next(numbers, None)) is not None:
            note.write_text(note.read_text("utf-8").replace("On one.", f"On one, {number}.", 1), "utf-8")
            note.write_text(note.read_text("utf-8") + "\nMine.\n", "utf-8")
        return commit(*given)

    monkeypatch.setattr(store.committer, "commit", after_a_save)
    if saves == 1:
        assert list(rebuild_day(store, "2026-05-27")) == [f"{DAY}.md"]
        assert index.read_text("utf-8") == before.replace("On one.", "On one, 0.")
    else:
        with pytest.raises(Conflict):
            list(rebuild_day(store, "2026-05-27"))
        assert not index.exists()
    store.close()

"""Which event is active, whatever people, sync tools and backups do to the files in between."""

from __future__ import annotations

import os
import shutil
import unicodedata
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from automemory.memory import AutoMemory
from automemory.result import TurnResult
from automemory.vault.reader import Reader

Open = Callable[..., AutoMemory]
MakeTurn = Callable[..., list[dict[str, Any]]]
Files = Callable[[], dict[str, str]]
DAY = "daily/2026-05-27"


def event(result: TurnResult) -> tuple[str, str]:
    assert result.outcome == "recorded" and result.event
    return result.event.slug, result.event.how


def index(vault: Path, day: str = DAY) -> list[str]:
    """The day index's event lines."""
    lines = (vault / f"{day}.md").read_text(encoding="utf-8").split("\n")
    return [line for line in lines if line.startswith("- ")]


@pytest.fixture(params=[False, True], ids=["running", "restarted"])
def between(request: pytest.FixtureRequest) -> Callable[[AutoMemory], None]:
    """What lies between two turns: nothing, or the end of one memory and the start of the next."""

    def pass_time(memory: AutoMemory) -> None:
        if request.param:
            memory.close()

    return pass_time


def test_touched_files_change_nothing(
    open_memory: Open, turn: MakeTurn, vault: Path, between: Callable[[AutoMemory], None]
) -> None:
    """B39: times of files mean nothing; every old note touched in any order, the right event goes on."""
    memory = open_memory("one", "two", "three")
    for number in range(3):
        memory.record(turn(number))
    for age, name in enumerate(["three", "one", "two"]):
        for path in (vault / DAY / name, vault / DAY / name / f"{name}.md"):
            os.utime(path, (2_000_000_000 + age, 2_000_000_000 + age))
    between(memory)
    assert event(memory.record(turn(4))) == ("three", "continued")


def test_deleted_active_event_is_followed_by_a_new_one(
    open_memory: Open, turn: MakeTurn, vault: Path, between: Callable[[AutoMemory], None]
) -> None:
    """B39: without a crash; the line in the index goes with it if the library still remembers whose it
    was.
    """
    memory = open_memory("one", "two", "three")
    memory.record(turn(1))
    memory.record(turn(2))
    shutil.rmtree(vault / DAY / "two")
    assert event(memory.record(turn(3))) == ("three", "opened")
    assert index(vault) == [
        "- [[daily/2026-05-27/one/one.md|one]] — On one.",
        "- [[daily/2026-05-27/three/three.md|three]]",
    ]
    between(memory)
    assert event(memory.record(turn(4))) == ("three", "continued")


def test_all_of_the_day_deleted_is_no_crash(open_memory: Open, turn: MakeTurn, vault: Path) -> None:
    """B39: folder, index and all."""
    memory = open_memory("one", "two")
    memory.record(turn(1))
    shutil.rmtree(vault / "daily")
    assert event(memory.record(turn(2))) == ("two", "opened")
    assert index(vault) == ["- [[daily/2026-05-27/two/two.md|two]]"]


def test_renamed_active_event_goes_on_under_its_new_name(
    open_memory: Open, turn: MakeTurn, vault: Path, between: Callable[[AutoMemory], None]
) -> None:
    """B39: folder and note renamed by a person are still the stream's open event, and their turns are
    known.
    """
    memory = open_memory("one")
    memory.record(turn(1))
    (vault / DAY / "one").rename(vault / DAY / "uno")
    (vault / DAY / "uno" / "one.md").rename(vault / DAY / "uno" / "uno.md")
    between(memory)
    assert event(memory.record(turn(2))) == ("uno", "continued")
    assert memory.record(turn(1)).outcome == "duplicate"


def test_folder_renamed_without_its_note_is_no_event(open_memory: Open, turn: MakeTurn, vault: Path) -> None:
    """B39: a folder without a note of its name is a person's; nothing in it is touched."""
    memory = open_memory("one", "two")
    memory.record(turn(1))
    (vault / DAY / "one").rename(vault / DAY / "uno")
    before = (vault / DAY / "uno" / "one.md").read_bytes()
    assert event(memory.record(turn(2))) == ("two", "opened")
    assert (vault / DAY / "uno" / "one.md").read_bytes() == before


def test_restored_backup_goes_on_where_it_was(
    open_memory: Open, turn: MakeTurn, vault: Path, tmp_path: Path, files: Files
) -> None:
    """B39: notes, index and state put back as they were: known turns stay known, the others come in anew."""
    with open_memory("one", "two") as memory:
        memory.record(turn(1))
        memory.flush()
        shutil.copytree(vault, tmp_path / "backup")
        memory.record(turn(2))
        memory.record(turn(3))
    before = files()
    shutil.rmtree(vault)
    shutil.copytree(tmp_path / "backup", vault)
    with open_memory("two") as again:
        assert [again.record(turn(n)).outcome for n in (1, 2, 3)] == ["duplicate", "recorded", "recorded"]
    assert files() == before


def test_notes_restored_under_a_newer_state_are_believed(
    open_memory: Open, turn: MakeTurn, vault: Path, tmp_path: Path
) -> None:
    """B39: what the notes say counts, not what `state.db` remembers: an event that is open again is active
    again.
    """
    memory = open_memory("one", "two")
    memory.record(turn(1))
    shutil.copytree(vault / "daily", tmp_path / "backup")
    memory.record(turn(2))
    memory.close()
    shutil.rmtree(vault / "daily")
    shutil.copytree(tmp_path / "backup", vault / "daily")
    again = open_memory()
    assert event(again.record(turn(3))) == ("one", "continued")
    assert index(vault) == ["- [[daily/2026-05-27/one/one.md|one]]"]


def test_name_in_another_unicode_form_is_the_same_event(
    open_memory: Open, turn: MakeTurn, vault: Path, between: Callable[[AutoMemory], None]
) -> None:
    """B70: written composed, handed back decomposed: the same event, one folder, one index line."""
    name, decomposed = "café", unicodedata.normalize("NFD", "café")
    memory = open_memory(name, None, "two", name)
    assert event(memory.record(turn(1))) == (name, "opened")
    (vault / DAY / name).rename(vault / DAY / decomposed)
    (vault / DAY / decomposed / f"{name}.md").rename(vault / DAY / decomposed / f"{decomposed}.md")
    between(memory)
    assert event(memory.record(turn(2))) == (decomposed, "continued")
    assert event(memory.record(turn(3))) == ("two", "opened")
    assert event(memory.record(turn(4))) == (decomposed, "resumed")
    assert len(index(vault)) == 2 and len(list((vault / DAY).iterdir())) == 2
    assert memory.record(turn(1)).outcome == "duplicate"


def test_same_slug_on_three_days_is_linked_by_its_own_day(
    open_memory: Open, turn: MakeTurn, vault: Path
) -> None:
    """B57: full paths, quoted in YAML; every link resolves to its own day, and no alias ends it early."""
    memory = open_memory("one")
    for day in range(3):
        memory.record(turn(day, datetime.fromisoformat("2026-05-27T12:00:00+00:00") + timedelta(days=day)))
    reader = Reader(vault)
    days = ["2026-05-27", "2026-05-28", "2026-05-29"]
    paths = [f"daily/{day}/one/one.md" for day in days]
    assert [head.inherits for head in reader.events()] == ["", *paths[:2]]
    assert [head.path for head in reader.chain(paths[1])] == paths
    for day, path, before in zip(days[1:], paths[1:], paths, strict=False):
        text = (vault / path).read_text(encoding="utf-8")
        assert f'inherits: "[[{before}]]"\n' in text and f"Continues [[{before}|one]].\n" in text
        assert index(vault, f"daily/{day}")[0].startswith(f"- [[{path}|one]]")


BROKEN = {
    "invalid YAML": ("title: one\n", 'title: "one\n'),
    "a scalar": ("---\nname: one\n", "---\njust words\n---\n---\nname: one\n"),
    "unclosed": ("---\n\n## Turns", "\n## Turns"),
    "duplicate keys": ("title: one\n", "title: one\ntitle: two\n"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_broken_frontmatter_lets_appends_go_on(
    open_memory: Open, turn: MakeTurn, vault: Path, kind: str
) -> None:
    """B58: turns are appended, what needs the frontmatter is reported; no byte of it changes, no second
    block.
    """
    memory = open_memory("one", None, "two")
    memory.record(turn(1))
    note = vault / DAY / "one" / "one.md"
    text = note.read_text(encoding="utf-8")
    assert text.count(BROKEN[kind][0]) == 1
    note.write_text(text.replace(*BROKEN[kind]), encoding="utf-8")
    before = note.read_bytes()
    assert event(memory.record(turn(2))) == ("one", "continued")
    appended = note.read_bytes()
    assert appended.startswith(before) and b"Question 2?" in appended
    assert event(memory.record(turn(3))) == ("two", "opened")
    assert note.read_bytes() == appended
    assert list(memory.status().problems) == [f"{DAY}/one/one.md"]
    assert len(index(vault)) == 2


def test_closing_a_broken_note_by_request_is_reported(open_memory: Open, turn: MakeTurn, vault: Path) -> None:
    """B58: the call ends, the note stays as it is."""
    memory = open_memory("one")
    memory.record(turn(1))
    note = vault / DAY / "one" / "one.md"
    note.write_text(note.read_text(encoding="utf-8").replace("title: one", 'title: "one'), encoding="utf-8")
    before = note.read_bytes()
    memory.close_event()
    assert note.read_bytes() == before and list(memory.status().problems) == [f"{DAY}/one/one.md"]


def test_note_that_is_a_link_stays_one(open_memory: Open, turn: MakeTurn, vault: Path) -> None:
    """B75: appending and closing write through a symbolic link inside the vault, and keep the file's mode."""
    memory = open_memory("one", None, "two")
    memory.record(turn(1))
    note, elsewhere = vault / DAY / "one" / "one.md", vault / "attic.md"
    note.rename(elsewhere)
    note.symlink_to(elsewhere)
    elsewhere.chmod(0o640)
    memory.record(turn(2))
    memory.record(turn(3))
    assert note.is_symlink() and elsewhere.stat().st_mode & 0o777 == 0o640
    assert "closed_by: switch" in elsewhere.read_text(encoding="utf-8")
    assert len(Reader(vault).event(f"{DAY}/one/one.md").turns) == 2


def test_link_out_of_the_vault_is_not_followed(
    open_memory: Open, turn: MakeTurn, vault: Path, tmp_path: Path
) -> None:
    """A note that a link leads out of the vault is nobody's active event: it is neither read nor written."""
    memory = open_memory("one", "two")
    memory.record(turn(1))
    note, outside = vault / DAY / "one" / "one.md", tmp_path / "outside.md"
    note.rename(outside)
    note.symlink_to(outside)
    before = outside.read_bytes()
    memory.close()
    assert event(open_memory("two").record(turn(2)))[0] == "two"
    assert outside.read_bytes() == before


def test_files_are_their_owners_only(open_memory: Open, turn: MakeTurn, vault: Path) -> None:
    """B73: notes, index, folders and state are 0600 and 0700 in a vault the library made."""
    memory = open_memory("one")
    memory.record(turn(1))
    for path in vault.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path


def test_windows_editor_keeps_its_files(open_memory: Open, turn: MakeTurn, vault: Path) -> None:
    """B60: a byte order mark and CRLF stay, what is added has the same line ends, the properties are seen."""
    memory = open_memory("one", None, "two")
    memory.record(turn(1))
    note = vault / DAY / "one" / "one.md"
    note.write_bytes(b"\xef\xbb\xbf" + note.read_bytes().replace(b"\n", b"\r\n"))
    memory.record(turn(2))
    memory.record(turn(3))
    data = note.read_bytes()
    assert data.startswith(b"\xef\xbb\xbf---\r\n") and data.count(b"\n") == data.count(b"\r\n")
    assert Reader(vault).event("one").head.closed_by == "switch"


def test_peoples_text_in_the_index_survives(open_memory: Open, turn: MakeTurn, vault: Path) -> None:
    """B80: a template, tasks, lines reordered, a summary edited, a line deleted; only the library's lines
    change.
    """
    (vault / "daily").mkdir(parents=True)
    day = vault / f"{DAY}.md"
    day.write_text("# My day\n- [ ] call mum\n\n## Events\n\n## Notes\nHello.\n", encoding="utf-8")
    memory = open_memory("one", "two", "three", "four")
    for number in range(3):
        memory.record(turn(number))
    one, two, three = index(vault)[1:]
    assert one.endswith(" — On one.") and two.endswith(" — On two.")
    mine = f"{three}\nmy words\n{two} (great!)\n"
    day.write_text(
        day.read_text(encoding="utf-8").replace(f"{one}\n{two}\n{three}\n", mine), encoding="utf-8"
    )
    memory.record(turn(3))
    text = day.read_text(encoding="utf-8")
    assert text.startswith("# My day\n- [ ] call mum\n\n## Events\n") and text.endswith(
        "\n## Notes\nHello.\n"
    )
    assert f"{three} — On three.\nmy words\n{two} (great!)\n" in text
    assert "|one]]" not in text and "|four]]\n" in text


@pytest.mark.parametrize(
    "hostile",
    ["colon: here", "# hash", '"quote"', "- [x] {a}: *b* &c !d |e >f %g @h", "no", "a\n---\nb", " "],
)
def test_model_text_never_breaks_the_frontmatter(
    open_memory: Open, turn: MakeTurn, vault: Path, hostile: str
) -> None:
    """B55: titles and descriptions come straight from a model and are read back as they were, on one line."""
    from automemory.boundary import BoundaryDecision
    from automemory.decision import Verdict

    decision = BoundaryDecision(continue_=False, new_event_slug="one", summary_patch=hostile)
    open_memory(Verdict(decision, "llm", title=hostile)).record(turn(1))
    head = Reader(vault).event("one").head
    folded = " ".join(hostile.split())
    assert (head.title, head.description, head.status) == (folded or "one", folded, "active")


def test_link_out_of_the_vault_with_a_name_of_other_letters(
    open_memory: Open, turn: MakeTurn, vault: Path, tmp_path: Path
) -> None:
    """B71: a note in another Unicode form is looked for in folders of the vault, not elsewhere."""
    memory = open_memory("one")
    memory.record(turn(1))
    memory.close()
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / unicodedata.normalize("NFD", "über.md")).write_text("---\nthread: main\n---\n", "utf-8")
    (vault / DAY / unicodedata.normalize("NFC", "über")).symlink_to(outside)
    before = {path.name: path.read_bytes() for path in outside.iterdir()}
    assert event(open_memory(None).record(turn(2))) == ("one", "continued")
    assert [head.slug for head in Reader(vault).events()] == ["one"]
    assert {path.name: path.read_bytes() for path in outside.iterdir()} == before


def test_vault_goes_on_beside_a_link_out_of_it(
    open_memory: Open, turn: MakeTurn, vault: Path, tmp_path: Path
) -> None:
    """A plan that such a link keeps from ending holds up only its own stream, and nothing outside is
    written.
    """
    memory = open_memory("one", "two", "three")
    memory.record(turn(1))
    folder, outside = vault / DAY / "one", tmp_path / "outside"
    folder.rename(outside)
    folder.symlink_to(outside)
    before = {path.name: path.read_bytes() for path in outside.iterdir()}
    assert event(memory.record(turn(2)))[0] == "two"
    assert event(memory.record(turn(3), thread_id="other"))[0] == "three"
    assert event(memory.record(turn(4))) == ("two", "continued")
    assert {path.name: path.read_bytes() for path in outside.iterdir()} == before


def test_note_changed_while_nothing_ran_is_read_again(open_memory: Open, turn: MakeTurn, vault: Path) -> None:
    """B39: a start looks at every note of the window; the folders' times say nothing of what is in the
    files.
    """
    memory = open_memory("one", recent_scope="stream")
    memory.record(turn(1))
    memory.close()
    note = vault / DAY / "one" / "one.md"
    text = note.read_text(encoding="utf-8").replace("thread: main", "thread: given")
    note.write_text(text, encoding="utf-8")
    again = open_memory(recent_scope="stream")
    assert event(again.record(turn(2), thread_id="given")) == ("one", "continued")

"""A person joins events, cuts them, has things forgotten: nothing else is lost, nothing of that is left."""

from __future__ import annotations

import shutil
import tempfile
import unicodedata
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from automemory.errors import ConfigError, Conflict, VaultError
from automemory.maintenance.editor import Editor
from automemory.memory import AutoMemory
from automemory.turn import Turn
from automemory.vault.reader import Reader

Open = Callable[..., AutoMemory]
MakeTurn = Callable[..., list[dict[str, Any]]]
Files = Callable[[], dict[str, str]]
DAY = "daily/2026-05-27"
NEXT_DAY = datetime(2026, 5, 28, 9, tzinfo=UTC)
ONE, TWO, THREE = (f"{DAY}/{name}/{name}.md" for name in ("one", "two", "three"))


@pytest.fixture
def edit(vault: Path) -> Callable[..., Any]:
    """Makes a correction: `edit("merge", "one", "two")`."""

    def make(how: str, *what: Any) -> Any:
        with Editor(vault, sync=False) as editor:
            return editor.make(lambda: getattr(editor, how)(*what), lambda correction: True)

    return make


def record(memory: AutoMemory, turn: MakeTurn, *numbers: int, **options: Any) -> list[str]:
    return [memory.record(turn(number), **options).turn_id for number in numbers]


def questions(vault: Path, ref: str) -> list[str]:
    return [step.text for t in Reader(vault).event(ref).turns for step in t.steps if step.role == "user"]


def asked(*numbers: int) -> list[str]:
    return [f"Question {number}?" for number in numbers]


def index(vault: Path) -> list[str]:
    lines = (vault / f"{DAY}.md").read_text(encoding="utf-8").split("\n")
    return [line for line in lines if line.startswith("- ")]


def grep(vault: Path, words: str) -> list[str]:
    """The files of the vault, the library's own included, in whose names or bytes something occurs."""
    files = [path for path in vault.rglob("*") if path.is_file()]
    found = [p for p in files if words.encode() in p.read_bytes() or words in str(p.relative_to(vault))]
    return [str(path.relative_to(vault)) for path in found]


# Joining


def test_joined_events_are_one(
    open_memory: Open, turn: MakeTurn, vault: Path, edit: Callable[..., Any]
) -> None:
    """Turns by time, one folder and one line left, and the description says both until it is summed up."""
    memory = open_memory("one", None, "two", "one", "three")
    record(memory, turn, 1, 2, 3, 4, 5)
    memory.close()
    edit("merge", "one", "two")
    assert questions(vault, "one") == asked(1, 2, 3, 4)
    assert not (vault / TWO).parent.exists()
    head = Reader(vault).event("one").head
    assert (head.closed_by, head.summary_by) == ("switch", "pending")
    assert head.description == "one came to an end after 3 turns. On two."
    assert index(vault) == [f"- [[{ONE}|one]] — {head.description}", f"- [[{THREE}|three]]"]
    with open_memory() as again:
        again.flush()
    assert Reader(vault).event("one").head.description == "one came to an end after 4 turns."
    assert index(vault)[0] == f"- [[{ONE}|one]] — one came to an end after 4 turns."


@pytest.mark.parametrize("kept", ["one", "two"])
@pytest.mark.parametrize("restarted", [False, True])
def test_next_turn_goes_to_the_joined_event(
    open_memory: Open, turn: MakeTurn, vault: Path, edit: Callable[..., Any], kept: str, restarted: bool
) -> None:
    """2.2: whichever of both was active, what is left of them is; also for a memory that runs meanwhile."""
    memory = open_memory("one", None, "two")
    record(memory, turn, 1, 2, 3)
    if restarted:
        memory.close()
    edit("merge", kept, "two" if kept == "one" else "one")
    result = memory.record(turn(4))
    assert result.event and (result.event.slug, result.event.how) == (kept, "continued")
    assert questions(vault, kept) == asked(1, 2, 3, 4)
    head = Reader(vault).event(kept).head
    assert head.open and head.status == "active" and not head.closed_by
    assert [line.partition("|")[2][:3] for line in index(vault)] == [kept]


def test_known_turns_stay_known(
    open_memory: Open, turn: MakeTurn, vault: Path, edit: Callable[..., Any]
) -> None:
    """Handed in again, after the join and after `state.db` is gone, no turn is recorded twice, and one that
    went on is extended where it stands now."""
    memory = open_memory("one", "two")
    record(memory, turn, 1, 2)
    memory.close()
    edit("merge", "one", "two")
    assert [open_memory().record(turn(n)).outcome for n in (1, 2)] == ["duplicate"] * 2
    shutil.rmtree(vault / ".automemory")
    later = open_memory()
    assert [later.record(turn(n)).outcome for n in (1, 2)] == ["duplicate"] * 2
    longer = [*turn(2), {"role": "assistant", "content": "And more.", "id": "b2"}]
    result = later.record(longer)
    assert (result.outcome, result.event and result.event.path) == ("extended", ONE)


def test_materials_are_never_lost(
    open_memory: Open, turn: MakeTurn, vault: Path, edit: Callable[..., Any]
) -> None:
    """Files, folders, hidden files and links move; a name that is taken is numbered, and links follow."""
    memory = open_memory("one", "two")
    record(memory, turn, 1, 2)
    memory.close()
    one, two = (vault / ONE).parent, (vault / TWO).parent
    (one / "log.txt").write_text("of one", "utf-8")
    (two / "log.txt").write_text("of two", "utf-8")
    (two / "trace").mkdir()
    (two / "trace/run.tar.gz").write_bytes(b"\0\1")
    (two / ".hidden").write_text("h", "utf-8")
    (two / "here").symlink_to("log.txt")
    (two / "own.md").write_text("See [[log.txt]] and [[two]].\n", "utf-8")
    (vault / "resource").mkdir()
    (vault / "resource/r.md").write_text(
        f"[[{TWO[:-7]}/log.txt]] ![[run.tar.gz]] [[{TWO}|two]] `[[two]]`\n", "utf-8"
    )
    edit("merge", "one", "two")
    assert not two.exists()
    found = {p.relative_to(one).as_posix() for p in one.rglob("*")}
    assert found == {
        "one.md",
        "log.txt",
        "log-2.txt",
        "trace",
        "trace/run.tar.gz",
        ".hidden",
        "here",
        "own.md",
    }
    assert (one / "log.txt").read_text("utf-8") == "of one"
    assert (one / "log-2.txt").read_text("utf-8") == "of two"
    assert (one / "here").is_symlink()
    assert (one / "own.md").read_text("utf-8") == f"See [[{DAY}/one/log-2.txt]] and [[{ONE[:-3]}]].\n"
    assert (vault / "resource/r.md").read_text("utf-8") == (
        f"[[{DAY}/one/log-2.txt]] ![[run.tar.gz]] [[{ONE}|one]] `[[two]]`\n"
    )


def test_heirs_and_origins(open_memory: Open, turn: MakeTurn, vault: Path, edit: Callable[..., Any]) -> None:
    """B57: who inherited from the event that goes inherits from the one that stays, in both places."""
    memory = open_memory("one", "two")
    record(memory, turn, 1, 2)
    memory.record(turn(3, NEXT_DAY))
    memory.close()
    edit("merge", "one", TWO)
    heir = "daily/2026-05-28/two/two.md"
    text = (vault / heir).read_text("utf-8")
    assert f'inherits: "[[{ONE}]]"' in text and f"Continues [[{ONE}|one]].\n" in text and TWO not in text
    assert [head.path for head in Reader(vault).chain(heir)] == [ONE, heir]


@pytest.mark.parametrize("kept", ["one", "one-2"])
def test_a_capped_event_and_its_continuation(
    open_memory: Open, turn: MakeTurn, vault: Path, edit: Callable[..., Any], kept: str
) -> None:
    """Of two that continue each other, what is left does not continue itself."""
    memory = open_memory("one", max_turns_per_event=2)
    record(memory, turn, 1, 2, 3)
    memory.close()
    edit("merge", kept, "one-2" if kept == "one" else "one")
    event = Reader(vault).event(kept)
    assert not event.head.inherits and not event.body
    assert questions(vault, kept) == asked(1, 2, 3)


def test_peoples_text_is_kept(
    open_memory: Open, turn: MakeTurn, vault: Path, edit: Callable[..., Any]
) -> None:
    """B80: sections, properties, comments and an edited index line of the event that goes."""
    memory = open_memory("one", "two", "three")
    record(memory, turn, 1, 2, 3)
    memory.close()
    note, day = vault / TWO, vault / f"{DAY}.md"
    text = note.read_text("utf-8").replace("\nstatus:", "\n# mine\nrating: '5'\nstatus:", 1)
    sections = "Loose words.\n\n## Progress\n- half of it\n\n## Mine\nOwn words – 我的.\n\n## Turns\n"
    note.write_text(text.replace("## Turns\n", sections, 1), "utf-8")
    day.write_text(day.read_text("utf-8").replace("On two.", "my own words"), "utf-8")
    before = (vault / ONE).read_text("utf-8")
    (vault / ONE).write_text(before.replace("## Turns", "## Progress\n- a start\n\n## Turns", 1), "utf-8")
    edit("merge", "one", "two")
    body = Reader(vault).event("one").body
    assert "- a start\n- half of it" in body
    for words in ("Loose words.", "## Mine\nOwn words – 我的.", "```yaml\n# mine\nrating: '5'\n```"):
        assert body.count(words) == 1
    assert f"- [[{ONE}|one]] — my own words" in index(vault)


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        ("one", "to itself"),
        ("daily/2026-05-28/next/next.md", "of one day"),
        ("other", "agent and thread"),
        ("bot_own", "agent and thread"),
        ("mine", "no turns"),
    ],
)
def test_what_cannot_be_joined(
    open_memory: Open,
    turn: MakeTurn,
    vault: Path,
    files: Files,
    edit: Callable[..., Any],
    second: str,
    reason: str,
) -> None:
    """1.1 and 2.5: other days, other streams, other agents; refused, and nothing is changed."""
    memory = open_memory("one", "other", "next")
    record(memory, turn, 1)
    record(memory, turn, 2, thread_id="b")
    memory.record(turn(3, NEXT_DAY))
    with open_memory("own", agent_id="bot") as bot:
        record(bot, turn, 4)
    memory.close()
    (vault / DAY / "mine").mkdir()
    (vault / DAY / "mine/mine.md").write_text("---\nname: mine\n---\nWords\n", "utf-8")
    before = files()
    with pytest.raises(ConfigError, match=reason):
        edit("merge", "one", second)
    assert files() == before


# Cutting


def test_cut_event_is_two(open_memory: Open, turn: MakeTurn, vault: Path, edit: Callable[..., Any]) -> None:
    """The tail is an event of the same day and stream; both are closed, summed up, and have a line."""
    memory = open_memory("one", None, None, None, "two")
    ids = record(memory, turn, 1, 2, 3, 4, 5)
    memory.close()
    edit("split", "one", ids[2], "Plan the Offsite")
    assert questions(vault, "one") == asked(1, 2)
    assert questions(vault, "plan-the-offsite") == asked(3, 4)
    head, tail = (Reader(vault).event(name).head for name in ("one", "plan-the-offsite"))
    assert (head.closed, head.closed_by) == ("2026-05-27T12:03:00+00:00", "switch")
    assert (tail.closed, tail.closed_by) == ("2026-05-27T12:05:00+00:00", "switch")
    assert (tail.name, tail.title, tail.created, tail.thread) == (
        "plan-the-offsite",
        "plan the offsite",
        "2026-05-27",
        "main",
    )
    with open_memory() as again:
        again.flush()
    assert [line.partition(" — ")[2] for line in index(vault)] == [
        "one came to an end after 2 turns.",
        "",
        "plan-the-offsite came to an end after 2 turns.",
    ]


@pytest.mark.parametrize("restarted", [False, True])
def test_next_turn_goes_to_the_tail(
    open_memory: Open, turn: MakeTurn, vault: Path, edit: Callable[..., Any], restarted: bool
) -> None:
    """2.2: of an active event the tail is active, the rest is closed; the agent's prefix stays."""
    memory = open_memory("one", agent_id="bot")
    record(memory, turn, 1, 2, 3)
    if restarted:
        memory.close()
    edit("split", "bot_one", "2")
    result = memory.record(turn(4))
    assert result.event and result.event.path == f"{DAY}/bot_question-2/bot_question-2.md"
    assert questions(vault, "bot_question-2") == asked(2, 3, 4)
    assert [(e.name, e.open) for e in Reader(vault).events()] == [
        ("bot_one", False),
        ("bot_question-2", True),
    ]
    known = memory.record([*turn(3), {"role": "assistant", "content": "More.", "id": "b3"}])
    assert known.outcome == "extended" and known.event == result.event.__class__(
        result.event.path, result.event.slug, result.event.title, "continued"
    )


@pytest.mark.parametrize("at", ["1", "9", "0", "feedfeedfeedfeed"])
def test_where_an_event_cannot_be_cut(
    open_memory: Open, turn: MakeTurn, files: Files, edit: Callable[..., Any], at: str
) -> None:
    """Before its first turn, or at a turn of another: refused, nothing is changed."""
    memory = open_memory("one")
    record(memory, turn, 1, 2)
    memory.close()
    before = files()
    with pytest.raises(ConfigError, match="no turn after the first"):
        edit("split", "one", at)
    with pytest.raises(ConfigError, match="no name"):
        edit("split", "one", "2", "{}")
    assert files() == before


def test_a_taken_name_is_numbered(
    open_memory: Open, turn: MakeTurn, vault: Path, edit: Callable[..., Any]
) -> None:
    """B70: also if it is there in another Unicode form."""
    memory = open_memory("one")
    record(memory, turn, 1, 2)
    memory.close()
    (vault / DAY / unicodedata.normalize("NFD", "café")).mkdir()
    edit("split", "one", "2", "Café")
    assert questions(vault, f"{DAY}/café-2/café-2.md") == asked(2)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.integers(2, 5), newline=st.sampled_from(["\n", "\r\n"]))
def test_cut_and_joined_again_is_as_before(
    open_memory: Open, turn: MakeTurn, tmp_path: Path, cut: int, newline: str
) -> None:
    """A split and a merge are each other's inverse: the turns, and all bytes of the `## Turns` section."""
    vault = Path(tempfile.mkdtemp(dir=tmp_path))
    memory = open_memory("one", vault=vault)
    record(memory, turn, 1, 2, 3, 4, 5)
    memory.close()
    note = vault / ONE
    note.write_bytes(note.read_bytes().replace(b"\n", newline.encode()))
    before = Reader(vault).event("one")
    turns = note.read_bytes().partition(b"## Turns")[2]
    with Editor(vault, sync=False) as editor:
        editor.apply(editor.split("one", str(cut), "two"))
        assert questions(vault, "one") + questions(vault, "two") == asked(1, 2, 3, 4, 5)
        editor.apply(editor.merge("one", "two"))
    after = Reader(vault).event("one")
    assert after.turns == before.turns and after.head.open and not (vault / TWO).parent.exists()
    assert note.read_bytes().partition(b"## Turns")[2] == turns


# Forgetting


@pytest.fixture
def secret(open_memory: Open, turn: MakeTurn, vault: Path) -> Callable[..., str]:
    """Records three turns, of which one says `xylophone` and gets it into its patch; gives its id."""

    def make(number: int, *, closed: bool) -> str:
        answers = ["one", None, None]
        memory = open_memory(*answers)
        ids = []
        for n in (1, 2, 3):
            said = turn(n, reply="The xylophone is in the cellar." if n == number else "")
            ids.append(memory.record(said).turn_id)
        if closed:
            memory.close_event()
        memory.close()
        return ids[number - 1]

    return make


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("closed", [False, True])
def test_nothing_of_a_forgotten_turn_is_left(
    secret: Callable[..., str],
    open_memory: Open,
    turn: MakeTurn,
    vault: Path,
    edit: Callable[..., Any],
    number: int,
    closed: bool,
) -> None:
    """5.5: not in the note, its description, the index, the caches; and no import brings it back."""
    id = secret(number, closed=closed)
    for path in (vault / ONE, vault / f"{DAY}.md"):  # as a summary that quotes it
        text = path.read_text("utf-8").replace("one came to an end after 3 turns.", "Of a xylophone.")
        path.write_text(text.replace("title: one", "title: The xylophone"), "utf-8")
    assert f"{DAY}/one/one.md" in grep(vault, "xylophone")
    edit("forget", id)
    assert grep(vault, "xylophone") == []
    left = [n for n in (1, 2, 3) if n != number]
    assert questions(vault, "one") == asked(*left)
    again = open_memory()
    assert again.record(turn(number, reply="The xylophone is in the cellar.")).outcome == "excluded"
    again.close()
    shutil.move(vault / ".automemory/tombstones", vault / "t")
    shutil.rmtree(vault / ".automemory")
    (vault / ".automemory").mkdir()
    shutil.move(vault / "t", vault / ".automemory/tombstones")
    assert open_memory().record(turn(number)).outcome == "excluded"
    assert questions(vault, "one") == asked(*left)


def test_files_that_may_still_tell_of_a_forgotten_turn_are_named(
    open_memory: Open, turn: MakeTurn, vault: Path, edit: Callable[..., Any]
) -> None:
    """5.5: no line of a view says which turn it came from: the person is told where to look.

    The overview is made anew; what a person or a synchronizer wrote into the note stays.
    """
    memory = open_memory("one", None, note_schema="notes")
    ids = record(memory, turn, 1, 2)
    memory.close()
    folder = vault / DAY / "one"
    note = folder / "one.md"
    note.write_text(note.read_text("utf-8").replace("## Overview\n", "## Overview\nA xylophone. "), "utf-8")
    with Editor(vault) as editor:
        assert not [hint for hint in editor.forget(ids[0]).hints if "may quote" in hint]
    view = "Part of [[daily/2026-05-27/one/one.md|one]].\n\n## Progress\n- A xylophone.\n"
    (folder / "progress.md").write_text(view, "utf-8")
    (folder / "mock.png").write_bytes(b"\0")
    note.write_text(note.read_text("utf-8").replace("## Overview", "## Plan\n- it\n\n## Overview"), "utf-8")
    done = edit("forget", ids[0])
    [hint] = [hint for hint in done.hints if "may quote" in hint]
    told = [ONE, f"{DAY}/one/mock.png", f"{DAY}/one/progress.md"]
    assert hint.endswith(f": {', '.join(told)}")
    assert grep(vault, "xylophone") == [f"{DAY}/one/progress.md"]


def test_nothing_of_a_forgotten_event_is_left(
    open_memory: Open, turn: MakeTurn, vault: Path, edit: Callable[..., Any]
) -> None:
    """5.5: nor its name: links to it are plain text, who inherited from it does not; all else stays."""
    memory = open_memory("one", "xylophone", None, "three")
    ids = record(memory, turn, 1, 2, 3, 4)
    memory.record(turn(5, NEXT_DAY), event="xylophone")
    memory.close()
    shutil.move(vault / "daily/2026-05-28/xylophone", vault / "daily/2026-05-28/heir")
    shutil.move(vault / "daily/2026-05-28/heir/xylophone.md", vault / "daily/2026-05-28/heir/heir.md")
    heir = vault / "daily/2026-05-28/heir/heir.md"
    text = heir.read_text("utf-8")
    assert "inherits:" in text and "Continues" in text
    heir.write_text(
        text.replace("name: xylophone", "name: heir").replace("title: xylophone", "title: heir"), "utf-8"
    )
    (vault / "daily/2026-05-28.md").unlink()
    (vault / "own.md").write_text("As in [[xylophone|that talk]], or [[xylophone]].\n", "utf-8")
    edit("forget", "xylophone")
    assert grep(vault, "xylophone") == []
    assert (vault / "own.md").read_text("utf-8") == "As in that talk, or (forgotten).\n"
    head = Reader(vault).event("heir").head
    assert not head.inherits and "Continues" not in heir.read_text("utf-8")
    assert [line[:40] for line in index(vault)] == [
        "- [[daily/2026-05-27/one/one.md|one]] — ",
        "- [[daily/2026-05-27/three/three.md|thre",
    ]
    again = open_memory()
    assert [again.record(turn(n)).outcome for n in (1, 2, 3, 4)] == [
        "duplicate",
        "excluded",
        "excluded",
        "duplicate",
    ]
    assert len(ids) == 4


def test_forgotten_event_leaves_materials(
    open_memory: Open, turn: MakeTurn, vault: Path, edit: Callable[..., Any]
) -> None:
    """1.1: what others put there stays, and the person is told."""
    memory = open_memory("one")
    record(memory, turn, 1)
    memory.close()
    (vault / DAY / "one/mock.png").write_bytes(b"\0")
    done = edit("forget", "one")
    assert any("1 materials stay in daily/2026-05-27/one" in hint for hint in done.hints)
    assert [path.name for path in (vault / DAY / "one").iterdir()] == ["mock.png"]


def test_last_turn_goes_with_its_event(
    open_memory: Open, turn: MakeTurn, vault: Path, edit: Callable[..., Any]
) -> None:
    """An event without turns is none."""
    memory = open_memory("one", "two")
    ids = record(memory, turn, 1, 2)
    memory.close()
    edit("forget", ids[1])
    assert not (vault / TWO).parent.exists()
    result = open_memory("three").record(turn(3))
    assert result.event and result.event.how == "opened"


def test_copies_and_waiting_turns_are_forgotten_too(
    secret: Callable[..., str], open_memory: Open, turn: MakeTurn, vault: Path, edit: Callable[..., Any]
) -> None:
    """A synchronizer's copy of the note, a database set aside, a turn that is not filed yet."""
    id = secret(2, closed=False)
    shutil.copy(vault / ONE, vault / DAY / "one/one.sync-conflict-20260527.md")
    shutil.copy(vault / ".automemory/state.db", vault / ".automemory/state.db.broken-1")
    draft = open_memory().record(Turn.of(turn(7, reply="A glockenspiel."), complete=False))
    edit("forget", draft.turn_id)
    assert grep(vault, "glockenspiel") == []
    edit("forget", id)
    assert grep(vault, "xylophone") == []
    assert not (vault / ".automemory/state.db.broken-1").exists()
    assert open_memory().record(turn(7)).outcome == "excluded"


def test_nothing_is_forgotten_by_guess(vault: Path, open_memory: Open, turn: MakeTurn, edit: Any) -> None:
    """A name that is none, and a broken note of which not all could be erased, are refused."""
    memory = open_memory("one")
    ids = record(memory, turn, 1, 2)
    memory.close()
    with pytest.raises(VaultError, match="no event 'feed'"):
        edit("forget", "feed")
    note = vault / ONE
    note.write_text(note.read_text("utf-8").replace("title:", "title: [", 1), "utf-8")
    with pytest.raises(VaultError, match="repair it by hand"):
        edit("forget", ids[0])
    assert questions(vault, "one") == asked(1, 2)


# All of them


@pytest.mark.parametrize("what", [("merge", "one", "two"), ("split", "one", "2"), ("forget", "one")])
def test_a_dry_run_changes_nothing(
    open_memory: Open, turn: MakeTurn, vault: Path, files: Files, what: tuple[str, ...]
) -> None:
    """It says what would change, by path; a refusal afterwards changes nothing either."""
    memory = open_memory("one", None, "two")
    record(memory, turn, 1, 2, 3)
    memory.close()
    before = files()
    with Editor(vault, sync=False) as editor:
        planned = getattr(editor, what[0])(*what[1:])
        assert {path for path, _ in planned.changes} >= {ONE, f"{DAY}.md"}
        assert editor.make(lambda: planned, lambda correction: False) is None
    assert files() == before


def test_a_vault_that_changed_meanwhile(open_memory: Open, turn: MakeTurn, vault: Path, files: Files) -> None:
    """B74: a turn that an agent records between the plan and its making is not lost."""
    memory = open_memory("one", "two")
    record(memory, turn, 1, 2)
    with Editor(vault, sync=False) as editor:
        planned = editor.merge("one", "two")
        record(memory, turn, 3)
        with pytest.raises(Conflict):
            editor.apply(planned)
        assert editor.make(lambda: editor.merge("one", "two"), lambda correction: True)
    assert questions(vault, "one") == asked(1, 2, 3)


def test_a_vault_that_keeps_changing(open_memory: Open, turn: MakeTurn, vault: Path, files: Files) -> None:
    """B74: an agent that records after every plan wins each time; it is told, and nothing was joined."""
    memory = open_memory("one", "two")
    record(memory, turn, 1, 2)
    numbers = iter(range(3, 20))

    def plan() -> Any:
        planned = editor.merge("one", "two")
        record(memory, turn, next(numbers))
        seen.append(files())
        return planned

    seen: list[dict[str, str]] = []
    with Editor(vault, sync=False) as editor, pytest.raises(Conflict, match="when no agent is at work"):
        editor.make(plan, lambda correction: True)
    assert files() == seen[-1] and len(seen) > 1
    assert questions(vault, "one") == asked(1)


@pytest.mark.parametrize("what", [("merge", "two", "one"), ("merge", "one", "two"), ("split", "two", "2")])
def test_events_behind_links_inside_the_vault_are_corrected_where_they_are(
    open_memory: Open, turn: MakeTurn, vault: Path, files: Files, edit: Callable[..., Any], what: Any
) -> None:
    """Its files would be removed under one name and stay under the other: refused, and nothing changes."""
    memory = open_memory("one", "two", None)
    record(memory, turn, 1, 2, 3)
    memory.close()
    shutil.move(vault / DAY / "two", vault / "resource")
    (vault / DAY / "two").symlink_to(vault / "resource")
    before = files()
    with pytest.raises(VaultError, match=f"'{TWO}' is, or lies behind, a symbolic link"):
        edit(*what)
    assert files() == before


def test_events_behind_links_are_left_alone(
    open_memory: Open, turn: MakeTurn, vault: Path, tmp_path: Path, edit: Callable[..., Any]
) -> None:
    """6.1: nothing outside the vault is written or removed."""
    memory = open_memory("one", "two")
    record(memory, turn, 1, 2)
    memory.close()
    outside = tmp_path / "outside"
    shutil.move(vault / DAY / "two", outside)
    (vault / DAY / "two").symlink_to(outside)
    for what in (("merge", "one", TWO), ("forget", TWO), ("split", TWO, "2")):
        with pytest.raises(VaultError):
            edit(*what)
    assert (outside / "two.md").exists()
    shutil.move(vault / ".automemory", tmp_path / "home")
    (vault / ".automemory").symlink_to(tmp_path / "home")
    with pytest.raises(VaultError, match="symbolic link"):
        Editor(vault)
    (vault / ".automemory").unlink()


@pytest.mark.parametrize("reads", [1, 2])
def test_turn_recorded_while_another_one_is_being_forgotten_stays(
    open_memory: Open, turn: MakeTurn, vault: Path, monkeypatch: pytest.MonkeyPatch, reads: int
) -> None:
    """The only turn of an event takes the event with it; not so if it is no longer the only one."""
    memory = open_memory("one", None)
    [first] = record(memory, turn, 1)
    with Editor(vault, sync=False) as editor:
        look = editor._noted

        def look_before_a_turn_comes(path: str, **options: Any) -> Any:
            seen = look(path, **options)
            looks.append(path)
            if len(looks) == reads:
                record(memory, turn, 2)
            return seen

        looks: list[str] = []

        monkeypatch.setattr(editor, "_noted", look_before_a_turn_comes)
        assert editor.make(lambda: editor.forget(first), lambda correction: True)
    assert questions(vault, "one") == asked(2)
    assert memory.record(turn(1)).outcome == "excluded"
    assert memory.record(turn(2)).outcome == "duplicate"

"""Reading a vault needs nothing but its Markdown, and changes nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from automemory.boundary import BoundaryDecision
from automemory.decision import EventSummary, EventView, Exchange, Verdict
from automemory.errors import PathEscape, VaultError
from automemory.memory import AutoMemory
from automemory.vault.reader import Reader

Open = Callable[..., AutoMemory]
MakeTurn = Callable[..., list[dict[str, Any]]]
Files = Callable[[], dict[str, str]]
START = datetime.fromisoformat("2026-05-25T12:00:00+00:00")


@pytest.fixture
def reader(open_memory: Open, turn: MakeTurn, vault: Path) -> Reader:
    """A vault of three days, two agents and two threads; `deploy` was gone on with on the second and third
    day.
    """
    ada = open_memory("deploy", "tax", agent_id="ada")
    bob = open_memory("garden", None, "部署", agent_id="bob")
    ada.record(turn(1, START))
    bob.record(turn(2, START + timedelta(minutes=1)))
    ada.record(turn(3, START + timedelta(minutes=2)), thread_id="other")
    ada.record(turn(4, START + timedelta(days=1)))
    bob.record(turn(5, START + timedelta(days=1, minutes=1), reply="The ROSES, see [[resource/roses.md]]."))
    ada.record(turn(6, START + timedelta(days=2)))
    bob.record(turn(7, START + timedelta(days=2, minutes=-5)))
    ada.close()
    bob.close()
    return Reader(vault)


def names(found: list[Any]) -> list[str]:
    return [f"{head.date[-2:]} {head.name}" for head in found]


FIRST_DAY = ["25 ada_deploy", "25 bob_garden", "25 ada_tax"]
ALL = [*FIRST_DAY, "26 ada_deploy", "26 bob_garden", "27 bob_部署", "27 ada_deploy"]


def test_events_come_in_the_order_they_happened(reader: Reader) -> None:
    assert names(reader.events()) == ALL


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"since": "2026-05-26"}, ALL[3:]),
        ({"until": "2026-05-25"}, ALL[:3]),
        ({"since": "2026-05-26", "until": "2026-05-26"}, ALL[3:5]),
        ({"agent": "bob"}, [ALL[1], ALL[4], ALL[5]]),
        ({"thread": "other"}, [ALL[2]]),
        ({"status": "completed"}, []),
        ({"text": "roses"}, [ALL[4]]),
        ({"text": "nothing says this"}, []),
        ({"agent": "ada", "thread": "main", "text": "question 4"}, [ALL[3]]),
    ],
)
async def test_events_are_chosen(reader: Reader, wanted: dict[str, str], found: list[str]) -> None:
    """Sync and async alike."""
    assert names(reader.events(**wanted)) == names(await reader.aevents(**wanted)) == found


@pytest.mark.parametrize(
    "ref",
    [
        "daily/2026-05-27/bob_部署/bob_部署.md",
        "daily/2026-05-27/bob_部署/bob_部署",
        "[[daily/2026-05-27/bob_部署/bob_部署.md|anything]]",
        "2026-05-27/bob_部署",
        "daily/2026-05-27/bob_部署",
        "bob_部署",
    ],
)
async def test_event_is_found_by_what_people_write(reader: Reader, ref: str) -> None:
    event = reader.event(ref)
    assert event.head.path == "daily/2026-05-27/bob_部署/bob_部署.md"
    assert [step.text for turn in event.turns for step in turn.steps] == ["Question 7?", "Answer 7."]
    assert await reader.aevent(ref) == event


def test_name_of_several_events_is_refused_with_their_paths(reader: Reader) -> None:
    with pytest.raises(VaultError, match=r"25/ada_deploy.*26/ada_deploy.*27/ada_deploy"):
        reader.event("ada_deploy")


@pytest.mark.parametrize("ref", ["nothing", "2026-05-25/nothing", "2026-01-01/ada_tax", ""])
def test_unknown_event_is_refused(reader: Reader, ref: str) -> None:
    with pytest.raises(VaultError):
        reader.event(ref)


@pytest.mark.parametrize("ref", ["../../etc/passwd.md", "daily/2026-05-25/../../x/x.md", "/etc/x.md"])
def test_reference_out_of_the_vault_is_refused(reader: Reader, ref: str) -> None:
    """B71: no reference makes the reader look outside."""
    with pytest.raises(VaultError):
        reader.event(ref)


def test_linked_note_outside_the_vault_is_not_read(reader: Reader, vault: Path, tmp_path: Path) -> None:
    """B71: nor does a symbolic link."""
    (tmp_path / "secret.md").write_text("---\ntitle: secret\n---\n", encoding="utf-8")
    folder = vault / "daily/2026-05-25/link"
    folder.mkdir()
    (folder / "link.md").symlink_to(tmp_path / "secret.md")
    assert names(reader.events()) == ALL
    with pytest.raises(PathEscape):
        reader.event("daily/2026-05-25/link/link.md")
    assert [problem.path for problem in reader.problems()] == ["daily/2026-05-25/link/link.md"]


@pytest.mark.parametrize("day", ["25", "26", "27"])
async def test_chain_goes_both_ways(reader: Reader, day: str) -> None:
    """From any event of it, oldest first."""
    chain = reader.chain(f"2026-05-{day}/ada_deploy")
    assert names(chain) == ["25 ada_deploy", "26 ada_deploy", "27 ada_deploy"]
    assert await reader.achain(f"2026-05-{day}/ada_deploy") == chain
    assert names(reader.chain("ada_tax")) == ["25 ada_tax"]


def test_chain_follows_a_link_as_people_write_it(reader: Reader, vault: Path) -> None:
    """Unquoted, so a list to YAML, and with a comma in its alias (B57)."""
    note = vault / "daily/2026-05-26/ada_deploy/ada_deploy.md"
    link = "inherits: [[daily/2026-05-25/ada_deploy/ada_deploy|deploy, first part]]"
    text, changed = re.subn(r"(?m)^inherits: .*$", link, note.read_text(encoding="utf-8"))
    note.write_text(text, encoding="utf-8")
    assert changed == 1 and len(reader.chain("2026-05-27/ada_deploy")) == 3


def test_chain_in_a_circle_ends(reader: Reader, vault: Path) -> None:
    """A person linked an event to its own successor."""
    note = vault / "daily/2026-05-25/ada_deploy/ada_deploy.md"
    text = note.read_text(encoding="utf-8")
    link = 'inherits: "[[daily/2026-05-27/ada_deploy/ada_deploy.md]]"\n'
    note.write_text(text.replace("agent: ada\n", f"{link}agent: ada\n"), encoding="utf-8")
    assert len(reader.chain("2026-05-26/ada_deploy")) == 3


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_notes_people_broke_are_reported_and_skipped(reader: Reader, vault: Path, newline: str) -> None:
    """Bad YAML, no frontmatter, an empty folder, a sync conflict's copy, no UTF-8: never fatal."""
    day = vault / "daily/2026-05-26"
    for name, text in {
        "bad": f'---{newline}title: "x{newline}---{newline}',
        "bare": f"# Words{newline}",
        "latin": f"---{newline}title: caf\xe9{newline}---{newline}",
    }.items():
        (day / name).mkdir()
        (day / name / f"{name}.md").write_bytes(text.encode("latin-1"))
    (day / "empty").mkdir()
    (day / "bob_garden" / "bob_garden (conflict).md").write_text("copy", encoding="utf-8")
    (vault / "daily/notes").mkdir()
    (vault / "daily/2026-05-26/file.md").write_text("x", encoding="utf-8")
    assert [head.name for head in reader.events(until="2026-05-26", since="2026-05-26")] == [
        "ada_deploy",
        "bob_garden",
        "latin",
    ]
    problems = {problem.path: problem.reason for problem in reader.problems()}
    assert set(problems) == {f"daily/2026-05-26/{name}/{name}.md" for name in ("bad", "bare", "empty")}
    assert all(problems.values())


def test_reading_changes_nothing(reader: Reader, vault: Path, files: Files) -> None:
    def seen() -> list[tuple[str, int, int]]:
        return sorted((str(p), p.stat().st_size, p.stat().st_mtime_ns) for p in vault.rglob("*"))

    before = seen()
    for head in reader.events(text="question"):
        reader.event(head.path)
        reader.chain(head.path)
    reader.problems()
    assert seen() == before


def test_reader_needs_no_state(reader: Reader, vault: Path) -> None:
    for file in (vault / ".automemory").iterdir():
        file.unlink()
    assert names(reader.events()) == ALL


def test_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(VaultError, match="give the vault's folder"):
        Reader(tmp_path / "nothing")


def test_status_filter_knows_finished_tasks(open_memory: Open, turn: MakeTurn, vault: Path) -> None:
    class Finishing:
        async def decide(self, context: Any) -> Verdict:
            decision = BoundaryDecision(continue_=context.active is not None, new_event_slug="one")
            return Verdict(decision, "llm")

        async def summarize(self, event: EventView, turns: list[Exchange]) -> EventSummary:
            return EventSummary("Delivered.", completed=True, by="model")

    memory = open_memory(decider=Finishing())
    memory.record(turn(1))
    memory.record(turn(2))
    memory.close_event()
    assert [head.description for head in Reader(vault).events(status="completed")] == ["Delivered."]


async def test_links_that_go_round_in_a_circle_and_folders_for_notes_are_problems(tmp_path: Path) -> None:
    """A day with such names is listed all the same; asked for one of them, `VaultError` says what it is."""
    day = tmp_path / "daily/2026-05-27"
    for name in ("ring", "folder", "good"):
        (day / name).mkdir(parents=True)
    (day / "self").symlink_to("self")
    (day / "ring/ring.md").symlink_to("ring.md")
    (day / "folder/folder.md").mkdir()
    (day / "good/good.md").write_text("---\nname: good\n---\n")
    reader = Reader(tmp_path)
    assert [head.name for head in reader.events()] == ["good"]
    assert {problem.path.split("/")[2] for problem in reader.problems()} == {"ring", "folder"}
    for ref in ("ring", "folder", f"daily/2026-05-27/{'x' * 300}/{'x' * 300}.md"):
        with pytest.raises(VaultError):
            reader.event(ref)
        with pytest.raises(VaultError):
            await reader.aevent(ref)

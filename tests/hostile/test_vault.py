"""A vault in which everything is broken, foreign, or leads elsewhere: all that is done to it goes on."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pytest
from zoo import BROKEN, DAY, INDEX, LINKS, NOW, OPEN, Zoo, note

from automemory import cli
from automemory.errors import PathEscape, VaultError
from automemory.hook import accept
from automemory.maintenance.doctor import examine, repair
from automemory.maintenance.editor import Editor
from automemory.maintenance.rebuild import rebuild
from automemory.memory import AutoMemory
from automemory.synchronizer.toolkit import VaultToolkit
from automemory.vault.reader import Reader

Open = Callable[..., AutoMemory]
MakeTurn = Callable[..., list[dict[str, Any]]]
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="makes what Windows has no name for")


@pytest.fixture(autouse=True)
def unharmed(animals: Zoo) -> Iterator[None]:
    """6.1: nothing outside is written, and what is nobody's stays as it is, whatever a test does."""
    outside, broken = animals.beyond(), animals.broken()
    yield
    assert animals.beyond() == outside
    assert animals.broken() == broken
    assert (animals.vault / "daily" / DAY / "a-file.md").read_text("utf-8") == "A person's own.\n"


@pytest.fixture
def kit(animals: Zoo) -> Iterator[VaultToolkit]:
    kit = VaultToolkit(animals.vault, timezone="UTC", clock=lambda: NOW)
    yield kit
    kit.close()


def test_turns_of_all_streams_are_filed(open_memory: Open, turn: MakeTurn, animals: Zoo) -> None:
    """B58, B60: broken notes are nobody's; those with CRLF, a BOM or odd marks go on, in their own form."""
    memory = open_memory(vault=animals.vault, clock=lambda: NOW)
    for number, thread in enumerate([*OPEN, "main", "new"]):
        for part in range(2):
            assert memory.record(turn(2 * number + part), thread_id=thread).outcome == "recorded"
        event = memory.close_event(thread_id=thread)
        assert event and (event.slug == thread) == (thread in OPEN)
    day = animals.vault / "daily" / DAY
    assert b"\n" not in (day / "crlf" / "crlf.md").read_bytes().replace(b"\r\n", b"")
    assert (day / "bom" / "bom.md").read_bytes().startswith(b"\xef\xbb\xbf---")
    reader = Reader(animals.vault)
    for thread in OPEN:
        [head] = reader.events(thread=thread)
        said = [t.steps[0].text for t in reader.event(head.path).turns[-2:]]
        assert said == [f"Question {2 * list(OPEN).index(thread) + part}?" for part in range(2)]


def test_names_that_lead_elsewhere_are_taken(open_memory: Open, turn: MakeTurn, animals: Zoo) -> None:
    """Links out, in circles or to nowhere, pipes and case variants are names in use, never ways."""
    memory = open_memory(*LINKS, vault=animals.vault, clock=lambda: NOW)
    for number, name in enumerate(LINKS):
        result = memory.record(turn(number), thread_id=name)
        assert result.outcome == "recorded" and result.event and result.event.slug == f"{name}-2"


def test_persons_index_keeps_every_byte_of_hers(open_memory: Open, turn: MakeTurn, animals: Zoo) -> None:
    """B80: BOM, CRLF, invalid bytes and links to nowhere stay where they are."""
    memory = open_memory("one", vault=animals.vault, clock=lambda: NOW)
    memory.record(turn(1))
    memory.close_event()
    rebuild(animals.vault)
    assert (animals.vault / f"daily/{DAY}.md").read_bytes().startswith(INDEX)


def test_reader_tells_of_everything_and_fails_at_nothing(animals: Zoo) -> None:
    reader = Reader(animals.vault)
    heads = reader.events()
    assert {head.name for head in heads} >= set(OPEN)
    assert not {head.name for head in heads} & {*LINKS, ".hidden"}
    for head in heads:
        assert reader.event(head.path).head == head
        assert reader.chain(head.path) and isinstance(reader.backlinks(head.path), list)
    told = {problem.path.rpartition("/")[2].removesuffix(".md") for problem in reader.problems()}
    assert told >= {"bad-yaml", "bomb", "deep-yaml", "half-synced", "note-link", "folder-only"}
    assert not reader.changed(reader.changed().watermark).changed
    assert reader.day(DAY).lines and reader.acknowledged() == []


def test_tools_refuse_what_leads_elsewhere(kit: VaultToolkit, animals: Zoo) -> None:
    """B71: a refusal is an answer to the model; no tool reads, writes or fails beyond it."""
    for name in ("linked", "dead", "loop", "note-link", "dead-note", ".hidden", "round/up/crlf", "pipe-note"):
        path = f"daily/{DAY}/{name}/{name.rpartition('/')[2]}.md"
        for call in (kit.read, kit.property_read, lambda p: kit.write(p, "## Objective\nDo it.\n", True)):
            if name == "round/up/crlf" and call != kit.read:
                continue
            with suppress(VaultError):
                assert "secret" not in str(call(path))
            kit.renew()
    assert all("outside" not in path for path in kit.list(recursive=True))
    assert kit.write(f"daily/{DAY}/mine/mine.md", "## Objective\nDo it.\n").startswith("created")


def test_doctor_and_rebuild_repair_the_rest(open_memory: Open, animals: Zoo) -> None:
    """What needs a person's judgement is told; a second repair finds nothing more to do."""
    found = repair(animals.vault, NOW, lambda agent: open_memory(vault=animals.vault, agent_id=agent or None))
    assert not found.error
    assert not [finding for finding in found.findings if finding.fixable]
    assert {f.path for f in found.findings} >= {f"daily/{DAY}/bad-yaml/bad-yaml.md", f"daily/{DAY}/linked"}
    assert rebuild(animals.vault) == []


def test_person_can_correct_events_in_it(open_memory: Open, turn: MakeTurn, animals: Zoo) -> None:
    memory = open_memory("one", "two", vault=animals.vault, clock=lambda: NOW)
    for number in range(2):
        memory.record(turn(number), thread_id="mine")
    memory.close()
    with Editor(animals.vault) as editor:
        editor.make(
            lambda: editor.merge(f"daily/{DAY}/one/one.md", f"daily/{DAY}/two/two.md"),
            lambda correction: True,
        )
        editor.make(lambda: editor.forget(f"daily/{DAY}/one/one.md"), lambda correction: True)
    assert not (animals.vault / "daily" / DAY / "one").exists()
    assert not Reader(animals.vault).events(thread="mine")


def test_command_line_prints_every_name(animals: Zoo, capsys: pytest.CaptureFixture[str]) -> None:
    """B82: a name that is no valid UTF-8 is shown, not stumbled over."""
    for command in (["doctor"], ["events"], ["events", "--json"], ["doctor", "--json"]):
        assert cli.main([*command, "--vault", str(animals.vault)]) in {0, 1}
        shown = capsys.readouterr()
        assert "Traceback" not in shown.err and shown.out


@pytest.mark.parametrize(
    "name", [".automemory", "state.db", "state.db-wal", "tombstones", "vault.lock", "hook.log"]
)
def test_own_files_that_lie_elsewhere_are_refused(
    open_memory: Open, turn: MakeTurn, tmp_path: Path, name: str
) -> None:
    """6.1.5: nothing is kept outside of the vault; the turn waits in memory and the status says why."""
    vault, elsewhere = tmp_path / "new", tmp_path / "elsewhere"
    vault.mkdir()
    elsewhere.mkdir()
    (elsewhere / "file").write_bytes(b"precious")
    link = vault / ".automemory"
    if name != link.name:
        link.mkdir()
        link = link / name
    link.symlink_to(elsewhere if name == ".automemory" else elsewhere / "file")
    memory = open_memory("one", vault=vault)
    assert memory.record(turn(1)).outcome == "deferred"
    assert "symbolic link" in memory.status().last_error
    for enter in (
        VaultToolkit(vault).list,
        lambda: Editor(vault),
        lambda: examine(vault, NOW),
        lambda: rebuild(vault),
    ):
        with pytest.raises(PathEscape, match="symbolic link"):
            enter()
    with pytest.raises(VaultError, match="symbolic link"):
        accept._storing({"vault": str(vault), "timezone": "", "agent_id": ""}).vault.store  # noqa: B018
    assert {p.name: p.read_bytes() for p in elsewhere.iterdir()} == {"file": b"precious"}
    link.unlink()
    memory.flush()
    assert [len(Reader(vault).event(h.path).turns) for h in Reader(vault).events()] == [1]


def test_hooks_process_refuses_too(tmp_path: Path) -> None:
    """What works behind a hook writes its log nowhere else."""
    from automemory.hook import filing

    (tmp_path / "new").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "new" / ".automemory").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PathEscape, match="symbolic link"):
        filing.run(["claude-code", "Stop", str(tmp_path / "none"), f"--vault={tmp_path / 'new'}"])
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_event_is_found_in_either_unicode_form(
    open_memory: Open, turn: MakeTurn, tmp_path: Path, form: Any
) -> None:
    """B70: a synchronizer that spells names its own way makes no second event."""
    vault, name = tmp_path / "new", normalize(form, "café-Å")
    folder = vault / "daily" / DAY / name
    folder.mkdir(parents=True)
    (folder / f"{normalize('NFC', name)}.md").write_bytes(note(normalize("NFD", name)))
    memory = open_memory(None, "CAFÉ-å", vault=vault)
    assert [memory.record(turn(number)).outcome for number in range(2)] == ["recorded"] * 2
    assert len(Reader(vault).event(name).turns) == 1
    assert sorted(normalize("NFC", p.name) for p in folder.parent.iterdir()) == ["café-Å", "café-å-2"]


def test_zoo_is_as_bad_as_it_is_meant_to_be(animals: Zoo) -> None:
    """The tests above are worth something only while these stand."""
    day = animals.vault / "daily" / DAY
    assert len(BROKEN) == 16 and (day / "loop").is_symlink() and (day / "pipe").is_fifo()
    assert os.path.realpath(day / "linked") == str(animals.outside / "event")

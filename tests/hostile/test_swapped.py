"""A link is put in a folder's or file's place between check and use: nothing outside is read or changed."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from automemory.errors import Conflict, PathEscape, Unwritable
from automemory.maintenance.doctor import examine, repair
from automemory.maintenance.finding import Finding
from automemory.maintenance.repairs import Repairs
from automemory.memory import AutoMemory
from automemory.vault import files, held, places
from automemory.vault.disk import Disk
from automemory.vault.places import Places
from automemory.vault.reader import Reader

Open = Callable[..., AutoMemory]
MakeTurn = Callable[..., list[dict[str, Any]]]
NOTE = "daily/2026-05-27/one/one.md"
REFUSED = (PathEscape, Conflict, Unwritable)
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links need rights there")


def swap(folder: Path, elsewhere: Path) -> None:
    """Put a link to a copy of it in a folder's place."""
    if not elsewhere.exists():
        shutil.copytree(folder, elsewhere)
    shutil.move(folder, folder.with_name("moved-away"))
    folder.symlink_to(elsewhere)


def seen(folder: Path) -> dict[str, bytes]:
    return {
        p.relative_to(folder).as_posix(): p.read_bytes() if p.is_file() else b"" for p in folder.rglob("*")
    }


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    (tmp_path / "vault" / NOTE).parent.mkdir(parents=True)
    (tmp_path / "vault" / NOTE).write_bytes(b"A note.\n")
    event = (tmp_path / "vault" / NOTE).parent
    (event / "empty").mkdir()
    (event / "trace.txt").write_bytes(b"A material.\n")
    (event / ".automemory-2-0.tmp").write_bytes(b"Left.\n")
    (tmp_path / "vault/resource/folder").mkdir(parents=True)
    (tmp_path / "vault/resource/r.md").write_bytes(b"A resource.\n")
    return tmp_path / "vault"


FOLDER = "daily/2026-05-27/one"
WRITES: dict[str, Callable[[Disk], object]] = {
    "append": lambda disk: disk.append(NOTE, 8, b"More.\n"),
    "cut": lambda disk: disk.cut(NOTE, 2),
    "create": lambda disk: disk.create(f"{FOLDER}/new.md", b"New.\n", ".automemory-1-0.tmp"),
    "replace": lambda disk: disk.replace(NOTE, b"Other.\n", ".automemory-1-0.tmp", b"A note.\n"),
    "settle": lambda disk: disk.settle(NOTE),
    "probe": lambda disk: disk.probe(FOLDER),
    "mkdir": lambda disk: disk.make_folder(f"{FOLDER}/below/deep"),
    "unlink": lambda disk: disk.remove(f"{FOLDER}/trace.txt"),
    "unlink a temporary": lambda disk: disk.remove_temporary(NOTE, ".automemory-2-0.tmp"),
    "rmdir": lambda disk: disk.remove_folder(f"{FOLDER}/empty"),
    "move from": lambda disk: disk.move("trace.txt", FOLDER, "resource"),
    "move to": lambda disk: disk.move("r.md", "resource", FOLDER),
    "move a folder from": lambda disk: disk.move("empty", FOLDER, "resource"),
    "move a folder to": lambda disk: disk.move("folder", "resource", FOLDER),
}
READS: dict[str, Callable[[Path, Disk], object]] = {
    "read": lambda vault, disk: disk.read(NOTE),
    "tail": lambda vault, disk: disk.tail(NOTE),
    "names": lambda vault, disk: disk.names(FOLDER),
    "entries": lambda vault, disk: disk.entries(FOLDER),
    "a reader": lambda vault, disk: Places(vault).text(NOTE),
}
SECRET = b"Elsewhere.\n"


@pytest.fixture
def elsewhere(vault: Path, tmp_path: Path) -> Path:
    """Where a folder of the vault will seem to lie; each level has a place of its own."""
    return tmp_path / "elsewhere"


def swapping(vault: Path, level: int, elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """Have a folder on the note's way replaced once a path has been resolved; gives what lies elsewhere."""
    folder = (vault / NOTE).parents[level]
    real = files.resolve

    def resolve(root: Path, path: str) -> Path:
        place = real(root, path)
        if not folder.is_symlink() and (vault / FOLDER) in (place, *place.parents):
            swap(folder, elsewhere)
        return place

    shutil.copytree(folder, elsewhere)
    for note in elsewhere.rglob("one.md"):
        note.write_bytes(SECRET)
    monkeypatch.setattr(files, "resolve", resolve)
    monkeypatch.setattr(places, "resolve", resolve)
    return seen(elsewhere)


@pytest.mark.parametrize("call", WRITES)
@pytest.mark.parametrize("level", [0, 1, 2])
def test_nothing_is_changed_elsewhere(
    vault: Path, elsewhere: Path, call: str, level: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """6.1.5: written, made, removed or moved, whichever folder on the way is replaced after the check."""
    disk = Disk(vault)
    before = swapping(vault, level, elsewhere, monkeypatch)
    with pytest.raises(REFUSED):
        WRITES[call](disk)
    assert seen(elsewhere) == before
    assert (vault / "resource/r.md").exists() and (vault / "resource/folder").exists()


@pytest.mark.parametrize("call", READS)
@pytest.mark.parametrize("level", [0, 1, 2])
def test_nothing_is_read_elsewhere(
    vault: Path, elsewhere: Path, call: str, level: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """6.1.5: no content and no name of what a link leads to that was put there after the check."""
    disk = Disk(vault)
    swapping(vault, level, elsewhere, monkeypatch)
    with pytest.raises(REFUSED):
        READS[call](vault, disk)


@pytest.mark.parametrize("call", ["read", "a reader", "append", "replace", "settle", "cut"])
def test_a_file_that_became_a_link_is_left_alone(
    vault: Path, tmp_path: Path, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """6.1.5: the same where it is the file itself."""
    disk, outside = Disk(vault), tmp_path / "outside.md"
    outside.write_bytes(b"A note.\n")
    real = files.resolve

    def resolve(root: Path, path: str) -> Path:
        place = real(root, path)
        if not place.is_symlink():
            place.unlink()
            place.symlink_to(outside)
        return place

    monkeypatch.setattr(files, "resolve", resolve)
    monkeypatch.setattr(places, "resolve", resolve)
    with suppress(*REFUSED):
        found = WRITES[call](disk) if call in WRITES else READS[call](vault, disk)
        assert call == "read" and found is None
    assert outside.read_bytes() == b"A note.\n"


@pytest.mark.parametrize("call", ["append", "create", "mkdir", "unlink", "rmdir", "read", "entries"])
def test_without_folders_that_can_be_held_the_way_is_checked_again(
    vault: Path, elsewhere: Path, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Windows; and with nothing put on the way the same is done as elsewhere."""
    monkeypatch.setattr(held, "HOLDS", False)
    disk = Disk(vault)
    WRITES[call](disk) if call in WRITES else READS[call](vault, disk)
    before = swapping(vault, 1, elsewhere, monkeypatch)
    with pytest.raises(REFUSED):
        WRITES[call](disk) if call in WRITES else READS[call](vault, disk)
    assert seen(elsewhere) == before


@pytest.mark.parametrize("fixed", ["left-temporary", "mode"])
def test_no_repair_reaches_elsewhere(
    vault: Path, elsewhere: Path, fixed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """6.1.5: nothing is removed and no right taken behind a link that was put there after the check."""
    (vault / NOTE).write_text("---\nname: one\ncreated: 2026-05-27\nthread: main\n---\n", "utf-8")
    (vault / NOTE).chmod(0o644)
    vault.chmod(0o700)
    now = datetime(2026, 5, 28, tzinfo=UTC)
    assert fixed in {finding.code for finding in examine(vault, now).findings}
    real = Repairs.make

    def make(repairs: Repairs, findings: Sequence[Finding]) -> list[str]:
        if not (vault / NOTE).parent.is_symlink():
            swap((vault / NOTE).parent, elsewhere)
        (elsewhere / "one.md").chmod(0o644)
        return real(repairs, [finding for finding in findings if finding.code == fixed])

    monkeypatch.setattr(Repairs, "make", make)
    repair(vault, now, lambda agent: AutoMemory(vault, agent_id=agent or None))
    assert (elsewhere / ".automemory-2-0.tmp").exists()
    assert (elsewhere / "one.md").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("level", [0, 1, 2])
def test_swap_between_planning_and_commit(
    open_memory: Open, turn: MakeTurn, tmp_path: Path, level: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The turn waits until the link is gone, and is then where it belongs."""
    vault, elsewhere = tmp_path / "new", tmp_path / "elsewhere"
    memory = open_memory("one", vault=vault)
    memory.record(turn(1))
    folder = (vault / NOTE).parents[level]
    committer = memory._engine.vault.store.committer
    check = committer._check

    def swapped(*arguments: Any) -> None:
        check(*arguments)
        swap(folder, elsewhere)

    monkeypatch.setattr(committer, "_check", swapped)
    shutil.copytree(folder, elsewhere)
    before = seen(elsewhere)
    assert memory.record(turn(2)).outcome == "deferred"
    monkeypatch.undo()
    assert seen(elsewhere) == before
    folder.unlink()
    shutil.move(folder.with_name("moved-away"), folder)
    memory.flush()
    assert [t.steps[0].text for t in Reader(vault).event("one").turns] == ["Question 1?", "Question 2?"]
    assert seen(elsewhere) == before


def test_link_inside_the_vault_is_followed(open_memory: Open, turn: MakeTurn, tmp_path: Path) -> None:
    """B75: a person's own link within the vault is no attack: it stays a link, and is written through."""
    vault = tmp_path / "new"
    memory = open_memory("one", vault=vault)
    memory.record(turn(1))
    (vault / "archive").mkdir()
    shutil.move((vault / NOTE).parent, vault / "archive" / "one")
    (vault / NOTE).parent.symlink_to(vault / "archive" / "one")
    assert memory.record(turn(2)).outcome == "recorded"
    memory.close_event()
    assert (vault / NOTE).parent.is_symlink()
    assert "Question 2?" in (vault / "archive" / "one" / "one.md").read_text("utf-8")

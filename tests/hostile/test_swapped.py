"""A link is put in a folder's place between check and write: what is written lands nowhere outside."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from automemory.errors import Conflict, PathEscape, Unwritable
from automemory.memory import AutoMemory
from automemory.vault import disk as disk_module
from automemory.vault.disk import Disk
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
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    (tmp_path / "vault" / NOTE).parent.mkdir(parents=True)
    (tmp_path / "vault" / NOTE).write_bytes(b"A note.\n")
    return tmp_path / "vault"


CALLS: dict[str, Callable[[Disk], object]] = {
    "append": lambda disk: disk.append(NOTE, 8, b"More.\n"),
    "cut": lambda disk: disk.cut(NOTE, 2),
    "create": lambda disk: disk.create("daily/2026-05-27/one/new.md", b"New.\n", ".automemory-1-0.tmp"),
    "replace": lambda disk: disk.replace(NOTE, b"Other.\n", ".automemory-1-0.tmp", b"A note.\n"),
    "settle": lambda disk: disk.settle(NOTE),
    "probe": lambda disk: disk.probe("daily/2026-05-27/one"),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("level", [0, 1, 2])
def test_swap_after_the_check(
    vault: Path, tmp_path: Path, call: str, level: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """6.1.5: whichever folder on the way is replaced once the path has been resolved."""
    disk, elsewhere = Disk(vault), tmp_path / "elsewhere"
    folder = (vault / NOTE).parents[level]
    real = disk_module.files.resolve

    def resolve(root: Path, path: str) -> Path:
        place = real(root, path)
        if not folder.is_symlink():
            swap(folder, elsewhere)
        return place

    monkeypatch.setattr(disk_module.files, "resolve", resolve)
    shutil.copytree(folder, elsewhere)
    before = seen(elsewhere)
    with pytest.raises(REFUSED):
        CALLS[call](disk)
    assert seen(elsewhere) == before
    assert not [path for path in vault.rglob("*.tmp")]


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

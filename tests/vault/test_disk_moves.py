"""Files that are moved and removed: nothing is replaced, nothing is lost, nothing outside is touched."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from automemory.errors import Conflict, PathEscape, Unwritable
from automemory.vault.disk import Disk


@pytest.fixture
def disk(vault: Path) -> Disk:
    for name in ("a", "b"):
        (vault / name).mkdir(parents=True)
    return Disk(vault)


def test_taken_names_are_numbered(disk: Disk, vault: Path) -> None:
    """Files, hidden ones, folders and links; the number stands before the last ending."""
    for folder in ("a", "b"):
        (vault / folder / "x.tar.gz").write_text(folder, "utf-8")
        (vault / folder / ".env").write_text(folder, "utf-8")
        (vault / folder / "deep").mkdir()
        (vault / folder / "deep/y").write_text(folder, "utf-8")
        (vault / folder / "link").symlink_to("x.tar.gz")
    (vault / "b/x.tar-2.gz").write_text("other", "utf-8")
    for name in ("x.tar.gz", ".env", "deep", "link"):
        disk.move(name, "a", "b")
    assert list((vault / "a").iterdir()) == []
    found = {
        p.relative_to(vault / "b").as_posix(): p.read_text("utf-8")
        for p in (vault / "b").rglob("*")
        if p.is_file()
    }
    assert found == {
        **{"x.tar.gz": "b", ".env": "b", "deep/y": "b", "link": "b", "x.tar-2.gz": "other"},
        **{"x.tar-3.gz": "a", ".env-2": "a", "deep-2/y": "a", "link-2": "b"},
    }
    assert Path(vault / "b/link-2").is_symlink()


def test_an_interrupted_move_is_finished(disk: Disk, vault: Path) -> None:
    """Killed between the new name and the removal of the old one, or after both; done again."""
    (vault / "a/x").write_text("x", "utf-8")
    (vault / "b/x").write_text("other", "utf-8")
    os.link(vault / "a/x", vault / "b/x-2")
    for _ in range(2):
        disk.move("x", "a", "b")
    assert sorted(p.name for p in (vault / "b").iterdir()) == ["x", "x-2"]
    assert list((vault / "a").iterdir()) == []


def test_where_files_have_one_name_only(disk: Disk, vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a file system without hard links a move is a rename."""

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    (vault / "a/x").write_text("x", "utf-8")
    disk.move("x", "a", "b")
    assert (vault / "b/x").read_text("utf-8") == "x" and not (vault / "a/x").exists()


def test_removing(disk: Disk, vault: Path, tmp_path: Path) -> None:
    """Of a link only the link goes, a folder only if it is empty, and what is not there is no error."""
    (tmp_path / "out").write_text("x", "utf-8")
    (vault / "a/link").symlink_to(tmp_path / "out")
    (vault / "b/kept").write_text("x", "utf-8")
    for _ in range(2):
        disk.remove("a/link")
        disk.remove_folder("a")
        disk.remove_folder("b")
        disk.sync_folders()
    assert (tmp_path / "out").exists() and not (vault / "a").exists() and (vault / "b/kept").exists()


def test_nothing_outside_is_moved_or_removed(disk: Disk, vault: Path, tmp_path: Path) -> None:
    """6.1: through a folder that is a link, or a path that climbs."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out/x").write_text("x", "utf-8")
    (vault / "c").symlink_to(tmp_path / "out")
    for act in (
        lambda: disk.move("x", "c", "a"),
        lambda: disk.move("x", "a", "c"),
        lambda: disk.remove("c/x"),
        lambda: disk.remove("../out/x"),
        lambda: disk.remove_folder("../out"),
    ):
        with pytest.raises(PathEscape):
            act()
    assert (tmp_path / "out/x").exists()


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo], ids=["folder", "pipe"])
def test_what_is_no_file_is_not_read(disk: Disk, vault: Path, make: Callable[[Path], None]) -> None:
    """A folder or a pipe with a note's name holds nobody up, least of all for ever."""
    make(vault / "a/a.md")
    assert disk.read("a/a.md") is None


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="a system without such a folder")
def test_a_vault_where_nothing_can_be_made() -> None:
    """A system's own folder says that there is no such file: told as a place that cannot be a vault."""
    with pytest.raises(Unwritable, match="cannot be made: choose another folder"):
        Disk(Path("/proc/automemory/vault"))


def test_a_file_that_was_removed_is_not_replaced(disk: Disk, vault: Path) -> None:
    """B74: who removed it meanwhile meant it; nothing is made in its place, and nothing is left beside it."""
    with pytest.raises(Conflict, match="removed by somebody else"):
        disk.replace("a/x.md", b"new", ".x.tmp", b"old")
    assert list((vault / "a").iterdir()) == []

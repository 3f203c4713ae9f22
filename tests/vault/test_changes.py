"""What changed since a watermark: by content, whatever times say."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from automemory.errors import VaultError
from automemory.vault.changes import Changes, changes
from automemory.vault.layout import event_path
from automemory.vault.places import Found, Places
from automemory.vault.reader import Reader

ONE, TWO, THREE = (event_path(f"2026-05-2{n}", "deploy") for n in (6, 7, 8))


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    vault = tmp_path / "vault"
    for path in (ONE, TWO):
        put(vault, path, "one")
    return vault


def put(vault: Path, path: str, text: str) -> None:
    (vault / path).parent.mkdir(parents=True, exist_ok=True)
    (vault / path).write_text(f"---\nname: deploy\n---\n{text}", encoding="utf-8")


def told(found: Changes) -> tuple[tuple[str, ...], ...]:
    return found.new, found.changed, found.removed


def later(vault: Path, since: str | None = None) -> Changes:
    """What changed, seen long after the files were written."""
    return changes(Places(vault), since, clock=lambda: time.time_ns() + 10**10)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths of the files that are read from now on."""
    seen, read = [], Places.read

    def recording(places: Places, found: Found, size: int = -1) -> bytes:
        seen.append(found.path)
        return read(places, found, size)

    monkeypatch.setattr(Places, "read", recording)
    return seen


async def test_every_event_is_new_at_first_and_nothing_after(vault: Path) -> None:
    first = Reader(vault).changed()
    assert told(first) == ((ONE, TWO), (), ())
    again = Reader(vault).changed(first.watermark)
    assert told(again) == ((), (), ())
    assert await Reader(vault).achanged(first.watermark) == again


def test_new_changed_and_removed_are_told_apart(vault: Path) -> None:
    before = Reader(vault).changed()
    put(vault, THREE, "new")
    put(vault, ONE, "two")
    shutil.rmtree((vault / TWO).parent)
    after = Reader(vault).changed(before.watermark)
    assert told(after) == ((THREE,), (ONE,), (TWO,))
    assert told(Reader(vault).changed(after.watermark)) == ((), (), ())
    assert told(Reader(vault).changed(before.watermark)) == told(after), "a watermark can be used again"


def test_restored_time_hides_nothing(vault: Path) -> None:
    """B39: the same size and the same mtime, written in place: the content is another, so it changed."""
    times = (vault / ONE).stat()
    before = later(vault)
    put(vault, ONE, "two")
    os.utime(vault / ONE, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert told(later(vault, before.watermark)) == ((), (ONE,), ())


def test_only_what_may_have_changed_is_read(vault: Path, reads: list[str]) -> None:
    before = later(vault)
    assert reads == [ONE, TWO]
    os.utime(vault / TWO, (1, 1))
    reads.clear()
    assert told(later(vault, before.watermark)) == ((), (), ()) and reads == [TWO]


def test_what_was_written_just_now_is_read_again(vault: Path, reads: list[str]) -> None:
    """It may have been written twice within one tick of the file system's clock."""
    before = Reader(vault).changed()
    reads.clear()
    assert told(Reader(vault).changed(before.watermark)) == ((), (), ()) and reads == [ONE, TWO]


@pytest.mark.parametrize("what", ["touch", "copy", "save"])
def test_other_times_and_inodes_change_nothing(vault: Path, what: str) -> None:
    """B39: a checkout, a restored backup, an editor that saved without a change."""
    before = Reader(vault).changed()
    if what == "touch":
        for path in (ONE, TWO):
            os.utime(vault / path, (2_000_000_000, 2_000_000_000))
    elif what == "copy":
        shutil.copytree(vault, vault.with_name("copy"))
        vault = vault.with_name("copy")
    else:
        put(vault, ONE, "one")
    after = Reader(vault).changed(before.watermark)
    assert told(after) == ((), (), ())
    put(vault, ONE, "two")
    assert told(Reader(vault).changed(after.watermark)) == ((), (ONE,), ())


def test_renamed_event_is_gone_and_new(vault: Path) -> None:
    before = Reader(vault).changed()
    folder = (vault / ONE).parent
    (folder / "deploy.md").rename(folder / "ship.md")
    folder.rename(folder.with_name("ship"))
    found = Reader(vault).changed(before.watermark)
    assert told(found) == ((event_path("2026-05-26", "ship"),), (), (ONE,))


def test_what_is_no_event_is_no_change(vault: Path) -> None:
    """Indexes, materials, empty folders, copies. A note with broken frontmatter is one: it has turns."""
    before = Reader(vault).changed()
    put(vault, "daily/2026-05-26.md", "x")
    put(vault, "daily/2026-05-26/deploy/more.md", "x")
    put(vault, "daily/2026-05-26/deploy/deploy (conflict).md", "x")
    put(vault, "daily/notes/x/x.md", "x")
    (vault / "daily/2026-05-26/empty").mkdir()
    assert told(Reader(vault).changed(before.watermark)) == ((), (), ())
    (vault / ONE).write_text("---\nbad: [\n---\n", encoding="utf-8")
    assert told(Reader(vault).changed(before.watermark)) == ((), (ONE,), ())


def test_note_out_of_the_vault_is_removed(vault: Path, tmp_path: Path) -> None:
    """B71: a symbolic link that leads out is not read."""
    before = Reader(vault).changed()
    (vault / ONE).rename(tmp_path / "away.md")
    (vault / ONE).symlink_to(tmp_path / "away.md")
    assert told(Reader(vault).changed(before.watermark)) == ((), (), (ONE,))


def test_note_that_cannot_be_reached_now_is_not_removed(vault: Path) -> None:
    """A disk that fails for a while, here a link in a circle, does not look like one that was cleared."""
    before = Reader(vault).changed()
    day = vault / "daily/2026-05-27"
    day.rename(vault / "aside")
    day.symlink_to(day)
    during = Reader(vault).changed(before.watermark)
    assert told(during) == ((), (), ())
    day.unlink()
    assert told(Reader(vault).changed(during.watermark)) == ((), (), (TWO,))


@pytest.mark.parametrize("watermark", ["", "x", "2026-05-28", "eJwDAAAAAAE=", "é"])
def test_what_is_no_watermark_is_refused(vault: Path, watermark: str) -> None:
    with pytest.raises(VaultError, match="no watermark"):
        Reader(vault).changed(watermark)

"""`automemory replay --dry-run`: what would be read, and nothing done."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from saved import HELLO, SAVED, lines

from automemory.cli import main


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with a file of every format."""
    monkeypatch.chdir(tmp_path)
    for name, records in SAVED.items():
        (tmp_path / f"{name}.data").write_text(lines(*records), encoding="utf-8")
    return tmp_path


def test_it_prints_the_table_and_writes_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No vault is needed, none is made, no model is asked."""
    (folder / "notes.txt").write_text("no conversation", encoding="utf-8")
    before = sorted(folder.rglob("*"))
    assert main(["replay", ".", "--dry-run", "--vault", "v", "--date", "2026-01-02"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in SAVED)
    assert "notes.txt: skipped, no JSON" in out
    assert "plain.data: undated conversations filed on 2026-01-02: 1" in out
    assert f"turns read: {len(SAVED)}; nothing was recorded" in out
    assert sorted(folder.rglob("*")) == before


def test_it_prints_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", "codex.data", "--dry-run", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["turns"], report["recorded"], report["sources"][0]["format"]) == (1, 0, "codex")


def test_it_fails_as_a_replay_would(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """B42: unreadable input, and nothing in between the days asked for."""
    (folder / "bad.json").write_text('{"a": 1}', encoding="utf-8")
    assert main(["replay", "bad.json", "--dry-run"]) == 3
    assert main(["replay", "codex.data", "--dry-run", "--since", "2030-01-01"]) == 3
    assert "none of the 1 turns" in capsys.readouterr().err


def test_many_skipped_files_are_not_told_one_by_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An export's pictures would hide what was read."""
    pictures = folder / "export" / "pictures"
    pictures.mkdir(parents=True)
    for number in range(50):
        (pictures / f"{number:02}.png").write_bytes(b"\x89PNG\r\n")
    (folder / "export" / "talk.json").write_text(json.dumps(HELLO), encoding="utf-8")
    assert main(["replay", "export", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert out.count("skipped") == 21
    assert "… and 30 more files skipped" in out

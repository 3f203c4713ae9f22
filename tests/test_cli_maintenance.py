"""`automemory doctor`, `index rebuild` and `edit` from the command line, over a real vault."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import pytest

from automemory.cli import main, terminal
from automemory.vault.reader import Reader

DAY = "daily/2026-03-05"
TALK = [
    {"role": "user", "content": "Why does /login bounce back?", "timestamp": "2026-03-05T10:00:00+08:00"},
    {"role": "assistant", "content": "The cookie is set for the wrong domain."},
    {"role": "user", "content": "And after that?", "timestamp": "2026-03-05T10:01:00+08:00"},
    {"role": "assistant", "content": "It works. The password is hunter2-xylophone."},
]


@pytest.fixture
def vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A vault with one closed event of two turns, which the commands use."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("AUTOMEMORY_")]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(terminal, "prepare_streams", lambda: None)
    monkeypatch.setenv("AUTOMEMORY_VAULT", str(tmp_path / "vault"))
    monkeypatch.setenv("AUTOMEMORY_TIMEZONE", "Asia/Shanghai")
    source = tmp_path / "talk.json"
    source.write_text(json.dumps(TALK), encoding="utf-8")
    assert main(["replay", str(source)]) == 0
    return tmp_path / "vault"


def event(vault: Path) -> str:
    [head] = Reader(vault).events()
    return f"{head.date}/{head.name}"


def test_doctor_says_how_the_vault_is(vault: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """0 if it is healthy, 1 if problems are left; a repair tells what it did; JSON is one document."""
    assert main(["doctor"]) == 0
    (vault / f"{DAY}.md").unlink()
    capsys.readouterr()
    assert main(["doctor"]) == 1
    assert f"problem index: {DAY}.md: is missing" in capsys.readouterr().out
    assert main(["doctor", "--fix"]) == 0
    assert f"repaired index: {DAY}.md" in capsys.readouterr().out
    (vault / DAY / "a.sync-conflict-1.md").write_text("x", encoding="utf-8")
    assert main(["doctor", "--fix", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["healthy"], told["fixed"]) == (False, [])
    assert [finding["code"] for finding in told["findings"]] == ["conflict-copy"]


def test_doctor_refuses_what_it_cannot_check(vault: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A vault that is none, or whose `.automemory` lies elsewhere, is an error of its own code."""
    assert main(["doctor", "--vault", str(vault / "none")]) == 4
    (vault / ".automemory").rename(vault.parent / "home")
    (vault / ".automemory").symlink_to(vault.parent / "home")
    for command in (["doctor"], ["doctor", "--fix"], ["index", "rebuild"], ["edit", "forget", "x"]):
        assert main(command) == 4
    assert capsys.readouterr().err.count("is a symbolic link") == 4


def test_index_rebuild(vault: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It names what it changed: nothing on a healthy day, and only the day that is asked for."""
    index = vault / f"{DAY}.md"
    whole, time = index.read_bytes(), index.stat().st_mtime_ns
    capsys.readouterr()
    assert main(["index", "rebuild", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"changed": []}
    assert (index.read_bytes(), index.stat().st_mtime_ns) == (whole, time)
    index.unlink()
    assert main(["index", "rebuild", "--day", "2026-03-06"]) == 4
    assert main(["index", "rebuild", "--day", "2026-03-05"]) == 0
    assert index.read_bytes() == whole


def test_edit_asks_first(
    vault: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A no, a dry run and an empty input change nothing; a yes and `--yes` do it."""
    ref = event(vault)
    before = {path: path.read_bytes() for path in (vault / "daily").rglob("*.md")}
    capsys.readouterr()
    assert main(["edit", "split", ref, "--at", "2", "--dry-run"]) == 0
    assert f"cut daily/{ref}" in capsys.readouterr().out
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    assert main(["edit", "split", ref, "--at", "2"]) == 0
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert main(["edit", "split", ref, "--at", "2"]) == 130
    assert {path: path.read_bytes() for path in (vault / "daily").rglob("*.md")} == before
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    assert main(["edit", "split", ref, "--at", "2", "--slug", "Afterwards"]) == 0
    assert main(["edit", "merge", ref, "afterwards", "--yes", "--json"]) == 0
    lines = capsys.readouterr().out
    told = json.loads(lines[lines.index("{") :])
    assert told["made"] and {change["path"] for change in told["changes"]} >= {f"{DAY}.md"}
    assert len(Reader(vault).event(ref).turns) == 2
    assert main(["doctor"]) == 0


def test_edit_forget(vault: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing of it is left, the vault is healthy, what is asked wrongly is refused."""
    turn = Reader(vault).event(event(vault)).turns[1]
    assert main(["edit", "forget", turn.id, "--yes"]) == 0
    assert "cannot be known" in capsys.readouterr().out
    left = [path for path in vault.rglob("*") if path.is_file() and b"xylophone" in path.read_bytes()]
    assert left == []
    assert main(["doctor"]) == 0
    assert main(["edit", "forget", "nothing", "--yes"]) == 4
    assert main(["edit", "split", event(vault), "--at", "1", "--yes"]) == 2

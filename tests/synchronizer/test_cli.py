"""`automemory synchronize`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from scripted import TALK
from stub_openai import Reply, StubOpenAI

from automemory.cli import main
from automemory.cli.common import INPUT, MODEL, USAGE, VAULT

PATCH = {"skip": False, "title": "Fix login redirect", "progress": ["Found the cause in auth.py"]}


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "conversation.json"
    path.write_text(json.dumps(TALK), encoding="utf-8")
    return path


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, stub: StubOpenAI, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_BASE_URL", stub.url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-stub")
    monkeypatch.setenv("AUTOMEMORY_MODEL", f"openai:{stub.name}")


def call(*words: Any) -> int:
    return main(["synchronize", *map(str, words)])


def test_prints_what_was_done_and_the_note(
    saved: Path, vault: Path, stub: StubOpenAI, capsys: pytest.CaptureFixture[str]
) -> None:
    stub.script(PATCH)
    assert call(saved, "--vault", vault, "--strategy", "patch", "--workspace", "Fix login redirect") == 0
    (note,) = vault.glob("daily/*/fix-login-redirect/fix-login-redirect.md")
    out = capsys.readouterr().out
    assert out.startswith("created daily/") and "Found the cause in auth.py" in out
    assert note.read_text(encoding="utf-8").strip() in out


def test_json(saved: Path, vault: Path, stub: StubOpenAI, capsys: pytest.CaptureFixture[str]) -> None:
    stub.script("[SKIP]")
    assert call(saved, "--vault", vault, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["skipped"] and told["success"] and told["summary"] is None and told["actions"] == "[SKIP]"


def test_failures_have_their_exit_codes(
    saved: Path, vault: Path, stub: StubOpenAI, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    stub.always(Reply(status=500, error={"message": "boom"}))
    assert call(saved, "--vault", vault) == MODEL
    assert call(saved, "--vault", vault, "--strategy", "magic") == USAGE
    assert call(saved, "--vault", vault, "--workspace", "daily/x") == USAGE
    assert call(tmp_path / "missing.json", "--vault", vault) == INPUT
    (tmp_path / "other.json").write_text('{"a": 1}', encoding="utf-8")
    assert call(tmp_path / "other.json", "--vault", vault) == INPUT
    assert call(saved, "--vault", saved) == VAULT
    monkeypatch.delenv("AUTOMEMORY_MODEL")
    assert call(saved, "--vault", vault) == USAGE
    assert "boom" not in capsys.readouterr().out

"""The process behind a hook: whatever goes wrong in it is told in `hook.log`, and holds up nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from automemory.hook import filing
from automemory.hook.accept import store
from automemory.vault.reader import Reader

NOW = datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=30)
ID = "00000000-0000-4000-8000-00000000000"


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    """A question and its answer."""
    lines = [
        {
            "type": role,
            "uuid": f"{ID}{number}",
            "parentUuid": f"{ID}{number - 1}" if number else None,
            "sessionId": "one",
            "timestamp": (NOW + timedelta(seconds=number)).isoformat().replace("+00:00", "Z"),
            "message": {"role": role, "content": f"Words of the {role}."},
        }
        for number, role in enumerate(("user", "assistant"))
    ]
    path = tmp_path / "one.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


@pytest.fixture
def log(vault: Path) -> Path:
    return vault / ".automemory" / "hook.log"


def file(vault: Path, transcript: Path) -> int:
    return filing.run(["claude-code", "Stop", str(transcript), f"--vault={vault}", "--timezone=UTC"])


def said(vault: Path) -> list[str]:
    reader = Reader(vault)
    return [turn.steps[0].text for head in reader.events() for turn in reader.event(head.path).turns]


def test_a_session_in_which_nothing_was_said_is_no_failure(vault: Path, tmp_path: Path, log: Path) -> None:
    """A host makes its transcript before the first words: no event is opened, nothing is logged."""
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    assert file(vault, empty) == 0
    assert not (vault / "daily").exists() and log.read_text("utf-8") == ""


@pytest.mark.parametrize("gone", [Path.unlink, lambda path: path.write_text("no JSON")])
def test_what_was_accepted_is_filed_without_its_transcript(
    vault: Path, transcript: Path, gone: Callable[[Path], object], log: Path
) -> None:
    """A host may tidy its sessions away before this process comes to read them; that is told in the log."""
    assert store(transcript, {"vault": str(vault), "timezone": "UTC", "agent_id": ""}, finished=True) == 1
    gone(transcript)
    assert file(vault, transcript) == 1
    assert said(vault) == ["Words of the user."]
    assert log.read_text("utf-8").count("ERROR") == 1


def test_a_failure_is_told_in_the_log(vault: Path, tmp_path: Path, log: Path) -> None:
    """Nobody reads this process's output: which event of which transcript failed, and why, is in a file."""
    gone = tmp_path / "gone.jsonl"
    assert file(vault, gone) == 1
    told = log.read_text("utf-8")
    assert f"ERROR Stop of {gone}" in told and "FileNotFoundError" in told
    assert log.stat().st_mode & 0o777 == 0o600


def test_a_long_log_is_set_aside_once(vault: Path, tmp_path: Path, log: Path) -> None:
    """It begins anew; the one before it is kept, any older one is not, so that it never grows on."""
    log.parent.mkdir(mode=0o700, parents=True)
    for long in ("old " * 60_000, "new " * 60_000):
        log.write_text(long, "utf-8")
        file(vault, tmp_path / "gone.jsonl")
        assert log.with_name("hook.log.1").read_text("utf-8") == long
        assert log.read_text("utf-8").count("ERROR") == 1
    assert sorted(path.name for path in log.parent.glob("hook.log*")) == ["hook.log", "hook.log.1"]


def test_turns_are_filed_where_the_log_cannot_be_written(vault: Path, transcript: Path, log: Path) -> None:
    """A folder in the log's place: it is left there, and what was said is in the vault."""
    log.mkdir(mode=0o700, parents=True)
    assert file(vault, transcript) == 0
    assert said(vault) == ["Words of the user."]
    assert log.is_dir() and not list(log.iterdir())

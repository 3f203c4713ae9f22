"""`automemory hook`: what a coding agent's host tells while a session goes on is in the vault, once."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from automemory import AutoMemory
from automemory.cli import main
from automemory.hook import accept, filing
from automemory.vault.event import RecordedTurn
from automemory.vault.reader import Reader
from automemory.vault.state import State

NOW = datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=30)


def line(number: int, role: str, text: str, **more: Any) -> dict[str, Any]:
    """A line of a transcript, `number` seconds after its beginning."""
    return {
        "type": role,
        "uuid": f"{number:08}-0000-4000-8000-000000000000",
        "parentUuid": f"{number - 1:08}-0000-4000-8000-000000000000" if number else None,
        "sessionId": "one",
        "timestamp": (NOW + timedelta(seconds=number)).isoformat().replace("+00:00", "Z"),
        "message": {"role": role, "content": text},
        **more,
    }


def talk(turns: int) -> list[dict[str, Any]]:
    said = [(f"Question {n} on the login page?", f"Answer {n}.") for n in range(turns)]
    texts = [text for pair in said for text in pair]
    return [line(i, ("user", "assistant")[i % 2], text) for i, text in enumerate(texts)]


@pytest.fixture
def transcript(tmp_path: Path) -> Callable[[list[dict[str, Any]]], Path]:
    def write(lines: list[dict[str, Any]], name: str = "one.jsonl") -> Path:
        path = tmp_path / name
        path.write_text("".join(json.dumps(each) + "\n" for each in lines), encoding="utf-8")
        return path

    return write


@pytest.fixture
def behind(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[subprocess.Popen[bytes]]]:
    """The processes that hooks started in the background; waited for at the end."""
    started: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def start(*args: Any, **options: Any) -> subprocess.Popen[bytes]:
        started.append(popen(*args, **options))
        return started[-1]

    monkeypatch.setattr(accept.subprocess, "Popen", start)
    yield started
    for process in started:
        process.wait(60)


def call(vault: Path, event: str, transcript: Path | None = None, **more: Any) -> int:
    given = {"hook_event_name": event, "session_id": "one", "cwd": str(vault.parent), **more}
    given |= {"transcript_path": str(transcript)} if transcript else {}
    words = ["claude-code", "--vault", str(vault), "--timezone", "UTC"]
    return accept.run(words, io.StringIO(json.dumps(given)))


def turns(vault: Path) -> list[RecordedTurn]:
    reader = Reader(vault)
    return [turn for head in reader.events() for turn in reader.event(head.path).turns]


def waiting(vault: Path) -> list[str]:
    state = State(vault / ".automemory")
    try:
        return [row.state for row in state.pending()]
    finally:
        state.close()


def tree(vault: Path) -> dict[str, bytes]:
    found = (path for path in vault.rglob("*.md") if path.is_file())
    return {str(path.relative_to(vault)): path.read_bytes() for path in found}


def test_stop_stores_at_once_and_files_in_the_background(vault: Path, transcript: Any, behind: Any) -> None:
    """The turns are safe when the host goes on; the process it left behind files them."""
    assert call(vault, "Stop", transcript(talk(3))) == 0
    [process] = behind
    assert process.wait(60) == 0
    assert [turn.steps[0].text for turn in turns(vault)] == [
        f"Question {n} on the login page?" for n in range(3)
    ]
    assert waiting(vault) == [] and Reader(vault).events()[0].open


def test_only_what_is_new_is_stored_and_nothing_is_started_for_nothing(
    vault: Path, transcript: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole transcript comes each time; it may come again without anything new."""
    started: list[Any] = []
    monkeypatch.setattr(accept, "_file_behind", lambda *words: started.append(words))
    for count in (1, 2, 2, 5):
        assert call(vault, "Stop", transcript(talk(count))) == 0
    assert waiting(vault) == ["accepted"] * 5 and len(started) == 3


def test_answer_that_is_not_written_down_yet_is_taken_later(
    vault: Path, transcript: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B32: the host calls before its last words are in the transcript; the turn is a draft until they are."""
    monkeypatch.setattr(accept, "_file_behind", lambda *words: None)
    path = transcript(talk(2)[:-1])
    assert call(vault, "Stop", path, last_assistant_message="Answer 1.") == 0
    assert waiting(vault) == ["accepted", "draft"]
    transcript(talk(2))
    assert filing.run(["claude-code", "Stop", str(path), f"--vault={vault}", "--timezone=UTC"]) == 0
    found = turns(vault)
    assert [turn.steps[-1].text for turn in found] == ["Answer 0.", "Answer 1."]
    assert not any(turn.incomplete for turn in found)


def test_transcript_that_is_cut_off_loses_nothing_of_the_rest(
    vault: Path, transcript: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B50: the host may be writing its last line at this moment."""
    monkeypatch.setattr(accept, "_file_behind", lambda *words: None)
    path = transcript(talk(2))
    path.write_bytes(path.read_bytes()[:-30])
    assert call(vault, "Stop", path) == 0
    assert waiting(vault) == ["accepted", "draft"]


def test_session_leaves_the_vault_that_a_replay_would(tmp_path: Path, transcript: Any) -> None:
    """The hook after every turn, and a replay of the whole transcript: byte for byte the same."""
    hooked, replayed = tmp_path / "hooked", tmp_path / "replayed"
    for count in range(1, 5):
        path = transcript(talk(count))
        assert filing.run(["claude-code", "Stop", str(path), f"--vault={hooked}", "--timezone=UTC"]) == 0
    assert filing.run(["claude-code", "SessionEnd", str(path), f"--vault={hooked}", "--timezone=UTC"]) == 0
    assert main(["replay", str(path), "--vault", str(replayed), "--timezone", "UTC"]) == 0
    assert tree(hooked) == tree(replayed)
    assert Reader(hooked).events()[0].closed_by == "end"


def test_new_session_gets_the_latest_note(
    vault: Path, transcript: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """SessionStart hands back what is unsettled, in the host's form, and nothing in an empty vault."""
    assert call(vault, "SessionStart") == 0
    assert capsys.readouterr().out == ""
    path = transcript(talk(2))
    filing.run(["claude-code", "Stop", str(path), f"--vault={vault}", "--timezone=UTC"])
    assert call(vault, "SessionStart", source="startup") == 0
    answer = json.loads(capsys.readouterr().out)["hookSpecificOutput"]
    assert answer["hookEventName"] == "SessionStart"
    assert answer["additionalContext"].startswith("<memory_note path=")
    assert "Question 0 on the login page?" in answer["additionalContext"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("", "no JSON"),
        ("[]", "hook_event_name"),
        ('{"hook_event_name": 3}', "hook_event_name"),
        ("[" * 100_000, "no JSON"),
        (
            '{"hook_event_name": "Stop", "transcript_path": "~nobody-of-this-name/a.jsonl"}',
            "cannot be followed",
        ),
        ('{"hook_event_name": "Stop", "transcript_path": "~~~\\u0000"}', "cannot be followed"),
        ('{"hook_event_name": "Stop", "transcript_path": "/a\\u0000.jsonl"}', "cannot be followed"),
        ('{"hook_event_name": "Stop", "transcript_path": "~~~\\ud800"}', "cannot be followed"),
        ('{"hook_event_name": "Stop", "transcript_path": "/nowhere/at/all.jsonl"}', "/nowhere/at/all.jsonl"),
    ],
)
def test_bad_input_is_told_and_stops_no_agent(
    vault: Path, given: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2 would: it is 1, with one line that says what is wrong."""
    assert accept.run(["claude-code", "--vault", str(vault)], io.StringIO(given)) == 1
    told = capsys.readouterr()
    assert told.out == "" and said in told.err and told.err.count("\n") == 1


def test_vault_that_cannot_be_written_is_told(
    vault: Path, transcript: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """B31: this process ends, so a turn that only waits in its memory is not safe, and that is said."""
    vault.parent.mkdir(exist_ok=True)
    vault.write_text("a file", encoding="utf-8")
    assert call(vault, "Stop", transcript(talk(1))) == 1
    assert "give a folder for the vault" in capsys.readouterr().err


def test_vault_with_placeholders_is_refused(
    tmp_path: Path, transcript: Any, capsys: pytest.CaptureFixture[str], behind: Any
) -> None:
    """Nobody is there to fill them: what was stored would never be filed."""
    vault = tmp_path / "{user}"
    assert call(vault, "Stop", transcript(talk(1))) == 1
    assert "give values for user" in capsys.readouterr().err
    assert not vault.exists() and not behind


def test_events_of_no_concern_are_passed_over(vault: Path, transcript: Any) -> None:
    assert call(vault, "PreToolUse", transcript(talk(1))) == 0
    assert not vault.exists()


def test_sessions_at_the_same_time_lose_nothing(vault: Path, transcript: Any, behind: Any) -> None:
    """Four sessions end their turns at once, each with a process of its own behind it."""
    for number in range(4):
        lines = [{**each, "uuid": f"{number}{each['uuid'][1:]}", "parentUuid": None} for each in talk(2)]
        assert call(vault, "Stop", transcript(lines, f"{number}.jsonl")) == 0
    assert [process.wait(120) for process in behind] == [0] * 4
    assert len(turns(vault)) == 8 and waiting(vault) == []


@pytest.mark.parametrize(
    ("event", "libraries", "own"),
    [
        (
            "Stop",
            {"psutil", "ijson"},
            {"boundary", "locator", "routing", "planning", "schema_file", "vault.catalog", "vault.commit"}
            | {"vault.edits", "vault.frontmatter", "vault.naming", "replay.importers.registry"},
        ),
        ("SessionStart", {"psutil", "ijson", "yaml", "regex"}, {"locator", "planning", "vault.commit"}),
    ],
)
def test_hook_loads_little(
    vault: Path, transcript: Any, behind: Any, event: str, libraries: set[str], own: set[str]
) -> None:
    """The host waits for it: to store a turn nothing is decided, planned or read, and to show a note
    nothing is written. No graph, no model, no event loop, no command line.
    """
    call(vault, "Stop", transcript(talk(1)))
    behind[0].wait(60)
    given = {"hook_event_name": event, "transcript_path": str(transcript(talk(2)))}
    code = (
        "import sys, json; begun = set(sys.modules);"
        "from automemory.hook import accept; accept._file_behind = lambda *words: None;"
        f"code = accept.run(['claude-code', '--vault', {str(vault)!r}, '--timezone', 'UTC']);"
        "new = {n: m for n, m in sys.modules.items() if n not in begun};"
        "files = {n: getattr(m, '__file__', None) or '' for n, m in new.items()};"
        "others = {n.split('.')[0] for n, file in files.items() if 'site-packages' in file};"
        "print(json.dumps([code, sorted(others), sorted(files)]), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=json.dumps(given), capture_output=True, text=True, check=True
    )
    code, others, loaded = json.loads(done.stderr)
    assert code == 0 and set(others) - {"automemory"} <= libraries
    assert not {"asyncio", "ssl", "tempfile", *(f"automemory.{name}" for name in own)} & set(loaded)
    assert len(waiting(vault)) == (event == "Stop") and bool(done.stdout) == (event == "SessionStart")


def test_memory_opened_later_files_what_a_hook_left(
    vault: Path, transcript: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B32: the background process was killed before it came to anything."""
    monkeypatch.setattr(accept, "_file_behind", lambda *words: None)
    path = transcript(talk(2))
    words = [sys.executable, "-c", "import sys; from automemory.cli import main; sys.exit(main())"]
    given = json.dumps({"hook_event_name": "Stop", "transcript_path": str(path)})
    env_free = [*words, "hook", "claude-code", "--vault", str(vault)]
    subprocess.run(env_free, input=given, text=True, check=True)
    with AutoMemory(vault, timezone="UTC") as memory:
        memory.flush()
    assert len(turns(vault)) == 2

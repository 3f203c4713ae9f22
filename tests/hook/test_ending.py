"""A hook reads only the end of a long transcript, and records what it would record having read it all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from automemory.hook import accept, ending
from automemory.hook.transcript import session
from automemory.vault.state import State


def line(own: str, parent: str | None, role: str, text: str, **more: Any) -> dict[str, Any]:
    about = {"type": role, "uuid": own, "parentUuid": parent, "sessionId": "one", "isSidechain": False}
    return {**about, "timestamp": "2026-05-01T10:00:00Z", "message": {"role": role, "content": text}, **more}


def name(kind: str, number: int) -> str:
    return f"{number:08}-{kind * 4}-4000-8000-000000000000"


def talk(first: int, last: int, parent: str | None = None) -> list[dict[str, Any]]:
    """Turns `first` to `last` - 1; the first goes on from `parent`, or from the turn before."""
    lines = []
    for number in range(first, last):
        before = parent if number == first and parent else name("a", number - 1) if number else None
        said = f"Question {number}?" + " Why?" * 20
        lines.append(line(name("b", number), before, "user", said))
        lines.append(line(name("a", number), name("b", number), "assistant", f"Answer {number}."))
    return lines


@pytest.fixture
def transcript(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for limit, size in (("LONG", 10_000), ("_HEAD", 2_000), ("_TAIL", 4_000)):
        monkeypatch.setattr(ending, limit, size)
    return tmp_path / "one.jsonl"


def write(transcript: Path, lines: list[dict[str, Any]]) -> None:
    transcript.write_text("".join(json.dumps(each) + "\n" for each in lines), encoding="utf-8", newline="")


def stored(vault: Path) -> list[str]:
    state = State(vault / ".automemory")
    rows = [json.loads(row.payload)["turn"]["messages"][0]["text"] for row in state.pending() if row.payload]
    state.close()
    return [text.partition("?")[0] for text in rows]


def store(vault: Path, transcript: Path) -> int:
    return accept.store(transcript, {"vault": str(vault), "timezone": "UTC", "agent_id": ""}, finished=True)


def test_end_of_a_long_transcript_is_the_same_turns_under_the_same_name(transcript: Path) -> None:
    """What is read at the end has the ids, times and words that reading all of it gives."""
    write(transcript, talk(0, 60))
    late, whole = ending.ending(transcript), session(transcript)
    assert late is not None and whole is not None
    assert late.stream == whole.stream == name("b", 0)
    assert 3 < len(late.turns) < 20
    assert late.turns == whole.turns[-len(late.turns) :]


def test_only_new_turns_of_a_long_transcript_are_stored(
    transcript: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once its past is known, a call stores the new turn without reading the rest."""
    write(transcript, talk(0, 60))
    assert store(tmp_path / "vault", transcript) == 60
    write(transcript, talk(0, 61))
    monkeypatch.setattr("automemory.hook.transcript.session", lambda *_, **__: pytest.fail("read it all"))
    assert store(tmp_path / "vault", transcript) == 1
    assert store(tmp_path / "vault", transcript) == 0


def test_turns_from_before_the_end_that_are_not_known_are_stored_too(
    transcript: Path, tmp_path: Path
) -> None:
    """Where no turn at the end is known, all is read: a hook that was off for a while misses nothing."""
    write(transcript, talk(0, 5))
    assert store(tmp_path / "vault", transcript) == 5  # short: read as a whole
    write(transcript, talk(0, 70))
    assert store(tmp_path / "vault", transcript) == 65
    assert stored(tmp_path / "vault") == [f"Question {n}" for n in range(70)]


def test_a_branch_that_begins_before_the_end_has_all_of_it_read(transcript: Path, tmp_path: Path) -> None:
    """A person who goes far back gives up turns that only the whole transcript shows as given up."""
    write(transcript, talk(0, 59))
    store(tmp_path / "vault", transcript)
    given_up = line(name("b", 59), name("a", 58), "user", "Question 59?")
    write(transcript, [*talk(0, 59), given_up, *talk(80, 82, parent=name("a", 3))])
    assert ending.ending(transcript) is None
    assert store(tmp_path / "vault", transcript) == 2
    assert stored(tmp_path / "vault")[-2:] == ["Question 80", "Question 81"]


def test_last_line_that_is_being_written_is_passed_over(transcript: Path) -> None:
    write(transcript, talk(0, 60))
    with transcript.open("a", encoding="utf-8") as file:
        file.write('{"type": "user", "uuid": "q60", "mess')
    late = ending.ending(transcript)
    assert late is not None and late.turns[-1].user_text.startswith("Question 59?")


def test_other_forms_are_read_as_a_whole(transcript: Path) -> None:
    """Codex's messages have no ids of their own: these depend on what came before."""
    meta = {"type": "session_meta", "payload": {"id": "one"}, "timestamp": "2026-05-01T10:00:00Z"}
    said = [
        {"type": "event_msg", "payload": {"type": kind, "message": f"Words {n} " * 20}}
        for n in range(60)
        for kind in ("user_message", "agent_message")
    ]
    write(transcript, [meta, *said])
    assert session(transcript) is not None
    assert ending.ending(transcript) is None

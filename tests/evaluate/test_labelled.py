"""Labelled conversations as turns, at both levels, and what is no labelled conversation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from automemory.errors import ImportFailed
from automemory.evaluate import Labelled, is_labelled, read_labelled

TALK = {
    "id": "talk",
    "turns": [
        {"role": "user", "text": "One"},
        {"role": "assistant", "text": "Look.\n[tool_call] grep {}\n[tool_result] found"},
        {"role": "user", "text": "Two"},
        {"role": "user", "text": "Three"},
        {"role": "assistant", "text": "Done."},
        {"role": "user", "text": "Four"},
    ],
    "boundaries": [4],
    "soft_boundaries": [2],
    "returns": {"5": 1},
}


def written(folder: Path, *records: Any) -> Path:
    path = folder / "talks.jsonl"
    lines = [record if isinstance(record, str) else json.dumps(record) for record in records]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="")
    return path


def words(found: Labelled) -> list[str]:
    return [turn.user_text or turn.reply_text for turn in found.turns]


def test_a_turn_is_a_users_utterance_with_all_up_to_the_next(tmp_path: Path) -> None:
    """Two of them in a row are two turns; a turn has a boundary if one of its utterances has."""
    (found,) = read_labelled(written(tmp_path, TALK))
    assert words(found) == ["One", "Two", "Three", "Four"]
    assert found.labels == (False, None, True, False)
    assert found.returns == {3: 0}
    assert [message.role for message in found.turns[0].messages] == ["user", "assistant", "assistant", "tool"]


def test_at_utterance_level_every_utterance_is_a_turn(tmp_path: Path) -> None:
    """Also one without words, so that numbers stay those of the file."""
    talk = TALK | {"turns": [*TALK["turns"], {"role": "user", "text": " "}]}
    (found,) = read_labelled(written(tmp_path, talk), level="utterance")
    assert len(found.turns) == 7
    assert found.labels == (False, False, None, False, True, False, False)
    assert found.returns == {5: 1}


def test_speakers_that_are_no_users_make_one_turn(tmp_path: Path) -> None:
    talk = {"id": 7, "turns": [{"role": "A", "text": "hi"}, {"role": "B", "text": "ho"}], "boundaries": []}
    path = written(tmp_path, talk)
    assert [len(level.turns) for level in (read_labelled(path)[0],)] == [1]
    assert len(read_labelled(path, level="utterance")[0].turns) == 2
    assert read_labelled(path)[0].id == "7"
    assert read_labelled(path)[0].returns is None


def test_blank_lines_a_mark_at_the_beginning_and_a_limit(tmp_path: Path) -> None:
    path = written(tmp_path, "\ufeff" + json.dumps(TALK), "", json.dumps(TALK | {"id": "other"}))
    assert is_labelled(path)
    assert [found.id for found in read_labelled(path)] == ["talk", "other"]
    assert [found.id for found in read_labelled(path, limit=1)] == ["talk"]


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ("{", "Invalid JSON"),
        ("[]", "be an object"),
        ({"id": "a", "turns": TALK["turns"]}, "boundaries"),
        (TALK | {"turns": []}, "no turns"),
        (TALK | {"boundaries": [6]}, "no turn 6: its turns are 0 to 5"),
        (TALK | {"boundaries": [-1]}, "no turn -1"),
        (TALK | {"soft_boundaries": [99]}, "no turn 99"),
        (TALK | {"returns": {"5": 17}}, "no turn 17"),
        (TALK | {"turns": [{"role": "user"}]}, "turns.0.text"),
    ],
)
def test_a_bad_line_is_told_by_its_number(tmp_path: Path, record: Any, reason: str) -> None:
    """With what is wrong with it and what to give instead."""
    with pytest.raises(ImportFailed) as caught:
        read_labelled(written(tmp_path, TALK, record))
    message = str(caught.value)
    assert "talks.jsonl: line 2 is no labelled conversation (" in message
    assert reason in message
    assert "give one JSON object a line" in message


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ImportFailed, match="cannot be read"):
        read_labelled(tmp_path / "none.jsonl")

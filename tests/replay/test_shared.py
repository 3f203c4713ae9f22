"""The readers on the development samples, where these are present: set AUTOMEMORY_DATA to their folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from saved import find

FORMATS = Path(os.environ.get("AUTOMEMORY_DATA") or "nowhere") / "formats"
NAMES = {
    "chatgpt": "chatgpt",
    "claude-ai": "claude-ai",
    "claude-code": "claude-code",
    "codex": "codex",
    "langchain": "langchain",
    "langsmith": "langsmith",
    "openai": "openai",
    "sharegpt": "sharegpt",
}
SAMPLES = sorted(FORMATS.glob("*/*"))

pytestmark = [
    pytest.mark.shared,
    pytest.mark.skipif(not SAMPLES, reason="AUTOMEMORY_DATA names no folder with samples"),
]


@pytest.mark.parametrize(
    "sample", SAMPLES or [Path("none")], ids=lambda path: f"{path.parent.name}/{path.name}"
)
def test_a_sample_is_recognised_and_read(sample: Path) -> None:
    """B42: by its content alone; every conversation has messages, and no name comes twice."""
    from automemory.replay.importers.registry import importer_for

    with sample.open("rb") as file:
        assert importer_for(file).name == NAMES[sample.parent.name]
    conversations, bad, _ = find(sample.read_bytes())
    assert conversations
    for conversation in conversations:
        ids = [message.id for message in conversation.messages]
        assert len(set(ids)) == len(ids)
        assert not any("{'" in message.text for message in conversation.messages)
    assert len(bad) <= (5 if "edge" in sample.name else 0)


def test_what_the_samples_are_known_to_hold() -> None:
    """B44, B48: machine-written lines and second records are not speech."""
    (talk,), _, _ = find((FORMATS / "claude-code" / "sidechains.jsonl").read_bytes())
    assert {message.role for message in talk.messages} == {"assistant", "tool"}
    (talk,), _, left_out = find((FORMATS / "codex" / "rollout.jsonl").read_bytes())
    assert sum(message.role == "user" for message in talk.messages) == 1
    assert left_out["records of an unknown kind (future_synthetic_record)"] == 1
    found, _, _ = find((FORMATS / "langsmith" / "runs.jsonl").read_bytes())
    assert [len(conversation.messages) for conversation in found] == [10, 8]

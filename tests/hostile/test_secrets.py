"""Secrets are masked whole wherever text can get to, whoever brings it there; harmless hex stays."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from leaks import SECRETS, everywhere, leaks, turns
from zoo import DAY, NOW

from automemory.boundary import BoundaryDecision
from automemory.decision import EventSummary, NotifyCandidate, Verdict
from automemory.errors import AutoMemoryError
from automemory.maintenance.doctor import examine
from automemory.memory import AutoMemory
from automemory.synchronizer.toolkit import VaultToolkit

Open = Callable[..., AutoMemory]
HARMLESS = [
    "3b18e512dba79e4c8300dd08aeb37f8e728b8dad",
    "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
]


class Leaky:
    """A decider that repeats the secret in all it says, and keeps what it was shown."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.shown: list[str] = []

    async def decide(self, context: Any) -> Verdict:
        self.shown.append(repr(context))
        slug = self.text.replace("\n", " ")[:100]
        decision = BoundaryDecision(continue_=False, new_event_slug=slug, summary_patch=f"Uses {self.text}")
        return Verdict(decision, "local", error=f"failed with {self.text}")

    async def summarize(self, event: Any, turns: Any) -> EventSummary:
        self.shown.append(repr((event, turns)))
        return EventSummary(f"Ended with {self.text}", title=self.text)


@pytest.mark.parametrize("kind", SECRETS)
def test_secret_is_nowhere(
    open_memory: Open, vault: Path, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    """B73: note, slug, index, prompts, results, status, log, tools' records, `state.db`'s bytes."""
    text, secret = SECRETS[kind]
    decider, told = Leaky(text), []
    caplog.set_level(logging.DEBUG)
    memory = open_memory(decider=decider)

    def attempt(call: Callable[[], object]) -> None:
        with suppress(AutoMemoryError):  # told to the caller, who said it
            told.append(str(call()))

    for said in turns(text):
        result = memory.record(said)
        assert result.outcome == "recorded"
        told.append(str(result))
    words = [{"role": "user", "content": "hi"}]
    offered = [NotifyCandidate("resource/x.md", text, text)]
    for options in ({"thread_id": text}, {"event": text}, {"turn_id": text}, {"notify": offered}):
        attempt(lambda options=options: memory.record(words, **options))  # type: ignore[misc]
    attempt(lambda: memory.close_event(thread_id=text))
    attempt(memory.close_event)
    attempt(memory.status)
    attempt(memory.reference)
    kit, note = VaultToolkit(vault, timezone="UTC", clock=lambda: NOW), f"daily/{DAY}/task/task.md"
    front = f"---\ntitle: {json.dumps(text)}\ndescription: {json.dumps(text)}\n---\n"
    kit.write(note, f"{front}## Objective\n{text}\n## Progress\n- {text}\n## Findings\n- `{text}`\n")
    attempt(lambda: kit.write(f"daily/{DAY}/task/material.md", f"# {text}\n```\n{text}\n```\n"))
    attempt(lambda: kit.property_update(note, title=text, extra=text))
    for call in (kit.read, kit.list, kit.stat):
        with suppress(AutoMemoryError):
            call(text)
    told.append(str(kit.records))
    kit.close()
    memory.flush()
    places = everywhere(vault)
    memory.close()
    places |= {f"closed: {name}": data for name, data in everywhere(vault).items()}
    places |= {"told": "\n".join(told), "prompts": "\n".join(decider.shown), "log": caplog.text}
    places["doctor"] = str(examine(vault, NOW))
    assert leaks(secret, places) == []


@pytest.mark.parametrize("harmless", HARMLESS)
def test_commits_and_ids_stay(open_memory: Open, vault: Path, harmless: str) -> None:
    """1.6: hex that is no secret is what one looks for later, in words and as a thread's name alike."""
    memory = open_memory("one")
    memory.record([{"role": "user", "content": f"Look at {harmless}."}], thread_id=harmless)
    note = (next(iter((vault / "daily").glob("*/one/one.md")))).read_text("utf-8")
    assert f"thread: {harmless}" in note.replace('"', "") and f"Look at {harmless}." in note


def test_threads_with_secrets_stay_apart(open_memory: Open, vault: Path) -> None:
    """A host may name a thread by its session's token: the note tells it apart, and does not tell it."""
    memory = open_memory("one", "two")
    tokens = [f"ghp_{letter * 3}1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8" for letter in "ab"]
    paths = [memory.record([{"role": "user", "content": "hi"}], thread_id=t).event for t in tokens]
    assert len({event.path for event in paths if event}) == 2
    memory.close()
    memory = open_memory()
    again = [memory.record([{"role": "user", "content": "on"}], thread_id=t).event for t in tokens]
    assert [e and e.path for e in again] == [e and e.path for e in paths]
    assert memory.close_event(thread_id=tokens[0]) and memory.close_event(thread_id=tokens[0]) is None

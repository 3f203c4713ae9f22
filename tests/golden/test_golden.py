"""Whole vaults, byte for byte.

Each folder here holds a conversation (`conversation.yaml`) and the vault that has to come of it (`vault/`).
`pytest tests/golden --update-golden` writes the vaults anew; read every difference before accepting it.

A conversation is a list of steps. A turn has `messages` (each one `user:`, `assistant:` or `tool:` with its
text, `id`, `at`, `calls`), perhaps `thread`, `event`, `agent`, `complete: false`, the outcome it `gives`, and
`decide`: what the decider answers (`new: slug`, `patch:`, `p:`, `title:`), or `fail`; with a note schema that
keeps sections `views`, what a model says of them, or `fail`; without it there is none. Other steps are what a
person does to the vault meanwhile: `write:` a file, `replace:` a piece of one, change its `line_ends:`, or
`close_event:`. `summaries:` are the answers to final summaries, by slug.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from automemory.boundary import BoundaryDecision
from automemory.decision import (
    DecisionContext,
    EventSummary,
    EventView,
    Exchange,
    Verdict,
    ViewContext,
    ViewPatch,
)
from automemory.memory import AutoMemory
from automemory.turn import Turn

HERE = Path(__file__).parent
CASES = {
    path.parent.name: path.read_text(encoding="utf-8") for path in sorted(HERE.glob("*/conversation.yaml"))
}
WITHOUT_DRAFTS = [
    name for name, text in CASES.items() if "complete: false" not in text
]  # `close` files drafts


class Script:
    """A decider that answers what the conversation says, and notes what it has no answer for."""

    def __init__(self, summaries: Mapping[str, Any]) -> None:
        self.answers: list[Any] = []
        self.unexpected: list[str] = []
        self.views: list[Any] = []
        self._summaries = summaries

    async def decide(self, context: DecisionContext) -> Verdict:
        if not self.answers:
            self.unexpected.append(f"decide: {context.turn.user}")
        answer = self.answers.pop(0) if self.answers else "fail"
        if answer == "fail":
            raise TimeoutError("the model did not answer within 20 seconds")
        slug = answer.get("new")
        return Verdict(
            BoundaryDecision(
                continue_=slug is None, new_event_slug=slug or "", summary_patch=answer.get("patch", "")
            ),
            answer.get("by", "llm"),
            p=answer.get("p"),
            title=answer.get("title", ""),
        )

    async def write_views(self, context: ViewContext) -> ViewPatch | None:
        said = self.views.pop(0) if self.views else None
        if said == "fail":
            raise TimeoutError("the model did not answer within 20 seconds")
        return ViewPatch(said) if said else None

    async def summarize(self, event: EventView, turns: list[Exchange]) -> EventSummary:
        if event.slug not in self._summaries:
            self.unexpected.append(f"summarize: {event.slug}")
        answer = self._summaries.get(event.slug, "fail")
        if answer == "fail":
            raise TimeoutError("the model did not answer within 20 seconds")
        return EventSummary(
            answer["text"],
            answer.get("title", ""),
            answer.get("completed", False),
            by=answer.get("by", "model"),
        )


class Performance:
    """Plays a conversation into a vault."""

    def __init__(self, conversation: Mapping[str, Any], vault: Path) -> None:
        self.vault = vault
        self.decider = Script(conversation.get("summaries", {}))
        self.clock = datetime.fromisoformat("2026-05-27T12:00:00+00:00")
        self._options = conversation.get("options", {})
        self._memories: dict[str, AutoMemory] = {}

    def play(self, step: Mapping[str, Any]) -> None:
        if "messages" in step:
            self._record(step)
        elif "close_event" in step:
            self.clock = datetime.fromisoformat(step["at"])
            self._memory(step).close_event(thread_id=step["close_event"])
        elif "write" in step:
            path = self.vault / step["write"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(step["text"].encode("utf-8"))
        elif "replace" in step:
            path = self.vault / step["in"]
            text = path.read_bytes().decode("utf-8")
            assert text.count(step["replace"]) == 1, f"{step['replace']!r} is to stand once in {step['in']}"
            path.write_bytes(text.replace(step["replace"], step["by"]).encode("utf-8"))
        else:
            path = self.vault / step["in"]
            assert step["line_ends"] == "windows"
            path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))

    def close(self) -> None:
        for memory in self._memories.values():
            memory.close()
        self._memories.clear()

    def _record(self, step: Mapping[str, Any]) -> None:
        decide = step.get("decide", [])
        self.decider.answers += decide if isinstance(decide, list) else [decide]
        self.decider.views += [step["views"]] if "views" in step else []
        memory, messages = self._memory(step), [_message(m) for m in step["messages"]]
        thread, event = step.get("thread", "main"), step.get("event")
        if step.get("complete", True):
            result = memory.record(messages, thread_id=thread, event=event)
        else:
            result = memory.record(Turn.of(messages, complete=False), thread_id=thread, event=event)
        assert result.outcome == step.get("gives", "recorded"), result

    def _memory(self, step: Mapping[str, Any]) -> AutoMemory:
        agent = step.get("agent", "")
        if agent not in self._memories:
            self._memories[agent] = AutoMemory(
                self.vault,
                decider=self.decider,
                agent_id=agent or None,
                durability="os",
                clock=lambda: self.clock,
                **{"timezone": "UTC", **self._options},
            )
        return self._memories[agent]


def _message(said: Mapping[str, Any]) -> dict[str, Any]:
    role = next(role for role in ("user", "assistant", "tool", "narrator") if role in said)
    calls = [{"name": c["name"], "args": c.get("args"), "id": c.get("id")} for c in said.get("calls", [])]
    return {
        "role": role,
        "content": said[role],
        "id": said.get("id"),
        "timestamp": said.get("at"),
        "tool_calls": calls,
        "tool_call_id": said.get("call"),
        "name": said.get("name"),
        "status": "error" if said.get("error") else "success",
    }


def _files(vault: Path) -> dict[str, bytes]:
    return {
        path.relative_to(vault).as_posix(): path.read_bytes()
        for path in sorted(vault.rglob("*"))
        if path.is_file() and ".automemory" not in path.parts
    }


def _played(name: str, vault: Path) -> Iterator[Performance]:
    """The performance of a conversation, stopping after each step."""
    conversation = yaml.safe_load(CASES[name])
    performance = Performance(conversation, vault)
    for step in conversation["steps"]:
        performance.play(step)
        yield performance
    performance.close()
    assert not performance.decider.unexpected and not performance.decider.answers


@pytest.mark.parametrize("name", CASES)
def test_conversation_becomes_exactly_this_vault(
    name: str, vault: Path, request: pytest.FixtureRequest
) -> None:
    """Every byte of notes and indexes; run with `--update-golden` to write what there is now."""
    for _ in _played(name, vault):
        pass
    if request.config.getoption("update_golden"):
        shutil.rmtree(HERE / name / "vault", ignore_errors=True)
        for path, data in _files(vault).items():
            (HERE / name / "vault" / path).parent.mkdir(parents=True, exist_ok=True)
            (HERE / name / "vault" / path).write_bytes(data)
    assert _files(vault) == _files(HERE / name / "vault")


@pytest.mark.parametrize("forgetful", [False, True], ids=["restarted", "state-deleted"])
@pytest.mark.parametrize("name", WITHOUT_DRAFTS)
def test_restart_between_any_two_steps_changes_nothing(name: str, forgetful: bool, vault: Path) -> None:
    """A new process, even without `state.db`, goes on as if nothing had happened: the notes say
    everything.
    """
    for performance in _played(name, vault):
        performance.close()
        if forgetful:
            for file in (vault / ".automemory").glob("state.db*"):
                file.unlink()
    assert _files(vault) == _files(HERE / name / "vault")

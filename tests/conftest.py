"""What most tests need: a scripted decider, turns with given times, and a memory over a fresh vault."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from automemory.boundary import BoundaryDecision
from automemory.decision import DecisionContext, EventSummary, EventView, Exchange, Verdict
from automemory.memory import AutoMemory

sys.path.insert(0, str(Path(__file__).parent))  # for `stub_openai`, beside the tests

from stub_openai import stub

settings.register_profile("untimed", deadline=None)  # how long an example takes is the machine's affair
settings.load_profile("untimed")

__all__ = ["stub"]

NOON = datetime(2026, 5, 27, 12, 0, tzinfo=UTC)


class ScriptedDecider:
    """Answers from a list: None continues, a text opens (or goes back to) the event of that name.

    An exception in the list is raised, a `Verdict` is given as it is. Past the end every turn continues.
    """

    def __init__(self, *answers: str | Verdict | Exception | None) -> None:
        self.answers = list(answers)
        self.contexts: list[DecisionContext] = []
        self.summed_up: list[tuple[EventView, list[Exchange]]] = []

    async def decide(self, context: DecisionContext) -> Verdict:
        self.contexts.append(context)
        answer = self.answers.pop(0) if self.answers else None
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, Verdict):
            return answer
        patch = f"On {answer or 'the same'}."
        return Verdict(
            BoundaryDecision(continue_=answer is None, new_event_slug=answer or "", summary_patch=patch),
            "local",
            p=0.9 if answer else 0.1,
        )

    async def summarize(self, event: EventView, turns: list[Exchange]) -> EventSummary:
        self.summed_up.append((event, turns))
        return EventSummary(f"{event.slug} came to an end after {len(turns)} turns.")


def _turn(number: int, at: datetime | None = None, *, reply: str = "", **extra: Any) -> list[dict[str, Any]]:
    at = at or NOON + timedelta(minutes=number)
    user = {"role": "user", "content": f"Question {number}?", "id": f"u{number}", "timestamp": at.isoformat()}
    return [user | extra, {"role": "assistant", "content": reply or f"Answer {number}.", "id": f"a{number}"}]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the vaults under tests/golden anew")


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return tmp_path / "vault"


@pytest.fixture
def open_memory(vault: Path) -> Iterator[Callable[..., AutoMemory]]:
    """Opens memories over the test's vault, and closes them."""
    opened: list[AutoMemory] = []

    def open_one(*answers: str | Verdict | Exception | None, **options: Any) -> AutoMemory:
        options.setdefault("decider", ScriptedDecider(*answers))
        options.setdefault("timezone", "UTC")
        options.setdefault("durability", "os")
        memory = AutoMemory(options.pop("vault", vault), **options)
        opened.append(memory)
        return memory

    yield open_one
    for memory in opened:
        memory.close()


@pytest.fixture
def turn() -> Callable[..., list[dict[str, Any]]]:
    """Makes turns of two messages, ids `u<number>` and `a<number>`, by default `number` minutes past noon."""
    return _turn


@pytest.fixture
def scripted() -> type[ScriptedDecider]:
    return ScriptedDecider


@pytest.fixture
def files(vault: Path) -> Callable[[], dict[str, str]]:
    """Reads all files of the vault but the library's own: path to text."""

    def read() -> dict[str, str]:
        return {
            path.relative_to(vault).as_posix(): path.read_bytes().decode("utf-8")
            for path in sorted(vault.rglob("*"))
            if path.is_file() and ".automemory" not in path.parts
        }

    return read

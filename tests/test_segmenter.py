"""The turn graph when the vault changes under it, and what a decider is shown."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from automemory.boundary import BoundaryDecision
from automemory.decision import DecisionContext, EventSummary, EventView, Exchange, NotifyCandidate, Verdict
from automemory.memory import AutoMemory
from automemory.vault.reader import Reader

Open = Callable[..., AutoMemory]
MakeTurn = Callable[..., list[dict[str, Any]]]
ONE = "daily/2026-05-27/one/one.md"


class Interrupted:
    """Decides as told, after something happened to the vault meanwhile."""

    def __init__(self, *answers: str | None, meanwhile: Callable[[int], None]) -> None:
        self.answers = list(answers)
        self.asked: list[str | None] = []
        self.meanwhile = meanwhile

    async def decide(self, context: DecisionContext) -> Verdict:
        self.asked.append(context.active.slug if context.active else None)
        answer = self.answers[min(len(self.asked), len(self.answers)) - 1]
        self.meanwhile(len(self.asked))
        decision = BoundaryDecision(continue_=answer is None, new_event_slug=answer or "")
        return Verdict(decision, "local")

    async def summarize(self, event: EventView, turns: list[Exchange]) -> EventSummary:
        return EventSummary(f"All of {event.slug}.")


def asked(vault: Path) -> list[tuple[str, str]]:
    reader = Reader(vault)
    return [(h.name, t.steps[0].text) for h in reader.events() for t in reader.event(h.path).turns]


def test_verdict_is_kept_while_the_active_event_is_the_same(
    open_memory: Open, turn: MakeTurn, vault: Path
) -> None:
    """A person saves the note during the decision: both texts are there, and no second decision is paid
    for.
    """

    def save(time: int) -> None:
        if time == 2:
            with (vault / ONE).open("a", encoding="utf-8") as note:
                note.write("\nA person's words.\n")

    decider = Interrupted("one", None, meanwhile=save)
    memory = open_memory(decider=decider)
    memory.record(turn(1))
    assert memory.record(turn(2)).outcome == "recorded"
    assert decider.asked == [None, "one"]
    text = (vault / ONE).read_text(encoding="utf-8")
    assert text.index("Question 1?") < text.index("A person's words.\n\n### ") < text.index("Question 2?")


def test_an_event_that_takes_over_is_not_closed_for_the_one_that_is_gone(
    open_memory: Open, turn: MakeTurn, vault: Path
) -> None:
    """A switch was decided on an event that is gone by then; the one a person reopened goes on, and stays
    open.
    """

    def delete(time: int) -> None:
        if time == 3:
            shutil.rmtree(vault / "daily/2026-05-27/two")

    decider = Interrupted("one", "two", "three", None, meanwhile=delete)
    memory = open_memory(decider=decider)
    memory.record(turn(1))
    memory.record(turn(2))
    text = (vault / ONE).read_text(encoding="utf-8")
    (vault / ONE).write_text(re.sub(r"(?m)^closed(_by)?:.*\n", "", text), encoding="utf-8")
    result = memory.record(turn(3))
    assert decider.asked == [None, "one", "two", "one"]
    assert result.event and (result.event.path, result.event.how) == (ONE, "continued")
    assert result.closed is None and Reader(vault).event(ONE).head.open


def test_rest_of_a_turn_is_filed_with_its_beginning_if_that_is_gone(
    open_memory: Open, turn: MakeTurn, vault: Path
) -> None:
    """The note that held the turn's first part is deleted while the rest is under way: a decision is made
    and the whole turn is filed.
    """
    decider = Interrupted("one", "two", meanwhile=lambda time: None)
    memory = open_memory(decider=decider)
    memory.record(turn(1)[:1])
    result = None
    for update in memory.graph.stream({"messages": turn(1), "thread_id": "main"}, stream_mode="updates"):
        if "append" in update and (vault / ONE).exists():
            shutil.rmtree((vault / ONE).parent)
        result = update.get("commit", {}).get("result")
    assert result and result.outcome == "recorded" and decider.asked == [None, None]
    assert asked(vault) == [("two", "Question 1?")]
    assert "Answer 1." in Reader(vault).event("two").turns[0].steps[1].text


def test_decision_is_made_anew_when_the_active_event_is_another(
    open_memory: Open, turn: MakeTurn, vault: Path
) -> None:
    """The event it was made on is gone by the time it is to be filed."""

    def delete(time: int) -> None:
        if time == 2:
            shutil.rmtree(vault / "daily/2026-05-27/one")

    decider = Interrupted("one", None, "two", meanwhile=delete)
    memory = open_memory(decider=decider)
    memory.record(turn(1))
    result = memory.record(turn(2))
    assert decider.asked == [None, "one", None]
    assert result.event and result.event.slug == "two" and asked(vault) == [("two", "Question 2?")]


def test_name_taken_during_the_decision_is_numbered(open_memory: Open, turn: MakeTurn, vault: Path) -> None:
    """Somebody made a folder of that name meanwhile: it is left alone."""

    def take(time: int) -> None:
        folder = vault / "daily/2026-05-27/one"
        folder.mkdir(parents=True)
        (folder / "one.md").write_text("mine", encoding="utf-8")

    result = open_memory(decider=Interrupted("one", meanwhile=take)).record(turn(1))
    assert result.event and result.event.path == "daily/2026-05-27/one-2/one-2.md"
    assert (vault / ONE).read_text(encoding="utf-8") == "mine"


def test_turn_of_another_memory_goes_first(open_memory: Open, turn: MakeTurn, vault: Path) -> None:
    """Another process moved the stream on: the turn is decided on what is active now, not on what was."""
    decider = Interrupted("one", None, meanwhile=lambda time: None)
    memory, other = open_memory(decider=decider), open_memory("two")
    memory.record(turn(1))
    other.record(turn(5))
    memory.record(turn(2))
    assert decider.asked == [None, "two"]
    assert asked(vault) == [("one", "Question 1?"), ("two", "Question 5?"), ("two", "Question 2?")]


def test_no_lock_is_held_while_a_decider_thinks(open_memory: Open, turn: MakeTurn, vault: Path) -> None:
    taken: list[bool] = []

    def take(time: int) -> None:
        with FileLock(vault / ".automemory" / "vault.lock", timeout=0) as lock:
            taken.append(lock.is_locked)

    memory = open_memory(decider=Interrupted("one", "two", meanwhile=take))
    memory.record(turn(1))
    memory.record(turn(2))
    assert taken == [True, True]


def test_decider_is_shown_what_was_offered(
    open_memory: Open, turn: MakeTurn, scripted: Any, vault: Path
) -> None:
    """Candidates, granularity and recent events as they are in the notes; the turn's own words and calls."""
    decider = scripted("one", "two", None)
    memory = open_memory(decider=decider, granularity="fine")
    memory.record(turn(1))
    memory.record(turn(2))
    offered = NotifyCandidate("resource/a.md", "A", "it is near")
    memory.record(turn(3), notify=[offered])
    context = decider.contexts[2]
    assert context.notify == (offered,) and context.granularity == "fine"
    assert (context.turn.user, context.turn.reply) == ("Question 3?", "Answer 3.")
    assert context.active and context.active.slug == "two" and context.active.turns == 1
    [recent] = context.recent
    assert (recent.path, recent.slug, recent.description, recent.date, recent.active) == (
        ONE,
        "one",
        "On one.",
        "2026-05-27",
        True,
    )


def test_final_summary_sees_the_events_own_turns(open_memory: Open, turn: MakeTurn, scripted: Any) -> None:
    """All of them, oldest first, with their patches, and not the turn that starts the next event."""
    decider = scripted("one", None, None, "two")
    memory = open_memory(decider=decider)
    for number in range(4):
        memory.record(turn(number))
    [(event, turns)] = decider.summed_up
    assert event.slug == "one" and [t.user for t in turns] == [f"Question {n}?" for n in range(3)]
    assert [t.patch for t in turns] == ["On one.", "On the same.", "On the same."]


@pytest.mark.parametrize("failure", [RuntimeError("secret text"), ValueError("secret text")])
def test_failed_summary_leaves_no_trace_of_the_failure(
    open_memory: Open, turn: MakeTurn, vault: Path, failure: Exception
) -> None:
    """B05: turns and description stay, the summary is owed, and the error's text stands nowhere in the
    vault.
    """

    class Failing(Interrupted):
        async def summarize(self, event: EventView, turns: list[Exchange]) -> EventSummary:
            raise failure

    memory = open_memory(decider=Failing("one", None, "two", meanwhile=lambda time: None))
    for number in range(3):
        memory.record(turn(number))
    head = Reader(vault).event("one").head
    assert (head.closed_by, head.summary_by, head.description) == ("switch", "pending", "")
    assert not [p for p in vault.rglob("*") if p.is_file() and b"secret text" in p.read_bytes()]
    assert memory.status().counters["summaries_pending"] == 1

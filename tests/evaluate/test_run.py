"""Deciders on labelled conversations: decided as live, without a look at the labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from automemory.errors import ConfigError
from automemory.evaluate import Labelled
from automemory.evaluate.floors import at_random, by_similarity, never
from automemory.evaluate.measures import Returns, Sheet, quality, returns_of
from automemory.evaluate.metrics import Outcome
from automemory.evaluate.run import ALL, evaluate
from automemory.evaluate.trial import Calendar, Trial, run_trials
from automemory.memory import AutoMemory
from automemory.turn import Message, Turn


def talk(name: str, labels: tuple[bool | None, ...], returns: dict[int, int] | None = None) -> Labelled:
    turns = tuple(
        Turn((Message("user", f"Question {n}?", id=f"{name}/{n}"), Message("assistant", "Answer.")))
        for n in range(len(labels))
    )
    return Labelled(name, turns, labels, returns)


def trials(
    folder: Path, scripted: Any, answers: list[Any], *conversations: Labelled
) -> tuple[list[Trial], Any]:
    decider, calendar = scripted(*answers), Calendar()
    with AutoMemory(
        folder, decider=decider, timezone="UTC", recent_scope="stream", durability="os", clock=calendar
    ) as memory:
        return list(run_trials(conversations, memory, calendar)), decider


def test_a_decider_meets_its_own_events(tmp_path: Path, scripted: Any) -> None:
    """Not those of the labels, nor those of other conversations."""
    first = talk("one", (False, True, True, False))
    found, decider = trials(tmp_path, scripted, ["a", None, None, "b", "c"], first, talk("two", (False,)))
    assert [turn.cut for turn in found[0].turns] == [True, False, False, True]
    shown = [(context.active.turns if context.active else None) for context in decider.contexts]
    assert shown == [None, 1, 2, 3, None]
    assert decider.contexts[-1].recent == ()


def test_decisions_are_those_of_a_live_run(tmp_path: Path) -> None:
    """The embedded decider decides the same when the same turns are recorded by hand."""
    asked = ["Fix the login form", "And the empty password?", "Plan the offsite in May", "Which hotel?"]
    turns = tuple(
        Turn((Message("user", text, id=f"u{n}"), Message("assistant", "Yes.")))
        for n, text in enumerate(asked)
    )
    seen: list[Trial] = []
    evaluate(
        {"f": [Labelled("x", turns, (False,) * 4)]}, decider="local", on_trial=lambda _, t: seen.append(t)
    )
    with AutoMemory(tmp_path, decider="local", timezone="UTC", durability="os") as memory:
        live = [memory.record(turn).verdict for turn in turns]
    assert [t.p for t in seen[0].turns] == [verdict.p for verdict in live if verdict]
    assert [t.cut for t in seen[0].turns] == [not verdict.decision.continue_ for verdict in live if verdict]


def test_repeated_conversations_are_decided_again(tmp_path: Path, scripted: Any) -> None:
    """The same ids and words twice are two conversations, not duplicates."""
    same = talk("same", (False, True))
    found, _ = trials(tmp_path, scripted, ["a", "b", "a", "b"], same, same)
    assert [turn.outcome for trial in found for turn in trial.turns] == ["recorded"] * 4


def test_long_conversations_stay_on_their_day(tmp_path: Path, scripted: Any) -> None:
    """No event ends because a day does, so every cut is the decider's."""
    found, _ = trials(tmp_path, scripted, ["a"], *[talk(str(n), (False,) * 3) for n in range(3)])
    assert {turn.how for trial in found for turn in trial.turns[1:]} == {"continued"}


def test_going_back_is_right_if_it_is_to_the_event_of_that_turn(tmp_path: Path, scripted: Any) -> None:
    """Of two labelled returns one is made, to the right event; one more is made where none is labelled."""
    conversation = talk("back", (False, True, True, True, True), {2: 0, 4: 0})
    answers = ["login", "menu", "login", "menu", "offsite"]
    found, _ = trials(tmp_path, scripted, answers, conversation)
    returns = returns_of(found[0])
    assert returns == Returns(due=2, made=2, right=1)
    assert (returns.precision, returns.recall) == (0.5, 0.5)


def test_a_failing_decider_is_counted(tmp_path: Path, scripted: Any) -> None:
    found, _ = trials(tmp_path, scripted, ["a", RuntimeError("no")], talk("x", (False, False)))
    sheet = Sheet()
    sheet.add(found[0], [1.0])
    assert sheet.measures().fallbacks == 1
    assert "RuntimeError" in found[0].turns[1].error


def test_floors() -> None:
    """Never cutting; at random, the same for the same seed; the least similar turns, as many as labelled."""
    gold = Outcome((False, True, False, False, True), (True,) * 5, (0.5,) * 5)
    assert quality(never([gold])).predicted == 0
    assert at_random([gold] * 50, 0.5) == at_random([gold] * 50, 0.5)
    assert quality(at_random([gold] * 500, 0.5)).density == pytest.approx(0.5, abs=0.05)
    made, below = by_similarity([gold], [[0.1, 0.9, 0.8, 0.3]], rate=0.5)
    assert (made[0].cuts[1:], below) == ((True, False, False, True), 0.8)
    assert quality(by_similarity([gold], [[0.1, 0.9, 0.8, 0.3]], rate=0.0)[0]).predicted == 0
    assert quality(by_similarity([gold], [[0.1, 0.9, 0.8, 0.3]], rate=1.0)[0]).predicted == 4


def test_several_families_are_also_measured_together() -> None:
    families = {"a": [talk("x", (False, True))], "b": [talk("y", (False, False, False))]}
    found = evaluate(families, decider="local")
    assert {name: m.turns for name, m in found.families.items()} == {"a": 2, "b": 3, ALL: 5}
    assert (found.decider, found.granularity, found.asks_from) == ("local", "default", None)
    assert found.cuts_from is not None


def test_conversations_without_any_boundary_or_second_turn() -> None:
    """What has no meaning is None; nothing fails."""
    found = evaluate({"a": [talk("x", (False,))]}, decider="local", level="utterance")
    measures = found.families["a"]
    assert (measures.quality.f1, measures.quality.pk, measures.gold_density) == (None, None, None)
    assert (measures.calibration, measures.calls_curve, measures.returns) == ([], [], None)
    assert found.granularity == "fine"


def test_a_wrong_setting_is_told() -> None:
    with pytest.raises(ConfigError, match="granularity"):
        evaluate({"a": [talk("x", (False,))]}, granularity="finest")

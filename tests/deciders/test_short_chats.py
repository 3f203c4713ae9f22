"""Short chats about anything, through the embedded decider: obvious changes of task are seen."""

from __future__ import annotations

from pathlib import Path

from automemory.deciders.local import LocalDecider
from automemory.deciders.scorer import shipped
from automemory.decision import DecisionContext, EventView, Exchange
from automemory.evaluate import read_labelled
from automemory.turn import steps

CHATS = Path(__file__).with_name("short_chats.jsonl")


def test_obvious_changes_of_task_are_seen_in_short_chats() -> None:
    """Of 22 changes at most 4 are missed, of 51 turns that go on at most one is cut off."""
    decider, threshold = LocalDecider(), shipped().thresholds["default"]
    missed = false = 0
    for chat in read_labelled(CHATS):
        first, *rest = (Exchange.of(steps(turn.messages)) for turn in chat.turns)
        event = _opened(first)
        for turn, label in zip(rest, chat.labels[1:], strict=True):
            cut = decider.probability(DecisionContext(turn, event)) >= threshold
            missed, false = missed + (bool(label) and not cut), false + (cut and not label)
            event = _opened(turn) if cut else event.with_turn(turn, len(turn.user))
    assert missed <= 4 and false <= 1


def _opened(turn: Exchange) -> EventView:
    return EventView("", "", "", turn, (turn,), 1, len(turn.user))

"""Decides labelled conversations as if they happened now: recorded by `AutoMemory`, into a scratch vault.

So a decider meets what it meets live: views of its own events, with its own earlier mistakes, and no label.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count

from automemory.evaluate.labelled import Labelled
from automemory.evaluate.metrics import Outcome
from automemory.memory import AutoMemory
from automemory.trace import TracedTurn, traced

_START = datetime(2026, 1, 1, tzinfo=UTC)
_APART = timedelta(days=8)  # more than an event can be gone on with after


class Calendar:
    """A memory's clock, by which every conversation has one day, far from those of the others.

    A day's folder stays small then, and no event ends because a day does.
    """

    def __init__(self) -> None:
        self._day = _START
        self._ticks = 0

    def __call__(self) -> datetime:
        self._ticks += 1
        return self._day + timedelta(milliseconds=self._ticks)

    def next_day(self) -> None:
        self._day, self._ticks = self._day + _APART, 0


@dataclass(frozen=True, slots=True)
class Trial:
    """A conversation and what was decided of each of its turns."""

    conversation: Labelled
    turns: tuple[TracedTurn, ...]

    @property
    def outcome(self) -> Outcome:
        return Outcome(
            self.conversation.labels, tuple(turn.cut for turn in self.turns), tuple(t.p for t in self.turns)
        )


def run_trials(conversations: Iterable[Labelled], memory: AutoMemory, calendar: Calendar) -> Iterator[Trial]:
    """Record conversations, each as a stream of its own.

    Args:
        conversations: What to decide.
        memory: Over a scratch vault, with `recent_scope="stream"` and `calendar` as its clock.
        calendar: The memory's clock.
    """
    for number, conversation in zip(count(), conversations):
        turns = tuple(
            traced(turn, memory.record(turn, thread_id=str(number)), labelled=True, label=label)
            for turn, label in zip(conversation.turns, conversation.labels, strict=True)
        )
        yield Trial(conversation, turns)
        calendar.next_day()

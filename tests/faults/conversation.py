"""The conversations that are interrupted, and a decider that reads its answers off the turns themselves."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

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

NOON = datetime(2026, 5, 27, 12, 0, tzinfo=UTC)
CLOCK = datetime(2026, 5, 28, 18, 0, tzinfo=UTC)

Step = dict[str, Any]


def turn(number: int, about: str = "", *, day: int = 0, more: bool = False, thread: str = "main") -> Step:
    """A step that records turn `number`; `about` names the event it opens or goes back to."""
    at = NOON + timedelta(days=day, minutes=number)
    subject = f" about {about}" if about else ""
    said = f"Question {number}{subject}?\n\nA second paragraph — 第二段, so that a write can be cut in it."
    messages = [
        {"role": "user", "content": said, "id": f"{thread}-u{number}", "timestamp": at.isoformat()},
        {"role": "assistant", "content": f"Answer {number}.", "id": f"{thread}-a{number}"},
    ]
    if more:
        messages.append(
            {"role": "assistant", "content": f"And more on {number}.", "id": f"{thread}-b{number}"}
        )
    return {"do": "turn", "messages": messages, "thread": thread}


CLOSE: Step = {"do": "close"}


@dataclass(frozen=True)
class Scenario:
    """What stands in the vault before, the step that is interrupted, and how the conversation goes on."""

    before: tuple[Step, ...]
    step: Step
    after: tuple[Step, ...]

    @property
    def rest(self) -> list[Step]:
        return [self.step, *self.after]

    @property
    def whole(self) -> list[Step]:
        return [*self.before, *self.rest]


OFFER = [{"path": "resource/r.md", "title": "R", "reason": "It may help."}]
TWO = (turn(1, "alpha"), turn(2))
SCENARIOS = {
    "first": Scenario((), turn(1, "alpha"), (turn(2), turn(3))),
    "continue": Scenario(TWO, turn(3), (turn(4), turn(5))),
    "switch": Scenario(TWO, turn(3, "beta"), (turn(4), turn(5))),
    "new day": Scenario(TWO, turn(3, day=1), (turn(4, day=1), turn(5, day=1))),
    "resume": Scenario((*TWO, turn(3, "beta")), turn(4, "alpha"), (turn(5), turn(6))),
    "close": Scenario(TWO, CLOSE, (turn(3), turn(4))),
    "extend": Scenario(TWO, turn(2, more=True), (turn(3), turn(4))),
    "go on from another day": Scenario(TWO, turn(3, "alpha", day=1), (turn(4, day=1), turn(5, day=1))),
    "offered": Scenario(TWO, turn(3) | {"notify": OFFER}, (turn(4), turn(5))),
    "placed": Scenario(TWO, turn(3) | {"event": "beta"}, (turn(4), turn(5) | {"event": "alpha"})),
    "placed back": Scenario((*TWO, turn(3, "beta")), turn(4) | {"event": "alpha"}, (turn(5), turn(6))),
}


def with_options(scenario: Scenario, **options: Any) -> Scenario:
    """The scenario with a memory that was made with these options."""

    def given(steps: Sequence[Step]) -> tuple[Step, ...]:
        return tuple(step | {"options": options} if step["do"] == "turn" else step for step in steps)

    [step] = given([scenario.step])
    return Scenario(given(scenario.before), step, given(scenario.after))


# The note schema `notes` has the turns in a file of their own, an overview, and views.
SCENARIOS |= {
    f"notes: {name}": with_options(SCENARIOS[name], note_schema="notes")
    for name in ("first", "continue", "switch", "new day", "resume", "extend")
}
SCENARIOS["cap"] = with_options(SCENARIOS["continue"], max_turns_per_event=2)
SCENARIOS["cap by size"] = with_options(SCENARIOS["continue"], max_event_chars=300)
# No two of these are alike: the others meet the kills only.
DISTINCT = [
    *("first", "continue", "switch", "new day", "resume", "close", "extend", "go on from another day", "cap"),
    "notes: switch",
]
QUICK = [name for name in SCENARIOS if ":" not in name or "switch" in name]
CASES = [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in SCENARIOS]


class KeywordDecider:
    """A decider without memory: "about x" opens (or goes back to) x, any other turn continues."""

    async def decide(self, context: DecisionContext) -> Verdict:
        about = re.search(r" about (\S+)\?", context.turn.user)
        decision = BoundaryDecision(
            continue_=about is None,
            new_event_slug=about[1] if about else "",
            summary_patch=f"On {about[1]}." if about else "More of it.",
        )
        return Verdict(decision, "local", p=0.9 if about else 0.1)

    async def write_views(self, context: ViewContext) -> ViewPatch:
        said = context.turn.user.partition("?")[0]
        count = context.event.turns + 1
        return ViewPatch({"Overview": f"{count} turns, the last: {said}.", "Progress": (f"Heard {said!r}.",)})

    async def summarize(self, event: EventView, turns: list[Exchange]) -> EventSummary:
        return EventSummary(f"{event.slug} ended after {len(turns)} turns.")

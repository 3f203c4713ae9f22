"""The decision on the wire, and the bounded view a decider gets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from automemory.boundary import BoundaryDecision
from automemory.decision import (
    ACTION_CHARS,
    MAX_ACTIONS,
    RECENT_TURNS,
    REPLY_CHARS,
    USER_CHARS,
    EventView,
    Exchange,
    cut_middle,
)
from automemory.memory import AutoMemory
from automemory.turn import Step


@pytest.mark.parametrize(
    "nothing", [None, "", " ", "null", "None", "NULL", "n/a", "N/A", "nil", "undefined", "\n"]
)
def test_nothing_in_any_spelling_is_empty(nothing: Any) -> None:
    """B12: a null, or a word for it, is empty text in both fields."""
    reply = {"continue": True, "new_event_slug": nothing, "summary_patch": nothing}
    found = BoundaryDecision.model_validate(reply)
    assert (found.new_event_slug, found.summary_patch) == ("", "")


@pytest.mark.parametrize(
    ("reply", "goes_on"),
    [
        ({"continue": True}, True),
        ({"continue": "false", "new_event_slug": "a"}, False),
        ({"continue": "True", "reason": "extra keys are ignored", "confidence": 1}, True),
        ({"continue_": False}, False),
        ({"continue": 1}, True),
    ],
)
def test_loose_replies_are_normalised(reply: dict[str, Any], goes_on: bool) -> None:
    """B12: missing and extra keys, and booleans as text."""
    assert BoundaryDecision.model_validate(reply).continue_ is goes_on


@pytest.mark.parametrize(
    "reply", [{}, {"continue": None}, {"continue": "perhaps"}, {"continue": True, "summary_patch": []}]
)
def test_unusable_replies_are_refused(reply: dict[str, Any]) -> None:
    """B12: without a yes or no there is no decision."""
    with pytest.raises(ValidationError):
        BoundaryDecision.model_validate(reply)


def test_wire_has_exactly_the_three_fields_of_the_contract() -> None:
    decision = BoundaryDecision(continue_=False, new_event_slug=" a ", summary_patch="b ")
    assert decision.model_dump() == {"continue": False, "new_event_slug": "a", "summary_patch": "b"}
    assert BoundaryDecision.model_validate_json(decision.model_dump_json()) == decision


@given(st.text(max_size=200), st.integers(10, 100))
def test_cut_text_has_the_length_asked_for(text: str, limit: int) -> None:
    found = cut_middle(text, limit)
    assert len(found) <= limit and (found == text) == (len(text) <= limit)


@given(
    st.lists(
        st.builds(
            Step,
            st.sampled_from(["user", "assistant", "tool", "narrator"]),
            st.text(max_size=3000),
            st.just("f"),
        ),
        max_size=30,
    )
)
def test_exchange_is_bounded(steps: list[Step]) -> None:
    """However long a turn, its view has a constant size."""
    found = Exchange.of(steps)
    assert len(found.user) <= USER_CHARS and len(found.reply) <= REPLY_CHARS
    assert len(found.actions) <= MAX_ACTIONS and all(len(action) <= ACTION_CHARS for action in found.actions)


def test_view_keeps_its_opening_and_its_last_turns() -> None:
    view = EventView("s", "t", "d", Exchange("0", ""), (Exchange("0", ""),), 1, 10)
    for number in range(1, 30):
        view = view.with_turn(Exchange(str(number), ""), 5)
    assert view.opening.user == "0" and view.turns == 30 and view.chars == 155
    assert [turn.user for turn in view.recent] == [str(n) for n in range(30 - RECENT_TURNS, 30)]


NASTY = [
    "Deploy the [[shop]] #now",
    "- [ ] a task\n---\nkey:: value\n```\ncode",
    "\\#tag \\\\ <b> %%",
    "x" * 5000,
    "中文 " * 500,
    "ok",
    "Refs: [[a]]",
    "> quote\n> [!user]\n",
]


def test_view_read_back_is_the_one_that_grew(
    open_memory: Callable[..., AutoMemory], scripted: Any, turn: Callable[..., Any], tmp_path: Path
) -> None:
    """A decider is asked the same, whether the process ran on or started anew before each turn."""
    asked = []
    for restart in (False, True):
        decider = scripted("one", *[None] * 9, "two", None)
        memory = open_memory(decider=decider, vault=tmp_path / str(restart))
        for number in range(12):
            text = NASTY[number % len(NASTY)]
            call = {"id": "c", "name": text[:20], "args": {"text": text[:300]}}
            said = turn(number, content=text, reply=text)
            said.insert(1, {"role": "assistant", "content": text, "id": f"c{number}", "tool_calls": [call]})
            said.insert(2, {"role": "tool", "content": text, "tool_call_id": "c", "id": f"t{number}"})
            memory.record(said)
            if restart:
                memory.close()
                memory = open_memory(decider=decider, vault=tmp_path / str(restart))
        asked.append(decider.contexts)
    assert asked[0] == asked[1]

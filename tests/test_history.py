"""`record_messages`: which turns of a history are new."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from automemory.memory import AutoMemory
from automemory.turn import Turn
from automemory.vault.reader import Reader

Open = Callable[..., AutoMemory]


def said(*words: str, ids: bool = False) -> list[dict[str, Any]]:
    """Question and answer by turns; the answer to `x` is `re: x`."""
    messages = []
    for number, text in enumerate(words):
        user = {"role": "user", "content": text, "timestamp": f"2026-05-27T12:{number:02}:00Z"}
        reply = {"role": "assistant", "content": f"re: {text}"}
        messages += [user | {"id": f"u{number}"}, reply | {"id": f"a{number}"}] if ids else [user, reply]
    return messages


def asked(vault: Path) -> list[str]:
    """What the person said in each recorded turn, in order."""
    reader = Reader(vault)
    turns = [turn for head in reader.events() for turn in reader.event(head.path).turns]
    return [turn.steps[0].text for turn in turns]


@pytest.mark.parametrize("ids", [True, False])
def test_history_handed_in_again_adds_what_is_new(open_memory: Open, vault: Path, ids: bool) -> None:
    memory = open_memory()
    assert [r.outcome for r in memory.record_messages(said("one", "two", ids=ids))] == ["recorded"] * 2
    results = memory.record_messages(said("one", "two", "three", ids=ids))
    assert [result.outcome for result in results] == ["duplicate", "duplicate", "recorded"]
    assert [result.turn_id for result in results] == memory.recorded_ids()
    assert asked(vault) == ["one", "two", "three"]


@pytest.mark.parametrize("ids", [True, False])
def test_same_words_said_again_are_another_turn(open_memory: Open, vault: Path, ids: bool) -> None:
    """ "yes" said three times is three turns, and a resent history is none."""
    memory = open_memory()
    for count in (1, 2, 3, 3):
        memory.record_messages(said("go?", *["yes"] * count, ids=ids))
    assert asked(vault) == ["go?", "yes", "yes", "yes"]


def test_single_turn_without_ids_is_always_new(open_memory: Open, vault: Path) -> None:
    memory = open_memory()
    results = [memory.record(said("yes")) for _ in range(3)]
    assert [result.outcome for result in results] == ["recorded"] * 3
    assert len({result.turn_id for result in results}) == 3


@pytest.mark.parametrize("ids", [True, False])
def test_compacted_history_adds_exactly_its_new_turns(open_memory: Open, vault: Path, ids: bool) -> None:
    """B25: what is known is never told by a position, so a history cut short twice loses and repeats
    nothing.
    """
    memory = open_memory()
    words = [f"question {number}" for number in range(20)]
    memory.record_messages(said(*words, ids=ids))
    for new in ([20, 21, 22], [23], [24, 25]):
        words += [f"question {number}" for number in new]
        summary = [{"role": "system", "content": "Summary of the conversation so far."}]
        kept = 2 * (len(new) + 2)
        results = memory.record_messages(summary + said(*words, ids=ids)[-kept:])
        assert [result.outcome for result in results] == ["duplicate"] * 2 + ["recorded"] * len(new)
    assert asked(vault) == words


def test_reply_that_came_later_extends_the_last_turn(open_memory: Open, vault: Path) -> None:
    memory = open_memory()
    memory.record_messages(said("one", "two")[:-1])
    results = memory.record_messages(said("one", "two", "three"))
    assert [result.outcome for result in results] == ["duplicate", "extended", "recorded"]
    [head] = Reader(vault).events()
    assert [[step.text for step in turn.steps] for turn in Reader(vault).event(head.path).turns] == [
        ["one", "re: one"],
        ["two", "re: two"],
        ["three", "re: three"],
    ]


def test_history_that_shares_nothing_is_all_new(open_memory: Open, vault: Path) -> None:
    memory = open_memory()
    memory.record_messages(said("one"))
    assert [r.outcome for r in memory.record_messages(said("two", "three"))] == ["recorded"] * 2
    assert memory.record_messages([]) == []
    assert asked(vault) == ["one", "two", "three"]


def test_alignment_outlives_state_db(open_memory: Open, vault: Path) -> None:
    """The fingerprints come back from the notes, also those of texts that are disarmed, cut or redacted
    there.
    """
    words = ["yes", "[[link]] #tag\n---\n<b>", "yes", "key: sk-proj-abcDEF1234567890abcdefGHIJ", "long " * 50]
    with open_memory(max_message_chars=100) as memory:
        memory.record_messages(said(*words))
    for file in (vault / ".automemory").glob("state.db*"):
        file.unlink()
    again = open_memory(max_message_chars=100)
    results = again.record_messages(said(*words, "yes"))
    assert [result.outcome for result in results] == ["duplicate"] * 5 + ["recorded"]


def test_threads_are_aligned_apart(open_memory: Open, vault: Path) -> None:
    memory = open_memory()
    memory.record_messages(said("one"), thread_id="a")
    assert [r.outcome for r in memory.record_messages(said("one"), thread_id="b")] == ["recorded"]


async def test_async_form_does_the_same(open_memory: Open, vault: Path) -> None:
    memory = open_memory()
    await memory.arecord_messages(said("one"))
    results = await memory.arecord_messages(said("one", "two"))
    assert [result.outcome for result in results] == ["duplicate", "recorded"]


def test_assistant_first_history_keeps_its_order(open_memory: Open, vault: Path) -> None:
    """B53: a conversation may begin with the assistant, and hold roles nobody knows; all of it is kept in
    order.
    """
    history = [
        {"role": "assistant", "content": "Welcome."},
        {"role": "user", "content": "Hi."},
        {"role": "narrator", "content": "A door opens."},
        {"role": "assistant", "content": "Who is there?"},
    ]
    memory = open_memory()
    memory.record_messages(history)
    [head] = Reader(vault).events()
    steps = [(s.role, s.text) for turn in Reader(vault).event(head.path).turns for s in turn.steps]
    assert steps == [(m["role"], m["content"]) for m in history]


def test_draft_of_a_history_is_completed_by_it(open_memory: Open, vault: Path) -> None:
    """A turn stored unfinished, without ids, is the history's last turn once the history is handed in
    whole.
    """
    memory = open_memory()
    memory.record(Turn.of(said("one")[:1], complete=False))
    assert [r.outcome for r in memory.record_messages(said("one"))] == ["recorded"]
    assert asked(vault) == ["one"]

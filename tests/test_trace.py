"""What is kept of every turn of a replay: small, masked, and read back as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from automemory.result import EventRef, TurnResult
from automemory.trace import READ_CHARS, WORDS_CHARS, Trace, TracedTurn, traced
from automemory.turn import Message, Turn

SECRET = "sk-proj-" + "Zq3vN8tYx1Lw7Rb5Kd2Mf9Hs4Jc6Gp0A" + "T3BlbkFJ" + "Qw8Er2Ty6Ui1Op5As9Df"
TURNS = st.builds(
    TracedTurn,
    words=st.text(max_size=20),
    title=st.text(max_size=20),
    p=st.none() | st.floats(0, 1),
    by=st.sampled_from(["", "local", "llm"]),
    how=st.sampled_from(["opened", "resumed", "continued"]),
    calls=st.integers(0, 3),
    ms=st.floats(0, 1e4),
    error=st.sampled_from(["", "no"]),
)


@given(st.lists(st.lists(TURNS, min_size=1, max_size=4), max_size=4))
def test_turns_are_read_back_as_they_were(conversations: list[list[TracedTurn]]) -> None:
    """In any order, whatever their words; and the totals are those of the turns."""
    with Trace() as trace:
        for number, turns in enumerate(conversations):
            for turn in turns:
                trace.add(str(number), turn)
        for number in reversed(range(len(conversations))):
            assert trace.turns(number, 100) == conversations[number]
            assert trace.turns(number, 1) == conversations[number][:1]
        turns = [turn for group in conversations for turn in group]
        assert [c.turns for c in trace.conversations] == [len(group) for group in conversations]
        assert trace.totals["turns"] == len(turns)
        assert trace.totals["events"] == sum(turn.how == "opened" for turn in turns)
        assert trace.totals["calls"] == sum(turn.calls for turn in turns)
        assert trace.totals["errors"] == sum(bool(turn.error) for turn in turns)
        assert sum(map(len, trace.times.values())) == sum(bool(turn.by) for turn in turns)


def test_words_are_one_short_line_without_secrets() -> None:
    """A page is made to be shown: what a vault would mask it masks."""
    said = Turn((Message("user", f"My key is {SECRET}\nuse it. " + "so " * 500),))
    words = traced(said, TurnResult("recorded", "1")).words
    assert words.startswith("My key is ")
    assert SECRET not in words
    assert "\n" not in words
    assert len(words) == WORDS_CHARS


def test_no_half_of_a_secret_is_shown() -> None:
    """B73: a long text is cut before it is looked through, and not within a word."""
    said = " " * (READ_CHARS - 20) + SECRET
    assert (
        SECRET[:12] not in traced(Turn((Message("user", f"Key:{said}"),)), TurnResult("recorded", "1")).words
    )


def test_what_is_excluded_is_not_shown() -> None:
    assert traced(Turn((Message("user", "private"),)), TurnResult("excluded", "1")).words == ""


def test_turns_decided_by_nobody_are_no_boundary() -> None:
    """A first part of a turn that goes on, or a turn that was known, was not decided."""
    event = EventRef("daily/2026-01-01/a/event.md", "a", "A", "opened")
    told = traced(Turn((Message("assistant", "Only me."),)), TurnResult("extended", "1", event))
    assert (told.words, told.by, told.cut, told.how) == ("Only me.", "", False, "opened")


def test_marks() -> None:
    """What a decision is, by its label."""
    marks = {
        (label, cut): TracedTurn("", cut=cut, label=label, labelled=True).mark
        for label in (True, False, None)
        for cut in (True, False)
    }
    assert marks == {
        (True, True): "hit",
        (True, False): "miss",
        (False, True): "false cut",
        (False, False): "",
        (None, True): "either",
        (None, False): "",
    }
    assert TracedTurn("", cut=True).mark == ""


def test_a_replay_hands_over_every_turn(tmp_path: Path, open_memory: Any) -> None:
    """With the stream it went to and what was decided, turns before a date left out."""
    from automemory.replay import replay

    saved = tmp_path / "talk.jsonl"
    saved.write_text(
        '{"role": "user", "content": "One", "timestamp": "2026-03-05T10:00:00Z"}\n'
        '{"role": "assistant", "content": "1"}\n'
        '{"role": "user", "content": "Two", "timestamp": "2026-03-05T11:00:00Z"}\n',
        encoding="utf-8",
    )
    seen: list[tuple[str, TracedTurn]] = []
    memory = open_memory("first", "second")
    replay([saved], memory, on_recorded=lambda s, t, r: seen.append((s, traced(t, r))))
    assert [turn.words for _, turn in seen] == ["One", "Two"]
    assert [turn.how for _, turn in seen] == ["opened", "opened"]
    assert [turn.p for _, turn in seen] == [0.9, 0.9]
    assert len({stream for stream, _ in seen}) == 1

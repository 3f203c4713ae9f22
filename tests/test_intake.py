"""What happens to a turn before it is stored: exclusion, redaction, cuts, its time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from automemory.injected import marked, without_marked
from automemory.intake import Accepted, Intake, local_time
from automemory.memory import AutoMemory
from automemory.redact import MASK, redact
from automemory.turn import Message, ToolCall, Turn

KEY = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
PLAIN = Intake(
    redact=lambda text: text,
    exclude=lambda message: False,
    exclude_tools=frozenset(),
    max_message_chars=100,
    max_tool_chars=40,
)
MASKING = replace(PLAIN, redact=redact)


@given(st.text(max_size=300), st.integers(10, 200))
def test_long_text_loses_its_middle(text: str, limit: int) -> None:
    """Short texts stay; of longer ones head and tail stay, and how much is gone is written between."""
    found = PLAIN.text(text, limit)
    if len(text) <= limit:
        assert found == text
    else:
        head, middle, tail = found.partition("\n(… ")
        count, _, tail = tail.partition(" characters left out …)\n")
        assert text.startswith(head) and text.endswith(tail) and middle
        assert len(head) + int(count) + len(tail) == len(text) and len(head) + len(tail) <= limit


def test_cut_of_a_huge_text_keeps_its_ends() -> None:
    text = "start " + "x" * 1_000_000 + " end"
    found = PLAIN.text(text, 60)
    assert found.startswith("start x") and found.endswith("x end") and len(found) < 110


@pytest.mark.parametrize("before", [0, 30, 39, 40, 41, 60, 4000, 5000])
@pytest.mark.parametrize("after", [0, 10, 13, 14, 60, 4000, 5000])
def test_no_part_of_a_secret_survives_a_cut(before: int, after: int) -> None:
    """Masked before the text is cut, so a cut through a key leaves nothing of it on either side."""
    found = MASKING.text("a " * (before // 2) + KEY + " b" * (after // 2), 60)
    assert not any(KEY[i : i + 8] in found for i in range(len(KEY) - 8))


def test_every_field_of_a_message_is_redacted() -> None:
    message = Message(
        "user",
        f"my key {KEY}",
        name=f"n {KEY}",
        tool_calls=(ToolCall(f"f {KEY}", f'{{"k": "{KEY}"}}', "c1"),),
    )
    [found] = MASKING.take(Turn((message,))).messages
    assert KEY not in repr(found) and repr(found).count(MASK) >= 3


def test_excluded_tool_takes_its_calls_and_results_along() -> None:
    """Results are known by the call's id or by the tool's name; the message that only called it goes too."""
    intake = replace(PLAIN, exclude_tools=frozenset({"vault"}))
    turn = Turn(
        (
            Message("user", "look"),
            Message("assistant", "both", tool_calls=(ToolCall("vault", id="c1"), ToolCall("bash", id="c2"))),
            Message("assistant", tool_calls=(ToolCall("vault", id="c3"),)),
            Message("tool", "hidden", tool_call_id="c1"),
            Message("tool", "shown", tool_call_id="c2"),
            Message("tool", "hidden", tool_call_id="c3"),
            Message("tool", "hidden", name="vault"),
        )
    )
    found = intake.take(turn).messages
    assert [m.text for m in found] == ["look", "both", "shown"]
    assert [c.name for m in found for c in m.tool_calls] == ["bash"]


WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
MAYBE = st.none() | WORDS
CALLS = st.builds(ToolCall, WORDS, WORDS, MAYBE)
ZONES = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
TIMES = st.datetimes(datetime(1970, 1, 10), datetime(9999, 12, 20), timezones=ZONES | st.timezones())


def accepted_turns(times: st.SearchStrategy[datetime]) -> st.SearchStrategy[Accepted]:
    calls = st.lists(CALLS, max_size=2).map(tuple)
    message = st.builds(Message, WORDS, WORDS, MAYBE, st.none() | times, calls, MAYBE, MAYBE, st.booleans())
    turn = st.builds(Turn, st.lists(message, max_size=3).map(tuple), complete=st.booleans())
    return st.builds(Accepted, turn, WORDS, times, MAYBE)


def times(accepted: Accepted) -> list[str]:
    """With their offsets, which do not count when times are compared."""
    said = [m.at for m in accepted.turn.messages if m.at]
    return [at.isoformat() for at in (accepted.at, *said)]


def in_offsets(accepted: Accepted) -> Accepted:
    """The same with offsets in place of zones: what a clock change skips or repeats equals no other."""

    def fixed(at: datetime) -> datetime:
        return at.replace(tzinfo=timezone(at.utcoffset() or timedelta()), fold=0)

    messages = (replace(m, at=fixed(m.at) if m.at else None) for m in accepted.turn.messages)
    return replace(accepted, at=fixed(accepted.at), turn=replace(accepted.turn, messages=tuple(messages)))


@given(accepted_turns(TIMES))
@example(Accepted(Turn(()), "", datetime(2016, 3, 13, 2, tzinfo=ZoneInfo("America/Chicago")), None))
def test_accepted_turn_comes_back_from_its_payload(accepted: Accepted) -> None:
    """Whatever was said, with its ids, its calls and its times to the offset."""
    loaded = Accepted.load(accepted.dump())
    assert loaded == in_offsets(accepted) and times(loaded) == times(accepted)


@given(accepted_turns(st.datetimes(datetime(1970, 1, 10), datetime(9999, 12, 20), timezones=ZONES)))
def test_payload_is_the_json_of_the_values(accepted: Accepted) -> None:
    """It reads the same to pydantic, and what pydantic writes of the values is read: turns that a version
    which used it left waiting are filed.
    """
    adapter = TypeAdapter(Accepted)
    assert adapter.validate_json(accepted.dump()) == accepted
    assert Accepted.load(adapter.dump_json(accepted).decode()) == accepted


@pytest.mark.parametrize("payload", ["", "null", "[]", "{}", '{"turn": 3}', '{"turn": {"messages": ["a"]}}'])
def test_payload_that_is_no_turn_is_told(payload: str) -> None:
    """A damaged `state.db` is looked at by the doctor, which passes over what it cannot read."""
    with pytest.raises(ValueError):
        Accepted.load(payload)


@pytest.mark.parametrize(
    ("given_at", "zone", "local"),
    [
        ("2026-05-27T16:30:00.999+00:00", "Asia/Shanghai", "2026-05-28T00:30:00+08:00"),
        ("2026-05-27T16:30:00", "Asia/Shanghai", "2026-05-27T16:30:00+08:00"),
        ("2026-03-29T00:59:59+00:00", "Europe/Berlin", "2026-03-29T01:59:59+01:00"),
        ("2026-03-29T01:00:00+00:00", "Europe/Berlin", "2026-03-29T03:00:00+02:00"),
        ("2026-10-25T00:30:00+00:00", "Europe/Berlin", "2026-10-25T02:30:00+02:00"),
        ("2026-10-25T01:30:00+00:00", "Europe/Berlin", "2026-10-25T02:30:00+01:00"),
    ],
)
def test_time_is_the_vault_zones_to_the_second(given_at: str, zone: str, local: str) -> None:
    """B33 B38: with the offset of that day; a time without a zone is meant in the vault's."""
    assert local_time(datetime.fromisoformat(given_at), ZoneInfo(zone)).isoformat() == local


@pytest.mark.parametrize("at", [None, 0, "null", 1779883200000, "2026-05-27T12:00:00", "54402-01-01"])
def test_no_turn_lands_in_a_year_that_makes_no_sense(
    open_memory: Callable[..., AutoMemory], vault: Path, at: Any
) -> None:
    """B38: missing and absurd times take the clock's; others are read in their unit and the vault's zone."""
    memory = open_memory("one", clock=lambda: datetime(2026, 5, 27, 11, tzinfo=UTC))
    result = memory.record([{"role": "user", "content": "When?", "timestamp": at}])
    assert result.event and result.event.path == "daily/2026-05-27/one/one.md"


def test_times_that_go_backwards_reorder_nothing(
    open_memory: Callable[..., AutoMemory], turn: Callable[..., Any], vault: Path
) -> None:
    """B38: equal and backward times within a day keep the order of acceptance."""
    memory = open_memory("one")
    at = [datetime(2026, 5, 27, hour, tzinfo=UTC) for hour in (12, 12, 9, 10)]
    for number, time in enumerate(at):
        memory.record(turn(number, time))
    text = (vault / "daily/2026-05-27/one/one.md").read_text(encoding="utf-8")
    assert [line[4:6] for line in text.split("\n") if line.startswith("### ")] == ["12", "12", "09", "10"]


def test_surrogates_reach_neither_note_nor_decider(
    open_memory: Callable[..., AutoMemory], scripted: Any, vault: Path
) -> None:
    """B52: in words, tool output and the decider's own answer; there is no retry loop, the turn is just
    filed.
    """
    decider = scripted("na\udc88me")
    said = [
        {"role": "user", "content": "raw \udc88 bytes", "id": "u\ud800"},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "c", "name": "f\udc88", "args": {"a": "\ud800"}}],
        },
        {"role": "tool", "content": "out \udc88", "tool_call_id": "c"},
    ]
    result = open_memory(decider=decider).record(said)
    assert result.outcome == "recorded" and result.event
    repr(decider.contexts).encode("utf-8")
    (vault / result.event.path).read_bytes().decode("utf-8")


def test_time_in_the_hosts_zone_is_to_the_second() -> None:
    """B33: no zone means the host's."""
    at = datetime(2026, 5, 27, 12, 0, 0, 999_999, tzinfo=UTC)
    found = local_time(at, None)
    assert found.microsecond == 0 and found == at.replace(microsecond=0)


def test_blocks_that_never_end_are_looked_for_once() -> None:
    """B18: half a megabyte of blocks that only begin takes one pass; what is whole is taken out."""
    begun = '<memory_note path="a.md">' * 20_000
    assert without_marked(f"</memory_note>{begun}") == f"</memory_note>{begun}"
    assert without_marked(f"a {marked('a.md', 'b')} c {begun}") == f"a  c {begun}"

"""Messages and turns as plain values: shapes taken, times, ids, steps, and the cut of a history into
turns.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from automemory.errors import ConfigError
from automemory.turn import (
    Message,
    Step,
    ToolCall,
    Turn,
    align,
    fingerprint,
    parse_time,
    read_messages,
    split_turns,
    steps,
    turn_id,
)

# Shapes


@pytest.mark.parametrize(
    ("label", "role"),
    [
        *[(label, "user") for label in ("human", "user", "Human", "HumanMessageChunk")],
        *[(label, "assistant") for label in ("gpt", "assistant", "bing", "chatgpt", "ai", "model", "claude")],
        *[(label, "assistant") for label in ("AIMessageChunk", "function_call", "bot", "bard")],
        *[(label, "tool") for label in ("tool", "observation", "function", "function_response")],
        *[(label, "system") for label in ("system", "developer", "SystemMessageChunk")],
        *[(label, label) for label in ("narrator", "旁白", "x" * 40)],
    ],
)
def test_roles_of_every_vocabulary_are_known(label: str, role: str) -> None:
    """B53: unknown roles keep their own label, under either key."""
    assert [m.role for m in read_messages({"role": label, "content": "x"})] == [role]
    assert [m.role for m in read_messages({"type": label, "content": "x"})] == [role]


def test_langchain_messages_come_in_as_they_are() -> None:
    """B53: chunks, functions and free roles too; times come from `additional_kwargs`."""
    call = {"name": "bash", "args": {"c": "ls"}, "id": "c1"}
    found = read_messages(
        [
            SystemMessage("be kind"),
            HumanMessage("hi", id="h1", additional_kwargs={"timestamp": "2026-05-27T12:00:00Z"}),
            AIMessage("", id="a1", tool_calls=[call]),
            ToolMessage("no", id="t1", tool_call_id="c1", status="error", name="bash"),
            FunctionMessage("old", name="legacy"),
            AIMessageChunk("done", id="a2"),
            ChatMessage("aside", role="narrator"),
        ]
    )
    assert [m.role for m in found] == ["system", "user", "assistant", "tool", "tool", "assistant", "narrator"]
    assert found[1] == Message("user", "hi", "h1", datetime(2026, 5, 27, 12, tzinfo=UTC))
    assert found[2].tool_calls == (ToolCall("bash", '{"c": "ls"}', "c1"),)
    assert found[3].error and found[3].tool_call_id == "c1"


@pytest.mark.parametrize(
    "data",
    [
        {
            "role": "assistant",
            "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": '{"a": 1}'}}],
        },
        {"role": "assistant", "tool_calls": [{"id": "c", "name": "f", "args": {"a": 1}}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {"a": 1}}]},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {"a": 1}}],
            "tool_calls": [{"id": "c", "name": "f", "args": {"a": 1}}],
        },
        {
            "role": "assistant",
            "additional_kwargs": {
                "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": '{"a": 1}'}}]
            },
        },
    ],
)
def test_tool_calls_of_every_shape_are_found_once(data: dict[str, Any]) -> None:
    [message] = read_messages({"content": "", **data})
    assert message.tool_calls == (ToolCall("f", '{"a": 1}', "c"),)


def test_tool_results_inside_a_users_message_are_the_tools() -> None:
    """They are not the person's words, and begin no turn."""
    said = [
        {"role": "user", "content": "look", "id": "u1"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "ls", "input": {}}]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "a b"}],
            "id": "u2",
        },
        {"role": "assistant", "content": "two files"},
    ]
    [turn] = split_turns(read_messages(said))
    assert [m.role for m in turn.messages] == ["user", "assistant", "tool", "assistant"]
    assert turn.user_text == "look" and turn.reply_text == "two files"


@pytest.mark.parametrize(
    "value", ["hello", b"hello", None, 7, [7], [None], [{"content": "x"}], [{"role": 3}], [["a"]]]
)
def test_what_is_no_message_is_refused_by_name(value: Any) -> None:
    with pytest.raises(ConfigError, match="give a dict with 'role' and 'content'"):
        read_messages(value)


LOOP: list[Any] = []
LOOP.append(LOOP)
DEEP: list[Any] = []
for _ in range(3000):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    "value", [LOOP, DEEP, [{(1, 2): 3}], 10**5000], ids=["loop", "deep", "key", "number"]
)
def test_values_that_cannot_be_text_are_placeholders(value: Any) -> None:
    """As content and as a tool's arguments: the message they come with is not lost for them."""
    said, called = read_messages(
        [
            {"role": "user", "content": value},
            {"role": "assistant", "tool_calls": [{"name": "t", "args": {(1, 2): value}}]},
        ]
    )
    assert said.text == "(data)" and called.tool_calls[0].arguments == "(data)"


def test_value_that_cannot_be_shown_is_named_by_its_type() -> None:
    with pytest.raises(ConfigError, match="<list>"):
        read_messages([DEEP])


def test_instructions_alone_are_no_turn() -> None:
    with pytest.raises(ConfigError, match="no message to record"):
        Turn.of([{"role": "system", "content": "be kind"}, {"role": "developer", "content": "be brief"}])


def test_turn_of_a_turn_is_itself() -> None:
    turn = Turn((Message("user", "x"),), complete=False)
    assert Turn.of(turn) is turn


# Times


@pytest.mark.parametrize(
    "value",
    [
        "2026-05-27T12:00:00Z",
        "2026-05-27T20:00:00+08:00",
        "2026-05-27 12:00:00+00:00",
        1779883200,
        1779883200.0,
        "1779883200",
        1779883200000,
        "1779883200000",
        1779883200000000,
        1779883200000000000,
        datetime(2026, 5, 27, 12, tzinfo=UTC),
    ],
)
def test_times_of_any_unit_are_the_same_moment(value: Any) -> None:
    """B38: seconds, milliseconds, micro- and nanoseconds, ISO text and datetimes."""
    assert parse_time(value) == datetime(2026, 5, 27, 12, tzinfo=UTC)


def test_time_without_a_zone_stays_without() -> None:
    """B38: it is meant in the vault's zone, which is not known here."""
    assert parse_time("2026-05-27T12:00:00") == datetime(2026, 5, 27, 12)


@pytest.mark.parametrize(
    "value",
    [
        *[
            None,
            True,
            "",
            "soon",
            "null",
            0,
            "0",
            0.0,
            -1,
            1e30,
            float("nan"),
            float("inf"),
            10**400,
            "9" * 400,
        ],
        *[
            "0001-01-01T00:00:00Z",
            "9999-12-31T23:59:59-14:00",
            "1970-01-01T00:00:00Z",
            "54402-01-01T00:00:00Z",
        ],
        *[datetime.min, datetime.max, datetime.max.replace(tzinfo=timezone(timedelta(hours=-14))), {}, []],
    ],
)
def test_times_that_make_no_sense_are_missing(value: Any) -> None:
    """B38: no 1970, no far future, no crash."""
    assert parse_time(value) is None


def test_turns_time_is_the_first_message_that_has_one() -> None:
    at = datetime(2026, 5, 27, 12, tzinfo=UTC)
    turn = Turn(
        (Message("user", "a"), Message("assistant", "b", at=at), Message("user", "c", at=at + timedelta(1)))
    )
    assert turn.at == at


@pytest.mark.parametrize("key", ["timestamp", "created_at", "create_time"])
def test_each_documented_key_gives_the_time(key: str) -> None:
    [message] = read_messages({"role": "user", "content": "x", key: 1779883200})
    assert message.at == datetime(2026, 5, 27, 12, tzinfo=UTC)


# A history


def test_history_is_cut_before_each_person_speaks() -> None:
    """Two messages of the person in a row are one turn; source order stays, whatever the times say."""
    later, earlier = datetime(2026, 5, 28, tzinfo=UTC), datetime(2026, 5, 27, tzinfo=UTC)
    history = [
        Message("assistant", "welcome"),
        Message("system", "be kind"),
        Message("user", "one", at=later),
        Message("user", "and", at=earlier),
        Message("assistant", "1", at=earlier),
        Message("tool", "x"),
        Message("user", "two", at=earlier),
    ]
    found = [[m.text for m in turn.messages] for turn in split_turns(history)]
    assert found == [["welcome"], ["one", "and", "1", "x"], ["two"]]


@given(st.lists(st.sampled_from(["user", "assistant", "tool", "narrator"])))
def test_cutting_a_history_loses_nothing(roles: list[str]) -> None:
    """B53: joined again, the turns are the history."""
    history = [Message(role, str(number)) for number, role in enumerate(roles)]
    assert [m for turn in split_turns(history) for m in turn.messages] == history


@given(st.lists(st.sampled_from("abc"), max_size=8), st.lists(st.sampled_from("abc"), max_size=8))
def test_alignment_is_the_longest_run_at_the_records_end(history: list[str], recorded: list[str]) -> None:
    """Compared with trying every place; of equally long runs the first counts, so that no turn is lost."""

    def run(end: int) -> int:
        length = 0
        while length < min(end, len(recorded)) and history[end - 1 - length] == recorded[-1 - length]:
            length += 1
        return length

    best = max(range(len(history) + 1), key=lambda end: (run(end), -end))
    assert align(history, recorded) == (best if run(best) else 0)


def test_alignment_of_long_histories_is_linear() -> None:
    """The worst case of a naive search, ten thousand times the same word, is no trouble."""
    assert align(["yes"] * 10_000, ["yes"] * 10_000 + ["no"] + ["yes"] * 9_999) == 9_999


# Ids


def test_ids_tell_turns_apart() -> None:
    """By stream and message id; without one, by words and how often they were said; 16 hex digits."""
    known, unknown = Message("user", "yes", "m1"), Message("user", "yes")
    ids = [
        turn_id("/main", known),
        turn_id("/other", known),
        turn_id("/main", Message("user", "yes", "m2")),
        turn_id("/main", unknown),
        turn_id("/main", unknown, 1),
        turn_id("/main", Message("assistant", "yes")),
        turn_id("/main", Message("user", "m1")),
    ]
    assert len(set(ids)) == len(ids)
    assert all(len(id) == 16 and int(id, 16) >= 0 for id in ids)
    assert turn_id("/main", known, 3) == ids[0] == turn_id("/main", Message("user", "edited", "m1"))


def test_fingerprint_ignores_ids_and_times() -> None:
    a = Message("user", "yes", "m1", datetime(2026, 5, 27, tzinfo=UTC))
    assert fingerprint(a) == fingerprint(Message("user", "yes")) != fingerprint(Message("user", "yes "))
    assert fingerprint(Message("assistant", "", tool_calls=(ToolCall("a"),))) != fingerprint(
        Message("assistant")
    )


# Steps


def test_results_stand_with_their_calls() -> None:
    """Parallel results in any order, an error, a call without result, a result without call, and one
    without id.
    """
    messages = [
        Message(
            "assistant",
            "look",
            tool_calls=(ToolCall("a", "1", "c1"), ToolCall("b", "2", "c2"), ToolCall("c")),
        ),
        Message("tool", "two", tool_call_id="c2", error=True),
        Message("tool", "one", tool_call_id="c1"),
        Message("tool", "stray", tool_call_id="c9", name="s"),
        Message("tool", "nameless"),
        Message("assistant", ""),
    ]
    assert steps(messages) == [
        Step("assistant", "look"),
        Step("tool", "one", "a", "1"),
        Step("tool", "two", "b", "2", "error"),
        Step("tool", "", "c", "", "no result"),
        Step("tool", "stray", "s"),
        Step("tool", "nameless", "tool"),
        Step("assistant", ""),
    ]


def test_result_that_came_later_names_its_call() -> None:
    """In the rest of a turn, the call before it is still known."""
    messages = [
        Message("user", "go"),
        Message("assistant", tool_calls=(ToolCall("a", "1", "c1"),)),
        Message("tool", "one", tool_call_id="c1"),
    ]
    assert steps(messages, 2) == [Step("tool", "one", "a", "1")]

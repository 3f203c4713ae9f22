"""Readers of saved conversations: chosen by content, streamed, and not stopped by what is broken."""

from __future__ import annotations

import copy
import io
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.load import dumpd
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    messages_to_dict,
)
from saved import HELLO, SAVED, find, format_of, lines, read

from automemory.errors import ConfigError, ImportFailed
from automemory.replay.importers.conversation import Conversation
from automemory.replay.importers.json_stream import Broken, stream
from automemory.replay.importers.records import records
from automemory.replay.importers.registry import FORMATS, importer_for
from automemory.replay.importers.tidy import MAX_TEXT

ODD = "a\u2028b\u2029c\u0085d\x0be\x0cf\rg"


def texts(conversation: Conversation) -> list[str]:
    return [message.text for message in conversation.messages]


LANGCHAIN: list[BaseMessage] = [
    SystemMessage("Be kind"),
    HumanMessage("What is 2 + 2?"),
    AIMessage("", tool_calls=[{"name": "add", "args": {"a": 2, "b": 2}, "id": "call_1"}]),
    ToolMessage("4", tool_call_id="call_1", name="add"),
    AIMessage("Four."),
]
LANGCHAIN_DUMPS = {
    "messages_to_dict": messages_to_dict(LANGCHAIN),
    "dumpd": [dumpd(message) for message in LANGCHAIN],
    "model_dump": [message.model_dump(mode="json") for message in LANGCHAIN],
}


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("plain", json.dumps(HELLO)),
        ("plain", json.dumps(HELLO, indent=1)),
        ("plain", lines(*HELLO)),
        ("plain", json.dumps([HELLO, HELLO])),
        ("plain", lines(HELLO, HELLO)),
        ("plain", lines({"id": "d", "turns": [{"role": "user", "text": "Hello"}], "boundaries": []})),
        ("openai", lines({"messages": HELLO}, {"messages": HELLO})),
        ("openai", json.dumps([{"messages": HELLO}])),
        ("openai", json.dumps({"messages": HELLO}, indent=2)),
        ("sharegpt", lines({"conversations": HELLO})),
        ("chatgpt", json.dumps(SAVED["chatgpt"][0], indent=1)),
        ("chatgpt", json.dumps({"conversations": SAVED["chatgpt"]})),
        ("claude-ai", json.dumps(SAVED["claude-ai"][0])),
        ("claude-ai", json.dumps({"conversations": SAVED["claude-ai"]}, indent=1)),
        ("langsmith", json.dumps({"runs": SAVED["langsmith"]})),
        *((name, lines(*records)) for name, records in SAVED.items()),
        *((name, json.dumps(records)) for name, records in SAVED.items()),
        *((name, json.dumps(records, indent=2)) for name, records in SAVED.items()),
        ("langchain", lines(*LANGCHAIN_DUMPS["dumpd"])),
        ("langchain", json.dumps({"messages": LANGCHAIN_DUMPS["dumpd"]})),
        ("langchain", lines({"messages": LANGCHAIN_DUMPS["model_dump"]})),
        ("langchain", json.dumps([{"messages": LANGCHAIN_DUMPS["messages_to_dict"]}])),
        *(("langchain", json.dumps(dump)) for dump in LANGCHAIN_DUMPS.values()),
        *(("langchain", json.dumps(dump, indent=2)) for dump in LANGCHAIN_DUMPS.values()),
    ],
)
def test_recognises_a_format_by_its_content(name: str, data: str) -> None:
    """B42: each shape goes to its own reader, which finds a conversation in it."""
    assert format_of(data) == name
    conversations, bad = read(data)
    assert conversations
    assert not bad


@pytest.mark.parametrize(
    ("data", "seen"),
    [
        ("", "nothing in it"),
        ("\n \n\x00\x00\n", "nothing in it"),
        ("user: hello\nassistant: hi\n", "no JSON"),
        ("\x89PNG\r\n\x1a\n", "no JSON"),
        ('{"name": "a", "version": 3}', "keys name, version"),
        ('[{"uuid": "1", "chat_messages": "none"}]', "chat_messages"),
        ('[{"title": "x", "mapping": []}]', "mapping"),
        ('{"type": "user", "text": "Hello"}\n', "JSON lines"),
        ('{"conversations": [{"id": 1}]}', "conversations"),
        ('[{"uuid": "p", "name": "a project", "docs": []}]', "docs, name, uuid"),
        ("[1, 2, 3]", "JSON array"),
        ("[]", "JSON array"),
    ],
)
def test_refuses_what_no_reader_knows_and_says_what_it_saw(data: str, seen: str) -> None:
    """B42: an unknown or empty file is never taken for plain text or for a success."""
    with pytest.raises(ImportFailed) as failure:
        read(data)
    assert seen in str(failure.value)
    assert all(name in str(failure.value) for name in FORMATS)


def test_utf16_is_named_as_what_it_is() -> None:
    """A shell that redirects into UTF-16 is a common cause of "not JSON", so the error says what to do."""
    with pytest.raises(ImportFailed, match="UTF-16 text; save it as UTF-8"):
        read(json.dumps(HELLO).encode("utf-16"))


def test_a_format_that_is_named_is_taken() -> None:
    assert importer_for(io.BytesIO(b"?"), "openai").name == "openai"
    with pytest.raises(ConfigError, match="auto or one of"):
        importer_for(io.BytesIO(b""), "yaml")


def test_one_conversation_reads_alike_from_all_langchain_dumps() -> None:
    """The three ways LangChain writes messages give the same messages under the same names."""
    found = [read(json.dumps(dump))[0] for dump in LANGCHAIN_DUMPS.values()]
    assert found[0] == found[1] == found[2]
    (conversation,) = found[0]
    assert [m.role for m in conversation.messages] == ["user", "assistant", "tool", "assistant"]
    assert conversation.messages[1].tool_calls[0].name == "add"
    assert conversation.messages[2].tool_call_id == "call_1"


def test_langchain_chunks_and_chat_messages_keep_their_roles() -> None:
    """B53: chunk types and free roles of LangChain dumps."""
    messages = [ChatMessage("Hello", role="developer"), HumanMessage("Hi"), AIMessageChunk("Ho")]
    messages.append(ChatMessage("Hm", role="reviewer"))
    for dump in (
        messages_to_dict(messages),
        [dumpd(m) for m in messages],
        [m.model_dump() for m in messages],
    ):
        ((conversation,), bad) = read(json.dumps(dump))
        assert [(m.role, m.text) for m in conversation.messages] == [
            ("user", "Hi"),
            ("assistant", "Ho"),
            ("reviewer", "Hm"),
        ]
        assert not bad


def test_a_dump_without_types_falls_back_to_the_class() -> None:
    """Older dumps have no type among the arguments."""
    old = {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "HumanMessage"]}
    ((conversation,), _) = read(json.dumps([{**old, "kwargs": {"content": "Hello"}}]), "langchain")
    assert conversation.messages[0].role == "user"


def test_keeps_every_role() -> None:
    """B53: any vocabulary of roles, an assistant that speaks first, and a row that is no message."""
    roles = ["assistant", "human", "user", "gpt", "bing", "chatgpt", "tool", "observation", "function_call"]
    roles += ["bot", "narrator"]
    rows: list[Any] = [{"role": role, "content": f"said by {role}"} for role in roles]
    rows[5:5] = ["not a row", 7, None, {"content": "nobody"}]
    for data in (json.dumps(rows), lines(*rows), lines({"messages": rows}), lines({"conversations": rows})):
        ((conversation,), bad) = read(data)
        assert texts(conversation) == [f"said by {role}" for role in roles]
        assert conversation.messages[-1].role == "narrator"
        assert len(bad) == 4


def test_system_and_developer_messages_are_left_out() -> None:
    rows = [{"role": "system", "content": "s"}, {"role": "developer", "content": "d"}, *HELLO]
    assert texts(read(json.dumps(rows))[0][0]) == ["Hello", "Hi there"]


def test_bad_rows_are_located() -> None:
    """B50: a bad message is told by record and place within it, and the rest of its conversation is kept."""
    ((_, second), bad, left_out) = find(
        lines({"messages": HELLO}, {"messages": [HELLO[0], 3, HELLO[1]]}, {"messages": []})
    )
    assert texts(second) == ["Hello", "Hi there"]
    assert [(b.position, b.reason) for b in bad] == [
        ("line 2, message 2", "a message is expected here, not a number"),
    ]
    assert left_out == {"conversations in which nobody says anything": 1}


@pytest.mark.parametrize("wrap", [lambda rows: rows, lambda rows: [{"messages": rows}]])
@pytest.mark.parametrize("as_text", [lambda v: json.dumps(v, ensure_ascii=False), lambda v: lines(*v)])
def test_unicode_line_separators_do_not_cut_a_record(
    wrap: Callable[[Any], Any], as_text: Callable[[Any], str]
) -> None:
    """B49: U+2028, U+2029, U+0085, VT, FF and CR inside a string are text."""
    rows = [{"role": "user", "content": f"{ODD}1"}, {"role": "assistant", "content": f"{ODD}2"}]
    ((conversation,), bad) = read(as_text(wrap(rows)))
    assert [t.replace("\r", "\n") for t in texts(conversation)] == [
        f"{ODD}1".replace("\r", "\n"),
        f"{ODD}2".replace("\r", "\n"),
    ]
    assert not bad


def test_bad_lines_are_counted_and_located() -> None:
    """B50: NUL lines, blank lines, CRLF, a BOM, a huge line and a cut last line spare the others."""
    huge = {"role": "assistant", "content": "word " * 3_000_000}
    good = [json.dumps(row).encode() for row in (*HELLO, huge, HELLO[0])]
    data = b"\xef\xbb\xbf" + b"\r\n".join(
        [good[0], b"\x00\x00\x00", b"", b"  ", good[1], b"{oops", *good[2:]]
    )
    data += b'\r\n{"role": "user", "content": "cut he'
    ((conversation,), bad) = read(data)
    assert [t[:8] for t in texts(conversation)] == ["Hello", "Hi there", "word wor", "Hello"]
    assert [b.position for b in bad] == ["line 2", "line 6", "line 9"]
    assert len(conversation.messages[2].text) < MAX_TEXT + 50
    assert f"(… {15_000_000 - MAX_TEXT} characters left out …)" in conversation.messages[2].text


@pytest.mark.parametrize(
    "first", ['{"role": "user", "content": "cut', "# a comment", "\x00\x00", "{", '{"a": 1']
)
def test_a_bad_first_line_does_not_hide_the_format(first: str) -> None:
    """B50: JSON lines are recognised by the first line that can be read."""
    ((conversation,), bad) = read(f"{first}\n{lines(*HELLO)}")
    assert texts(conversation) == ["Hello", "Hi there"]
    assert [b.position for b in bad] == ["line 1"]


def test_a_cut_array_gives_what_is_whole() -> None:
    """B50: a file copied while it was written gives all but its last record."""
    for indent in (None, 1):
        whole = json.dumps([{"messages": HELLO}] * 3, indent=indent)
        conversations, bad = read(whole[: whole.rindex("Hi there") + 2])
        assert len(conversations) == 2
        assert [(b.position, b.reason) for b in bad] == [
            ("record 3", "it ends in the middle; 2 records were read, the rest of the file is left out")
        ]


def test_a_broken_array_gives_what_comes_before() -> None:
    """B50: where an array is no JSON any more, the record is named and what came before is kept."""
    text = json.dumps([{"messages": HELLO}] * 3)
    at = text.rindex('{"messages"')
    conversations, bad = read(text[:at] + "?" + text[at:])
    assert len(conversations) == 2
    assert bad[0].position == "record 3"
    assert "2 records were read, the rest of the file is left out" in bad[0].reason
    assert bad[0].rest


@pytest.mark.parametrize("before", ["", "\ufeff", "\n\n"])
@pytest.mark.parametrize("filling", ["", "x" * 200_000, "é\n" * 70_000, "\\"])
@pytest.mark.parametrize("rest", [", {}]", ""])
def test_a_broken_array_tells_where(before: str, filling: str, rest: str) -> None:
    """B50: the bytes to look at, of a small file and of a large one, with whatever stands before it."""
    rows = json.dumps([{"messages": [*HELLO, {"role": "user", "content": filling}]}] * 2, ensure_ascii=False)
    text = f"{before}{rows[:-1]},\n\n "
    _, [bad] = read(f"{text}?{rest}")
    told = re.search(r" between bytes (\d+) and (\d+);", bad.reason)
    assert told
    first, last = map(int, told.groups())
    assert first <= len(text.encode()) + 1 <= last < first + 65536


def test_items_that_are_no_messages_are_counted() -> None:
    (conversations, bad) = read(json.dumps([{"messages": HELLO}, 5, {"messages": HELLO}]))
    assert len(conversations) == 2
    assert bad[0].position == "record 2"


@pytest.mark.parametrize("as_text", [json.dumps, lambda rows: "".join(json.dumps(r) + "\n" for r in rows)])
def test_half_a_surrogate_pair_is_replaced(as_text: Callable[[Any], str]) -> None:
    """B52: an escaped half of a pair is read, and what comes of it can be written; whole pairs stay."""
    rows = [{"role": "user", "content": "a\udc88b\ud83d"}, {"role": "assistant", "content": "😀 \\udc88"}]
    ((conversation,), bad) = read(as_text(rows))
    assert texts(conversation) == ["a\ufffdb\ufffd", "😀 \\udc88"]
    assert not bad


def test_damaged_utf8_and_raw_control_characters_are_read() -> None:
    """B50, B52: bytes that are no UTF-8 and raw control characters cost a character, not a record."""
    rows = b'{"role": "user", "content": "a\xffb\x01c"}'
    for data in (rows + b"\n", b"[" + rows + b"]"):
        ((conversation,), bad) = read(data)
        assert texts(conversation)[0].startswith("a\ufffdb")
        assert not bad


@given(
    st.lists(st.text(st.characters(codec=None)), min_size=1, max_size=5),
    st.booleans(),
    st.integers(min_value=1, max_value=70),
)
def test_streamed_documents_equal_parsed_ones(words: list[str], ascii: bool, size: int) -> None:
    """B52: however the bytes fall into pieces, the streaming reader agrees with the standard parser."""

    class Pieces(io.BytesIO):
        def read(self, wanted: int | None = -1) -> bytes:
            return super().read(min(size, wanted) if wanted and wanted > 0 else wanted)

    text = json.dumps(words, ensure_ascii=ascii)
    expected = [w.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for w in words]
    found = [value for _, value in records(Pieces(text.encode("utf-8", "replace")))]
    if ascii:
        assert found == expected
    else:
        assert found == json.loads(text.encode("utf-8", "replace"))


@given(st.binary(max_size=300))
def test_no_bytes_make_a_reader_fail(data: bytes) -> None:
    """B50: whatever is in a file, it is either read or refused with a reason."""
    try:
        read(data)
    except ImportFailed as refusal:
        assert "formats known" in str(refusal)
    for name in FORMATS:
        read(data, name)


KEYS = [
    "role",
    "content",
    "messages",
    "type",
    "data",
    "lc",
    "kwargs",
    "turns",
    "id",
    "mapping",
    "message",
    "author",
    "parent",
    "children",
    "current_node",
    "chat_messages",
    "sender",
    "text",
    "attachments",
    "files",
    "uuid",
    "parentUuid",
    "payload",
    "item",
    "call_id",
    "output",
    "arguments",
    "run_type",
    "inputs",
    "outputs",
    "child_runs",
    "extra",
    "metadata",
    "generations",
    "conversations",
    "from",
    "value",
    "timestamp",
    "create_time",
    "tool_calls",
    "parts",
    "content_type",
    "recipient",
    "origin",
    "attachment",
    "record_type",
    "instructions",
]
WORDS = [
    "user",
    "assistant",
    "tool",
    "function_call",
    "message",
    "event_msg",
    "response_item",
    "user_message",
    "item_completed",
    "text",
    "tool_result",
    "tool_use",
    "attachment",
    "summary",
    "llm",
    "chain",
    "human",
    "AgentMessage",
    "multimodal_text",
]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(WORDS),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=3), inner, max_size=5)
    ),
    max_leaves=12,
)


@given(VALUES)
def test_no_json_makes_a_reader_fail(value: Any) -> None:
    """B43, B53: JSON of any shape is read or counted, never a crash."""
    for data in (json.dumps(value), json.dumps([value], indent=1), lines(value, value)):
        read_anyhow(data)
        for name in FORMATS:
            read(data, name)


@given(st.sampled_from(sorted(SAVED)), VALUES, st.data())
def test_no_drift_of_a_format_makes_its_reader_fail(name: str, value: Any, data: st.DataObject) -> None:
    """Whatever else stands in the place of a value that a format has; the rest is still read or counted."""
    records = copy.deepcopy(SAVED[name])
    places = list(inside(records))
    holder, key = data.draw(st.sampled_from(places))
    if data.draw(st.booleans()):
        holder[key] = value
    else:
        del holder[key]
    read_anyhow(lines(*records))
    for text in (lines(*records), json.dumps(records)):
        read(text, name)


def inside(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a JSON value, as what holds it and its key there."""
    for key in (
        list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    ):
        yield value, key
        yield from inside(value[key])


def read_anyhow(data: str) -> None:
    try:
        read(data)
    except ImportFailed as refusal:
        assert "formats known" in str(refusal)


@pytest.mark.parametrize("open_, close", ["[]", ('{"content": ', "}"), ('{"messages": [', "]}")])
def test_nesting_without_end_is_no_crash(open_: str, close: str) -> None:
    """Nothing recursive ever sees more levels than it can take."""
    deep = open_ * 20_000 + "1" + close * 20_000
    row = '{"role": "user", "content": %s}'
    for data in (f"[{row % deep}, {row % 1}]", f"{row % deep}\n{row % 1}\n", deep, deep[:30_000]):
        read_anyhow(data)
        for name in FORMATS:
            read(data, name)


def test_content_of_any_shape_gives_text() -> None:
    """B43: None, lists, images, sound and 5 MB of base64 give text or a placeholder, no repr and no data."""
    image = "data:image/png;base64," + "iVBORw0KGgo" * 500_000
    contents: list[Any] = [
        None,
        "words",
        ["one", {"type": "text", "text": "two"}, None],
        [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": image}}],
        f"inline {image}, after",
        [{"type": "input_audio", "input_audio": {"transcript": "spoken", "data": "QUJD" * 500}}],
        {"type": "text", "text": {"value": "nested"}},
    ]
    rows = [{"role": "user", "content": content} for content in contents]
    for data in (json.dumps(rows), lines(*rows)):
        ((conversation,), _) = read(data)
        found = texts(conversation)
        assert found[1:3] == ["words", "one\n\ntwo"]
        assert found[3].startswith("look") and "image/png, 4.1 MB" in found[3]
        assert found[4].startswith("inline (data: image/png") and found[4].endswith("after")
        assert "spoken" in found[5]
        assert found[6] == "nested"
        assert all(len(text) < 200 and "{'" not in text for text in found)


def test_a_conversation_is_named_by_its_first_message() -> None:
    """B54: ids of the source are kept as they are."""
    rows = [{"id": "run-5f0c1a77", **HELLO[0]}, {"id": "run-5f0c1a78", **HELLO[1]}]
    ((conversation,), _) = read(lines({"messages": rows}))
    assert conversation.id == "run-5f0c1a77"
    assert conversation.named_by_source
    assert conversation.messages[1].id == "run-5f0c1a78"


def test_messages_without_ids_are_named_by_what_was_said_so_far() -> None:
    """B54: a grown conversation keeps the names of its messages; the same word twice has two names."""
    yes = {"role": "user", "content": "yes"}
    short = [*HELLO, yes, HELLO[1]]
    ((before,), _) = read(json.dumps(short))
    ((after,), _) = read(lines(*short, yes))
    assert after.messages[: len(before.messages)] == before.messages
    assert after.id == before.id
    assert len({m.id for m in after.messages}) == 5
    assert not before.named_by_source


def test_a_change_of_title_or_instructions_changes_no_name() -> None:
    """B54: neither is part of what names a message."""
    system = {"role": "system", "content": "v2"}
    ((before,), _) = read(lines({"title": "Old", "messages": HELLO}))
    ((after,), _) = read(lines({"title": "New", "messages": [system, *HELLO]}))
    assert before.messages == after.messages
    assert (before.title, after.title) == ("Old", "New")


def test_counters_name_no_message_by_themselves() -> None:
    """B54: conversations that all number their messages from 1 are not taken for one another."""
    one = [{"id": f"m{i}", **row} for i, row in enumerate(HELLO)]
    two = [
        {"id": f"m{i}", "role": row["role"], "content": row["content"] + "?"} for i, row in enumerate(HELLO)
    ]
    ((first, second), _) = read(lines({"messages": one}, {"messages": two}))
    assert first.id != second.id
    assert first.id.startswith("m0-")
    assert not first.named_by_source


def test_an_id_given_twice_names_one_message_only() -> None:
    """B54: a careless export loses no message."""
    rows = [{"id": "the-same-id", **HELLO[0]}, {"id": "the-same-id", **HELLO[1]}]
    ((conversation,), _) = read(json.dumps(rows))
    assert conversation.messages[0].id == "the-same-id"
    assert conversation.messages[1].id not in {None, "the-same-id"}


def test_the_record_around_the_messages_gives_identity_and_time() -> None:
    """B37, B54: a conversation's own id tells it from its twin, and its own time dates it."""
    around = {"created_at": "2026-03-01T10:00:00Z", "messages": HELLO}
    ((first, second), _) = read(lines({"id": "conv-aaaa", **around}, {"id": "conv-bbbb", **around}))
    assert first.id != second.id
    assert first.named_by_source
    assert first.at is not None and first.at.date().isoformat() == "2026-03-01"


@pytest.mark.parametrize(
    "value",
    ["2026-03-01T10:00:00Z", "2026-03-01T10:00:00.000000+00:00", 1772359200, 1772359200.0, 1772359200000],
)
@pytest.mark.parametrize("as_text", [json.dumps, lambda rows: lines(*rows)])
def test_times_in_any_unit(value: Any, as_text: Callable[[Any], str]) -> None:
    """B38: ISO text, seconds and milliseconds mean the same moment, in lines and in arrays."""
    ((conversation,), _) = read(as_text([{"timestamp": value, **HELLO[0]}]))
    assert conversation.at is not None
    assert conversation.at.isoformat() == "2026-03-01T10:00:00+00:00"


@pytest.mark.parametrize("value", [None, 0, -5, 1e30, "soon", True, [], "54402-01-01T00:00:00Z"])
def test_times_that_make_no_sense_are_none(value: Any) -> None:
    """B38: no 1970 and no far future."""
    assert read(lines({"timestamp": value, **HELLO[0]}))[0][0].at is None


@pytest.mark.parametrize("number", ["9" * 6000, "-1" + "0" * 5000, "1e" + "9" * 30, "1." + "1" * 5000])
def test_number_that_python_takes_for_none_breaks_the_file_not_the_process(number: str) -> None:
    """The parser reports it badly or crashes; what stood before it is read."""
    found = stream(io.BytesIO(f'[{{"a": 1}}, {{"a": {number}}}, {{"a": 2}}]'.encode()), items=True)
    assert next(found) == {"a": 1}
    with pytest.raises(Broken, match="not JSON"):
        next(found)


@given(st.lists(st.sampled_from(["9" * 2600, "1" * 20, "\\", "u", "e1", "E+", "\u00e9", "\u1e41", '"', "x"])))
def test_digits_that_are_text_stay_as_they_are(pieces: list[str]) -> None:
    """However many, and after whatever escape."""
    text = "".join(pieces)
    for ascii_only in (True, False):
        data = json.dumps([text], ensure_ascii=ascii_only).encode()
        assert list(stream(io.BytesIO(data), items=True)) == [text]

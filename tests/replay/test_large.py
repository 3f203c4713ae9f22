"""Files larger than memory should need: read in pieces, whatever in them is large."""

from __future__ import annotations

import io
import json
import tracemalloc
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from saved import chatgpt, find, line, lines, node, one

from automemory.message import Message
from automemory.replay import survey
from automemory.replay.importers import json_stream, spill, tidy
from automemory.replay.importers.conversation import Conversation
from automemory.replay.importers.json_stream import stream
from automemory.replay.importers.spill import SpillList, SpillMap
from automemory.replay.spool import Spool

MB = 1_000_000


def test_a_list_on_disk_reads_like_one_in_memory() -> None:
    rows: SpillList[int] = SpillList(limit=1000)
    for number in range(100):
        rows.append(number, 50)
    assert rows.spilled
    assert list(rows) == list(range(100))
    assert (rows[0], rows[57], rows[-1], rows[3:5], len(rows)) == (0, 57, 99, [3, 4], 100)
    with pytest.raises(IndexError):
        rows[100]


@pytest.mark.parametrize("length", [100, 99, 57, 50, 3, 0])
def test_a_list_on_disk_is_cut_like_one_in_memory(length: int) -> None:
    """At any place, on the disk or not, and goes on from there."""
    rows: SpillList[int] = SpillList(limit=1000)
    for number in range(100):
        rows.append(number, 50)
    rows.truncate(length)
    expected = list(range(length))
    assert (list(rows), len(rows)) == (expected, length)
    for number in range(20):
        rows.append(-number, 50)
        expected.append(-number)
    assert list(rows) == expected
    assert [rows[n] for n in range(len(rows))] == expected


def test_a_mapping_on_disk_gives_back_what_was_put() -> None:
    found = SpillMap()
    for number in range(5):
        found.put(str(number), {"n": number})
    assert dict(found) == {str(n): {"n": n} for n in range(5)}


def test_the_spool_keeps_long_conversations_in_pieces() -> None:
    messages: SpillList[Message] = SpillList(limit=2000)
    for number in range(50):
        messages.append(Message("user", f"said {number}"), 100)
    short = Conversation("b", (Message("user", "short"),), "line 2")
    with Spool() as spool:
        places = [spool.put(Conversation("a", messages, "line 1")), spool.put(short)]
        assert list(spool.get(places[0]).messages) == list(messages)
        assert spool.get(places[1]) == short
        assert [m.text for m in spool.get(places[0]).messages][:2] == ["said 0", "said 1"]


@pytest.mark.parametrize("records", [
    [chatgpt(*(node(f"n{i}", f"n{i - 1}" if i else "root", "user", f"said {i}") for i in range(300)))],
    [{"messages": [{"role": "user", "content": f"said {i}"} for i in range(300)]}],
    [line(f"u{i}", "user", f"said {i}", f"u{i - 1}" if i else None) for i in range(300)],
])  # fmt: skip
@pytest.mark.parametrize("as_text", [json.dumps, lambda records: lines(*records)])
def test_what_waits_on_disk_makes_no_difference(
    records: list[Any], as_text: Callable[[Any], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """B50: long lists and mappings within a record, and long conversations, are the same from disk."""
    expected = one(as_text(records))
    monkeypatch.setattr(spill, "LIMIT", 4000)
    monkeypatch.setattr(json_stream, "LIMIT", 4000)
    monkeypatch.setattr(spill.SpillList.__init__, "__defaults__", (None, 4000))
    monkeypatch.setattr("automemory.replay.importers.records._LONG_LINE", 500)
    found = one(as_text(records))
    assert isinstance(found.messages, SpillList) and found.messages.spilled
    assert tuple(found.messages) == expected.messages


@pytest.mark.parametrize("piece", [7, 64, 5000])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_the_middle_of_an_endless_string_is_left_out(
    piece: int, ascii_only: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B50: head and tail stay, and how much is left out is said; the strings around it are whole."""
    monkeypatch.setattr(tidy, "LONGEST", 2000)
    monkeypatch.setattr(json_stream, "MAX_TEXT", 900)
    monkeypatch.setattr(tidy, "MAX_TEXT", 900)

    class Pieces(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            return super().read(min(piece, size) if size and size > 0 else size)

    unit = 'é"\\\n部\u2028 a '
    text = unit * 3000
    document = [{"a": 'x\\"', "b": text, "c": text[:5]}, "\\"]
    data = json.dumps(document, ensure_ascii=ascii_only).encode()
    (first, second) = stream(Pieces(data), items=True)
    assert (first["a"], first["c"], second) == ('x\\"', text[:5], "\\")
    head, left_out, tail = first["b"].partition(f"\n(… {len(text) - 900} characters left out …)\n")
    assert left_out
    assert text.startswith(head) and text.endswith(tail)


def test_an_endless_line_is_read_and_the_next_one_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """B50: whether it is good, broken, cut or nothing but NUL bytes; each has its number."""
    monkeypatch.setattr("automemory.replay.importers.records._LONG_LINE", 1000)
    rows = [json.dumps({"role": "user", "content": f"{i}" * 3000}) for i in range(4)]
    data = "\n".join([rows[0], rows[1][:-1], "\x00" * 5000, rows[2], "{}" * 2000, rows[3], rows[0][:2000]])
    (talk,), bad, _ = find(data)
    assert [m.text[0] for m in talk.messages] == ["0", "2", "3"]
    assert [b.position for b in bad] == ["line 2", "line 3", "line 5", "line 7"]


@pytest.mark.parametrize("kind", ["many", "long", "huge", "lines"])
@pytest.mark.slow
def test_memory_does_not_grow_with_the_file(tmp_path: Path, kind: str) -> None:
    """B50: 50 MB of many conversations, of one long one, of a few huge messages, and of lines."""
    path = tmp_path / "export.json"
    with path.open("w", encoding="utf-8") as file:
        file.writelines(PARTS[kind](50 * MB))
    tracemalloc.start()
    try:
        report = survey([path], date=date(2026, 1, 1))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert report.turns
    assert not report.sources[0].bad
    assert peak < 75 * MB if kind in {"long", "lines"} else peak < 45 * MB


def many(size: int) -> Iterator[str]:
    talk = json.dumps(
        chatgpt(*(node(f"n{i}", f"n{i - 1}" if i else "root", "user", "word " * 400) for i in range(10)))
    )
    count = size // len(talk)
    yield from ("[" if not i else "," for i in range(0))
    for number in range(count):
        yield ("," if number else "[") + talk
    yield "]"


def long(size: int) -> Iterator[str]:
    row = json.dumps({"role": "user", "content": "word " * 400})
    yield '[{"id": "one-long-talk", "messages": ['
    for number in range(size // len(row)):
        yield ("," if number else "") + row
    yield "]}]"


def huge(size: int) -> Iterator[str]:
    for number in range(2):
        yield ("," if number else "[") + '{"role": "user", "content": "'
        for _ in range(size // 2 // 5000):
            yield "word " * 1000
        yield '"}'
    yield "]"


def transcript(size: int) -> Iterator[str]:
    written = number = 0
    while written < size:
        row = json.dumps(line(f"u{number}", "user", f"{number} " + "word " * 400, f"u{number - 1}")) + "\n"
        written += len(row)
        number += 1
        yield row


PARTS: dict[str, Callable[[int], Iterator[str]]] = {
    "many": many,
    "long": long,
    "huge": huge,
    "lines": transcript,
}

"""A turn's block and a note, written and read back."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from automemory.content import clean
from automemory.turn import Step
from automemory.vault.event import RecordedTurn
from automemory.vault.note import (
    blocks,
    ends_whole,
    gap,
    lead,
    mend,
    new_note,
    newline_of,
    read_event,
    turn_block,
    turns_start,
)
from automemory.vault.quoting import inline, read_inline

AT = datetime(2026, 5, 27, 14, 3, 22, tzinfo=timezone(timedelta(hours=8)))
PATH = "daily/2026-05-27/work/work.md"

nasty = st.sampled_from(
    [
        "<!-- turn id=evil at=2026-05-27T14:03:22+08:00 n=1 by=llm -->",
        "<!-- /turn 0123456789abcdef -->",
        "<!-- /turn 0123456789abcdef torn -->",
        "## Turns",
        "### 14:03:22",
        "---",
        "===",
        "```",
        "````text",
        "~~~",
        "> [!user]",
        "> quote",
        "Refs: [[a]]",
        "[[resource/a]] ![[x]] #include - [ ] key:: value <% %> %%",
        "- [ ] todo",
        "\\",
        "",
    ]
)
text = st.lists(nasty | st.text(max_size=20), max_size=5).map("\n".join).map(clean)
name = st.text(min_size=1, max_size=12).map(clean).map(lambda s: " ".join(s.split())).filter(bool)
step = st.builds(Step, st.sampled_from(["user", "assistant", "narrator"]), text) | st.builds(
    lambda said, tool, arguments, status: Step(
        "tool",
        "" if status == "no result" else said,
        tool,
        arguments if status == "ok" else arguments or "",
        status,
    ),
    text,
    name,
    st.none() | text,
    st.sampled_from(["ok", "error", "no result"]),
)
turns = st.builds(
    RecordedTurn,
    id=st.text("0123456789abcdef", min_size=16, max_size=16),
    at=st.just(AT),
    n=st.integers(1, 99),
    by=st.sampled_from(["local", "llm", "fallback", "host", "placed"]),
    steps=st.lists(step, min_size=1, max_size=4).map(tuple),
    p=st.none() | st.integers(0, 100).map(lambda n: n / 100),
    patch=text.map(lambda said: inline(said, lambda target: False)).filter(
        lambda line: not line.startswith("Refs:")
    ),
    refs=st.lists(st.sampled_from(["resource/a.md", "resource/b c.md", "digest/中.md"]), unique=True).map(
        tuple
    ),
    part=st.integers(1, 3),
    incomplete=st.booleans(),
)


@given(turns)
def test_block_comes_back_as_it_was(turn: RecordedTurn) -> None:
    """B61 B63 B64: whatever was said, the marker's fields, patch, references and steps are read back
    exactly.
    """
    [found] = blocks(turn_block(turn))
    assert found == replace(turn, patch=read_inline(turn.patch))


@settings(max_examples=40)
@given(st.lists(turns, min_size=1, max_size=3, unique_by=lambda turn: turn.id), st.booleans())
def test_note_comes_back_turn_by_turn(found: list[RecordedTurn], windows: bool) -> None:
    """B60 B61: nothing a turn says closes a block or begins another, with either line end."""
    note = new_note({"name": "work"}, "", turn_block(found[0]))
    for turn in found[1:]:
        note += gap(note.encode()[-4:]) + turn_block(turn)
    if windows:
        note = "\ufeff" + note.replace("\n", "\r\n")
    assert [turn.id for turn in blocks(note)] == [turn.id for turn in found]
    assert [turn.steps for turn in blocks(note)] == [turn.steps for turn in found]
    event = read_event(PATH, note)
    assert event and event.head.name == "work" and event.head.status == "active"


@settings(max_examples=40)
@given(turns, turns)
def test_what_follows_a_turn_is_live(first: RecordedTurn, second: RecordedTurn) -> None:
    """B63: no fence, comment or quote of a turn swallows the next turn's heading, in a real Markdown
    parser.
    """
    note = f"{turn_block(first)}\n{turn_block(second)}\n## End\n"
    tokens = MarkdownIt("commonmark").parse(note)
    top = [token for token in tokens if token.type == "heading_open" and token.level == 0]
    assert [t.tag for t in top] == ["h3", "h3", "h2"]


@settings(max_examples=60)
@given(turns, st.data())
def test_torn_block_is_closed_where_it_is(turn: RecordedTurn, data: st.DataObject) -> None:
    """However much of a block is there, what is appended after `mend` is read whole, and the fragment is
    torn.
    """
    block = turn_block(replace(turn, id="0123456789abcdef"))
    note = new_note({"name": "work"}, "", block[: data.draw(st.integers(0, len(block) - 1))])
    after = replace(turn, id="fedcba9876543210")
    whole = note + lead(note.encode()) + turn_block(after)
    *before, last = blocks(whole)
    assert last == replace(after, patch=read_inline(after.patch))
    assert len(before) <= 1 and all("0123456789abcdef".startswith(found.id) for found in before)
    assert mend(whole) == "" and ends_whole(whole.encode())


def test_whole_note_needs_no_mending() -> None:
    block = turn_block(RecordedTurn("a" * 16, AT, 1, "llm", (Step("user", "x"),)))
    note = new_note({"name": "work"}, "", block)
    assert mend(note) == mend(note.replace("\n", "\r\n")) == mend("") == mend("# No turns\n") == ""
    assert lead(note.encode()) == "\n" and lead(note.encode() + b"\n") == "" and lead(b"x") == "\n\n"


def test_torn_block_counts_no_messages() -> None:
    """So the turn may follow whole."""
    block = turn_block(RecordedTurn("a" * 16, AT, 3, "llm", (Step("user", "x"),)))
    torn = block.partition("<!-- /turn")[0]
    [found] = blocks(torn + mend(torn))
    assert found.torn and found.n == 0 and found.steps == (Step("user", "x"),)


def test_parts_of_a_turn_are_joined() -> None:
    """Steps in order, the first patch, all references; a call without result gives way to the one with it."""
    first = RecordedTurn(
        "a" * 16,
        AT,
        2,
        "llm",
        (Step("user", "go"), Step("tool", "", "f", "{}", "no result")),
        0.5,
        "Patch",
        ("resource/a.md",),
        incomplete=True,
    )
    later = RecordedTurn(
        "a" * 16,
        AT,
        4,
        "placed",
        (Step("tool", "out", "f", "{}"), Step("assistant", "done")),
        refs=("resource/a.md", "resource/b.md"),
        part=2,
    )
    event = read_event(PATH, new_note({"name": "work"}, "", turn_block(first) + "\n" + turn_block(later)))
    assert event and event.turns == (
        RecordedTurn(
            "a" * 16,
            AT,
            4,
            "llm",
            (Step("user", "go"), Step("tool", "out", "f", "{}"), Step("assistant", "done")),
            0.5,
            "Patch",
            ("resource/a.md", "resource/b.md"),
            2,
        ),
    )


@pytest.mark.parametrize(
    "damage",
    [
        ("id=aaaaaaaaaaaaaaaa", "id=bbbbbbbbbbbbbbbb"),
        ("at=2026", "at=never"),
        ("n=1", "n=many"),
        ("by=llm", "by=llm p=high part=x incomplete=maybe future=yes"),
        ("<!-- turn", "<!--turn"),
        ("<!-- /turn", "<!-- /tu"),
    ],
)
def test_damaged_marker_is_never_fatal(damage: tuple[str, str]) -> None:
    block = turn_block(RecordedTurn("a" * 16, AT, 1, "llm", (Step("user", "x"),)))
    assert damage[0] in block
    for found in blocks(block.replace(damage[0], damage[1], 1)):
        assert found.steps == (Step("user", "x"),)


def test_turn_without_a_time_has_no_block() -> None:
    with pytest.raises(ValueError, match="no time"):
        turn_block(RecordedTurn("a" * 16, None, 1, "llm", ()))


def test_turns_section_is_the_last_before_the_first_turn() -> None:
    """A section of that name further up, or in a turn's words, is not it."""
    block = turn_block(RecordedTurn("a" * 16, AT, 1, "llm", (Step("user", "## Turns"),)))
    note = new_note({"name": "work"}, "## Turns\nof phrase\n\n## Plan\n- x", block)
    event = read_event(PATH, note)
    assert event and event.body == "## Turns\nof phrase\n\n## Plan\n- x"
    assert note[turns_start(note) :].startswith("## Turns\n\n### 14:03:22")
    assert turns_start("no turns here") == len("no turns here")


def test_line_ends_are_those_of_the_note() -> None:
    assert newline_of(b"a\r\nb\r\n") == "\r\n" and newline_of(b"a\nb\n") == "\n"


def test_times_keep_their_offset() -> None:
    turn = RecordedTurn("a" * 16, AT, 1, "llm", ())
    assert " at=2026-05-27T14:03:22+08:00 " in turn_block(turn)
    assert " at=2026-05-27T06:03:22+00:00 " in turn_block(replace(turn, at=AT.astimezone(UTC)))


def test_empty_note_is_an_event_without_turns() -> None:
    event = read_event(PATH, "")
    assert event and event.turns == () and event.head.title == "work"
    assert read_event("resource/a.md", "") is None and not re.search("x", event.body)

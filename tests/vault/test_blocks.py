"""Notes cut into their turns' blocks: no byte is lost, and turns can be taken from one note to another."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from automemory.turn import Step
from automemory.vault import note
from automemory.vault.blocks import cut, holds_all, with_turns, without_turns
from automemory.vault.event import RecordedTurn
from automemory.vault.revise import with_text

NOON = datetime(2026, 5, 27, 12, 0, tzinfo=UTC)
HEAD = "---\nname: one\nthread: main\n---\n\n## Turns\n"


def turn(number: int, minute: int | None = None, part: int = 1, words: str = "") -> str:
    at = NOON + timedelta(minutes=number if minute is None else minute)
    steps = (Step("user", words or f"Question {number}?"), Step("assistant", f"Answer {number}."))
    return "\n" + note.turn_block(RecordedTurn(f"{number:016x}", at, 2, "llm", steps, part=part))


def ids(text: str) -> list[int]:
    return [int(piece.id, 16) for piece in cut(text)[1]]


TEXTS = st.lists(
    st.one_of(
        st.integers(1, 5).map(turn),
        st.sampled_from(
            ["\n", "a person's line\n", "### 12:00:00\n", "<!-- turn id=5 at=x -->\n", "\r\n", "x"]
        ),
        st.text("-#!<> \n\rab", max_size=12),
    ),
    max_size=8,
).map("".join)


@given(TEXTS)
def test_pieces_are_the_text(text: str) -> None:
    """Whatever a person or a crash made of a note, its pieces put together are its bytes."""
    head, pieces = cut(text)
    assert head + "".join(piece.raw + piece.after for piece in pieces) == text


@given(TEXTS)
def test_whole_blocks_are_those_that_are_read(text: str) -> None:
    """A block that a reader sees is a piece, with the same id and in the same order."""
    found = iter([piece.id for piece in cut(text)[1]])
    assert all(block.id in found for block in note.blocks(text))


@given(st.sets(st.integers(1, 12)), st.sets(st.integers(1, 12)))
def test_taken_and_dropped_again_is_as_before(mine: set[int], others: set[int]) -> None:
    """Turns of another note go in between by time; without them the note is the old one, byte for byte."""
    own = HEAD + "".join(turn(n) for n in sorted(mine))
    source = HEAD + "".join(turn(n) for n in sorted(others - mine))
    both = with_turns(own, source)
    assert ids(both) == sorted(mine | others)
    assert with_turns(both, source) == both
    assert holds_all(both, source) and holds_all(both, own)
    assert without_turns(both, {f"{n:016x}" for n in others - mine}) == own


def test_order_within_a_note_is_kept() -> None:
    """A turn whose time lies before that of the one above it (a clock set back) stays behind it."""
    own = HEAD + turn(1, 10) + turn(2, 3) + turn(3, 12)
    assert ids(with_turns(own, HEAD + turn(7, 1) + turn(8, 11) + turn(9, 2))) == [7, 1, 2, 8, 9, 3]


def test_only_what_stands_elsewhere_is_dropped() -> None:
    """A move never loses a turn: what the other note does not hold stays."""
    text = HEAD + turn(1) + turn(2) + turn(3)
    wanted = {f"{n:016x}" for n in (2, 3)}
    assert without_turns(text, wanted, HEAD + turn(3)) == HEAD + turn(1) + turn(2)
    assert without_turns(text, wanted, HEAD) == text
    assert without_turns(text, wanted, HEAD + turn(3, words="Other words under the id?")) == text


def test_a_persons_words_between_turns() -> None:
    """B80: they go with the turn above them when it moves, and stay when it is forgotten."""
    text = HEAD + turn(1) + "\nMy note.\n" + turn(2)
    first = {f"{1:016x}"}
    moved = with_turns(HEAD, text, first)
    assert moved == HEAD + turn(1) + "\nMy note.\n"
    assert without_turns(text, first, moved) == HEAD + turn(2)
    assert without_turns(text, first) == HEAD + "\nMy note.\n" + turn(2)


def test_line_ends_are_those_of_the_note() -> None:
    """B60: a block from a file of a Windows editor fits in, and the other way round."""
    windows = (HEAD + turn(2)).replace("\n", "\r\n")
    assert with_turns(HEAD + turn(1), windows) == HEAD + turn(1) + turn(2)
    assert with_turns(windows, HEAD + turn(1)) == (HEAD + turn(1) + turn(2)).replace("\n", "\r\n")


def test_torn_blocks() -> None:
    """A block that was cut off is closed before another follows, moves as it is, and can be forgotten."""
    torn = HEAD + turn(1) + turn(2)[:-60]
    both = with_turns(torn, HEAD + turn(3))
    assert [(b.id[-1], b.torn) for b in note.blocks(both)] == [("1", False), ("2", True), ("3", False)]
    moved = with_turns(HEAD, torn, {f"{2:016x}"})
    assert without_turns(torn, {f"{2:016x}"}, moved) == HEAD + turn(1)
    assert without_turns(torn, {f"{2:016x}"}) == HEAD + turn(1)
    assert without_turns(torn, {f"{9:016x}"}) == torn
    cut_in_marker = HEAD + turn(1) + turn(2)[:52]
    assert without_turns(cut_in_marker, {f"{2:016x}"}) == HEAD + turn(1)


def test_note_without_its_heading_gets_one() -> None:
    """A person's note that turns are moved to: they are its last section."""
    assert with_turns("---\nname: x\n---\n\nWords\n", HEAD + turn(1)) == (
        "---\nname: x\n---\n\nWords\n\n## Turns\n" + turn(1)
    )


def test_what_a_person_wrote_at_the_end_stays_when_turns_are_added() -> None:
    """B80: blanks at the end of a note without turns are a person's (`- ` is a list item to be filled in)."""
    begin = "### 14:03:22\n<!-- turn id=a at=2026-05-28T14:03:22+00:00 n=1 by=b -->\n"
    source = f"{note.TURNS}\n\n{begin}\n<!-- /turn a -->\n"
    for text in ("- ", "- \n", "a\n\n", "a  \r\n"):
        both = with_turns(text, source)
        assert both.startswith(text) and holds_all(both, source)
        assert with_turns(both, source) == both


def test_torn_blocks_are_taken_once() -> None:
    """B23's kind: a cut-off block is the same when it is closed, whatever its line ends: no second copy."""
    begin = "<!-- turn id=a at=2026-05-28T14:03:22+00:00 n=1 by=b -->\n"
    for text, source in (
        (begin, begin),
        (f"{begin}x", f"{begin}\n{begin}x"),
        ("", f"{begin}\r\r"),
        (f"{begin}x\r\n", f"{begin}y\r\r\n"),
    ):
        both = with_turns(text, source)
        assert holds_all(both, source)
        assert with_turns(both, source) == both


def test_text_is_added_once_even_if_it_moves_what_counts_as_the_turns() -> None:
    """A `%%` in what is added may make a comment of a `## Turns`; to add it again changes nothing."""
    for text in (f"%%\na\n%%\n{note.TURNS}\n\n{note.TURNS}\n%%\n", f"a\n\n{note.TURNS}\n", "a"):
        once = with_text(text, "x\n%%\ny")
        assert with_text(once, "x\n%%\ny") == once != text

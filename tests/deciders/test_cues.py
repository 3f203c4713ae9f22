from __future__ import annotations

import pytest
from phrases import CHINESE, CONTENT, ENGLISH

from automemory.deciders.cues import (
    BACK,
    ENDINGS,
    MANNERS,
    NEW_TOPIC,
    OPENINGS,
    is_acknowledgement,
    strip_acknowledgement,
)


def test_there_are_enough_of_them() -> None:
    """The rule is measured on a hundred different phrases of each language, and on sixty that are none."""
    assert len(set(ENGLISH)) >= 100 and len(set(CHINESE)) >= 100 and len(set(CONTENT)) >= 60


@pytest.mark.parametrize("text", ENGLISH + CHINESE)
def test_acknowledgements_are_known(text: str) -> None:
    """Thanks, assent and "go on" are recognised in any combination, with marks and emoji."""
    assert is_acknowledgement(text)


@pytest.mark.parametrize("text", [*CONTENT, "", "   "])
def test_anything_with_content_is_none(text: str) -> None:
    """A request, a correction, an answer or a cue phrase is no acknowledgement."""
    assert not is_acknowledgement(text)


def test_leading_acknowledgement_is_stripped() -> None:
    """What follows the thanks is what a turn is about."""
    assert strip_acknowledgement("Great, thanks! Now add a test.") == "Now add a test."
    assert strip_acknowledgement("好的，谢谢。帮我订酒店") == "帮我订酒店"
    assert strip_acknowledgement("thanks") == "thanks"


@pytest.mark.parametrize("text", ["next", "换个话题", "by the way, one more thing", "另外，帮我查天气"])
def test_cue_phrases(text: str) -> None:
    """Cue phrases are seen; they are features only."""
    assert NEW_TOPIC.search(text)


@pytest.mark.parametrize(
    "text", ["Back to the parser", "let's return to the login bug", "回到登录的问题", "继续昨天的部署"]
)
def test_wording_of_going_back(text: str) -> None:
    """Going back by words is seen in both languages."""
    assert BACK.search(text)
    assert not BACK.search("please restart the backend before the tests")


@pytest.mark.parametrize(
    ("text", "ways"),
    [
        ("But the port is wrong", {"objects", "repair"}),
        ("it still fails", {"points"}),
        ("Create a test for the parser", {"order", "make"}),
        ("Did you add it?", {"of_you", "make"}),
        ("另外，添加一个按钮", {"adds", "make"}),
        ("不是这个", {"objects"}),
    ],
)
def test_manners(text: str, ways: set[str]) -> None:
    """How a request is put is seen in both languages."""
    assert ways <= {name for name, pattern in MANNERS.items() if pattern.search(text)}


def test_openings_and_endings_of_replies() -> None:
    """A reply that concedes, and one that was broken off, are known for it; a plain one is neither."""
    assert OPENINGS["concedes"].search("You're absolutely right! Let me fix it.")
    assert ENDINGS["cut"].search("Now I run the tests:") and ENDINGS["offers"].search("Shall I commit it?")
    assert not OPENINGS["concedes"].search("The table is booked.")
    assert not ENDINGS["cut"].search("The table is booked.")


@pytest.mark.parametrize("phrases", ["哈" * 100, "好吧" * 50, "go on " * 19, "that works for me " * 6])
def test_acknowledgements_in_a_row_are_read_once(phrases: str) -> None:
    """There are 2**n ways to part these into phrases: to try them all would not end for one more letter."""
    assert is_acknowledgement(phrases)
    assert not is_acknowledgement(f"{phrases}x")

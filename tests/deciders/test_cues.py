# ruff: noqa: E501  (tables of phrases)

from __future__ import annotations

import pytest
from phrases import CHINESE, ENGLISH

from automemory.deciders.cues import BACK, NEW_TOPIC, is_acknowledgement, strip_acknowledgement

NOT = """next|now fix the tests|ok, now write the docs|thanks, one more thing: book a taxi|no, use redis instead|yes but the port is wrong|1|42
continue with the login page|go back to the parser|换个话题|好的，接下来帮我订酒店|继续优化登录页面|谢谢，再帮我查一下天气|不对|为什么|what|please add a button
ok what about the weather|sure, my name is Ann|great work but it still fails|好吃吗|行程是什么""".replace(
    "\n", "|"
).split("|")


def test_there_are_a_hundred_of_them() -> None:
    """The rule is measured on more than a hundred phrases."""
    assert len(ENGLISH) + len(CHINESE) > 140


@pytest.mark.parametrize("text", ENGLISH + CHINESE)
def test_acknowledgements_are_known(text: str) -> None:
    """Thanks, assent and "go on" are recognised in any combination, with marks and emoji."""
    assert is_acknowledgement(text)


@pytest.mark.parametrize("text", [*NOT, "", "   "])
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

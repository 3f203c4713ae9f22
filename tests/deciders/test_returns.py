from __future__ import annotations

import pytest
from conversations import DEPLOY_ZH, LOGIN, context, recent

from automemory.deciders.local import LocalDecider

PARSER = recent(
    "fix-csv-parser-quotes",
    "Fix the CSV parser for quotes",
    "Fix quotes in csv_parser.py. Escaped quotes are read now.",
)
HOTEL = recent(
    "book-hotel-berlin", "Book a hotel in Berlin", "Book a hotel in Berlin for May. Hotel Adler is booked."
)
DEPLOY = recent(
    "部署登录服务", "部署登录服务", "请帮我部署登录服务到测试环境。登录服务已经部署，端口是8080。"
)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("Back to the CSV parser: csv_parser.py still fails on single quotes", PARSER),
        ("Let's return to the hotel in Berlin, can we change the dates?", HOTEL),
        ("回到部署登录服务的问题，测试环境现在打不开了", DEPLOY),
    ],
)
@pytest.mark.parametrize("active", [False, True])
def test_goes_back(decider: LocalDecider, said: str, expected, active: bool) -> None:
    """Wording with shared words or identifiers takes up the listed event by its exact slug."""
    before = (("What will the weather in Oslo be tomorrow?", "Sunny, 18 degrees."),) if active else ()
    verdict = decider.decide_sync(context(said, *before, recent=(PARSER, HOTEL, DEPLOY)))
    if not verdict.decision.continue_:
        assert verdict.decision.new_event_slug == expected.slug and verdict.title == expected.title
    assert active or not verdict.decision.continue_


@pytest.mark.parametrize(
    "said",
    [
        "Write a CSV parser for semicolons in Rust",
        "Book a hotel in Paris for two nights",
        "Take me back to the start page when the form is sent",
        "请帮我部署支付服务到生产环境",
        "Revert the last commit please",
    ],
)
def test_likeness_is_not_enough(decider: LocalDecider, said: str) -> None:
    """A similar task, or wording without anything shared, opens a new event."""
    verdict = decider.decide_sync(context(said, recent=(PARSER, HOTEL, DEPLOY)))
    assert not verdict.decision.continue_
    assert verdict.decision.new_event_slug not in {PARSER.slug, HOTEL.slug, DEPLOY.slug}


def test_a_slug_by_chance_is_not_going_back(decider: LocalDecider) -> None:
    """A new event whose words give a listed slug gets another one: the slug alone would mean going back."""
    taken = recent("fix-login-form", "Repair of a gate", "Oil for the gate.")
    verdict = decider.decide_sync(context("Fix the login form", recent=(taken,)))
    assert verdict.decision.new_event_slug == "fix-login-form-2"


def test_everyday_words_are_no_return(decider: LocalDecider) -> None:
    """Without recent events there is nothing to go back to, whatever the wording."""
    assert (
        decider.decide_sync(context("Back to the parser please", *LOGIN)).decision.new_event_slug != "parser"
    )
    assert decider.decide_sync(context("回到解析器", *DEPLOY_ZH)).by == "local"

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from conversations import DEPLOY_ZH, LOGIN, context, recent

from automemory.deciders.local import LocalDecider
from automemory.decision import DecisionContext, RecentEvent

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
def test_goes_back(decider: LocalDecider, said: str, expected: RecentEvent, active: bool) -> None:
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


def dated(event: RecentEvent, date: str) -> RecentEvent:
    return replace(event, date=date, path=f"daily/{date}/{event.slug}/{event.slug}.md")


def went_back_to(decider: LocalDecider, said: str, *events: RecentEvent) -> str:
    """The slug of the event a turn of Friday, 2025-06-06 goes back to; empty if it opens a new one."""
    asked = context(said, recent=events)
    at = replace(asked.turn, at=datetime(2025, 6, 6, 9, tzinfo=UTC))
    found = decider.decide_sync(DecisionContext(at, recent=events)).decision
    return found.new_event_slug if found.new_event_slug in {e.slug for e in events} else ""


BIKE = recent(
    "bike-city-commute", "New bike for the commute", "New bike for the commute. The short list has two bikes."
)
LETTER = recent("写投诉信", "写一封投诉信", "我想写一封投诉信给物业。信已存到 letters/garage.md。")
TRIP = recent("去黄山住两晚", "去黄山住两晚", "和同事去黄山住两晚。行程分三段。")
REPORT = recent(
    "sales-report-script", "Write scripts/sales_report.py", "Write scripts/sales_report.py. It prints sums."
)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("Back to the bike question from Tuesday. I tried both and my back hurts on one.", BIKE),
        ("Good morning. Let's get back to the bike, the shop called.", BIKE),
        ("回到前天那封投诉信（letters/garage.md）：物业今天回电话了，我该怎么回？", LETTER),
        ("早。回到昨天的销售脚本 scripts/sales_report.py：我想让它每周自动跑", REPORT),
        ("说回黄山的行程：同事都回复了，一共七个人", TRIP),
        ("接着昨天的黄山行程，住宿可以定了", TRIP),
    ],
)
def test_the_named_thing_is_enough(decider: LocalDecider, said: str, expected: RecentEvent) -> None:
    """Who says what to go back to need not repeat more of it than tells it from the others."""
    assert went_back_to(decider, said, REPORT, TRIP, LETTER, BIKE, HOTEL) == expected.slug


@pytest.mark.parametrize(
    "said",
    [
        "Back to the holiday photos: sort them by year",
        "Continue with step three of the migration",
        "回到上次的数学作业，第三题怎么做？",
        "继续写第三章",
        "I came back to the office by bike and my knee hurts, what helps?",
    ],
)
def test_nothing_fits_what_is_named(decider: LocalDecider, said: str) -> None:
    """Wording alone, or a word in passing, goes back to nothing."""
    assert went_back_to(decider, said, REPORT, TRIP, LETTER, BIKE, HOTEL) == ""


def test_the_newest_of_a_split_topic(decider: LocalDecider) -> None:
    """Of events that fit about equally the newest is taken up, wherever it is listed."""
    first = dated(replace(HOTEL, slug="book-hotel-berlin-one"), "2025-06-02")
    last = dated(HOTEL, "2025-06-04")
    for events in ((first, last, BIKE), (last, first, BIKE)):
        assert (
            went_back_to(decider, "Back to the hotel in Berlin: is breakfast included?", *events) == last.slug
        )


@pytest.mark.parametrize(("said", "day"), [("Monday", 2), ("Wednesday", 4), ("yesterday", 5)])
def test_a_day_tells_events_apart(decider: LocalDecider, said: str, day: int) -> None:
    """A weekday or "yesterday" that fits an event's date decides between equals."""
    events = [dated(replace(HOTEL, slug=f"hotel-berlin-{n}"), f"2025-06-0{n}") for n in (5, 4, 2)]
    assert (
        went_back_to(decider, f"Back to the hotel in Berlin from {said}.", *events) == f"hotel-berlin-{day}"
    )


def test_the_open_event_is_no_return(decider: LocalDecider) -> None:
    """What fits the active event at least as well is no way back to another one."""
    said = "Back to the login form: passwords of spaces"
    other = recent("form-of-login-old", "Login form", "Old login form.")
    found = decider.decide_sync(context(said, *LOGIN, recent=(other,))).decision
    assert found.continue_ or found.new_event_slug != other.slug


def test_many_words_before_nothing_are_quick(decider: LocalDecider) -> None:
    """A long run of openers does not make the search for wording blow up."""
    assert went_back_to(decider, "ok, " * 400 + "no", HOTEL) == ""


def test_everyday_words_are_no_return(decider: LocalDecider) -> None:
    """Without recent events there is nothing to go back to, whatever the wording."""
    assert (
        decider.decide_sync(context("Back to the parser please", *LOGIN)).decision.new_event_slug != "parser"
    )
    assert decider.decide_sync(context("回到解析器", *DEPLOY_ZH)).by == "local"

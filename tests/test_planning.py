"""From a verdict to the event a turn belongs to: the rules of opening, as pure functions."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from automemory.boundary import BoundaryDecision
from automemory.decision import EventSummary, EventView, Exchange, Verdict
from automemory.intake import Accepted
from automemory.limits import Limits
from automemory.planning import block_of, close_edits
from automemory.routing import Located, Place, route, target, trivial
from automemory.turn import Message, Turn
from automemory.vault.edits import SetFields
from automemory.vault.event import EventHead, one_line
from automemory.vault.files import Signature

AT = datetime(2026, 5, 27, 14, 3, 22, tzinfo=UTC)
LIMITS = Limits(max_turns=3, max_chars=1000, window_days=7)


def head(slug: str, date: str = "2026-05-27", **fields: str) -> EventHead:
    found = EventHead(f"daily/{date}/{slug}/{slug}.md", date, slug, slug.replace("-", " "), thread="main")
    return replace(found, **fields)


def active(
    slug: str = "now", date: str = "2026-05-27", turns: int = 1, chars: int = 10, **fields: str
) -> Place:
    first = Exchange("a", "b")
    view = EventView(slug, slug, "", first, (first,), turns, chars)
    return Place(head(slug, date, **fields), view, Signature(1, 1, 1), 1, "\n", "\n")


def verdict(slug: str | None, title: str = "", patch: str = "") -> Verdict:
    decision = BoundaryDecision(continue_=slug is None, new_event_slug=slug or "", summary_patch=patch)
    return Verdict(decision, "llm", title=title)


def accepted(text: str = "Hello there", thread: str = "main") -> Accepted:
    return Accepted(Turn((Message("user", text),)), thread, AT)


@pytest.mark.parametrize(
    ("located", "slug", "way"),
    [
        (Located("2026-05-27", 0), None, "open"),
        (Located("2026-05-27", 0), "new", "open"),
        (Located("2026-05-27", 0, active()), None, "continue"),
        (Located("2026-05-27", 0, active()), "new", "switch"),
        (Located("2026-05-28", 0, active()), None, "day-end"),
        (Located("2026-05-28", 0, active()), "new", "switch"),
        (Located("2026-05-27", 0, active(turns=3)), None, "cap"),
        (Located("2026-05-27", 0, active(chars=1000)), None, "cap"),
        (Located("2026-05-27", 0, active(turns=3)), "new", "switch"),
        (Located("2026-05-28", 0, active(turns=3)), None, "day-end"),
        (Located("2026-05-26", 0, active(date="2026-05-26", turns=3), earlier=True), None, "continue"),
        (Located("2026-05-26", 0, earlier=True), None, "open"),
    ],
)
def test_way_through_the_graph(located: Located, slug: str | None, way: str) -> None:
    assert route(located, verdict(slug), LIMITS) == way


RECENT = (
    head("today", title="Today's task"),
    head("elsewhere", thread="other"),
    head("earlier", "2026-05-26", title="An earlier task"),
    head("done", "2026-05-26", title="A finished task", status="completed"),
    head("earlier", "2026-05-25"),
    head("Straße-STADT", "2026-05-24"),
)


@pytest.mark.parametrize(
    ("slug", "title", "how", "source"),
    [
        ("today", "", "resumed", 0),
        ("To day", "", "opened", None),
        ("Today!", "", "resumed", 0),
        ("new-name", "Today's task", "opened", None),
        ("elsewhere", "", "opened", None),
        ("earlier", "", "inherited", 2),
        ("new-name", "AN EARLIER TASK", "inherited", 2),
        ("done", "", "opened", None),
        ("new-name", "A finished task", "opened", None),
        ("strasse-stadt", "", "inherited", 5),
        ("brand-new", "", "opened", None),
    ],
)
def test_where_a_slug_leads(slug: str, title: str, how: str, source: int | None) -> None:
    """Resume today's by slug, inherit an earlier unfinished one by slug or title, newest first, else
    create.
    """
    found = target("switch", Located("2026-05-27", 0, recent=RECENT), verdict(slug, title), accepted())
    assert found.how == how
    assert found.source == (None if source is None else RECENT[source])


def test_new_day_keeps_slug_and_title_whatever_the_status() -> None:
    place = active("old-name", "2026-05-26", status="completed", title="Old title")
    found = target("day-end", Located("2026-05-27", 0, place), verdict(None, "Another title"), accepted())
    assert (found.how, found.slug, found.title, found.source) == (
        "inherited",
        "old-name",
        "Old title",
        place.head,
    )


@pytest.mark.parametrize(
    ("slug", "inherits", "expected"),
    [
        ("issue-42", "", "issue-42"),
        ("issue-42", "daily/2026-05-26/issue-42/issue-42.md", "issue-42"),
        ("issue-42-2", "daily/2026-05-27/issue-42/issue-42.md", "issue-42"),
        ("issue-42-11", "daily/2026-05-27/issue-42-10/issue-42-10.md", "issue-42"),
        ("issue-42", "daily/2026-05-27/other/other.md", "issue-42"),
    ],
)
def test_cap_numbers_a_number_of_its_own_does_not_lose(slug: str, inherits: str, expected: str) -> None:
    """Only the number that a cap gave is taken off before the next one is given."""
    place = active(slug, inherits=inherits)
    assert target("cap", Located("2026-05-27", 0, place), verdict(None), accepted()).slug == expected


@pytest.mark.parametrize(
    ("proposal", "words", "slug"),
    [
        ("Fix: the Login!", "x", "fix-the-login"),
        ("", "Open the door\nnow", "open-the-door"),
        ("Request timed out.", "修复登录", "修复登录"),
        ("null", "```\ncode\n```\nAfter the code", "after-the-code"),
        ('{"a": 1}', "https://example.org/x", "event-140322"),
        ("🎉", "!!!", "event-140322"),
    ],
)
def test_every_event_gets_a_name(proposal: str, words: str, slug: str) -> None:
    """B04 B12: a proposal that is no name gives way to the turn's own words, and those to the time."""
    assert target("open", Located("2026-05-27", 0), verdict(proposal), accepted(words)).slug == slug


def test_name_comes_from_the_reply_where_nobody_asked() -> None:
    turn = Accepted(Turn((Message("assistant", "Nightly report"),)), "main", AT)
    assert target("open", Located("2026-05-27", 0), verdict(""), turn).slug == "nightly-report"


def test_short_single_turns_are_trivial() -> None:
    view = active().view
    assert view and trivial(view)
    assert not trivial(replace(view, turns=2))
    assert not trivial(replace(view, opening=Exchange("x" * 300, "y" * 300)))


@pytest.mark.parametrize(
    ("summary", "pending", "closed_by", "expected"),
    [
        (None, False, "switch", {"summary_by": "extract"}),
        (None, True, "switch", {"summary_by": "pending"}),
        (
            EventSummary("All [[a|of it]].\n", "T", True, "model"),
            False,
            "request",
            {"description": "All of it.", "title": "T", "status": "completed", "summary_by": "model"},
        ),
        (EventSummary("x", completed=True), False, "day-end", {"description": "x", "summary_by": "extract"}),
    ],
)
def test_what_closing_writes(
    summary: EventSummary | None, pending: bool, closed_by: str, expected: dict[str, str]
) -> None:
    """A day's end leaves the status; without a summary the description stays."""
    fields = close_edits(head("a", updated="2026-05-27"), AT, closed_by, summary, pending)[0]
    assert isinstance(fields, SetFields) and fields.fields == {
        "updated": "2026-05-27",
        "closed": "2026-05-27T14:03:22+00:00",
        "closed_by": closed_by,
        **expected,
    }


def test_summary_stays_pending_until_one_is_made() -> None:
    """Closing again without a summary does not call a pending one made."""
    fields = close_edits(head("a", summary_by="pending"), AT, "switch", None, False)[0]
    assert isinstance(fields, SetFields) and fields.fields["summary_by"] == "pending"


@given(st.text(max_size=300), st.integers(10, 100))
def test_one_line_is_one_line(text: str, limit: int) -> None:
    found = one_line(text, limit)
    assert len(found) <= limit and found == " ".join(found.split())


def test_patch_links_are_live_where_they_resolve() -> None:
    """B64: a link the decider made up is disarmed, one to a file of the vault is not."""
    links = frozenset({"resource/a.md"})
    patch = "See [[resource/a.md|this]] and [[resource/b.md]] #tag"
    found = block_of(accepted(), "id", [], 1, verdict("x", patch=patch), links).patch
    assert found == r"See [[resource/a.md|this]] and [\[resource/b.md]] \#tag"

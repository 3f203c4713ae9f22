"""A conversation as a timeline of events, and what was hit, missed and cut in vain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from automemory.report.charts import EVENTS
from automemory.report.html import Html, join, tag
from automemory.trace import TracedTurn

LISTED, LINK_CHARS = 15, 120
HOW = {"opened": "new event", "resumed": "back to an event", "inherited": "goes on in a new event"}
MARKS = {"hit": "✓ hit", "miss": "○ missed boundary", "false cut": "✕ false cut", "either": "either is right"}
TITLES = {"miss": "○ Missed boundaries", "false cut": "✕ False cuts", "hit": "✓ Hits"}


def events_of(turns: Sequence[TracedTurn]) -> dict[str, int]:
    """The events of a conversation, numbered as they first come."""
    return {event: number for number, event in enumerate(dict.fromkeys(t.event for t in turns if t.event))}


def timeline(number: int, turns: Sequence[TracedTurn], events: Mapping[str, int]) -> Html:
    """The turns of conversation `number`, under the events they went to."""
    parts = []
    for event, group in groupby(enumerate(turns), lambda item: item[1].event):
        members = list(group)
        first = members[0][1]
        colour = EVENTS[events[event] % len(EVENTS)] if event else "#888888"
        how = HOW.get(first.how, "")
        title = first.title or event or "not filed in this run"
        heading = tag("h4", title, " " if how else "", tag("small", how) if how else None)
        rows = [turn_row(number, place, turn) for place, turn in members]
        listed = tag("ol", *rows, start=members[0][0] + 1)
        parts.append(tag("section", heading, listed, class_="event", style=f"--event: {colour}"))
    return join(*parts)


def turn_row(number: int, place: int, turn: TracedTurn) -> Html:
    """One turn: its words, and how it was decided."""
    mark = turn.mark if place else ""
    facts = [
        tag("span", MARKS[mark], class_=f"mark {mark.replace(' ', '-')}") if mark else None,
        _probability(turn.p),
        tag("span", _asked(turn), class_="mark asked") if turn.calls else None,
        tag("span", f"by {turn.by}") if turn.by and not turn.calls else None,
        tag("span", duration(turn.ms)) if turn.by else None,
        tag("span", turn.outcome, class_="mark") if turn.outcome != "recorded" else None,
        tag("time", turn.at.replace("T", " "), datetime=turn.at) if turn.at else None,
    ]
    words = tag("p", turn.words or "(no words)", dir="auto")
    error = tag("p", f"failed: {turn.error}", class_="error") if turn.error else None
    return tag("li", words, tag("p", *facts, class_="facts"), error, id=anchor(number, place))


def anchor(number: int, place: int) -> str:
    return f"c{number}-t{place + 1}"


def duration(ms: float) -> str:
    return f"{ms:.0f} ms" if ms < 1000 else f"{ms / 1000:.1f} s"


def _asked(turn: TracedTurn) -> str:
    calls = "model asked" if turn.calls == 1 else f"model asked, {turn.calls} calls"
    tokens = turn.prompt_tokens + turn.completion_tokens
    return f"{calls}, {tokens} tokens" if tokens else calls


def _probability(p: float | None) -> Html | None:
    if p is None:
        return None
    bar = tag("span", tag("i", style=f"width: {100 * p:.0f}%"), class_="bar", aria_hidden="true")
    return tag("span", bar, f" p {p:.2f}", class_="p")


def marks(shown: Mapping[int, Sequence[TracedTurn]], totals: Mapping[str, int]) -> Html:
    """Hits, misses and false cuts of the conversations that are shown, side by side.

    Args:
        shown: Their turns by the conversation's number.
        totals: How many there are of each in all conversations.
    """
    columns = []
    for mark, title in TITLES.items():
        found = [
            (number, place, turn)
            for number, turns in shown.items()
            for place, turn in enumerate(turns)
            if place and turn.mark == mark
        ]
        rows = [
            tag(
                "li",
                tag("a", turn.words[:LINK_CHARS] or "(no words)", href=f"#{anchor(number, place)}"),
                _p_of(turn),
            )
            for number, place, turn in found[:LISTED]
        ]
        more = totals[mark] - len(rows)
        columns.append(
            tag(
                "section",
                tag("h3", f"{title} ({totals[mark]})"),
                tag("ul", *rows) if rows else tag("p", "None."),
                tag("p", f"… and {more} more", class_="note") if more > 0 and rows else None,
            )
        )
    return tag("div", *columns, class_="columns")


def _p_of(turn: TracedTurn) -> Html | None:
    return tag("small", f" p {turn.p:.2f}") if turn.p is not None else None

"""The page itself: one file that needs nothing else, and runs no script but its own."""

from __future__ import annotations

import base64
import hashlib
import html
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from string import Template
from typing import TYPE_CHECKING

from automemory.report import charts
from automemory.report.charts import Lines
from automemory.report.html import Html, join, json_block, table, tag
from automemory.report.timeline import duration, events_of, marks, timeline
from automemory.trace import Trace, TracedConversation, TracedTurn

if TYPE_CHECKING:
    import plotly.graph_objects as go

TITLE_CHARS = 80
MAX_CONVERSATIONS, MAX_TURNS, MAX_ROWS = 200, 4000, 1000
"""How many conversations and turns a page shows in full, and how many conversations it lists."""
_HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page: its anchor, its title, and what stands there."""

    id: str
    title: str
    content: Html


def page(title: str, about: str, sections: Sequence[Section]) -> str:
    """The whole page."""
    from plotly.offline import get_plotlyjs

    plotly = get_plotlyjs().replace("\r\n", "\n").replace("\r", "\n")  # as the browser reads it
    script = _file("page.js")
    links = [tag("li", tag("a", section.title, href=f"#{section.id}")) for section in sections]
    body = join(
        tag("header", tag("h1", title), tag("p", about, class_="note")),
        tag("nav", tag("ul", *links), aria_label="On this page"),
        tag("noscript", tag("p", "The plots need scripts; the tables below them say the same.")),
        tag("main", *map(_section, sections), id="main"),
    )
    return Template(_file("page.html")).substitute(
        title=html.escape(title),
        hashes=f"{_hash(plotly)} {_hash(script)}",
        style=_file("page.css"),
        body=body,
        plotly=plotly,
        script=script,
    )


def _section(section: Section) -> Html:
    heading = tag("h2", section.title, id=f"{section.id}-title")
    return tag("section", heading, section.content, id=section.id, aria_labelledby=f"{section.id}-title")


def _file(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    digest = hashlib.sha256(script.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def tiles(values: Mapping[str, object]) -> Html:
    """Single figures, side by side."""
    return tag("dl", *(tag("div", tag("dt", k), tag("dd", v)) for k, v in values.items()), class_="tiles")


def plot(id: str, title: str, says: str, figure: go.Figure, beside: Html | None = None) -> Html:
    """A plot, drawn once it is seen, with the same in words.

    Args:
        id: Of the plot on the page.
        title: What it shows.
        says: The same in a sentence, for those who do not see it.
        figure: The plot.
        beside: A table of what it shows.
    """
    drawn = tag(
        "div", class_="plot", id=id, role="img", aria_label=f"{title}. {says}", data_figure=f"{id}-data"
    )
    text = tag("details", tag("summary", "As a table"), beside) if beside else None
    return tag(
        "figure",
        tag("figcaption", title),
        tag("p", says, class_="note"),
        drawn,
        json_block(charts.as_json(figure), f"{id}-data"),
        text,
    )


@dataclass(frozen=True, slots=True)
class Shown:
    """The conversations that a page shows in full: their turns, by the conversation's number."""

    turns: dict[int, list[TracedTurn]]

    @classmethod
    def of(cls, trace: Trace) -> Shown:
        found: dict[int, list[TracedTurn]] = {}
        left = MAX_TURNS
        for number in range(min(len(trace.conversations), MAX_CONVERSATIONS)):
            if left <= 0:
                break
            found[number] = trace.turns(number, left)
            left -= len(found[number])
        return cls(found)

    def note(self, trace: Trace) -> Html | None:
        """What is left out, if anything is."""
        turns = sum(map(len, self.turns.values()))
        if turns == trace.totals["turns"]:
            return None
        words = (
            f"Shown in full: the first {turns} of {trace.totals['turns']} turns, in {len(self.turns)} of "
            f"{len(trace.conversations)} conversations. All of them are counted above."
        )
        return tag("p", words, class_="note")


def conversations(trace: Trace, shown: Shown, lines: Lines) -> Section:
    """Every conversation that is shown, as a plot and a timeline; the first one open."""
    parts = [
        _conversation(number, trace.conversations[number], turns, lines)
        for number, turns in shown.turns.items()
    ]
    rest = [c for number, c in enumerate(trace.conversations) if number not in shown.turns]
    legend = tag(
        "p",
        "In each plot the coloured strip has one stretch an event, diamonds are turns at which a model was "
        "asked, and bars are milliseconds. The timeline below it says the same in words.",
        class_="note",
    )
    listed = _others(rest) if rest else None
    return Section("conversations", "Conversations", join(legend, shown.note(trace), *parts, listed))


def _conversation(number: int, about: TracedConversation, turns: list[TracedTurn], lines: Lines) -> Html:
    events = events_of(turns)
    first = next((turn.words for turn in turns if turn.words), "")
    name = " · ".join(filter(None, (about.family, about.name)))
    title = tag("h3", first[:TITLE_CHARS] or name, dir="auto")
    summary = tag("summary", title, tag("small", f"{name}: {_facts(about)}"), id=f"c{number}")
    figure = plot(
        f"plot-c{number}", "p(boundary) by turn", _said(turns), charts.conversation(turns, events, lines)
    )
    return tag(
        "details", summary, figure, timeline(number, turns, events), class_="conversation", open=number == 0
    )


def _said(turns: Sequence[TracedTurn]) -> str:
    asked = sum(turn.calls > 0 for turn in turns)
    events = len({turn.event for turn in turns if turn.event})
    return f"{_count(len(turns), 'turn')} in {_count(events, 'event')}; a model was asked at {asked}."


def _facts(c: TracedConversation) -> str:
    facts = [_count(c.turns, "turn"), _count(c.events, "event"), duration(c.ms)]
    facts += [_count(c.calls, "call")] if c.calls else []
    if c.labelled:
        facts.append(f"{c.hits} of {c.boundaries} boundaries hit, {_count(c.false_cuts, 'false cut')}")
    return ", ".join(facts)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _others(rest: Sequence[TracedConversation]) -> Html:
    header: tuple[str, ...] = ("conversation", "turns", "events", "calls", "time")
    rows: list[tuple[object, ...]] = [
        (c.name, c.turns, c.events, c.calls, duration(c.ms)) for c in rest[:MAX_ROWS]
    ]
    if rest[0].labelled:
        header += ("hits", "of boundaries", "false cuts")
        rows = [(*row, c.hits, c.boundaries, c.false_cuts) for row, c in zip(rows, rest, strict=False)]
    more = f", the first {MAX_ROWS} of {len(rest)}" if len(rest) > MAX_ROWS else ""
    return table(header, rows, f"Conversations not shown in full{more}")


def marked(trace: Trace, shown: Shown) -> Section:
    """Hits, misses and false cuts."""
    totals = Counter[str]()
    for c in trace.conversations:
        totals += Counter({"hit": c.hits, "miss": c.boundaries - c.hits, "false cut": c.false_cuts})
    return Section("marks", "Hits, misses and false cuts", marks(shown.turns, totals))


def deciders(by: Mapping[str, Sequence[float]]) -> Section:
    """Who decided how many turns, and how long that took."""
    rows: list[tuple[object, ...]] = [
        (name, len(spent), duration(median(spent)), duration(sorted(spent)[int(0.95 * (len(spent) - 1))]))
        for name, spent in by.items()
    ]
    facts = table(("by", "turns", "median", "95 %"), rows, "Decisions, by who made them")
    says = "How many decisions took how long, by who decided. " + _spoken(rows)
    figure = plot("plot-times", "Time a decision took", says, charts.times(by), facts)
    return Section("time", "Time", figure if rows else tag("p", "Nothing was decided."))


def _spoken(rows: Iterable[tuple[object, ...]]) -> str:
    return "; ".join(f"{name}: {turns} turns, median {middle}" for name, turns, middle, _ in rows)

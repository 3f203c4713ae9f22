"""The plots of a page, as plotly figures: in colours that all eyes tell apart (Okabe and Ito), and marks."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from automemory.evaluate.measures import Measures
from automemory.evaluate.metrics import Bin
from automemory.trace import TracedTurn

BLUE, ORANGE, GREEN, PINK, SKY, RED = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00"
EVENTS = (BLUE, ORANGE, GREEN, PINK, SKY, RED)
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
SYMBOLS = ("circle", "square", "diamond", "cross", "triangle-up", "star")
MARKS = {"hit": (GREEN, "circle"), "miss": (RED, "circle-open"), "false cut": (PINK, "x")}
HOVER_CHARS = 90


@dataclass(frozen=True, slots=True)
class Lines:
    """The probabilities at which a decider acts: it cuts from one on, and asks a model from another."""

    cuts_from: float | None = None
    asks_from: float | None = None


def conversation(turns: Sequence[TracedTurn], events: Mapping[str, int], lines: Lines) -> go.Figure:
    """p(boundary) of each turn, where the model was asked, what was hit and missed, and the time it took.

    Args:
        turns: Of one conversation.
        events: A number for each event, which chooses its colour.
        lines: Where to draw thresholds.
    """
    figure = go.Figure()
    x = list(range(1, len(turns) + 1))
    hover = [_hover(number, turn) for number, turn in zip(x, turns, strict=True)]
    figure.add_scatter(
        x=x, y=[turn.p for turn in turns], name="p(boundary)", mode="lines+markers",
        line={"color": SKY, "width": 1.5}, marker={"size": 5}, text=hover, hoverinfo="text",
    )  # fmt: skip
    _add_marks(figure, turns, hover)
    figure.add_bar(
        x=x, y=[turn.ms for turn in turns], name="milliseconds", yaxis="y2", marker={"color": "#888888"},
        text=hover, hoverinfo="text", textposition="none", showlegend=False,
    )  # fmt: skip
    shapes = _event_strip(turns, events)
    for level, words in ((lines.cuts_from, "cuts from"), (lines.asks_from, "asks from")):
        if level is not None:
            figure.add_hline(
                y=level, line={"dash": "dash", "color": RED, "width": 1.5}, yref="y",
                annotation={"text": f"{words} {level:.2f}", "xanchor": "right", "yanchor": "bottom"},
            )  # fmt: skip
    figure.update_layout(
        shapes=[*figure.layout.shapes, *shapes],
        height=380,
        yaxis={"domain": [0.3, 1], "range": [-0.2, 1.18], "tickvals": [0, 0.5, 1], "title": "p(boundary)"},
        yaxis2={"domain": [0, 0.2], "anchor": "x", "title": "ms", "type": "log", "dtick": 1},
        xaxis={"title": "turn", "anchor": "y2", "range": [0.4, len(turns) + 0.6], "tickformat": "d"},
    )
    return figure


def _add_marks(figure: go.Figure, turns: Sequence[TracedTurn], hover: Sequence[str]) -> None:
    """Rows of marks: below, where a model was asked; above, what was cut or missed."""
    groups = {"model asked": ([n for n, t in enumerate(turns) if t.calls], -0.05, "#777777", "diamond")}
    if any(turn.labelled for turn in turns):
        for mark, (colour, symbol) in MARKS.items():
            groups[mark] = ([n for n, t in enumerate(turns) if n and t.mark == mark], 1.1, colour, symbol)
    else:
        groups["new event"] = ([n for n, t in enumerate(turns) if t.cut], 1.1, GREEN, "triangle-down")
    for name, (found, y, colour, symbol) in groups.items():
        if found:
            figure.add_scatter(
                x=[n + 1 for n in found], y=[y] * len(found), name=name, mode="markers",
                marker={"color": colour, "symbol": symbol, "size": 9, "line": {"width": 2, "color": colour}},
                text=[hover[n] for n in found], hoverinfo="text",
            )  # fmt: skip


def _event_strip(turns: Sequence[TracedTurn], events: Mapping[str, int]) -> list[dict[str, object]]:
    """The events as coloured stretches under the probabilities."""
    strip: list[dict[str, object]] = []
    for number, turn in enumerate(turns, 1):
        if turn.event and number > 1 and turns[number - 2].event == turn.event:
            strip[-1]["x1"] = number + 0.45
        elif turn.event:
            colour = EVENTS[events[turn.event] % len(EVENTS)]
            strip.append(
                {
                    "type": "rect", "xref": "x", "yref": "y", "x0": number - 0.45, "x1": number + 0.45,
                    "y0": -0.18, "y1": -0.11, "fillcolor": colour, "line": {"width": 0},
                }
            )  # fmt: skip
    return strip


def _hover(number: int, turn: TracedTurn) -> str:
    """Escaped: plotly reads some HTML in it."""
    facts = [f"turn {number}", turn.how, f"by {turn.by}" if turn.by else ""]
    facts += [f"p {turn.p:.2f}" if turn.p is not None else "", f"{turn.ms:.0f} ms" if turn.by else ""]
    facts += [
        f"{turn.calls} calls, {turn.prompt_tokens + turn.completion_tokens} tokens" if turn.calls else ""
    ]
    words = turn.words[:HOVER_CHARS]
    return "<br>".join(map(html.escape, [", ".join(filter(None, facts)), words[:45], words[45:]]))


def sweep(families: Mapping[str, Measures], cuts_from: float | None) -> go.Figure:
    """F1 by threshold; of one family its precision and recall as well."""
    figure = go.Figure()
    for number, (family, found) in enumerate(families.items()):
        x = [point.threshold for point in found.sweep]
        single = len(families) == 1
        kinds = {"F1": "f1", "precision": "precision", "recall": "recall"} if single else {family: "f1"}
        for row, (name, field) in enumerate(kinds.items()):
            y = [getattr(point, field) for point in found.sweep]
            figure.add_scatter(x=x, y=y, name=name, mode="lines", line=_line(number + row))
    if cuts_from is not None:
        figure.add_vline(x=cuts_from, line={"dash": "dash", "color": RED}, annotation_text="used")
    title = "" if len(families) == 1 else "F1"
    return _plain(figure, "threshold", title)


def calibration(families: Mapping[str, Measures]) -> go.Figure:
    """The share of boundaries among turns of about the same probability."""
    figure = go.Figure()
    figure.add_scatter(
        x=[0, 1], y=[0, 1], name="perfect", mode="lines", line={"color": "#888888", "dash": "dot"},
    )  # fmt: skip
    for number, (family, found) in enumerate(families.items()):
        figure.add_scatter(
            x=[b.p for b in found.calibration], y=[b.boundaries for b in found.calibration], name=family,
            mode="lines+markers", line=_line(number), marker=_marker(number, _sizes(found.calibration)),
            text=[f"{b.turns} turns" for b in found.calibration],
        )  # fmt: skip
    return _plain(figure, "probability given", "share of boundaries")


def calls_curve(families: Mapping[str, Measures]) -> go.Figure:
    """Recall at best against calls a turn, by the probability from which on a cascade asks."""
    figure = go.Figure()
    for number, (family, found) in enumerate(families.items()):
        curve = found.calls_curve
        figure.add_scatter(
            x=[point.calls for point in curve], y=[point.recall for point in curve], name=family,
            mode="lines+markers", line=_line(number), marker=_marker(number),
            text=[f"asks from p {point.low:g}" for point in curve],
        )  # fmt: skip
    return _plain(figure, "calls a turn", "recall at best")


def times(by: Mapping[str, Sequence[float]]) -> go.Figure:
    """How long decisions took, by who decided."""
    figure = go.Figure()
    for number, (name, spent) in enumerate(by.items()):
        colour = EVENTS[number % len(EVENTS)]
        bins = _octaves(spent)
        figure.add_bar(
            x=list(bins), y=list(bins.values()), name=name, marker={"color": colour}, hoverinfo="x+y+name"
        )
    figure.update_layout(barmode="group", xaxis={"type": "category"})
    order = sorted({step for spent in by.values() for step in _octaves(spent)}, key=_upper)
    figure.update_xaxes(categoryorder="array", categoryarray=order)
    return _plain(figure, "milliseconds a decision, up to", "turns", ranged=False)


def _octaves(spent: Sequence[float]) -> dict[str, int]:
    """How many values there are up to 1, 2, 4, 8, …"""
    counts: dict[int, int] = {}
    for value in spent:
        upper = 1
        while upper < value:
            upper *= 2
        counts[upper] = counts.get(upper, 0) + 1
    return {str(upper): counts[upper] for upper in sorted(counts)}


def _upper(step: str) -> int:
    return int(step)


def _line(number: int) -> dict[str, object]:
    return {"color": EVENTS[number % len(EVENTS)], "dash": DASHES[number % len(DASHES)], "width": 2}


def _marker(number: int, sizes: list[float] | float = 8) -> dict[str, object]:
    return {"symbol": SYMBOLS[number % len(SYMBOLS)], "size": sizes}


def _sizes(bins: Sequence[Bin]) -> list[float]:
    """Larger where there are more turns, which say more."""
    most = max((b.turns for b in bins), default=1)
    return [5 + 13 * (b.turns / most) ** 0.5 for b in bins]


def _plain(figure: go.Figure, x: str, y: str, *, ranged: bool = True) -> go.Figure:
    figure.update_layout(height=340, xaxis_title=x, yaxis_title=y)
    if ranged:
        figure.update_yaxes(range=[0, 1.03])
    return figure


def as_json(figure: go.Figure) -> str:
    """A figure for the page, which brings the colours of text and grid itself."""
    figure.update_layout(
        template="none",
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        margin={"l": 52, "r": 12, "t": 12, "b": 44},
        legend={"orientation": "h", "y": -0.22, "yanchor": "top"},
        hoverlabel={"align": "left"},
        font={"size": 12},
    )
    return str(figure.to_json())

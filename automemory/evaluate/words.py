"""The measures in words, for a terminal and for a page."""

from __future__ import annotations

from automemory.evaluate.measures import Measures
from automemory.evaluate.run import Evaluation

QUALITIES = {
    "Pk": "pk",
    "WindowDiff": "window_diff",
    "F1": "f1",
    "F1 within one turn": "f1_within_1",
    "precision": "precision",
    "recall": "recall",
    "boundaries a turn": "density",
    "purity": "purity",
    "coverage": "coverage",
}


def number(value: float | None, places: int = 3) -> str:
    """A number, or a dash for none."""
    return "–" if value is None else f"{value:.{places}f}"


def cost_rows(measures: Measures) -> list[tuple[str, str]]:
    """What is measured of the decider alone."""
    returns = measures.returns
    rows = [
        ("labelled boundaries a turn", number(measures.gold_density)),
        ("calibration error", number(measures.calibration_error)),
        ("calls a turn", number(measures.calls)),
        ("prompt tokens a turn", number(measures.prompt_tokens, 0)),
        ("completion tokens a turn", number(measures.completion_tokens, 0)),
        ("milliseconds a turn (median)", number(measures.ms, 1)),
    ]
    if returns:
        rows.append(("going back: precision", number(returns.precision)))
        rows.append(("going back: recall", number(returns.recall)))
        rows.append(("going back: labelled, made, right", f"{returns.due}, {returns.made}, {returns.right}"))
    return rows


def heading(found: Evaluation) -> str:
    """One line on what was evaluated."""
    what = [f"decider {found.decider}", f"level {found.level}", f"granularity {found.granularity}"]
    what += [f"model {found.model}"] if found.model else []
    what += [f"cuts from p {found.cuts_from:.3f}"] if found.cuts_from is not None else []
    what += [f"asks from p {found.asks_from:.3f}"] if found.asks_from is not None else []
    return f"automemory {found.version}: {', '.join(what)}"


def size(family: str, measures: Measures) -> str:
    """One line on what a family holds."""
    return (
        f"{family}: {measures.conversations} conversations, {measures.turns} turns, "
        f"{measures.quality.boundaries} boundaries"
    )

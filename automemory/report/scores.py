"""The measures of an evaluation on a page."""

from __future__ import annotations

from collections.abc import Mapping

from automemory.evaluate.measures import Measures
from automemory.evaluate.run import ALL, Evaluation
from automemory.evaluate.words import QUALITIES, cost_rows, heading, number, size
from automemory.report import charts
from automemory.report.html import Html, join, table, tag
from automemory.report.page import plot

about = heading


def measures(found: Evaluation) -> Html:
    """A table a family, the floors beside the decider."""
    parts: list[Html] = []
    for family, of in found.families.items():
        sides = [of.quality, *of.floors.values()]
        rows: list[tuple[object, ...]] = [
            (name, *(number(getattr(side, field)) for side in sides)) for name, field in QUALITIES.items()
        ]
        beside = (
            table(("measure", found.decider, *of.floors), rows, size(family, of)),
            table(("calibration and cost", "value"), list(cost_rows(of)), family),
        )
        parts += [tag("h3", family), tag("div", *beside, class_="columns")]
    note = (
        "Pk and WindowDiff are errors: less is better. Floors: never cutting, cutting at random at the "
        f"labelled rate (seed {found.seed}), and cutting where the cosine to the turn before is lowest, as "
        "often as there are labelled boundaries."
    )
    return join(tag("p", note, class_="note"), *parts)


def curves(found: Evaluation) -> Html:
    """The three plots, each with its table."""
    families = {name: of for name, of in found.families.items() if name != ALL}
    if not any(of.sweep for of in families.values()):
        return tag("p", "This decider gave no probabilities.")
    return join(
        plot(
            "plot-sweep",
            "Threshold sweep",
            "F1 at other thresholds, on the probabilities of this run.",
            charts.sweep(families, found.cuts_from),
            _sweep_table(families),
        ),
        plot(
            "plot-calibration",
            "Calibration",
            "On the dotted line, of turns given 0.8 about 80 % are boundaries. "
            + "; ".join(f"{n}: error {number(of.calibration_error)}" for n, of in families.items()),
            charts.calibration(families),
            _calibration_table(families),
        ),
        plot(
            "plot-cascade",
            "Cascade: recall against calls",
            "What share of the boundaries a model is asked about, by how often it is asked.",
            charts.calls_curve(families),
            _calls_table(families),
        ),
    )


def _sweep_table(families: Mapping[str, Measures]) -> Html:
    rows: list[tuple[object, ...]] = [
        (f"{name}, from {at.threshold:.2f}", *map(number, (at.f1, at.precision, at.recall, at.density)))
        for name, of in families.items()
        for at in of.sweep
    ]
    return table(("threshold", "F1", "precision", "recall", "boundaries a turn"), rows, "Threshold sweep")


def _calibration_table(families: Mapping[str, Measures]) -> Html:
    rows: list[tuple[object, ...]] = [
        (f"{name}, p {of_bin.p:.2f}", number(of_bin.boundaries), of_bin.turns)
        for name, of in families.items()
        for of_bin in of.calibration
    ]
    return table(("probability", "share of boundaries", "turns"), rows, "Calibration")


def _calls_table(families: Mapping[str, Measures]) -> Html:
    rows: list[tuple[object, ...]] = [
        (f"{name}, from {at.low:g}", number(at.calls), number(at.recall))
        for name, of in families.items()
        for at in of.calls_curve
    ]
    return table(("asks from p", "calls a turn", "recall at best"), rows, "Cascade")

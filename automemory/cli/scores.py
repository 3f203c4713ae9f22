"""What `automemory eval` prints for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from automemory.cli import terminal

if TYPE_CHECKING:
    from automemory.evaluate.measures import Measures
    from automemory.evaluate.run import Evaluation


def print_evaluation(found: Evaluation, sweep: bool) -> None:
    """The measures of each family, with the floors beside them."""
    from automemory.evaluate import words

    terminal.print_text(words.heading(found))
    terminal.print_text(
        f"floors: never cutting; random at the labelled rate (seed {found.seed}); cosine to the turn before, "
        "as often as there are labelled boundaries"
    )
    for family, measures in found.families.items():
        terminal.print_text(f"\n{words.size(family, measures)}")
        sides = [measures.quality, *measures.floors.values()]
        rows = [
            [name, *(words.number(getattr(side, field)) for side in sides)]
            for name, field in words.QUALITIES.items()
        ]
        terminal.print_table(rows, ("measure", found.decider, *measures.floors))
        terminal.print_text("")
        terminal.print_table(words.cost_rows(measures))
        _print_curves(measures, sweep)


def _print_curves(measures: Measures, sweep: bool) -> None:
    from automemory.evaluate import words

    if measures.calls_curve:
        terminal.print_text("\na cascade that asks from p on:")
        rows = [
            (f"{at.low:g}", words.number(at.calls), words.number(at.recall)) for at in measures.calls_curve
        ]
        terminal.print_table(rows, ("p", "calls a turn", "recall at best"))
    if sweep and measures.sweep:
        terminal.print_text("\nother thresholds, on this run's probabilities:")
        points = [
            (f"{at.threshold:.2f}", *map(words.number, (at.f1, at.precision, at.recall, at.density)))
            for at in measures.sweep
        ]
        terminal.print_table(points, ("p", "F1", "precision", "recall", "boundaries a turn"))

"""Replays labelled conversations through a decider, and says how well it cut and how sure it was."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain

import numpy as np
from boundary_data import Dialogue, Stream, granularity
from sklearn.linear_model import LogisticRegression

from automemory.deciders.local import LocalDecider
from automemory.decision import DecisionContext, Granularity
from automemory.evaluate import score


@dataclass(frozen=True)
class Outcome:
    """What a decider did over a dialogue: the probability of every turn, and what was cut."""

    dialogue: Dialogue
    p: tuple[float, ...]
    cut: tuple[bool, ...]


class Replays:
    """Replays dialogues turn by turn, causally, on the decider's own earlier boundaries.

    An event is known by its turns, so a probability is computed once, however many thresholds are tried.

    Args:
        decider_of: The decider of a dialogue.
        level: The granularity asked for; that of the dialogue's set by default.
    """

    def __init__(
        self, decider_of: Callable[[Dialogue], LocalDecider], level: Granularity | None = None
    ) -> None:
        self._decider_of = decider_of
        self._level = level
        self._known: dict[tuple[str, int, int], float] = {}

    def run(self, dialogues: Iterable[Dialogue], threshold: float) -> list[Outcome]:
        return [self._run(d, threshold) for d in dialogues]

    def _run(self, d: Dialogue, threshold: float) -> Outcome:
        stream, start = Stream(), 0
        ps: list[float] = []
        cuts: list[bool] = []
        for i, turn in enumerate(d.turns):
            key = (d.id, start, i)
            if key not in self._known:
                context = DecisionContext(turn, stream.event, granularity=self._level or granularity(d))
                self._known[key] = self._decider_of(d).probability(context)
            ps.append(self._known[key])
            cuts.append(i > 0 and ps[-1] >= threshold)
            start = i if cuts[-1] else start
            stream.take(turn, boundary=cuts[-1])
        return Outcome(d, tuple(ps), tuple(cuts))


def f1(outcomes: Iterable[Outcome]) -> dict[str, float]:
    """Precision, recall and F1 of the cuts, pooled; turns with either answer right are left out."""
    pairs = [list(zip(o.cut, o.dialogue.labels, strict=True))[1:] for o in outcomes]
    found = score(chain.from_iterable(pairs))
    return {
        "f1": found.f1, "precision": found.precision, "recall": found.recall,
        "density": found.predicted / max(found.turns, 1), "turns": found.turns,
    }  # fmt: skip


def calibrate(outcomes: Iterable[Outcome]) -> tuple[float, float]:
    """Slope and offset that turn the log odds of an uncalibrated replay into probabilities, every set
    counting alike.
    """
    pairs = [(_logit(p), y, o.dialogue.set) for o in outcomes for p, y in scored(o)]
    x, y, sets = (
        np.array([q[0] for q in pairs]),
        np.array([q[1] for q in pairs]),
        np.array([q[2] for q in pairs]),
    )
    weight = np.zeros(len(x))
    for name in np.unique(sets):
        weight[sets == name] = 1000 / (sets == name).sum()
    fitted = LogisticRegression(C=1e6).fit(x[:, None], y, sample_weight=weight)
    return float(fitted.coef_[0, 0]), float(fitted.intercept_[0])


def calibration_error(outcomes: Iterable[Outcome], bins: int = 10) -> float:
    """Expected calibration error over equally wide bins, of turns that a rule did not decide."""
    pairs = [pair for o in outcomes for pair in scored(o)]
    p, y = np.array([q[0] for q in pairs]), np.array([q[1] for q in pairs], dtype=float)
    bin_of = np.minimum((p * bins).astype(int), bins - 1)
    return float(sum(abs(p[bin_of == b].sum() - y[bin_of == b].sum()) for b in range(bins)) / len(p))


def scored(o: Outcome) -> list[tuple[float, bool]]:
    """Probability and label of the turns that have both; a rule gives 0."""
    found = zip(o.p[1:], o.dialogue.labels[1:], strict=True)
    return [(p, label) for p, label in found if label is not None and p > 0]


def _logit(p: float) -> float:
    p = min(max(p, 1e-4), 1 - 1e-4)
    return float(np.log(p / (1 - p)))

"""How good boundaries are: pure functions of labels, cuts and probabilities.

Pk and WindowDiff are written here, in a few lines each, rather than taken from a library: nltk's divide by
zero for a conversation without boundaries and bring five packages, segeval has had no release for years. They
give what segeval gives, which published figures were made with.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import mean
from typing import Literal

BINS = 10
THRESHOLDS = tuple(round(0.05 * step, 2) for step in range(1, 20))
LOWS = (0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a decider made of one conversation; of each its turns, the first included.

    Attributes:
        labels: Whether it begins a new event; None where either answer is right.
        cuts: Whether it was decided to.
        ps: The probability that was given to that; None where there is none.
    """

    labels: tuple[bool | None, ...]
    cuts: tuple[bool, ...]
    ps: tuple[float | None, ...]

    def pairs(self) -> list[tuple[bool, bool | None]]:
        """Cut and label of every turn but the first, which begins an event whatever anybody says."""
        return list(zip(self.cuts, self.labels, strict=True))[1:]

    def segmentations(self) -> tuple[list[bool], list[bool]]:
        """Labelled and decided boundaries of every turn but the first; those left open agree."""
        pairs = self.pairs()
        return [label is True for _, label in pairs], [cut and label is not None for cut, label in pairs]


@dataclass(frozen=True, slots=True)
class Score:
    """How well boundaries were found, over all turns but each conversation's first and those left open.

    Attributes:
        turns, boundaries, predicted, hits: Counts.
    """

    turns: int
    boundaries: int
    predicted: int
    hits: int

    @property
    def precision(self) -> float:
        return self.hits / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        return self.hits / self.boundaries if self.boundaries else 0.0

    @property
    def f1(self) -> float:
        found = self.predicted + self.boundaries
        return 2 * self.hits / found if found else 0.0


@dataclass(frozen=True, slots=True)
class Bin:
    """Turns of about the same probability: how many, its mean, and the share that are boundaries."""

    turns: int
    p: float
    boundaries: float


@dataclass(frozen=True, slots=True)
class CallPoint:
    """What a cascade that asks the model from `low` on would do: calls a turn, and recall at best."""

    low: float
    calls: float
    recall: float


def score(pairs: Iterable[tuple[bool, bool | None]]) -> Score:
    """Scores decisions.

    Args:
        pairs: For each turn, whether a boundary was predicted, and the label.
    """
    counted = [(predicted, label) for predicted, label in pairs if label is not None]
    hits = sum(predicted and label is True for predicted, label in counted)
    truth, predictions = sum(label is True for _, label in counted), sum(p for p, _ in counted)
    return Score(len(counted), truth, predictions, hits)


def score_within(outcomes: Sequence[Outcome], distance: int = 1) -> Score:
    """As `score`, where a cut also hits a boundary up to `distance` turns away; each can be hit once."""
    exact = score(pair for outcome in outcomes for pair in outcome.pairs())
    hits = 0
    for outcome in outcomes:
        gold, made = ([i for i, x in enumerate(side) if x] for side in outcome.segmentations())
        while gold and made:  # from the left, the earliest partner in reach leaves most for the others
            apart = gold[0] - made[0]
            hits += abs(apart) <= distance
            if apart <= distance:
                gold.pop(0)
            if apart >= -distance:
                made.pop(0)
    return Score(exact.turns, exact.boundaries, exact.predicted, hits)


def pk(reference: Sequence[bool], hypothesis: Sequence[bool]) -> float:
    """How often two segmentations disagree whether a window's ends share a segment (Beeferman et al. 1999).

    Args:
        reference: The labelled segmentation: for each turn but the first, whether a segment begins there.
        hypothesis: The other one.
    """
    return mean((ours > 0) != (theirs > 0) for ours, theirs in _windows(reference, hypothesis) or [(0, 0)])


def window_diff(reference: Sequence[bool], hypothesis: Sequence[bool]) -> float:
    """The share of windows with different numbers of boundaries (Pevzner and Hearst 2002); see `pk`."""
    return mean(ours != theirs for ours, theirs in _windows(reference, hypothesis) or [(0, 0)])


def _windows(reference: Sequence[bool], hypothesis: Sequence[bool]) -> list[tuple[int, int]]:
    """Boundaries in each window of half a mean labelled segment, two turns at least where there are three."""
    turns = len(reference) + 1
    width = min(max(2, round(turns / (2 * (sum(reference) + 1)))), turns - 1)
    if width < 1:
        return []
    sums = [list(accumulate(side, initial=0)) for side in (reference, hypothesis)]
    return [(sums[0][i + width] - sums[0][i], sums[1][i + width] - sums[1][i]) for i in range(turns - width)]


def mean_over(
    outcomes: Iterable[Outcome], measure: Callable[[Sequence[bool], Sequence[bool]], float]
) -> float | None:
    """A measure of two segmentations, averaged over the conversations that have two turns or more."""
    found = [measure(*outcome.segmentations()) for outcome in outcomes if len(outcome.cuts) > 1]
    return mean(found) if found else None


def purity_and_coverage(outcomes: Iterable[Outcome]) -> tuple[float, float]:
    """How much of each decided event is of one labelled event, and of each labelled one in one decided.

    Shares of all turns, as pyannote.metrics defines them (Bredin 2017).
    """
    turns = pure = covered = 0
    for outcome in outcomes:
        gold, made = (list(accumulate(side, initial=0)) for side in outcome.segmentations())
        shared = Counter(zip(gold, made, strict=True))
        turns += len(gold)
        pure += _largest_parts(shared, of=1)
        covered += _largest_parts(shared, of=0)
    return (pure / turns, covered / turns) if turns else (1.0, 1.0)


def _largest_parts(shared: Mapping[tuple[int, int], int], of: Literal[0, 1]) -> int:
    """The largest part of each segment that it shares with one of the other side, summed up."""
    largest: dict[int, int] = {}
    for pair, turns in shared.items():
        largest[pair[of]] = max(largest.get(pair[of], 0), turns)
    return sum(largest.values())


def calibration(outcomes: Iterable[Outcome]) -> list[Bin]:
    """Equally wide bins of probability, without empty ones.

    Turns that a rule decided, whose probability is exactly 0, are left out: nothing was estimated.
    """
    bins: dict[int, list[tuple[float, bool]]] = {}
    for outcome in outcomes:
        for p, label in zip(outcome.ps[1:], outcome.labels[1:], strict=True):
            if p and label is not None:
                bins.setdefault(min(int(p * BINS), BINS - 1), []).append((p, label))
    return [
        Bin(len(found), mean(p for p, _ in found), mean(label for _, label in found))
        for _, found in sorted(bins.items())
    ]


def calibration_error(bins: Sequence[Bin]) -> float | None:
    """By how much probabilities miss the share of boundaries, over all turns (ECE, Naeini et al. 2015)."""
    turns = sum(b.turns for b in bins)
    return sum(b.turns * abs(b.p - b.boundaries) for b in bins) / turns if turns else None


def sweep(outcomes: Sequence[Outcome]) -> list[tuple[float, Score]]:
    """The score at each threshold, as the probabilities of this run have it.

    They were given on the boundaries this run made; a run at another threshold meets other events.
    """
    pairs = [pair for o in outcomes for pair in list(zip(o.ps, o.labels, strict=True))[1:]]
    if all(p is None for p, _ in pairs):
        return []
    return [(t, score((p is not None and p >= t, label) for p, label in pairs)) for t in THRESHOLDS]


def calls_curve(outcomes: Sequence[Outcome]) -> list[CallPoint]:
    """Recall of boundaries against calls a turn, by the probability from which on a cascade asks.

    Calls to name what a conversation opens with, one each, are not among them.
    """
    turns = sum(len(o.cuts) for o in outcomes)
    pairs = [pair for o in outcomes for pair in list(zip(o.ps, o.labels, strict=True))[1:]]
    due = [p or 0.0 for p, label in pairs if label]
    if all(p is None for p, _ in pairs) or not due:
        return []
    asked = [p or 0.0 for p, _ in pairs]
    return [CallPoint(low, sum(p >= low for p in asked) / turns, mean(p >= low for p in due)) for low in LOWS]

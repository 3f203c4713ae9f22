"""All that is measured of a decider on some conversations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from automemory.evaluate import floors
from automemory.evaluate.metrics import (
    Bin,
    CallPoint,
    Outcome,
    Score,
    calibration,
    calibration_error,
    calls_curve,
    mean_over,
    pk,
    purity_and_coverage,
    score,
    score_within,
    sweep,
    window_diff,
)
from automemory.evaluate.trial import Trial


@dataclass(frozen=True, slots=True)
class Quality:
    """How good boundaries are; see `metrics`. None where a measure has no meaning.

    Attributes:
        boundaries, predicted, hits: Counts.
        f1, f1_within_1, precision, recall: Of single boundaries.
        pk, window_diff: Errors, averaged over conversations.
        density: Decided boundaries a turn.
        purity, coverage: Of events.
    """

    boundaries: int
    predicted: int
    hits: int
    f1: float | None
    f1_within_1: float | None
    precision: float | None
    recall: float | None
    pk: float | None
    window_diff: float | None
    density: float | None
    purity: float
    coverage: float


@dataclass(frozen=True, slots=True)
class Returns:
    """Going back to an earlier event: labelled, done, and done to the event that holds the right turn."""

    due: int
    made: int
    right: int

    @property
    def precision(self) -> float | None:
        return self.right / self.made if self.made else None

    @property
    def recall(self) -> float | None:
        return self.right / self.due if self.due else None


@dataclass(frozen=True, slots=True)
class Point:
    """What a threshold would have given, with this run's probabilities."""

    threshold: float
    f1: float | None
    precision: float | None
    recall: float | None
    density: float | None


@dataclass(frozen=True, slots=True)
class Measures:
    """What is measured of one family of conversations.

    Attributes:
        conversations, turns: How many.
        gold_density: Labelled boundaries a turn.
        quality: Of the decider.
        floors: Of `never`, `random` and `cosine`.
        cosine_below: The similarity below which the last of them cuts.
        returns: Where they are labelled.
        calibration_error, calibration: Of its probabilities, where it gives any.
        calls_curve: What a cascade on them would call, and its recall at best.
        sweep: What thresholds would give.
        calls, prompt_tokens, completion_tokens: What a turn's decision cost, on average.
        ms: Milliseconds a decision took, as a median.
        fallbacks: Turns at which the decider failed, or named an event with no name.
    """

    conversations: int
    turns: int
    gold_density: float | None
    quality: Quality
    floors: dict[str, Quality]
    cosine_below: float
    returns: Returns | None
    calibration_error: float | None
    calibration: list[Bin]
    calls_curve: list[CallPoint]
    sweep: list[Point]
    calls: float
    prompt_tokens: float
    completion_tokens: float
    ms: float
    fallbacks: int


@dataclass(slots=True)
class Sheet:
    """Collects the trials of one family."""

    outcomes: list[Outcome] = field(default_factory=list)
    similarities: list[list[float]] = field(default_factory=list)
    returns: list[Returns] = field(default_factory=list)
    ms: list[float] = field(default_factory=list)
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    fallbacks: int = 0

    def add(self, trial: Trial, similarities: list[float]) -> None:
        self.outcomes.append(trial.outcome)
        self.similarities.append(similarities)
        if trial.conversation.returns is not None:
            self.returns.append(returns_of(trial))
        for turn in trial.turns:
            self.ms.append(turn.ms)
            self.calls += turn.calls
            self.prompt_tokens += turn.prompt_tokens
            self.completion_tokens += turn.completion_tokens
            self.fallbacks += turn.by == "fallback"

    def measures(self) -> Measures:
        """All measures of what was collected, which is one conversation at least."""
        turns, bins = len(self.ms), calibration(self.outcomes)
        counted = score(pair for o in self.outcomes for pair in o.pairs())
        rate = counted.boundaries / counted.turns if counted.turns else 0.0
        similar, below = floors.by_similarity(self.outcomes, self.similarities, rate)
        return Measures(
            conversations=len(self.outcomes),
            turns=turns,
            gold_density=rate if counted.turns else None,
            quality=quality(self.outcomes),
            floors={
                "never": quality(floors.never(self.outcomes)),
                "random": quality(floors.at_random(self.outcomes, rate)),
                "cosine": quality(similar),
            },
            cosine_below=below,
            returns=_sum(self.returns),
            calibration_error=calibration_error(bins),
            calibration=bins,
            calls_curve=calls_curve(self.outcomes),
            sweep=[Point(t, _f1(s), _precision(s), _recall(s), _density(s)) for t, s in sweep(self.outcomes)],
            calls=self.calls / turns,
            prompt_tokens=self.prompt_tokens / turns,
            completion_tokens=self.completion_tokens / turns,
            ms=median(self.ms),
            fallbacks=self.fallbacks,
        )


def quality(outcomes: Sequence[Outcome]) -> Quality:
    """How good the boundaries of some conversations are."""
    exact = score(pair for outcome in outcomes for pair in outcome.pairs())
    purity, coverage = purity_and_coverage(outcomes)
    return Quality(
        exact.boundaries, exact.predicted, exact.hits,
        _f1(exact), _f1(score_within(outcomes)), _precision(exact), _recall(exact),
        mean_over(outcomes, pk), mean_over(outcomes, window_diff), _density(exact), purity, coverage,
    )  # fmt: skip


def returns_of(trial: Trial) -> Returns:
    """How a conversation's returns were found; going back where none is labelled counts as made."""
    due = trial.conversation.returns or {}
    made = {i for i, turn in enumerate(trial.turns) if turn.how == "resumed"}
    right = sum(trial.turns[i].event == trial.turns[due[i]].event for i in made & set(due))
    return Returns(len(due), len(made), right)


def _sum(found: Sequence[Returns]) -> Returns | None:
    if not found:
        return None
    return Returns(sum(r.due for r in found), sum(r.made for r in found), sum(r.right for r in found))


def _f1(s: Score) -> float | None:
    return s.f1 if s.predicted + s.boundaries else None


def _precision(s: Score) -> float | None:
    return s.precision if s.predicted else None


def _recall(s: Score) -> float | None:
    return s.recall if s.boundaries else None


def _density(s: Score) -> float | None:
    return s.predicted / s.turns if s.turns else None

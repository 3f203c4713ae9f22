"""Measures of boundaries: against examples worked out by hand, two libraries, and what must always hold."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from automemory.evaluate.metrics import (
    Bin,
    CallPoint,
    Outcome,
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


def outcome(labels: str, cuts: str, ps: list[float | None] | None = None) -> Outcome:
    """From a character a turn: `|` begins an event, `-` goes on, `?` may do either."""
    gold = tuple({"|": True, "-": False, "?": None}[c] for c in labels)
    return Outcome(gold, tuple(c == "|" for c in cuts), tuple(ps or [None] * len(cuts)))


def flags(marks: str) -> list[bool]:
    return [c == "|" for c in marks]


SIDES = st.integers(2, 40).flatmap(
    lambda n: st.tuples(
        st.lists(st.booleans(), min_size=n, max_size=n), st.lists(st.booleans(), min_size=n, max_size=n)
    )
)
OUTCOMES = st.integers(1, 30).flatmap(
    lambda n: st.builds(
        Outcome,
        st.lists(st.sampled_from([True, False, None]), min_size=n, max_size=n).map(tuple),
        st.lists(st.booleans(), min_size=n, max_size=n).map(tuple),
        st.lists(st.none() | st.floats(0, 1), min_size=n, max_size=n).map(tuple),
    )
)


def test_pk_and_window_diff_by_hand() -> None:
    """Nine turns in three segments of three: seven windows of two turns (half a segment, at least two).

    One boundary is missed and one is a turn late. Windows, by the boundaries in them: labelled 0 1 1 0 1 1 0,
    decided 0 0 1 1 0 0 0; they differ in the second, fourth, fifth and sixth.
    """
    gold, made = flags("--|--|--"), flags("---|----")
    assert pk(gold, made) == window_diff(gold, made) == pytest.approx(4 / 7)


def test_window_diff_counts_boundaries_where_pk_sees_a_disagreement_only() -> None:
    """Two boundaries in a window instead of one are as bad to one as right to the other."""
    gold, made = flags("--|-----"), flags("--||----")
    assert window_diff(gold, made) > pk(gold, made)


@settings(deadline=None)  # the library is imported in the first example
@given(SIDES)
def test_pk_and_window_diff_are_those_of_segeval(sides: tuple[list[bool], list[bool]]) -> None:
    """Figures can be compared with those that were published."""
    segeval = pytest.importorskip("segeval")
    gold, made = sides
    assume(len(gold) + 1 > segeval.compute_window_size(masses(gold)))
    assert pk(gold, made) == pytest.approx(float(segeval.pk(masses(made), masses(gold))))
    assert window_diff(gold, made) == pytest.approx(float(segeval.window_diff(masses(made), masses(gold))))


@settings(deadline=None)  # the library is imported in the first example
@given(SIDES)
def test_pk_and_window_diff_are_those_of_nltk(sides: tuple[list[bool], list[bool]]) -> None:
    """A second library, which wants the window's width and some boundary."""
    nltk = pytest.importorskip("nltk.metrics.segmentation")
    gold, made = sides
    width = max(2, round((len(gold) + 1) / (2 * (sum(gold) + 1))))
    assume(width < len(gold) + 1)
    texts = ["".join("1" if flag else "0" for flag in side) for side in sides]
    assert pk(gold, made) == pytest.approx(nltk.pk(*texts, k=width))
    assert window_diff(gold, made) == pytest.approx(nltk.windowdiff(*texts, k=width))


def masses(side: list[bool]) -> tuple[int, ...]:
    """Lengths of the segments."""
    ends = [i + 1 for i, flag in enumerate(side) if flag]
    return tuple(b - a for a, b in zip([0, *ends], [*ends, len(side) + 1], strict=True))


@given(SIDES)
def test_a_perfect_prediction_is_perfect(sides: tuple[list[bool], list[bool]]) -> None:
    """No error, all of every event; F1 of 1 where there is a boundary at all."""
    gold = (True, *sides[0])
    same = Outcome(gold, gold, tuple(float(g) for g in gold))
    assert pk(sides[0], sides[0]) == window_diff(sides[0], sides[0]) == 0
    assert purity_and_coverage([same]) == (1, 1)
    assert score(same.pairs()).f1 == score_within([same]).f1 == float(any(sides[0]))
    assert calibration_error(calibration([same])) in (0, None)


@given(OUTCOMES)
def test_measures_stay_in_their_range(found: Outcome) -> None:
    """Whatever is labelled and decided; and being one turn off is never worse than missing."""
    values = [*purity_and_coverage([found]), score(found.pairs()).f1, score_within([found]).f1]
    values += [mean_over([found], pk) or 0, mean_over([found], window_diff) or 0]
    values += [calibration_error(calibration([found])) or 0]
    assert all(0 <= value <= 1 for value in values)
    assert score_within([found]).hits >= score(found.pairs()).hits


def test_the_first_turn_and_those_left_open_do_not_count() -> None:
    """Every conversation begins with an event, and where either answer is right none is wrong."""
    found = score(outcome("|-?|?", "--||-").pairs())
    assert (found.turns, found.boundaries, found.predicted, found.hits) == (2, 1, 1, 1)
    assert outcome("|-?|?", "--||-").segmentations() == (flags("--|-"), flags("--|-"))


def test_a_cut_one_turn_off_hits_once() -> None:
    """Each boundary is hit by one cut, and each cut hits one boundary."""
    early_and_late = outcome("|--|---", "--|-|--")
    assert (score(early_and_late.pairs()).hits, score_within([early_and_late]).hits) == (0, 1)
    assert score_within([outcome("|-||---", "|-|-|--")]).hits == 2
    assert score_within([outcome("|--|---", "-----|-")]).hits == 0


def test_purity_and_coverage_by_hand() -> None:
    """Six turns labelled 3 + 3 and decided 4 + 2: the first event holds one strange turn, and the second
    labelled event lies two thirds in one decided event.
    """
    assert purity_and_coverage([outcome("|--|--", "|---|-")]) == (pytest.approx(5 / 6), pytest.approx(5 / 6))
    assert purity_and_coverage([outcome("|--|--", "|-----")]) == (0.5, 1)
    assert purity_and_coverage([outcome("|-----", "||||||")]) == (1, pytest.approx(1 / 6))


def test_calibration_by_hand() -> None:
    """Of two turns at .8 one is a boundary, the one at .1 is none; first turns and rules do not count."""
    found = outcome("||---|", "------", [0.9, 0.8, 0.8, 0.1, 0.0, None])
    bins = calibration([found])
    assert bins == [Bin(1, 0.1, 0), Bin(2, 0.8, 0.5)]
    assert calibration_error(bins) == pytest.approx((0.1 + 2 * 0.3) / 3)
    assert calibration_error([]) is None
    assert calibration([outcome("||", "--", [None, 1.0])]) == [Bin(1, 1.0, 1)]


def test_the_calls_a_cascade_would_make() -> None:
    """From .1 on two of five turns are asked about, and one of the two boundaries is among them."""
    curve = calls_curve([outcome("||--|", "-----", [None, 0.9, 0.2, 0.01, 0.04])])
    assert CallPoint(0.1, 2 / 5, 0.5) in curve
    assert curve[0] == CallPoint(0.005, 4 / 5, 1.0)
    assert calls_curve([outcome("||", "-|")]) == calls_curve([outcome("|-", "--", [None, 0.5])]) == []


def test_a_sweep_scores_every_threshold() -> None:
    at = dict(sweep([outcome("||-|", "----", [None, 0.62, 0.3, 0.4])]))
    assert (at[0.3].predicted, at[0.3].hits) == (3, 2)
    assert (at[0.35].predicted, at[0.35].hits) == (2, 2)
    assert at[0.95].predicted == 0
    assert sweep([outcome("||", "-|")]) == []


def test_short_conversations_measure_nothing_rather_than_fail() -> None:
    """One turn has no place for a boundary; two turns have one."""
    assert mean_over([outcome("|", "|")], pk) is None
    assert purity_and_coverage([outcome("|", "-")]) == (1, 1)
    assert (pk(flags("|"), flags("-")), pk(flags("-"), flags("-"))) == (1, 0)
    assert window_diff([], []) == 0

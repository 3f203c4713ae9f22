"""What anything worth its cost has to beat: never cutting, cutting at random, and a plain similarity."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from automemory.deciders.encoder import Encoder
from automemory.deciders.features import Look
from automemory.decision import Exchange
from automemory.evaluate.labelled import Labelled
from automemory.evaluate.metrics import Outcome
from automemory.turn import steps

SEED = 7


def never(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """No turn begins an event."""
    return [replace(o, cuts=(False,) * len(o.cuts), ps=(None,) * len(o.cuts)) for o in outcomes]


def at_random(outcomes: Sequence[Outcome], rate: float, seed: int = SEED) -> list[Outcome]:
    """Each turn begins an event with the same chance.

    Args:
        outcomes: Whose turns.
        rate: The chance: the share of labelled turns that are boundaries.
        seed: Of the choices.
    """
    rng = random.Random(seed)
    return [
        replace(o, cuts=tuple(rng.random() < rate for _ in o.cuts), ps=(None,) * len(o.cuts))
        for o in outcomes
    ]


def by_similarity(
    outcomes: Sequence[Outcome], similarities: Sequence[Sequence[float]], rate: float
) -> tuple[list[Outcome], float]:
    """The turns least like the turn before begin an event, as many as there are labelled boundaries.

    That count is the one thing it knows of the labels.

    Args:
        outcomes: Whose turns.
        similarities: Of each turn but the first, its similarity to the turn before.
        rate: The share of turns to cut.

    Returns:
        What it does, and the similarity below which it cuts.
    """
    ranked = sorted(value for row in similarities for value in row)
    cut = round(rate * len(ranked))
    threshold = ranked[cut] if cut < len(ranked) else 2.0
    made = [
        replace(o, cuts=(True, *(value < threshold for value in row)), ps=(None,) * len(o.cuts))
        for o, row in zip(outcomes, similarities, strict=True)
    ]
    return made, threshold


def similarities_of(conversation: Labelled, encoder: Encoder) -> list[float]:
    """The cosine of each turn but the first to the turn before, as the local decider reads turns."""
    look = Look(encoder)
    vectors = [look(Exchange.of(steps(turn.messages))).whole for turn in conversation.turns]
    return [float(before @ after) for before, after in pairwise(vectors)]

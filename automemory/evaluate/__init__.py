"""Deciders, scored on labelled conversations."""

from automemory.evaluate.labelled import Labelled, Level, is_labelled, read_labelled
from automemory.evaluate.metrics import Score, score

__all__ = ["Labelled", "Level", "Score", "is_labelled", "read_labelled", "score"]

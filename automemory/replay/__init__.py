"""Replay of saved conversations."""

from automemory.replay.harness import replay, survey
from automemory.replay.reading import Progress
from automemory.replay.summary import ReplayReport, SourceReport

__all__ = ["Progress", "ReplayReport", "SourceReport", "replay", "survey"]

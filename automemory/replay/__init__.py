"""Replay of saved conversations."""

from automemory.replay.harness import Progress, replay
from automemory.replay.summary import ReplayReport, SourceReport

__all__ = ["Progress", "ReplayReport", "SourceReport", "replay"]

"""Replay of saved conversations.

Names are loaded when first used: a hook reads transcripts with the importers here, and is waited for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from automemory.replay.harness import replay, survey
    from automemory.replay.reading import Progress
    from automemory.replay.summary import ReplayReport, SourceReport

__all__ = ["Progress", "ReplayReport", "SourceReport", "replay", "survey"]

_HOMES = {
    "Progress": "reading",
    "ReplayReport": "summary",
    "SourceReport": "summary",
    "replay": "harness",
    "survey": "harness",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"automemory.replay.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

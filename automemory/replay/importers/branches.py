"""Which messages of a tree of messages the person saw, where questions were edited and answers made anew."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC
from typing import Any

from automemory.turn import parse_time


def moment(value: Any) -> float | None:
    """A time in seconds since 1970, to compare with others of its source; None if it makes no sense."""
    at = parse_time(value)
    return at.replace(tzinfo=at.tzinfo or UTC).timestamp() if at else None


def path_to(leaf: str | None, parents: Mapping[str, str | None]) -> list[str]:
    """The names from a root down to `leaf`, by each one's parent; what goes round in a circle ends there."""
    path: dict[str, None] = {}
    while leaf is not None and leaf in parents and leaf not in path:
        path[leaf] = None
        leaf = parents[leaf]
    return list(path)[::-1]


def newest_leaf(parents: Mapping[str, str | None], times: Mapping[str, float | None]) -> str | None:
    """The name without children whose time, or its nearest ancestor's that has one, is the latest.

    The later one in `parents` if that says nothing.
    """
    inner = set(parents.values())
    leaves = [name for name in parents if name not in inner] or list(parents)
    return max(reversed(leaves), key=lambda leaf: _time(path_to(leaf, parents), times), default=None)


def _time(path: Iterable[str], times: Mapping[str, float | None]) -> float:
    known = [times.get(name) for name in path]
    return next((time for time in reversed(known) if time is not None), float("-inf"))

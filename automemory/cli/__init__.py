"""The command line."""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit code (see `automemory.cli.entry.main`).

    A hook is waited for by its host, so it does not load what the other commands need.
    """
    words = sys.argv[1:] if arguments is None else arguments
    if words[:1] == ["hook"]:
        return _hook(words[1:])
    from automemory.cli import entry

    return entry.main(arguments)


def _hook(words: Sequence[str]) -> int:
    """Serve a hook, in a process of a moment, for which collecting garbage is a fifth of the time."""
    gc.disable()
    try:
        from automemory.hook.accept import run

        return run(words)
    finally:
        gc.enable()

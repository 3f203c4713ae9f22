"""Condenses what an agent is at into the summary note of its workspace, and hands that back."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from automemory.synchronizer.result import SynchronizerResult
    from automemory.synchronizer.synchronizer import Synchronizer
    from automemory.synchronizer.toolkit import VaultToolkit

__all__ = ["Synchronizer", "SynchronizerResult", "VaultToolkit"]

_HOMES = {"Synchronizer": "synchronizer", "SynchronizerResult": "result", "VaultToolkit": "toolkit"}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"automemory.synchronizer.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

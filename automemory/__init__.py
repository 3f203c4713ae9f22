"""Cuts an agent's conversation into events, turn by turn, and keeps them as a Markdown vault.

Names are loaded when first used, so that `import automemory` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from automemory._version import __version__

if TYPE_CHECKING:
    from automemory.boundary import BoundaryDecision
    from automemory.callback import AsyncAutoMemoryCallbackHandler, AutoMemoryCallbackHandler
    from automemory.decision import NotifyCandidate, Verdict
    from automemory.errors import AutoMemoryError
    from automemory.memory import AutoMemory
    from automemory.middleware import AutoMemoryMiddleware
    from automemory.result import TurnResult
    from automemory.synchronizer.result import SynchronizerResult
    from automemory.synchronizer.synchronizer import Synchronizer
    from automemory.synchronizer.toolkit import VaultToolkit
    from automemory.turn import Message, Turn
    from automemory.vault.reader import Reader

__all__ = [
    "AsyncAutoMemoryCallbackHandler",
    "AutoMemory",
    "AutoMemoryCallbackHandler",
    "AutoMemoryError",
    "AutoMemoryMiddleware",
    "BoundaryDecision",
    "Message",
    "NotifyCandidate",
    "Reader",
    "Synchronizer",
    "SynchronizerResult",
    "Turn",
    "TurnResult",
    "VaultToolkit",
    "Verdict",
    "__version__",
]

_HOMES = {
    "AsyncAutoMemoryCallbackHandler": "callback",
    "AutoMemory": "memory",
    "AutoMemoryCallbackHandler": "callback",
    "AutoMemoryError": "errors",
    "AutoMemoryMiddleware": "middleware",
    "BoundaryDecision": "boundary",
    "Message": "turn",
    "NotifyCandidate": "decision",
    "Reader": "vault.reader",
    "Synchronizer": "synchronizer.synchronizer",
    "SynchronizerResult": "synchronizer.result",
    "Turn": "turn",
    "TurnResult": "result",
    "VaultToolkit": "synchronizer.toolkit",
    "Verdict": "decision",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"automemory.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__

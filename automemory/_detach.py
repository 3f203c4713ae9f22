"""What a host's run hands down to the runs made here: its tracers, not its streams and not its graph."""

from __future__ import annotations

import sys
from typing import Any


def detach() -> None:
    """Leave the LangChain run of this context, but stay its child in traces.

    Without this a model call made here would stream its tokens into the host's answer, count against the
    host's recursion limit, use its checkpointer, and be reported back to our own callback handler.
    """
    module = sys.modules.get("langchain_core.runnables.config")
    running = module.var_child_runnable_config.get() if module else None
    if module and running:
        module.var_child_runnable_config.set({"callbacks": _tracers(running.get("callbacks"))})


def _tracers(callbacks: Any) -> Any:
    """Callbacks without those that stream, or that belong to the host's event loop."""
    if not hasattr(callbacks, "handlers"):
        return [handler for handler in callbacks or () if _traces(handler)] or None
    kept = callbacks.copy()
    kept.handlers = [handler for handler in callbacks.handlers if _traces(handler)]
    kept.inheritable_handlers = [handler for handler in callbacks.inheritable_handlers if _traces(handler)]
    return kept


def _traces(handler: Any) -> bool:
    from langchain_core.callbacks import AsyncCallbackHandler

    streams = hasattr(handler, "tap_output_iter") or isinstance(handler, AsyncCallbackHandler)
    return not streams and not getattr(handler, "records_turns", False)

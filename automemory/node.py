"""A node that records, for any LangGraph graph whose state has `messages`."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

from langchain_core.messages import convert_to_messages
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
from langgraph.runtime import get_runtime

from automemory.host import Guard, run_of
from automemory.memory import AutoMemory, OnFailure
from automemory.progress import last_turn, spoken
from automemory.result import TurnResult


def make_node(memory: AutoMemory, on_failure: OnFailure) -> Runnable[Any, dict[str, Any]]:
    """The node: it records the last turn of the state's `messages` and changes nothing."""
    guard = Guard(memory, on_failure)

    def record(state: Any, config: RunnableConfig) -> dict[str, Any]:
        recorded = _start(guard, state, config)
        if recorded is not None:
            guard.wait(recorded, guard.long_s)
        return {}

    async def arecord(state: Any, config: RunnableConfig) -> dict[str, Any]:
        recorded = _start(guard, state, config)
        if recorded is not None:
            await guard.await_(recorded, guard.long_s)
        return {}

    return RunnableLambda(record, arecord, name="automemory")


def _start(guard: Guard, state: Any, config: RunnableConfig) -> Future[TurnResult] | None:
    messages = state["messages"] if isinstance(state, Mapping) else state.messages
    history = spoken(convert_to_messages(messages))
    turn, run = last_turn(history), run_of(config, get_runtime())
    resent = history if not run.lasting and len(history) > len(turn) else ()
    return guard.record(run, turn, history=resent) if turn else None

"""The turn state machine: what happens to one turn, from acceptance to the note on disk.

    accept → locate → decide ─┬─ continue ──────────────→ append → view → index → commit
                              └─ close (if one ends) → open → append → view → index → commit

Everything before `commit` only reads and plans. If the vault changed meanwhile, `commit` goes back to
`locate`. `view` has something to do only where the note schema has sections to keep. A turn that is filed
already ends after `accept`; one that has more to it now goes from `locate` straight to `append`.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import langchain_core.tracers.context  # noqa: F401 - else a run imports them on the loop's thread, and a child
import langchain_core.tracers.stdout  # noqa: F401 - that is forked just then could import them never again
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command

from automemory._worker import Worker
from automemory.turn_nodes import ENDING, GOING_ON, Components, Nodes, TurnInput, TurnOutput, TurnState

Graph = CompiledStateGraph[Any, Any, Any, Any]


def build(components: Components) -> Graph:
    """Compile the turn graph; without checkpointer, since the vault is its state."""
    nodes = Nodes(components)
    ways: dict[str, _Route] = {
        "accept": _Route(_unless_over, ("locate", END)),
        "locate": _Route(_after_locate, ("decide", "append", END)),
        "decide": _Route(_after_decide, ("append", "close", "open")),
        "append": _Route(nodes.after_append, ("view", "index")),
        "commit": _Route(_unless_over, ("locate", END)),
    }
    graph: Any = StateGraph(TurnState, input_schema=TurnInput, output_schema=TurnOutput)
    for name in ("accept", "locate", "decide", "close", "open", "append", "view", "index", "commit"):
        way = ways.get(name)
        node = _Node(components.worker, getattr(nodes, name), way)
        graph.add_node(name, node, destinations=way.ends if way else None)
    graph.add_edge(START, "accept")
    graph.add_edge("close", "open")
    graph.add_edge("open", "append")
    graph.add_edge("view", "index")
    graph.add_edge("index", "commit")
    compiled: Graph = graph.compile(checkpointer=False, name="automemory-turn")
    return compiled


def _unless_over(state: TurnState) -> str:
    return END if "result" in state else "locate"


def _after_locate(state: TurnState) -> str:
    return END if "result" in state else "append" if state["located"].extends else "decide"


def _after_decide(state: TurnState) -> str:
    return "append" if state["way"] in GOING_ON else "close" if state["way"] in ENDING else "open"


@dataclass(frozen=True, slots=True)
class _Route:
    """Which node comes after one, told by the state it leaves; `ends` are all there may be."""

    choose: Callable[[TurnState], str]
    ends: tuple[str, ...]


class _Node(Runnable[TurnState, "TurnState | Command[str]"]):
    """A node for `ainvoke`, and for `invoke` on the library's own loop; not a traced run of its own.

    It says itself where it leads to: a conditional edge is a run of its own, over a copy of the whole state.
    """

    def __init__(
        self,
        worker: Worker,
        function: Callable[[TurnState], Coroutine[Any, Any, TurnState]],
        route: _Route | None,
    ) -> None:
        self._worker = worker
        self._function = function
        self._route = route
        self.name = function.__name__

    def invoke(
        self, input: TurnState, config: RunnableConfig | None = None, **_: Any
    ) -> TurnState | Command[str]:
        return self._led(input, self._worker.run(self._function(input)))

    async def ainvoke(
        self, input: TurnState, config: RunnableConfig | None = None, **_: Any
    ) -> TurnState | Command[str]:
        return self._led(input, await self._function(input))

    def _led(self, before: TurnState, update: TurnState) -> TurnState | Command[str]:
        if self._route is None:
            return update
        state: TurnState = {**before, **update}
        return Command(update=update, goto=self._route.choose(state))

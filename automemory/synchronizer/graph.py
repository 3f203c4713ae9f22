"""The synchronizer's state machine: what becomes of one request to bring a workspace's note up to date.

    gather ─┬─ strategy "tools" → agent ⇄ tools ─┬→ collect
            ├─ strategy "patch" → patch ─────────┤
            └─ nothing was said ─────────────────┘

Nothing that goes wrong on the way is raised: what was done stands, the result says what was not.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.tools import BaseTool
from langgraph.errors import GraphBubbleUp
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from automemory.errors import AutoMemoryError, ConfigError
from automemory.synchronizer.components import Components, broken
from automemory.synchronizer.gather import Gathered
from automemory.synchronizer.journal import Journal
from automemory.synchronizer.result import SynchronizerResult
from automemory.synchronizer.settings import Settings
from automemory.synchronizer.toolkit import VaultToolkit
from automemory.synchronizer.tools import answer_calls

_log = logging.getLogger(__name__)
_REMINDER = (
    "Nothing is written yet: no tool was called, or it was refused. Write the summary note with `write` now, "
    "or answer [SKIP] if there is no task of several steps."
)


class SyncInput(TypedDict, total=False):
    """A conversation, what the caller says of its workspace, its active event's note, and a time limit."""

    messages: Any
    workspace: str | None
    include_turns: bool
    active: str | None
    timeout_s: float | None


class SyncOutput(TypedDict):
    result: SynchronizerResult


@dataclass(slots=True)
class Run:
    """A run under way.

    Attributes:
        found: What it began with.
        toolkit: What reads and writes, confined to the workspace if that is known.
        tools: The same as the model's tools.
        deadline: When it has to end, by the monotonic clock.
        journal: What was done so far.
        talk: The messages exchanged with the model.
        reminded: Whether the model was told that it has written nothing.
    """

    found: Gathered
    toolkit: VaultToolkit
    tools: list[BaseTool]
    deadline: float
    journal: Journal = field(default_factory=Journal)
    talk: list[AnyMessage] = field(default_factory=list)
    reminded: bool = False

    @property
    def left_s(self) -> float:
        return self.deadline - time.monotonic()

    def reached(self, settings: Settings) -> str:
        """The limit that was reached, in a sentence; empty if the run may go on."""
        return settings.reached(self.journal.calls, self.journal.tokens, self.left_s)

    @property
    def unanswered(self) -> bool:
        """Whether the model's last message calls tools."""
        last = self.talk[-1] if self.talk else None
        return isinstance(last, AIMessage) and bool(last.tool_calls or last.invalid_tool_calls)


class SyncState(SyncInput, total=False):
    run: Run
    error: str
    result: SynchronizerResult


Graph = CompiledStateGraph[Any, Any, Any, Any]


def build(components: Components) -> Graph:
    """Compile the graph; without checkpointer, since the vault is its state."""
    nodes = Nodes(components)
    graph: Any = StateGraph(SyncState, input_schema=SyncInput, output_schema=SyncOutput)
    for name in ("gather", "agent", "tools", "patch", "collect"):
        graph.add_node(name, _Node(components, getattr(nodes, name)))
    graph.add_edge(START, "gather")
    graph.add_conditional_edges("gather", nodes.after_gather, ["agent", "patch", "collect"])
    graph.add_conditional_edges("agent", nodes.after_agent, ["tools", "agent", "collect"])
    graph.add_conditional_edges("tools", nodes.after_tools, ["agent", "collect"])
    graph.add_edge("patch", "collect")
    graph.add_edge("collect", END)
    compiled: Graph = graph.compile(checkpointer=False, name="automemory-synchronizer")
    return compiled.with_config({"recursion_limit": 2 * components.settings.max_steps + 10})


class _Node(Runnable[SyncState, SyncState]):
    """A node for `ainvoke`, and for `invoke` on the library's own loop. What fails in it ends the run."""

    def __init__(
        self, components: Components, function: Callable[[SyncState], Coroutine[Any, Any, SyncState]]
    ) -> None:
        self._components = components
        self._function = function
        self.name = function.__name__

    def invoke(self, input: SyncState, config: RunnableConfig | None = None, **_: Any) -> SyncState:
        return self._components.worker.run(self._guarded(input))

    async def ainvoke(self, input: SyncState, config: RunnableConfig | None = None, **_: Any) -> SyncState:
        return await self._guarded(input)

    async def _guarded(self, state: SyncState) -> SyncState:
        try:
            return await self._function(state)
        except (ConfigError, GraphBubbleUp):
            raise
        except AutoMemoryError as error:
            return self._failed(str(error))
        except Exception as error:
            _log.exception("the synchronizer failed in %s", self.name)
            return self._failed(f"{type(error).__name__} in {self.name}: please report it")

    def _failed(self, sentence: str) -> SyncState:
        return {"result": broken(sentence)} if self.name == "collect" else {"error": sentence}


class Nodes:
    """The nodes, over what they share."""

    def __init__(self, components: Components) -> None:
        self._components = components

    async def gather(self, state: SyncState) -> SyncState:
        """Read the conversation and what the vault holds of its workspace."""
        most_s = self._components.settings.timeout_s
        deadline = time.monotonic() + min(most_s, state.get("timeout_s") or most_s)
        found = await self._components.gather(
            state.get("messages"), state.get("workspace"), state.get("active")
        )
        if not found.messages:
            return {"result": await self._components.nothing(found, state.get("include_turns", False))}
        toolkit = await self._components.toolkit(found.folder)
        return {"run": Run(found, toolkit, toolkit.tools(), deadline)}

    async def agent(self, state: SyncState) -> SyncState:
        """Ask the model for its next step."""
        run = state["run"]
        if not run.talk:
            (_, fixed), (_, data) = await self._components.asked(run.found)
            run.talk += [SystemMessage(fixed), HumanMessage(data)]
        elif not run.unanswered and isinstance(run.talk[-1], AIMessage):
            run.talk.append(HumanMessage(_REMINDER))
            run.reminded = True
        run.journal.calls += 1
        step = await self._components.step(run.talk, run.tools, run.left_s)
        run.journal.tokens += step.tokens
        run.talk.append(step.message)
        if step.problem:
            run.journal.troubles.append(f"the model gave no usable answer: {step.problem}")
        elif not run.unanswered:
            run.journal.closing = str(step.message.text)
        return {"run": run}

    async def tools(self, state: SyncState) -> SyncState:
        """Make the calls that the model asked for, one after the other."""
        run = state["run"]
        last = run.talk[-1]
        assert isinstance(last, AIMessage)
        run.talk[-1:] = await answer_calls(last, run.tools, run.toolkit, self._components.say)
        run.journal.records = run.toolkit.records
        if reached := run.reached(self._components.settings):
            run.journal.troubles.append(f"{reached}: what was done until then stands")
        return {"run": run}

    async def patch(self, state: SyncState) -> SyncState:
        """Ask the model once, and write what it says."""
        run = state["run"]
        messages = await self._components.asked(run.found)
        await self._components.patcher.patch(messages, run.found, run.toolkit, run.journal, run.left_s)
        return {"run": run}

    async def collect(self, state: SyncState) -> SyncState:
        """Say what was done, and read the note back."""
        if "result" in state:
            return {"result": state["result"]}
        turns = state.get("include_turns", False)
        run = state.get("run")
        error = state.get("error", "")
        if run is None:
            return {"result": broken(error)}
        if error:
            run.journal.troubles.append(error)
        run.journal.records = run.toolkit.records
        result = await self._components.collected(run.found, run.journal, turns)
        with suppress(Exception):  # what was written stands, and the next run opens the vault anew
            await asyncio.to_thread(run.toolkit.close)
        return {"result": result}

    def after_gather(self, state: SyncState) -> str:
        if "result" in state or "error" in state:
            return "collect"
        return "patch" if self._components.settings.strategy == "patch" else "agent"

    def after_agent(self, state: SyncState) -> str:
        run = state["run"]
        journal = run.journal
        if "error" in state or journal.troubles:
            return "collect"
        if run.unanswered:
            return "tools"
        settled = journal.wrote or journal.says_skip or run.reminded
        return "collect" if settled or run.reached(self._components.settings) else "agent"

    def after_tools(self, state: SyncState) -> str:
        return "collect" if "error" in state or state["run"].journal.troubles else "agent"

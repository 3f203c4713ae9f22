"""Callback handlers that record, for chains, graphs and agents that take no middleware.

A turn is what one outermost agent run makes of what the person said; without an agent, what the root run
does. The runs within it are not looked at, so it does not matter how many there are, nor how often their
events are delivered.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, convert_to_messages
from langchain_core.prompt_values import PromptValue
from langgraph.callbacks import GraphCallbackHandler, GraphInterruptEvent

from automemory.host import Guard, Run, run_of
from automemory.memory import AutoMemory, OnFailure
from automemory.progress import asked, last_turn, spoken
from automemory.result import TurnResult

_HELD = 1000  # threads with an interrupted turn
_INPUTS = ("messages", "input", "question", "query")
_OUTPUTS = ("messages", "output", "answer", "result", "text")


@dataclass(slots=True)
class _Turn:
    """A run that may be a turn.

    Attributes:
        run: Where it belongs.
        said: The person's messages it began with.
        agent: Whether it is an agent's run.
        covered: Whether a run within it is the turn.
        interrupted: Whether it waits for somebody.
    """

    run: Run
    said: list[BaseMessage]
    agent: bool
    covered: bool = False
    interrupted: bool = False


class _Tracker:
    """Tells turns from the events of runs, and starts to record them.

    Args:
        guard: Records.
        run_name: Only runs of this name are turns; None for the rule above.
    """

    def __init__(self, guard: Guard, run_name: str | None) -> None:
        self._guard = guard
        self._run_name = run_name
        self._turns: dict[UUID, _Turn] = {}
        self._within: dict[UUID, UUID | None] = {}
        self._held: OrderedDict[str, str | None] = OrderedDict()

    def start(
        self, run_id: UUID, parent: UUID | None, inputs: Any = None, metadata: Any = None, name: Any = None
    ) -> Future[TurnResult] | None:
        """A run begins. What the person said is stored, if it has ids by which it is known again later."""
        if run_id in self._within:
            return None
        metadata = metadata or {}
        around = self.enter(run_id, parent)
        if not self._is_turn(parent, around, metadata, name):
            return None
        if around is not None:
            self._turns[around].covered = True
        said = asked(spoken(_messages(inputs, _INPUTS, HumanMessage)))
        run = run_of({"configurable": metadata, "metadata": metadata})
        self._within[run_id] = run_id
        self._turns[run_id] = _Turn(run, said, _is_agent(metadata))
        known = said and all(message.id for message in said)
        return self._guard.record(run, said, complete=False) if known else None

    def enter(self, run_id: UUID, parent: UUID | None) -> UUID | None:
        """Any other run begins; gives the turn's run it is in, if there is one."""
        around = self._within.get(parent) if parent else None
        self._within[run_id] = around if around in self._turns else None
        return self._within[run_id]

    def leave(self, run_id: UUID) -> None:
        self._within.pop(run_id, None)

    def interrupt(self, run_id: UUID | None) -> None:
        """A graph waits for somebody; its end comes next, as if it were one."""
        around = self._within.get(run_id) if run_id else None
        if around is not None and around in self._turns:
            self._turns[around].interrupted = True

    def end(self, run_id: UUID, outputs: Any) -> Future[TurnResult] | None:
        """A run is over: if it is a turn, it is recorded; if it was interrupted, as far as it is."""
        self.leave(run_id)
        turn = self._turns.pop(run_id, None)
        if turn is None or turn.covered:
            return None
        messages = self._messages_of(turn, spoken(_messages(outputs, _OUTPUTS, AIMessage)))
        self._hold(turn, messages)
        if not messages:
            return None
        return self._guard.record(turn.run, messages, complete=not turn.interrupted)

    def fail(self, run_id: UUID) -> Future[TurnResult] | None:
        """A run failed or was given up: what the person said is there all the same."""
        self.leave(run_id)
        turn = self._turns.pop(run_id, None)
        if turn is None or turn.covered or not turn.said:
            return None
        return self._guard.record(turn.run, turn.said, complete=False)

    def _is_turn(
        self, parent: UUID | None, around: UUID | None, metadata: Mapping[str, Any], name: Any
    ) -> bool:
        if self._run_name is not None:
            return bool(name == self._run_name) and around is None
        agent = _is_agent(metadata)
        outermost = around is None or not self._turns[around].agent
        return parent is None or (agent and outermost and "langgraph_checkpoint_ns" not in metadata)

    def _messages_of(self, turn: _Turn, said_at_end: list[BaseMessage]) -> list[BaseMessage]:
        """The turn's messages, from what its run gave back: the whole history, or only what is new."""
        if not any(message.type == "human" for message in said_at_end):
            return [*turn.said, *said_at_end] if turn.said else []
        found = last_turn(said_at_end)
        begun = self._held.get(turn.run.thread)
        places = [i for i, message in enumerate(found) if begun and message.id == begun]
        asked_now = len([message for message in found if message.type == "human"])
        skipped = places[0] if places else max(0, asked_now - len(turn.said)) if turn.said else 0
        return found[skipped:]

    def _hold(self, turn: _Turn, messages: list[BaseMessage]) -> None:
        """Remember where an interrupted turn began, until it is over."""
        self._held.pop(turn.run.thread, None)
        if turn.interrupted and messages:
            self._held[turn.run.thread] = messages[0].id
            if len(self._held) > _HELD:
                self._held.popitem(last=False)


class _Recording:
    """What both handlers are made of."""

    records_turns = True

    def __init__(
        self, memory: AutoMemory, *, run_name: str | None = None, on_failure: OnFailure = "continue"
    ) -> None:
        self.memory = memory
        self.raise_error = on_failure == "error"
        self._guard = Guard(memory, on_failure)
        self._tracker = _Tracker(self._guard, run_name)


class AutoMemoryCallbackHandler(_Recording, GraphCallbackHandler):
    """Records turns of chains, graphs and agents: give it as one of a run's `callbacks`.

    Prefer `AutoMemoryMiddleware` for agents made with `create_agent`: it also keeps the steps of a turn that
    fails. The thread is that of the run's configurable; placeholders of the vault are filled from the run's
    `metadata`.

    Args:
        memory: The memory. Its `status` tells of failures, which LangChain swallows.
        run_name: Only runs of this name are turns.
        on_failure: See `AutoMemoryMiddleware`.
    """

    def on_chain_start(
        self,
        serialized: Any,
        inputs: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        self._wait(self._tracker.start(run_id, parent_run_id, inputs, metadata, kwargs.get("name")))

    def on_tool_start(
        self, serialized: Any, input_str: str, *, run_id: UUID, parent_run_id: UUID | None = None, **_: Any
    ) -> None:
        self._tracker.enter(run_id, parent_run_id)

    def on_interrupt(self, event: GraphInterruptEvent) -> None:
        self._tracker.interrupt(event.run_id)

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **_: Any) -> None:
        self._wait(self._tracker.end(run_id, outputs))

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        self._wait(self._tracker.fail(run_id))

    def on_tool_end(self, output: Any, *, run_id: UUID, **_: Any) -> None:
        self._tracker.leave(run_id)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        self._tracker.leave(run_id)

    def _wait(self, recorded: Future[TurnResult] | None) -> None:
        if recorded is not None:
            self._guard.wait(recorded, self._guard.long_s)


class AsyncAutoMemoryCallbackHandler(_Recording, AsyncCallbackHandler, GraphCallbackHandler):
    """The same for `ainvoke` and `astream`: see `AutoMemoryCallbackHandler`."""

    async def on_chain_start(
        self,
        serialized: Any,
        inputs: Any,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        await self._wait(self._tracker.start(run_id, parent_run_id, inputs, metadata, kwargs.get("name")))

    async def on_tool_start(
        self, serialized: Any, input_str: str, *, run_id: UUID, parent_run_id: UUID | None = None, **_: Any
    ) -> None:
        self._tracker.enter(run_id, parent_run_id)

    async def on_interrupt(self, event: GraphInterruptEvent) -> None:
        self._tracker.interrupt(event.run_id)

    async def on_chain_end(self, outputs: Any, *, run_id: UUID, **_: Any) -> None:
        await self._wait(self._tracker.end(run_id, outputs))

    async def on_chain_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        await self._wait(self._tracker.fail(run_id))

    async def on_tool_end(self, output: Any, *, run_id: UUID, **_: Any) -> None:
        self._tracker.leave(run_id)

    async def on_tool_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        self._tracker.leave(run_id)

    async def _wait(self, recorded: Future[TurnResult] | None) -> None:
        if recorded is not None:
            await self._guard.await_(recorded, self._guard.long_s)


def _is_agent(metadata: Mapping[str, Any]) -> bool:
    return metadata.get("ls_integration") == "langchain_create_agent"


def _messages(value: Any, keys: Sequence[str], speaker: type[BaseMessage]) -> list[BaseMessage]:
    """The messages in what a run got or gave; plain text is what `speaker` said."""
    if isinstance(value, Mapping) and "role" not in value:
        return _messages(next((value[key] for key in keys if key in value), None), keys, speaker)
    if isinstance(value, str):
        return [speaker(content=value)]
    if isinstance(value, PromptValue):
        return value.to_messages()
    if hasattr(value, "messages"):  # a graph's state that is no dict
        value = value.messages
    try:
        return convert_to_messages(value if isinstance(value, (list, tuple)) else [value])
    except (NotImplementedError, ValueError, TypeError, AttributeError):
        return []

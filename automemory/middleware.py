"""Memory for `create_agent`: every turn is recorded, and the note of the agent's task can be shown to it.

A turn is stored as a draft when the person's message comes in and with each step, and recorded when the
agent is done; so whatever ends it in between, it is there up to that point.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Annotated, Any, Literal, NotRequired

from langchain.agents.middleware import (
    AgentMiddleware,
    AgentState,
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
    TracePolicy,
    omit_payload,
)
from langchain.agents.middleware.internal_call_transformer import InternalCallTransformer
from langchain.agents.middleware.types import PrivateStateAttr
from langchain_core.messages import AIMessage, SystemMessage
from langgraph.config import get_config
from langgraph.runtime import Runtime
from langgraph.types import Command
from typing_extensions import override

from automemory.compaction import Compaction, ContextSize, compacted
from automemory.errors import ConfigError
from automemory.host import Guard, Run, run_of
from automemory.memory import AutoMemory, OnFailure
from automemory.progress import NOTHING, Progress, begin, ended, gather, merge, spoken
from automemory.reference import LIMIT
from automemory.result import TurnResult

Response = ModelResponse[Any] | ExtendedModelResponse[Any]
_KEY = "_automemory"


class MemoryState(AgentState[Any]):
    """An agent's state with what the middleware notes down; that is neither in inputs nor in outputs."""

    _automemory: NotRequired[Annotated[dict[str, Progress], PrivateStateAttr, merge]]


class AutoMemoryMiddleware(AgentMiddleware[Any, Any, Any]):
    """Records an agent's turns in a memory.

    Put it first in the list: its hooks then see the messages before others cut them, and after all others are
    done. Any other place works too. One instance serves any number of agents, threads and users.

    Agents that are run by a tool of another agent are part of that agent's turn and not recorded, unless
    `record_subagents` is set: then each has its own thread, `<thread>/<agent's name>`.

    Args:
        memory: The memory. Its vault's placeholders are filled from a run's context, else its configurable.
        inject: `summary` shows the model the note of the thread's active event (see
            `AutoMemory.areference`) at the end of the system message; `none` shows it nothing.
        max_note_chars: Longest such note, in characters.
        compact_at: From which size on the agent's context is compacted: `("tokens", n)`, `("messages", n)` or
            `("fraction", f)` of what the memory's model takes. The older messages are replaced by the note of
            the thread's workspace, which the model brings up to date first (see `AutoMemory.acontext`). None
            leaves the context alone.
        keep: How much of its end stays, in the same units. A tool call is never parted from its result, and
            what the person asked last always stays.
        compact_strategy: How the note is brought up to date: see `Synchronizer`.
        compact_timeout_s: How long the agent waits for that, in seconds. A model that fails, or needs longer,
            leaves it with what the memory knows; if not even that is to be had, it goes on uncompacted.
        on_failure: What happens if the memory fails: `continue` logs it once and the agent goes on, `error`
            raises it in the agent's run, a function is given the exception.
        record_subagents: Whether agents that tools run are recorded.
        name: Tells two such middlewares of one agent apart.

    Raises:
        ConfigError: if an argument makes no sense.
    """

    state_schema = MemoryState
    transformers = (InternalCallTransformer,)
    trace_policy = TracePolicy(process_inputs=omit_payload, process_outputs=omit_payload)

    def __init__(
        self,
        memory: AutoMemory,
        *,
        inject: Literal["none", "summary"] = "none",
        max_note_chars: int = LIMIT,
        compact_at: ContextSize | None = None,
        keep: ContextSize = ("messages", 20),
        compact_strategy: Literal["tools", "patch"] = "tools",
        compact_timeout_s: float = 180.0,
        on_failure: OnFailure = "continue",
        record_subagents: bool = False,
        name: str = "AutoMemoryMiddleware",
    ) -> None:
        super().__init__()
        if inject not in ("none", "summary"):
            raise ConfigError(f"inject={inject!r}: give 'none' or 'summary'")
        self.memory = memory
        self._guard = Guard(memory, on_failure)
        self._injects = inject == "summary"
        self._max_note_chars = max_note_chars
        self._compaction = Compaction(compact_at, keep, memory.model_tokens) if compact_at else None
        self._compact_strategy = compact_strategy
        self._compact_timeout_s = compact_timeout_s
        self._record_subagents = record_subagents
        self._name = name

    @property
    @override
    def name(self) -> str:
        return self._name

    # The turn begins

    @override
    def before_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        drafted, progress = self._begin(state, runtime)
        return self._begun(progress, self._guard.wait(drafted, self._guard.short_s) if drafted else None)

    @override
    async def abefore_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        drafted, progress = self._begin(state, runtime)
        if drafted is None:
            return self._begun(progress, None)
        result = await self._guard.await_(drafted, self._guard.short_s)
        return self._begun(progress, result)

    def _begin(self, state: Any, runtime: Any) -> tuple[Future[TurnResult] | None, Progress | None]:
        """Store what the person said; and before it what there is of a turn that never ended."""
        run = self._run(runtime)
        if run is None:
            return None, None
        history, known = spoken(state["messages"]), self._progress(state)
        left, progress = begin(known or NOTHING, history)
        if known and left:
            self._draft(run, left, known["turn_id"])
        if not progress["messages"]:
            return None, progress
        resent = history if not run.lasting and len(history) > len(progress["messages"]) else ()
        return self._draft(run, progress["messages"], progress["turn_id"], resent), progress

    def _begun(self, progress: Progress | None, drafted: TurnResult | None) -> dict[str, Any] | None:
        if progress is None:
            return None
        return self._update({**progress, "turn_id": drafted.turn_id if drafted else progress["turn_id"]})

    # The context is compacted

    @override
    def before_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        cut, note = self._condense(state, runtime)
        return self._compacted(state, cut, self._guard.wait(note, self._compact_timeout_s)) if note else None

    @override
    async def abefore_model(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        cut, note = self._condense(state, runtime)
        if note is None:
            return None
        text = await self._guard.await_(note, self._compact_timeout_s)
        return self._compacted(state, cut, text)

    def _condense(self, state: Any, runtime: Any) -> tuple[int, Future[str] | None]:
        """Start to write the note that is to stand for the messages up to a place, if that is due."""
        messages, due = state["messages"], self._compaction
        cut = due.cut(messages) if due else 0
        run = self._run(runtime) if cut else None
        if due is None or run is None:
            return cut, None
        note = self._guard.context(
            run, messages, self._compact_strategy, due.note_chars, self._compact_timeout_s
        )
        return cut, note

    def _compacted(self, state: Any, cut: int, note: str | None) -> dict[str, Any] | None:
        return {"messages": compacted(state["messages"], cut, note)} if note else None

    # The model is called

    @override
    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> Response:
        run = self._run(request.runtime)
        if run is None:
            return handler(request)
        turn = self._seen(run, request)
        if self._injects:
            note = self._guard.reference(run, self._max_note_chars)
            request = with_note(request, self._guard.wait(note, self._guard.short_s))
        return self._answered(run, request, turn, handler(request))

    @override
    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> Response:
        run = self._run(request.runtime)
        if run is None:
            return await handler(request)
        turn = self._seen(run, request)
        if self._injects:
            note = self._guard.reference(run, self._max_note_chars)
            text = await self._guard.await_(note, self._guard.short_s)
            request = with_note(request, text)
        return self._answered(run, request, turn, await handler(request))

    def _seen(self, run: Run, request: ModelRequest[Any]) -> list[Any]:
        """What there is of the turn before the model answers; it is stored if there is more than before."""
        known = self._progress(request.state) or NOTHING
        turn = gather(known, spoken(request.state["messages"]))
        if len(turn) > len(known["messages"]):
            self._draft(run, turn, known["turn_id"])
        return turn

    def _answered(
        self, run: Run, request: ModelRequest[Any], turn: list[Any], response: ModelResponse[Any]
    ) -> Response:
        """Store a step that calls tools, and note down what was seen of the turn."""
        known = self._progress(request.state) or NOTHING
        said = [message for message in response.result if message.id]
        if turn and any(isinstance(message, AIMessage) and message.tool_calls for message in said):
            self._draft(run, [*turn, *said], known["turn_id"])
        if len(turn) == len(known["messages"]):
            return response
        progress = Progress(messages=turn, after=known["after"], turn_id=known["turn_id"])
        return ExtendedModelResponse(response, Command(update=self._update(progress)))

    # The turn ends

    @override
    def after_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        recorded, update = self._end(state, runtime)
        if recorded:
            self._guard.wait(recorded, self._guard.long_s)
        return update

    @override
    async def aafter_agent(self, state: Any, runtime: Runtime[Any]) -> dict[str, Any] | None:
        recorded, update = self._end(state, runtime)
        if recorded:
            await self._guard.await_(recorded, self._guard.long_s)
        return update

    def _end(self, state: Any, runtime: Any) -> tuple[Future[TurnResult] | None, dict[str, Any] | None]:
        run = self._run(runtime)
        if run is None:
            return None, None
        history, known = spoken(state["messages"]), self._progress(state) or NOTHING
        turn = gather(known, history)
        recorded = self._guard.record(run, turn, turn_id=known["turn_id"]) if turn else None
        return recorded, self._update(ended(history))

    # What all of them need

    def _run(self, runtime: Any) -> Run | None:
        """The run that is under way; None if it is not to be recorded."""
        run = run_of(get_config(), runtime)
        return None if run.subagent and not self._record_subagents else run

    def _draft(
        self, run: Run, messages: list[Any], turn_id: str, history: Any = ()
    ) -> Future[TurnResult] | None:
        """Start to store a draft. Subagents have none: several of one name may share their thread."""
        if run.subagent:
            return None
        return self._guard.record(run, messages, complete=False, turn_id=turn_id, history=history)

    def _progress(self, state: Any) -> Progress | None:
        found: dict[str, Progress] = state.get(_KEY) or {}
        return found.get(self._name)

    def _update(self, progress: Any) -> dict[str, Any]:
        return {_KEY: {self._name: progress}}


def with_note(request: ModelRequest[Any], note: str | None) -> ModelRequest[Any]:
    """The request with a note at the end of its system message."""
    if not note:
        return request
    system = request.system_message
    if system is None:
        return request.override(system_message=SystemMessage(note))
    if isinstance(system.content, str):
        content: Any = f"{system.content}\n\n{note}" if system.content else note
    else:
        content = [*system.content, {"type": "text", "text": f"\n\n{note}"}]
    return request.override(system_message=system.model_copy(update={"content": content}))

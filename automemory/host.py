"""What the integrations share: whose a run of an agent is, and who notices a failure of memory."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from langchain_core.messages import BaseMessage
from langgraph.errors import GraphBubbleUp

from automemory._worker import worker
from automemory.errors import ConfigError
from automemory.memory import AutoMemory, OnFailure
from automemory.result import TurnResult
from automemory.turn import Turn

T = TypeVar("T")
_log = logging.getLogger(__name__)
_SHORT_S, _SHORT_SHARE = 1.0, 0.05
_MODEL_SHARE = 0.8  # of the time for a note; the rest is for reading what is known, should the model fail


@dataclass(frozen=True, slots=True)
class Run:
    """Which conversation, and whose, a run of an agent belongs to.

    Attributes:
        thread: The thread; a subagent has one of its own beside its caller's.
        values: What a vault's placeholders may be filled with.
        subagent: Whether a tool of another agent runs it.
        lasting: Whether messages keep their ids from one run of the thread to the next.
    """

    thread: str = "main"
    values: Mapping[str, Any] = field(default_factory=dict)
    subagent: bool = False
    lasting: bool = False


def run_of(config: Mapping[str, Any], runtime: Any = None) -> Run:
    """The run that a LangChain config, and LangGraph's runtime where there is one, tell of."""
    given = {k: v for k, v in (config.get("configurable") or {}).items() if not k.startswith("__")}
    info = getattr(runtime, "execution_info", None)
    lasting = getattr(info, "thread_id", None)  # there is a checkpointer
    thread = str(lasting or given.get("thread_id") or "main")
    namespace = str(getattr(info, "checkpoint_ns", None) or given.get("checkpoint_ns") or "")
    subagent = any(segment.startswith("tools:") for segment in namespace.split("|")[:-1])
    if subagent:
        thread += "/" + str((config.get("metadata") or {}).get("lc_agent_name") or "subagent")
    values = {**given, **_mapping(getattr(runtime, "context", None))}
    return Run(thread, values, subagent, lasting is not None)


class Guard:
    """Uses a memory in such a way that its failures do not reach the agent, unless that is wanted.

    What takes too long goes on behind the agent's back: a decision and what is written come to at most
    `decide_timeout_s` for a whole turn, a draft or a note to a second.

    Args:
        memory: The memory.
        on_failure: `continue` logs a failure and goes on, `error` raises it, a function is given it.

    Raises:
        ConfigError: if `on_failure` is nothing of these.
    """

    def __init__(self, memory: AutoMemory, on_failure: OnFailure) -> None:
        if on_failure not in ("continue", "error") and not callable(on_failure):
            raise ConfigError(f"on_failure={on_failure!r}: give 'continue', 'error' or a function")
        self.memory = memory
        self._on_failure = on_failure
        self._logged = ""
        self.short_s = min(_SHORT_S, _SHORT_SHARE * memory.decide_timeout_s)
        self.long_s = self.short_s if memory.background else memory.decide_timeout_s - self.short_s

    def record(
        self,
        run: Run,
        messages: Sequence[BaseMessage],
        *,
        complete: bool = True,
        turn_id: str = "",
        history: Sequence[BaseMessage] = (),
    ) -> Future[TurnResult]:
        """Start to record a turn, or to store what there is of it by now.

        Args:
            run: Where it belongs.
            messages: The turn.
            complete: Whether it is over.
            turn_id: The id under which it is recorded, if that is known.
            history: The whole conversation up to it, if its ids may not be those of the last call.
        """

        async def record() -> TurnResult:
            with self.memory.filled(run.values) as memory:
                known = await memory.arecorded_as(history, thread_id=run.thread) if history else turn_id
                turn = Turn.of(messages, complete=complete)
                return await memory.arecord(turn, thread_id=run.thread, turn_id=known or None)

        return self._start(record())

    def reference(self, run: Run, limit: int) -> Future[str]:
        """Start to read what the active event's note says."""

        async def read() -> str:
            with self.memory.filled(run.values) as memory:
                return await memory.areference(thread_id=run.thread, max_chars=limit)

        return self._start(read())

    def context(
        self,
        run: Run,
        messages: Sequence[BaseMessage],
        strategy: Literal["tools", "patch"],
        max_chars: int,
        wait_s: float,
    ) -> Future[str]:
        """Start to write the note that is to stand for these messages, for whoever waits so long for it."""

        async def condense() -> str:
            with self.memory.filled(run.values) as memory:
                return await memory.acontext(
                    messages,
                    thread_id=run.thread,
                    strategy=strategy,
                    max_chars=max_chars,
                    timeout_s=_MODEL_SHARE * wait_s,
                )

        return self._start(condense())

    def wait(self, work: Future[T], wait_s: float) -> T | None:
        """The result; None if the work failed, or takes longer and goes on."""
        return self._result(work) if worker.wait(work, wait_s) else self._late(wait_s)

    async def await_(self, work: Future[T], wait_s: float) -> T | None:
        """See `wait`."""
        done = await worker.await_done(work, wait_s)
        return self._result(work) if done else self._late(wait_s)

    def _start(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        future = worker.submit(work)
        future.add_done_callback(self._note)
        self.memory.follow(future)
        return future

    def _note(self, done: Future[Any]) -> None:
        """Count a failure, and log it unless it is the one that was logged last."""
        error = done.exception()
        if error is not None:
            self.memory.failed(error)
            self._log(f"memory failed, the agent goes on: {error}")
        elif isinstance(result := done.result(), TurnResult) and result.outcome == "deferred":
            self._log(f"a turn waits to be filed: {result.error}")
        else:
            self._logged = ""

    def _log(self, message: str) -> None:
        if message != self._logged:
            self._logged = message
            _log.warning("%s", message)

    def _late(self, wait_s: float) -> Any:
        self._log(f"memory needs more than {wait_s:g} s, the agent goes on meanwhile")
        return None

    def _result(self, work: Future[T]) -> T | None:
        try:
            return work.result()
        except GraphBubbleUp:
            raise
        except Exception as error:
            if self._on_failure == "error":
                raise
            if callable(self._on_failure):
                self._on_failure(error)
            return None


def _mapping(context: Any) -> Mapping[str, Any]:
    """A run's context, of whatever kind, by the names of its fields."""
    if isinstance(context, Mapping):
        return context
    if dataclasses.is_dataclass(context):
        return {f.name: getattr(context, f.name) for f in dataclasses.fields(context)}
    return dict(vars(context)) if hasattr(context, "__dict__") else {}

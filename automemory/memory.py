"""The front door: record turns, close events, ask how things are."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Self, TypeVar, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from automemory._process import alive, owner
from automemory._worker import worker
from automemory.deciders.local import LocalDecider
from automemory.decision import Decider, Granularity, NotifyCandidate, Summarizer
from automemory.engine import Engine, Options
from automemory.errors import ConfigError
from automemory.intake import Intake
from automemory.planning import Limits
from automemory.redact import make_redactor
from automemory.result import EventRef, Status, TurnResult
from automemory.segmenter import Graph
from automemory.turn import Message, Turn, align, fingerprint, read_messages, split_turns
from automemory.vault.layout import check_agent_id

T = TypeVar("T")
Durability = Literal["fsync", "os"]
_filing: ContextVar[frozenset[tuple[int, str]]] = ContextVar("automemory_filing", default=frozenset())


class AutoMemory:
    """Keeps an agent's conversation as events in a Markdown vault, turn by turn.

    Args:
        vault: The vault's folder; made if it does not exist.
        decider: `"auto"` or `"local"` (the embedded one), or any object with `async decide(context) ->
            Verdict`.
        encoder: The local decider's sentence encoder, if not the embedded one.
        agent_id: Names this agent among several on one vault, and prefixes its folders.
        timezone: IANA name of the vault's zone; the host's zone if None.
        granularity: `coarse`, `default` or `fine`: how small a step away makes a new event.
        inherit_window_days: How many days back an event can be gone on with.
        redact: Masks what the built-in detectors do not know; gets a text and returns it masked.
        exclude: What is never recorded: names of tools, or a test for messages.
        durability: `fsync` syncs all that is promised; `os` leaves that to the system.
        single_stream: Whether all threads of the agent are one stream.
        recent_scope: Whose events a turn may go back to: the agent's, or only those of its own stream.
        decide_timeout_s: Time budget of a decision, and of a final summary, in seconds.
        lock_timeout_s: Longest wait for the vault's lock, in seconds.
        max_turns_per_event, max_event_chars: Safety caps; past them an event is continued in a new one.
        max_tool_chars, max_message_chars: Longer tool output and messages lose their middle.
        clock: Gives the time of a turn that carries none.

    Raises:
        ConfigError: if an argument makes no sense.
    """

    def __init__(
        self,
        vault: str | os.PathLike[str],
        *,
        decider: str | Decider = "auto",
        encoder: Any = None,
        agent_id: str | None = None,
        timezone: str | None = None,
        granularity: Granularity = "default",
        inherit_window_days: int = 7,
        redact: Callable[[str], str] | None = None,
        exclude: Callable[[Message], bool] | Iterable[str] | None = None,
        durability: Durability = "fsync",
        single_stream: bool = False,
        recent_scope: Literal["agent", "stream"] = "agent",
        decide_timeout_s: float = 20.0,
        lock_timeout_s: float = 10.0,
        max_turns_per_event: int = 200,
        max_event_chars: int = 400_000,
        max_tool_chars: int = 4_000,
        max_message_chars: int = 20_000,
        clock: Callable[[], datetime] = lambda: datetime.now().astimezone(),
    ) -> None:
        _one_of("granularity", granularity, get_args(Granularity))
        _one_of("durability", durability, get_args(Durability))
        _one_of("recent_scope", recent_scope, ("agent", "stream"))
        for name, value in {
            "inherit_window_days": inherit_window_days,
            "max_turns_per_event": max_turns_per_event,
            "max_event_chars": max_event_chars,
            "max_tool_chars": max_tool_chars,
            "max_message_chars": max_message_chars,
            "decide_timeout_s": decide_timeout_s,
            "lock_timeout_s": lock_timeout_s,
        }.items():
            if value <= 0:
                raise ConfigError(f"{name}={value!r}: give a number above 0")
        if "{" in os.fspath(vault):
            raise ConfigError(
                f"vault={os.fspath(vault)!r}: give a plain folder, placeholders cannot be filled here"
            )
        options = Options(
            root=Path(vault).expanduser(),
            agent=check_agent_id(agent_id) if agent_id else "",
            zone=_zone(timezone),
            granularity=granularity,
            limits=Limits(max_turns_per_event, max_event_chars, inherit_window_days),
            scope=recent_scope,
            single_stream=single_stream,
            decide_timeout_s=decide_timeout_s,
            lock_timeout_s=lock_timeout_s,
            sync=durability == "fsync",
        )
        names = exclude if exclude is not None and not callable(exclude) else ()
        intake = Intake(
            redact=make_redactor(redact),
            exclude=exclude if callable(exclude) else lambda message: False,
            exclude_tools=frozenset(names),
            max_message_chars=max_message_chars,
            max_tool_chars=max_tool_chars,
        )
        local = LocalDecider(encoder)
        chosen: Decider = local if isinstance(decider, str) else decider
        _one_of("decider", decider if isinstance(decider, str) else "auto", ("auto", "local"))
        summarizer: Summarizer = chosen if isinstance(chosen, Summarizer) else local
        self._engine = Engine(options, intake, chosen, local, summarizer, clock, worker)
        self._decider_name = "local" if chosen is local else type(chosen).__name__
        self._locks: dict[str, tuple[asyncio.Lock, int]] = {}

    @property
    def graph(self) -> Graph:
        """The compiled turn graph: takes `messages` and `thread_id`, gives `result`."""
        return self._engine.graph

    # Turns

    async def arecord(
        self,
        turn: Any,
        *,
        thread_id: str = "main",
        event: str | None = None,
        notify: Sequence[NotifyCandidate] = (),
    ) -> TurnResult:
        """Record one turn.

        Args:
            turn: A `Turn`, LangChain messages, or role/content dicts. A message's time is its `timestamp` (in
                `additional_kwargs` of a LangChain message): ISO 8601, or seconds or milliseconds since 1970.
            thread_id: The conversation it belongs to.
            event: `"new"` to open a new event, or the slug of the event it belongs to, if the caller knows
                better than the decider.
            notify: Resources offered to the agent with this turn.

        Returns:
            What happened to it. If the vault cannot be written now, `outcome` is `deferred`.

        Raises:
            ConfigError: if there is no message in it, or if called from inside this stream's own decision.
        """
        return await self._arun(self._record(Turn.of(turn), thread_id, event, tuple(notify)), thread_id)

    def record(
        self,
        turn: Any,
        *,
        thread_id: str = "main",
        event: str | None = None,
        notify: Sequence[NotifyCandidate] = (),
    ) -> TurnResult:
        """Record one turn; see `arecord`."""
        return self._run(self._record(Turn.of(turn), thread_id, event, tuple(notify)), thread_id)

    async def arecord_messages(self, history: Any, *, thread_id: str = "main") -> list[TurnResult]:
        """Record the turns of a history that are not recorded yet.

        Turns are known by the id of their first message. A history without ids is aligned with what the
        stream has recorded; what lies beyond is new.

        Returns:
            A result for each turn of the history.
        """
        turns = split_turns(read_messages(history))
        return await self._arun(self._record_messages(turns, thread_id), thread_id)

    def record_messages(self, history: Any, *, thread_id: str = "main") -> list[TurnResult]:
        """Record the turns of a history that are not recorded yet; see `arecord_messages`."""
        return self._run(self._record_messages(split_turns(read_messages(history)), thread_id), thread_id)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Turns handed in meanwhile are never recorded, also not if the history is handed in again later."""
        self._engine.paused += 1
        try:
            yield
        finally:
            self._engine.paused -= 1

    # Events

    async def aclose_event(self, *, thread_id: str = "main", closed_by: str = "request") -> EventRef | None:
        """Close the stream's active event with its final summary; None if there is none."""
        return await self._arun(self._close_event(thread_id, closed_by), thread_id)

    def close_event(self, *, thread_id: str = "main", closed_by: str = "request") -> EventRef | None:
        """Close the stream's active event; see `aclose_event`."""
        return self._run(self._close_event(thread_id, closed_by), thread_id)

    # The memory itself

    async def aflush(self) -> None:
        """File everything that is stored but not filed yet, unfinished turns included."""
        await self._arun(self._flush())

    def flush(self) -> None:
        """File everything that is stored but not filed yet; see `aflush`."""
        self._run(self._flush())

    async def astatus(self) -> Status:
        """How this memory is doing."""
        return await self._arun(self._status())

    def status(self) -> Status:
        """How this memory is doing."""
        return self._run(self._status())

    async def aclose(self) -> None:
        """File what waits and let go of the vault. The active event stays open."""
        await self._arun(self._close())

    def close(self) -> None:
        """File what waits and let go of the vault; see `aclose`."""
        self._run(self._close())

    def stream_key(self, thread_id: str = "main") -> str:
        """The key by which turn ids know the stream of a thread."""
        return self._engine.stream(thread_id)

    def recorded_ids(self, thread_id: str = "main") -> list[str]:
        """Ids of all turns known of a thread, in order."""
        return self._run(self._recorded_ids(thread_id))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    # On the private loop

    async def _record(
        self,
        turn: Turn,
        thread: str,
        event: str | None,
        notify: tuple[NotifyCandidate, ...],
        id: str | None = None,
    ) -> TurnResult:
        async with self._stream(thread):
            return await self._record_now(turn, thread, event, notify, id)

    async def _record_now(
        self,
        turn: Turn,
        thread: str,
        event: str | None,
        notify: tuple[NotifyCandidate, ...],
        id: str | None = None,
    ) -> TurnResult:
        row = await self._engine.accept(turn, thread, event, notify, id)
        result = row if isinstance(row, TurnResult) else await self._engine.file(row)
        self._engine.counters[result.outcome] += 1
        if result.event and result.event.how in {"opened", "inherited"}:
            self._engine.counters["events"] += 1
        if result.outcome == "recorded" and self._engine.waiting:
            worker.submit(self._file_waiting())
        return result

    async def _record_messages(self, turns: list[Turn], thread: str) -> list[TurnResult]:
        async with self._stream(thread):
            if all(turn.messages[0].id for turn in turns):
                return [await self._record_now(turn, thread, None, ()) for turn in turns]
            await self._engine.open()
            known = self._engine.store.state.recorded(self._engine.stream(thread))
            prints = [fingerprint(self._engine.intake.first(turn)) for turn in turns]
            old = align(prints, [first for _, first in known])
            results = [TurnResult("duplicate", id) for id in _ids_before(old, [id for id, _ in known])]
            if old:  # the last known turn may have gone on since
                results.append(await self._record_now(turns[old - 1], thread, None, (), known[-1][0]))
            return [*results, *[await self._record_now(turn, thread, None, ()) for turn in turns[old:]]]

    async def _close_event(self, thread: str, closed_by: str) -> EventRef | None:
        async with self._stream(thread):
            await self._engine.open()
            return await self._engine.close_stream(self._engine.stream(thread), closed_by)

    async def _flush(self) -> None:
        await self._engine.open()
        await self._file_waiting(everything=True)
        await asyncio.to_thread(self._engine.store.state.checkpoint)

    async def _file_waiting(self, *, everything: bool = False) -> None:
        """File turns that were deferred or left by a process that died, oldest first."""
        state = self._engine.store.state
        for row in await asyncio.to_thread(state.pending):
            abandoned = everything and (row.owner == owner() or not alive(row.owner))
            if abandoned or row.id in self._engine.waiting:
                async with self._stream(row.stream.partition("/")[2]):
                    current = await asyncio.to_thread(state.turn, row.id)
                    if (
                        current
                        and current.payload
                        and (await self._engine.file(current)).outcome == "deferred"
                    ):
                        return

    async def _status(self) -> Status:
        await self._engine.open()
        engine = self._engine
        return Status(
            vault=str(engine.options.root),
            decider=self._decider_name,
            counters=dict(engine.counters),
            waiting=len(await asyncio.to_thread(engine.store.state.pending)),
            unstored=len(engine.unstored),
            active=engine.locator.active_paths(),
            problems=dict(engine.store.committer.problems),
            last_error=engine.last_error,
        )

    async def _close(self) -> None:
        await self._flush()
        await self._engine.close()

    async def _recorded_ids(self, thread: str) -> list[str]:
        await self._engine.open()
        return [id for id, _ in self._engine.store.state.recorded(self._engine.stream(thread))]

    @asynccontextmanager
    async def _stream(self, thread: str) -> AsyncIterator[None]:
        """Hold a stream: its turns are decided and filed one after the other, in the order they came."""
        key = self._engine.stream(thread)
        lock, users = self._locks.get(key, (asyncio.Lock(), 0))
        self._locks[key] = (lock, users + 1)
        try:
            async with lock:
                token = _filing.set(_filing.get() | {(id(self._engine), key)})
                try:
                    yield
                finally:
                    _filing.reset(token)
        finally:
            lock, users = self._locks.pop(key)
            if users > 1:
                self._locks[key] = (lock, users - 1)

    def _run(self, work: Coroutine[Any, Any, T], thread: str | None = None) -> T:
        self._refuse_own(work, thread)
        return worker.run(work)

    async def _arun(self, work: Coroutine[Any, Any, T], thread: str | None = None) -> T:
        self._refuse_own(work, thread)
        return await worker.arun(work)

    def _refuse_own(self, work: Coroutine[Any, Any, Any], thread: str | None) -> None:
        if thread is not None and (id(self._engine), self._engine.stream(thread)) in _filing.get():
            work.close()
            raise ConfigError(
                f"thread {thread!r} is being decided right now: its own decider cannot record to it"
            )


def _ids_before(old: int, known: list[str]) -> list[str]:
    """Ids of the aligned turns but the last; empty for those from before anything was recorded."""
    ids = known[-old:-1] if old else []
    return [""] * (max(0, old - 1) - len(ids)) + ids


def _one_of(name: str, value: object, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise ConfigError(f"{name}={value!r}: give one of {', '.join(map(repr, allowed))}")


def _zone(name: str | None) -> ZoneInfo | None:
    try:
        return ZoneInfo(name) if name else None
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ConfigError(
            f"timezone={name!r} is not known: give an IANA name such as 'Asia/Shanghai'"
        ) from error

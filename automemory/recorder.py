"""What the front door does on the private loop: streams in order, and what waits is filed when it can be."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import replace

from automemory._process import alive, owner
from automemory.engine import Engine
from automemory.errors import ConfigError, VaultError
from automemory.intake import Submission
from automemory.result import EventRef, Status, TurnResult
from automemory.turn import Turn, align, fingerprint

_filing: ContextVar[frozenset[tuple[int, str]]] = ContextVar("automemory_filing", default=frozenset())


class Recorder:
    """Records turns: those of one stream in the order they came, those of others meanwhile."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._locks: dict[str, tuple[asyncio.Lock, int]] = {}

    async def record(self, submission: Submission) -> TurnResult:
        async with self._stream(submission.thread):
            return await self._record(submission)

    async def record_messages(self, turns: list[Turn], thread: str) -> list[TurnResult]:
        async with self._stream(thread):
            if all(turn.messages[0].id for turn in turns):
                return [await self._record(Submission(turn, thread)) for turn in turns]
            await self._engine.open()
            known = self._engine.store.state.recorded(self._engine.stream(thread))
            prints = [fingerprint(self._engine.intake.first(turn)) for turn in turns]
            old = align(prints, [first for _, first in known])
            results = [TurnResult("duplicate", id) for id in _ids_before(old, [id for id, _ in known])]
            if old:  # the last known turn may have gone on since
                results.append(await self._record(Submission(turns[old - 1], thread, id=known[-1][0])))
            return [*results, *[await self._record(Submission(turn, thread)) for turn in turns[old:]]]

    async def close_event(self, thread: str, closed_by: str) -> EventRef | None:
        async with self._stream(thread):
            await self._engine.open()
            return await self._engine.close_stream(self._engine.stream(thread), closed_by)

    async def flush(self) -> None:
        await self._engine.open()
        await self._engine.store_unstored()
        await self._file_waiting(everything=True)
        await self._repair_summaries()
        await asyncio.to_thread(self._engine.store.state.checkpoint)

    async def status(self) -> Status:
        engine = self._engine
        status = Status(
            vault=str(engine.options.root),
            decider=engine.judge.decider_name,
            counters=dict(engine.counters),
            unstored=len(engine.unstored),
        )
        try:
            await engine.open()
            waiting = len(await asyncio.to_thread(engine.store.state.pending))
        except VaultError as error:
            return replace(status, last_error=str(error))
        return replace(
            status,
            waiting=waiting,
            active=engine.locator.active_paths(),
            problems=dict(engine.store.committer.problems),
            last_error=engine.last_error or engine.judge.last_error,
        )

    async def close(self) -> None:
        try:
            await self.flush()
        finally:
            await self._engine.close()

    async def recorded_ids(self, thread: str) -> list[str]:
        await self._engine.open()
        return [id for id, _ in self._engine.store.state.recorded(self._engine.stream(thread))]

    def refuse_own(self, thread: str) -> None:
        """Refuse a call that would wait for the very decision it is made from.

        Raises:
            ConfigError: if the thread's stream is being filed by the caller's caller.
        """
        if (id(self._engine), self._engine.stream(thread)) in _filing.get():
            message = f"thread {thread!r} is being decided right now: its own decider cannot record to it"
            raise ConfigError(message)

    async def _record(self, submission: Submission) -> TurnResult:
        row = await self._engine.accept(submission)
        result = row if isinstance(row, TurnResult) else await self._engine.file(row)
        self._engine.counters[result.outcome] += 1
        if result.event and result.event.how in {"opened", "inherited"}:
            self._engine.counters["events"] += 1
        if result.outcome == "recorded" and self._engine.waiting:
            self._engine.worker.submit(self._file_waiting())
        if result.closed and self._engine.judge.sums_up_again:
            self._engine.worker.submit(self._repair_summaries())
        return result

    async def _repair_summaries(self) -> None:
        """Fill in summaries that are owed, a few at a time, as long as the summarizer is up to it."""
        self._engine.judge.sums_up_again = False
        for head in await asyncio.to_thread(self._engine.unsummed):
            async with self._stream(head.thread):
                if not await self._engine.repair_summary(head):
                    return

    async def _file_waiting(self, *, everything: bool = False) -> None:
        """File turns that were deferred or left by a process that died, oldest first."""
        for row in await asyncio.to_thread(self._engine.pending):
            abandoned = everything and (row.owner == owner() or not alive(row.owner))
            if not abandoned and row.id not in self._engine.waiting:
                continue
            async with self._stream(row.stream.partition("/")[2]):
                current = await asyncio.to_thread(self._engine.store.state.turn, row.id)
                filed = current is None or current.payload is None
                if current and not filed and (await self._engine.file(current)).outcome == "deferred":
                    return

    @asynccontextmanager
    async def _stream(self, thread: str) -> AsyncIterator[None]:
        """Hold a stream, in turn."""
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


def _ids_before(old: int, known: list[str]) -> list[str]:
    """Ids of the aligned turns but the last; empty for those from before anything was recorded."""
    ids = known[-old:-1] if old else []
    return [""] * (max(0, old - 1) - len(ids)) + ids

"""What the front door does on the private loop: streams in order, and what waits is filed when it can be."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from automemory._process import alive, owner, renew_after_fork
from automemory.decision import NotifyCandidate
from automemory.engine import Engine
from automemory.errors import ConfigError, VaultError
from automemory.intake import Submission
from automemory.reference import reference
from automemory.result import EventRef, Status, TurnResult
from automemory.turn import Turn, align, fingerprint
from automemory.vault.event import CLOSED_BY
from automemory.vault.tables import TurnRow

_log = logging.getLogger(__name__)
_filing: ContextVar[frozenset[tuple[int, str]]] = ContextVar("automemory_filing", default=frozenset())


class Recorder:
    """Records turns: those of one stream in the order they came, those of others meanwhile.

    Args:
        engine: Does it.
        background: Whether `record` returns once a turn is stored, which is then filed behind its back.
    """

    def __init__(self, engine: Engine, *, background: bool = False) -> None:
        self._engine = engine
        self._background = background
        self.renew()
        renew_after_fork(self)

    def renew(self) -> None:
        """Begin with nothing under way."""
        self._behind: set[Future[Any]] = set()
        self._locks: dict[str, tuple[asyncio.Lock, int]] = {}

    async def record(self, submission: Submission) -> TurnResult:
        """Record a turn; one that is not filed now, since it is unfinished, waits for no other's decision."""
        if self._background or not submission.turn.complete:
            return self._later(await self._accept(submission))
        async with self._stream(submission.thread):
            return await self._record(submission)

    async def record_messages(self, turns: list[Turn], thread: str) -> list[TurnResult]:
        async with self._stream(thread):
            if all(turn.messages[0].id for turn in turns):
                return [await self._record(Submission(turn, thread)) for turn in turns]
            await self._engine.vault.open()
            known = self._engine.vault.store.state.recorded(self._engine.vault.stream(thread))
            prints = [fingerprint(self._engine.acceptance.intake.first(turn)) for turn in turns]
            old = align(prints, [first for _, first in known])
            results = [TurnResult("duplicate", id) for id in _ids_before(old, [id for id, _ in known])]
            if old:  # the last known turn may have gone on since
                results.append(await self._record(Submission(turns[old - 1], thread, id=known[-1][0])))
            return [*results, *[await self._record(Submission(turn, thread)) for turn in turns[old:]]]

    async def notify(self, candidates: Sequence[NotifyCandidate], thread: str) -> None:
        await self._engine.acceptance.offer(thread, candidates)

    def follow(self, work: Future[Any]) -> None:
        """Have `flush` and `close` wait for work on this memory that goes on behind its caller's back."""
        self._behind.add(work)
        work.add_done_callback(self._behind.discard)

    async def caught_up(self) -> None:
        """Wait for what goes on behind its caller's back."""
        await asyncio.gather(*map(asyncio.wrap_future, list(self._behind)), return_exceptions=True)

    async def find(self, turns: list[Turn], thread: str) -> str | None:
        """The id of a history's last turn, if the words of its turns are the last that were recorded."""
        await self._engine.vault.open()
        stream = self._engine.vault.stream(thread)
        known = (await asyncio.to_thread(self._engine.vault.store.state.recorded, stream))[-len(turns) :]
        prints = [fingerprint(self._engine.acceptance.intake.first(turn)) for turn in turns]
        found = align(prints, [first for _, first in known]) == len(turns)
        return known[-1][0] if found and turns else None

    async def close_event(self, thread: str, closed_by: str) -> EventRef | None:
        if closed_by not in CLOSED_BY:
            raise ConfigError(f"closed_by={closed_by!r}: give one of {', '.join(map(repr, CLOSED_BY))}")
        async with self._stream(thread):
            await self._engine.vault.open()
            stream = self._engine.vault.stream(thread)
            for row in await asyncio.to_thread(self._engine.vault.store.state.pending, stream):
                await self._engine.file(row)
            return await self._engine.closer.close_stream(stream, closed_by)

    async def flush(self) -> None:
        await self.caught_up()
        await self._engine.vault.open()
        await self._engine.acceptance.store_unstored()
        await self._file_waiting(everything=True)
        await self._repair_summaries()
        await asyncio.to_thread(self._engine.vault.store.state.checkpoint)

    async def active_path(self, thread: str) -> str | None:
        """The vault path of a thread's active event, once what was handed in before is filed."""
        async with self._stream(thread):
            await self._engine.vault.open()
            found = await asyncio.to_thread(self._engine.vault.latest, thread)
        return found[0].head.path if found and found[1] else None

    async def reference(self, thread: str, limit: int) -> str:
        """The active event's note as text for a model; see `reference`."""
        await self._engine.vault.open()
        found = await asyncio.to_thread(self._engine.vault.latest, thread)
        return reference(found[0], limit, own=found[1]) if found else ""

    async def known(self, thread: str, limit: int) -> str:
        """The same of the thread's own event only, with what its latest turns added."""
        await self._engine.vault.open()
        found = await asyncio.to_thread(self._engine.vault.latest, thread)
        return reference(found[0], limit, latest=True) if found and found[1] else ""

    def brief(self) -> Status:
        """The status without what only the vault can tell."""
        engine = self._engine
        return Status(
            vault=str(engine.vault.options.root),
            decider=engine.judge.decider_name,
            counters=dict(engine.counters),
            unstored=len(engine.acceptance.unstored),
            last_error=engine.last_error or engine.acceptance.last_error or engine.judge.last_error,
        )

    async def status(self) -> Status:
        engine, status = self._engine, self.brief()
        try:
            await engine.vault.open()
            waiting = len(await asyncio.to_thread(engine.vault.store.state.pending))
        except VaultError as error:
            return replace(status, last_error=str(error))
        return replace(
            status,
            waiting=waiting,
            active=engine.vault.locator.active_paths(),
            problems=dict(engine.vault.store.committer.problems),
        )

    async def close(self) -> None:
        try:
            await self.flush()
        finally:
            await self._engine.vault.close()

    async def release(self) -> None:
        """Let go of the vault; unfinished turns stay drafts."""
        try:
            await self.caught_up()
            await self._file_waiting()
        finally:
            await self._engine.vault.close()

    async def recorded_ids(self, thread: str) -> list[str]:
        await self._engine.vault.open()
        return [id for id, _ in self._engine.vault.store.state.recorded(self._engine.vault.stream(thread))]

    def refuse_own(self, thread: str) -> None:
        """Refuse a call that would wait for the very decision it is made from.

        Raises:
            ConfigError: if the thread's stream is being filed by the caller's caller.
        """
        if (id(self._engine), self._engine.vault.stream(thread)) in _filing.get():
            message = f"thread {thread!r} is being decided right now: its own decider cannot record to it"
            raise ConfigError(message)

    async def _record(self, submission: Submission) -> TurnResult:
        row = await self._accept(submission)
        if isinstance(row, TurnResult) or self._background:
            return self._later(row)
        return await self._file(row)

    async def _accept(self, submission: Submission) -> TurnRow | TurnResult:
        """Store a turn after those that were handed in before it."""
        async with self._hold(f"accept {self._engine.vault.stream(submission.thread)}"):
            return await self._engine.acceptance.accept(submission)

    def _later(self, found: TurnRow | TurnResult) -> TurnResult:
        """The result of a turn that is not filed now; what is to be filed is, as soon as may be."""
        if isinstance(found, TurnRow):
            self.follow(self._engine.worker.submit(self._file_behind(found)))
            found = TurnResult("accepted", found.id)
        self._engine.counters[found.outcome] += 1
        return found

    async def _file_behind(self, row: TurnRow) -> None:
        try:
            async with self._stream(row.stream.partition("/")[2]):
                current = await asyncio.to_thread(self._engine.vault.store.state.turn, row.id)
                if current is not None and current.payload is not None:
                    await self._file(current)
        except Exception as error:
            self._engine.counters["failures"] += 1
            self._engine.last_error = str(error)
            _log.exception("turn %s is stored but could not be filed", row.id)

    async def _file(self, row: TurnRow) -> TurnResult:
        result = await self._engine.file(row)
        self._engine.counters[result.outcome] += 1
        if result.event and result.event.how in {"opened", "inherited"}:
            self._engine.counters["events"] += 1
        if result.outcome == "recorded" and self._engine.vault.waiting:
            self._engine.worker.submit(self._file_waiting())
        if result.closed and self._engine.judge.sums_up_again:
            self._engine.worker.submit(self._repair_summaries())
        return result

    async def _repair_summaries(self) -> None:
        """Fill in summaries that are owed, a few at a time, as long as the summarizer is up to it."""
        self._engine.judge.sums_up_again = False
        for head in await asyncio.to_thread(self._engine.closer.unsummed):
            async with self._stream(head.thread):
                if not await self._engine.closer.repair_summary(head):
                    return

    async def _file_waiting(self, *, everything: bool = False) -> None:
        """File turns that were deferred or left by a process that died, oldest first."""
        for row in await asyncio.to_thread(self._engine.vault.pending):
            abandoned = everything and (row.owner == owner() or not alive(row.owner))
            if not abandoned and row.id not in self._engine.vault.waiting:
                continue
            async with self._stream(row.stream.partition("/")[2]):
                current = await asyncio.to_thread(self._engine.vault.store.state.turn, row.id)
                filed = current is None or current.payload is None
                if current and not filed and (await self._engine.file(current)).outcome == "deferred":
                    return

    @asynccontextmanager
    async def _stream(self, thread: str) -> AsyncIterator[None]:
        """Hold a stream, in turn; what runs meanwhile knows that it does."""
        key = self._engine.vault.stream(thread)
        async with self._hold(key):
            token = _filing.set(_filing.get() | {(id(self._engine), key)})
            try:
                yield
            finally:
                _filing.reset(token)

    @asynccontextmanager
    async def _hold(self, key: str) -> AsyncIterator[None]:
        lock, users = self._locks.get(key, (asyncio.Lock(), 0))
        self._locks[key] = (lock, users + 1)
        try:
            async with lock:
                yield
        finally:
            lock, users = self._locks.pop(key)
            if users > 1:
                self._locks[key] = (lock, users - 1)


def _ids_before(old: int, known: list[str]) -> list[str]:
    """Ids of the aligned turns but the last; empty for those from before anything was recorded."""
    ids = known[-old:-1] if old else []
    return [""] * (max(0, old - 1) - len(ids)) + ids

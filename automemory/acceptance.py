"""The first step of a turn: stored durably, under its id, before anything else is done about it.

Loads nothing heavy, so that a process that only hands turns in (a coding agent's hook) starts fast.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from automemory._process import owner, renew_after_fork
from automemory.agent_vault import AgentVault
from automemory.decision import NotifyCandidate
from automemory.errors import ConfigError, Conflict, VaultError
from automemory.intake import Accepted, Intake, Submission, local_time
from automemory.result import TurnResult
from automemory.turn import Turn, fingerprint, turn_id
from automemory.vault.tables import TurnRow

UNSTORED = 1000  # turns that wait in memory


class Acceptance:
    """Takes turns in.

    Args:
        vault: Where they go.
        intake: Makes them fit to be stored.

    Attributes:
        paused: How many callers want nothing recorded now.
        unstored: Turns that wait in memory, since not even `state.db` can be written.
        last_error: Why, the last time; else empty.
    """

    def __init__(self, vault: AgentVault, intake: Intake) -> None:
        self.vault = vault
        self.intake = intake
        self.paused = 0
        self.last_error = ""
        self.renew()
        renew_after_fork(self)

    def renew(self) -> None:
        """Begin with nothing under way."""
        self.unstored: deque[Submission] = deque()
        self._storing = asyncio.Lock()

    async def accept(self, handed: Submission) -> TurnRow | TurnResult:
        """Store a turn durably; a row that is to be filed, or the result if there is nothing to file.

        Raises:
            ConfigError: if the id it is given holds a secret: ids are written into notes.
        """
        if handed.id and self.intake.redact(handed.id) != handed.id:
            raise ConfigError("the turn_id holds a secret: give the `turn_id` of an earlier result")
        try:
            await self.store_unstored()
            return await asyncio.to_thread(self._accept, handed)
        except VaultError as error:
            if self.vault.forget_damaged():
                return await self.accept(handed)
            if self.paused or len(self.unstored) >= UNSTORED:
                raise
            id = self._id_of(handed)
            drafts = [u for u in self.unstored if id and not u.turn.complete and self._id_of(u) == id]
            for draft in drafts:
                self.unstored.remove(draft)
            self.unstored.append(replace(handed, turn=self._timed(handed.turn)))
            self.last_error = str(error)
            return TurnResult("deferred", id, error=str(error))

    async def offer(self, thread: str, notify: Sequence[NotifyCandidate]) -> None:
        """Put resources on offer for a thread's next turns.

        Raises:
            Unwritable: if they cannot be stored; nothing of them is.
        """
        await self.vault.open()
        state, stream = self.vault.store.state, self.vault.stream(thread)
        at = self.vault.now().timestamp()
        await asyncio.to_thread(lambda: state.put_offers(stream, self._offers(notify), at))

    async def store_unstored(self) -> None:
        """Store the turns that wait in memory, oldest first."""
        async with self._storing:
            while self.unstored:
                found = await asyncio.to_thread(self._accept, self.unstored[0])
                self.unstored.popleft()
                self.vault.waiting |= {found.id} if isinstance(found, TurnRow) else set()

    def _id_of(self, handed: Submission) -> str:
        """The turn's id as far as it is known without the vault."""
        first = self.intake.first(handed.turn)
        return handed.id or (turn_id(self.vault.stream(handed.thread), first) if first.id else "")

    def _timed(self, turn: Turn) -> Turn:
        if turn.at is not None:
            return turn
        first, *rest = turn.messages
        return replace(turn, messages=(replace(first, at=self.vault.now()), *rest))

    def _accept(self, handed: Submission) -> TurnRow | TurnResult:
        self.vault.ready()
        with suppress(Conflict):  # another process has the same turn in hand
            return self._accept_now(handed)
        return self._accept_now(handed)

    def _accept_now(self, handed: Submission) -> TurnRow | TurnResult:
        turn, id = handed.turn, handed.id
        state, stream = self.vault.store.state, self.vault.stream(handed.thread)
        first = self.intake.first(turn)
        first_print = fingerprint(first)
        if id is None:
            id = turn_id(stream, first, seen := state.seen(stream, first_print) if not first.id else 0)
            while not first.id and state.turn(id) is not None:
                id = turn_id(stream, first, seen := seen + 1)
        row = state.turn(id)
        taken = self.intake.take(turn)
        if row is not None and (known := self._known(row, taken)):
            return known
        if self.paused or not taken.messages:
            self.vault.store.exclude(id, stream, first_print)
            return TurnResult("excluded", id)
        at = local_time(taken.at, self.vault.options.zone) if taken.at else self.vault.now()
        if row is not None and row.payload is not None:
            at = Accepted.load(row.payload).at
        payload = Accepted(taken, self.vault.thread(handed.thread), at, handed.event).dump()
        draft = "accepted" if taken.complete else "draft"
        size = len(taken.messages)
        new = row or TurnRow(0, id, stream, first_print, draft, size, 0, 0, "", owner(), payload)
        given = replace(new, state=draft, messages=size, owner=owner(), payload=payload)
        stored = state.put_turn(given, self._offers(handed.notify), at.timestamp())
        return stored if taken.complete else TurnResult("accepted", id)

    def _known(self, row: TurnRow, taken: Turn) -> TurnRow | TurnResult | None:
        """What becomes of a turn that is known already; None if there is more of it to store."""
        if row.state == "excluded":
            return TurnResult("excluded", row.id)
        more = len(taken.messages) > (row.filed if row.payload is None else row.messages)
        if more or (row.state == "draft" and taken.complete):
            return None
        if row.payload is None:
            return self.duplicate(row)
        return TurnResult("accepted", row.id) if row.state == "draft" else row

    def _offers(self, notify: Sequence[NotifyCandidate]) -> list[NotifyCandidate]:
        return [self.intake.offer(candidate) for candidate in notify]

    def duplicate(self, row: TurnRow) -> TurnResult:
        return TurnResult("duplicate", row.id, event=self.vault.ref(row.path))

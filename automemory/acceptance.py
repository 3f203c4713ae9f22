"""Storing turns off the event loop, and keeping in memory for a while what cannot be stored."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import replace

from automemory._process import renew_after_fork
from automemory.agent_vault import AgentVault
from automemory.decision import NotifyCandidate
from automemory.errors import ConfigError, VaultError
from automemory.intake import Intake, Submission
from automemory.result import TurnResult
from automemory.storing import Storing
from automemory.turn import Turn, turn_id
from automemory.vault.tables import TurnRow

UNSTORED = 1000  # turns that wait in memory


class Acceptance(Storing):
    """Takes turns in.

    Attributes:
        unstored: Turns that wait in memory, since not even `state.db` can be written.
        last_error: Why, the last time; else empty.
    """

    vault: AgentVault

    def __init__(self, vault: AgentVault, intake: Intake) -> None:
        super().__init__(vault, intake)
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
            return await asyncio.to_thread(self.store, handed)
        except VaultError as error:
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
                found = await asyncio.to_thread(self.store, self.unstored[0])
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

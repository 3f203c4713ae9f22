"""One agent's use of a vault: `AgentStore`, and filing, one commit at a time, off the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from automemory._threads import Threads
from automemory.agent_store import AgentStore
from automemory.decision import EventView
from automemory.locator import Locator
from automemory.vault.commit import Basis
from automemory.vault.edits import Plan

_CHECKPOINT = 100  # commits


class AgentVault(AgentStore):
    """A vault as one agent uses it; see `AgentStore` for its arguments."""

    def renew(self) -> None:
        """Begin with nothing under way."""
        super().renew()
        self._commits = Threads(1, "automemory-commit")
        self._commit_count = 0
        self._locator: Locator | None = None

    @property
    def locator(self) -> Locator:
        """Finds where turns stand."""
        with self._opening:
            if self._locator is None:
                o = self.options
                self._locator = Locator(self.store, o.agent, o.limits, o.scope, o.schema)
            return self._locator

    async def open(self) -> None:
        """Open the vault off the loop, since that may have to read all of it."""
        await asyncio.to_thread(self.ready)

    async def close(self) -> None:
        if self._store is not None:
            await asyncio.to_thread(self._store.close)
        self._store = self._locator = None

    def forget_damaged(self) -> bool:
        damaged = super().forget_damaged()
        if damaged:
            self._locator = None
        return damaged

    async def commit(self, plan: Plan, basis: Basis, path: str, view: EventView | None) -> None:
        """Apply a plan, and keep the view of the event at `path` for the stream's next turn, if given."""

        def work() -> None:
            self.store.committer.commit(plan, basis)
            self.locator.remember(plan.stream, path, view)
            self._commit_count += 1
            if self._commit_count % _CHECKPOINT == 0:
                self.store.state.checkpoint()

        await self.on_commit_thread(work)

    async def on_commit_thread(self, work: Callable[[], None]) -> None:
        await asyncio.get_running_loop().run_in_executor(self._commits, work)

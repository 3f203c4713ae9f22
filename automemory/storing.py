"""The first step of a turn: stored durably, under its id, before anything else is done about it.

Loads nothing heavy, so that a process that only hands turns in (a coding agent's hook) starts fast.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from automemory._process import owner
from automemory.agent_store import AgentStore
from automemory.decision import NotifyCandidate
from automemory.errors import Conflict, VaultError
from automemory.intake import Accepted, Intake, Submission, local_time
from automemory.result import TurnResult
from automemory.turn import Turn, fingerprint, turn_id
from automemory.vault.tables import TurnRow


class Storing:
    """Stores turns.

    Args:
        vault: Where they go.
        intake: Makes them fit to be stored.

    Attributes:
        paused: How many callers want nothing recorded now.
    """

    def __init__(self, vault: AgentStore, intake: Intake) -> None:
        self.vault = vault
        self.intake = intake
        self.paused = 0

    def store(self, handed: Submission) -> TurnRow | TurnResult:
        """Store a turn durably; a row that is to be filed, or the result if there is nothing to file.

        Raises:
            VaultError: if it cannot be stored now.
        """
        try:
            return self._store_once(handed)
        except VaultError:
            if not self.vault.forget_damaged():
                raise
        return self._store_once(handed)  # in one that is made anew

    def duplicate(self, row: TurnRow) -> TurnResult:
        return TurnResult("duplicate", row.id, event=self.vault.ref(row.path))

    def _store_once(self, handed: Submission) -> TurnRow | TurnResult:
        self.vault.ready()
        with suppress(Conflict):  # another process has the same turn in hand
            return self._store(handed)
        return self._store(handed)

    def _store(self, handed: Submission) -> TurnRow | TurnResult:
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

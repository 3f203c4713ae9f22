"""The sections kept besides an event's turns: what a turn does to them. Reads and plans, writes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from automemory.agent_vault import AgentVault
from automemory.decision import Exchange
from automemory.judge import Judge
from automemory.routing import Located, Place
from automemory.turn import Step
from automemory.vault.edits import Edit
from automemory.vault.event import EventHead, RecordedTurn
from automemory.vault.files import Signature
from automemory.vault.quoting import read_inline
from automemory.views import Patch, current_sections, linked, view_edits


@dataclass(frozen=True, slots=True)
class ViewUpdate:
    """What a turn does to its event's sections.

    Attributes:
        path: The event's note.
        patch: What the turn adds, as a model or extraction says.
        edits: What is to be written.
        seen: Signatures of the files that this was made on; None for one that is not there.
    """

    path: str = ""
    patch: Patch = field(default_factory=dict)
    edits: tuple[Edit, ...] = ()
    seen: Mapping[str, Signature | None] = field(default_factory=dict)


class ViewKeeper:
    """Keeps sections as the note schema says, of events that have its form."""

    def __init__(self, vault: AgentVault, judge: Judge) -> None:
        self._vault = vault
        self._judge = judge

    async def keep(
        self, head: EventHead, place: Place | None, block: RecordedTurn, located: Located, before: ViewUpdate
    ) -> ViewUpdate:
        """What a turn does to its event's sections; nothing if there are none to keep.

        Args:
            head: The event.
            place: Where the turn is appended; None if it opens the event.
            block: The turn.
            located: Where it found its stream.
            before: What was made of the same turn before the vault changed; nobody is asked twice.
        """
        schema = self._vault.options.schema
        if not schema.sections or schema.apart != bool(head.turns):
            return ViewUpdate()
        event, files, seen = await asyncio.to_thread(self._vault.locator.kept, head, place)
        patch = before.patch
        if before.path != head.path:
            turn = Exchange.of(block.steps, block.at, read_inline(block.patch))
            patch = await self._judge.keep(schema, event, turn, current_sections(schema, files))
        edits = await asyncio.to_thread(self._edits, head, block, located, patch, files)
        return ViewUpdate(head.path, patch, tuple(edits), seen)

    def _edits(
        self,
        head: EventHead,
        block: RecordedTurn,
        located: Located,
        patch: Patch,
        files: Mapping[str, str],
    ) -> list[Edit]:
        assert block.at is not None
        known = located.links | self._vault.locator.existing([Step("assistant", linked(patch))])
        return view_edits(self._vault.options.schema, head, block.at, patch, files, known.__contains__)

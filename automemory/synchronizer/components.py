"""What the synchronizer's graph works with: the vault, the model, the limits."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from automemory._worker import Worker
from automemory.intake import local_time
from automemory.redact import Redactor
from automemory.synchronizer import prompting
from automemory.synchronizer.gather import Gathered, Gatherer, folder_of, note_path
from automemory.synchronizer.journal import Journal
from automemory.synchronizer.model import Caller, Step
from automemory.synchronizer.patch import Patcher
from automemory.synchronizer.result import SKIP, SynchronizerResult
from automemory.synchronizer.settings import Settings
from automemory.synchronizer.toolkit import VaultToolkit

if TYPE_CHECKING:
    from pathlib import Path

    from langchain_core.messages import AnyMessage
    from langchain_core.tools import BaseTool


@dataclass(frozen=True, slots=True)
class Components:
    """The working parts behind one `Synchronizer`.

    Attributes:
        settings: Strategy and limits.
        gatherer: Reads the vault.
        make_toolkit: The tools of a run, given the workspace's folder or None.
        caller, patcher: Ask the model; the one that the strategy needs is used.
        redact: Masks secrets in what the model is shown.
        prompts: A folder whose prompt files replace those that ship.
        zone: The vault's zone; the host's if None.
        clock: Gives the time.
        console: Whether what is done is told on stderr.
        worker: Runs what is called without a loop.
    """

    settings: Settings
    gatherer: Gatherer
    make_toolkit: Callable[[str | None], VaultToolkit]
    caller: Caller
    patcher: Patcher
    redact: Redactor
    prompts: Path | None
    zone: ZoneInfo | None
    clock: Callable[[], datetime]
    console: bool
    worker: Worker

    async def gather(self, messages: Any, hint: str | None, active: str | None) -> Gathered:
        now = local_time(self.clock(), self.zone)
        return await asyncio.to_thread(self.gatherer.gather, messages, hint, active, now)

    async def toolkit(self, folder: str) -> VaultToolkit:
        """The tools of a run, their vault opened: if it cannot be, the model need not be asked."""

        def opened() -> VaultToolkit:
            toolkit = self.make_toolkit(folder or None)
            toolkit.recent()
            return toolkit

        return await asyncio.to_thread(opened)

    async def asked(self, found: Gathered) -> list[tuple[str, str]]:
        """What the model is asked with."""
        return await asyncio.to_thread(prompting.messages, found, self.settings, self.redact, self.prompts)

    async def step(self, talk: Sequence[AnyMessage], tools: Sequence[BaseTool], left_s: float) -> Step:
        return await self.caller.call(talk, tools, max(0.0, left_s))

    async def nothing(self, found: Gathered, turns: bool) -> SynchronizerResult:
        """The result where nobody said anything."""
        return await self.collected(found, Journal(skipped=True), turns)

    async def collected(self, found: Gathered, journal: Journal, turns: bool) -> SynchronizerResult:
        """What a run came to, with the note as it is on disk now."""
        written = journal.path or next((r.path for r in journal.records if r.how == "material"), "")
        folder = folder_of(written) if written else None
        path = journal.path or note_path(folder or found.folder)
        text = await asyncio.to_thread(self._read, path, turns)
        failed = journal.failed
        skipped = journal.says_skip and not journal.troubles and not written
        actions = SKIP if skipped else journal.actions
        self.say(actions or "; ".join(entry["result"] for entry in failed))
        return SynchronizerResult(
            used_llm=journal.calls > 0,
            applied=journal.applied,
            failed=failed,
            skipped=skipped,
            actions=actions,
            workspace=folder,
            summary=None if skipped or failed else text,
            on_disk=text,
            path=path if text is not None else "",
        )

    def say(self, line: str) -> None:
        if self.console and line:
            print(f"synchronizer: {line}", file=sys.stderr)

    def _read(self, path: str, turns: bool) -> str | None:
        return self.gatherer.read(path, include_turns=turns) if path else None


def broken(sentence: str) -> SynchronizerResult:
    """The result where not even the vault could be read."""
    return SynchronizerResult(
        used_llm=False, failed=({"tool": "vault", "arguments": {}, "result": sentence},)
    )

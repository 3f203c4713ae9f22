"""Checks a vault, and repairs what can be repaired without a person's judgement."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from automemory.maintenance.caches import check_state
from automemory.maintenance.events import Brief, check_days, check_streams, check_turns
from automemory.maintenance.finding import Finding
from automemory.maintenance.names import check_names
from automemory.maintenance.repairs import MemoryFor, Repairs, run_memories
from automemory.maintenance.scan import own_folder
from automemory.vault.places import Places
from automemory.vault.snapshot import Snapshot, look
from automemory.vault.store import HOME

ROUNDS = 3  # a repair may bring up what the next one repairs: a turn is filed, its event is closed, summed up


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What a check of a vault found.

    Attributes:
        vault: Its folder.
        findings: What is there to be told, by path.
        fixed: What was found before and has been repaired.
        error: Why a repair failed; empty if none did.
    """

    vault: str
    findings: tuple[Finding, ...]
    fixed: tuple[Finding, ...] = ()
    error: str = ""

    @property
    def healthy(self) -> bool:
        """Whether nothing but notices is left."""
        return all(finding.notice for finding in self.findings)


def examine(vault: str | os.PathLike[str], now: datetime) -> Diagnosis:
    """Check a vault; not a byte of it changes.

    Args:
        vault: Its folder.
        now: The time, with zone: an event whose last turn is over a day old is left open.

    Raises:
        VaultError: if there is no such folder, it cannot be read, or its `.automemory` lies elsewhere.
    """
    return _examine(own_folder(vault), now)[0]


def repair(
    vault: str | os.PathLike[str], now: datetime, memory_for: MemoryFor, *, sync: bool = True
) -> Diagnosis:
    """Check a vault and repair what can be repaired; what is healthy stays as it is, byte for byte.

    Args:
        vault: Its folder.
        now: The time, with zone.
        memory_for: Makes the memory of an agent (empty for none), with which turns are filed and events
            summed up.
        sync: Whether to wait until the disk has what is written.

    Raises:
        VaultError: as `examine`, or if the vault cannot be written.
    """
    root = own_folder(vault)
    before, known, briefs = _examine(root, now)
    after, errors = before, [""]
    for _ in range(ROUNDS):
        wanted = [finding for finding in after.findings if finding.fixable]
        if not wanted:
            break
        errors = Repairs(root, known, briefs, now, sync=sync).make(wanted)
        errors += run_memories(wanted, briefs, known, memory_for)
        past = after
        after, known, briefs = _examine(root, now)
        if after.findings == past.findings:
            break
    fixed = tuple(finding for finding in before.findings if finding not in after.findings)
    return replace(after, fixed=fixed, error="; ".join(filter(None, dict.fromkeys(errors))))


def _examine(root: Path, now: datetime) -> tuple[Diagnosis, Snapshot, list[Brief]]:
    known = look(root / HOME)
    briefs: list[Brief] = []
    findings = [
        *check_names(root),
        *check_days(root, known, now, briefs),
        *check_streams(briefs),
        *check_turns(briefs),
        *check_state(known, briefs, now, Places(root).is_gone),
    ]
    return Diagnosis(str(root), tuple(sorted(findings))), known, briefs

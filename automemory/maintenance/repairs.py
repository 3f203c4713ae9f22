"""Repairs of a vault that need no judgement of what was said."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path

from automemory import planning
from automemory._process import owner
from automemory.errors import AutoMemoryError, Conflict
from automemory.maintenance.caches import abandoned, lost_turns
from automemory.maintenance.events import Brief
from automemory.maintenance.finding import Finding
from automemory.maintenance.names import excess
from automemory.maintenance.rebuild import maintenance, rebuild_day
from automemory.memory import AutoMemory
from automemory.vault.catalog import head_of, turn_rows
from automemory.vault.commit import Basis
from automemory.vault.database import set_aside
from automemory.vault.edits import Edit, Plan, SetFields, merged
from automemory.vault.file_operations import unwritable
from automemory.vault.held import held
from automemory.vault.layout import parse_event_path
from automemory.vault.revisions import Mend
from automemory.vault.snapshot import Snapshot
from automemory.vault.store import HOME, Store

SUMMED_UP_AT_ONCE = 5  # by one `flush`
MemoryFor = Callable[[str], AutoMemory]


class Repairs:
    """Repairs for which the vault itself is enough.

    Args:
        root: The vault.
        known: What its `state.db` said when it was checked.
        briefs: What its notes held.
        now: The time, with zone.
        sync: Whether to wait until the disk has what is written.
    """

    def __init__(
        self, root: Path, known: Snapshot, briefs: Sequence[Brief], now: datetime, *, sync: bool
    ) -> None:
        self._root = root
        self._known = known
        self._briefs = briefs
        self._now = now
        self._sync = sync

    def make(self, findings: Sequence[Finding]) -> list[str]:
        """Make what repairs these findings; those that need a memory are left.

        Returns:
            Why a repair failed, for each that did; the others were made.

        Raises:
            VaultError: if the vault cannot be opened.
        """
        paths = _by_code(findings)
        damaged = "state-damaged" in paths
        if damaged:
            set_aside(self._root / HOME / "state.db")
        store = Store(self._root, sync=self._sync)  # this alone finishes plans and makes `state.db` again
        try:
            self._keep_waiting(store, damaged=damaged)
            repairs = self._repairs(store)
            steps = [
                partial(repair, path) for code, repair in repairs.items() for path in paths.get(code, ())
            ]
            return [*store.committer.recover(), *filter(None, map(_tried, steps))]
        finally:
            store.close()

    def _repairs(self, store: Store) -> dict[str, Callable[[str], object]]:
        """What repairs a finding, by its code, in the order in which it is done."""
        return {
            "mode": self._take_rights,
            "left-temporary": lambda path: self._remove(store, path),
            "torn": lambda path: _commit(store, [Mend(path)], maintenance(path)),
            "turn-unknown": lambda path: self._read_again(store, path),
            "turn-lost": lambda path: self._no_longer_know(store, path),
            "name": lambda path: _commit(store, [_named(path)], maintenance(path)),
            "also-open": lambda path: self._close(store, path),
            "index": lambda path: list(rebuild_day(store, path.rpartition("/")[2].removesuffix(".md"))),
        }

    def _keep_waiting(self, store: Store, *, damaged: bool) -> None:
        """Take over turns that nobody is going to file; those of a damaged database are stored anew."""
        for row in self._known.turns:
            if row.payload is None or not (damaged or abandoned(row, self._now)):
                continue
            found = store.state.turn(row.id)
            if found is None or (found.payload is not None and found.filed == row.filed):
                with suppress(Conflict):  # somebody has it in hand after all
                    store.state.put_turn(replace(row, owner=owner(), seq=found.seq if found else 0))

    def _take_rights(self, path: str) -> None:
        root = self._root.resolve()
        place = root / path
        with (
            unwritable(path),
            held(root, place.parent) as folder,
            folder.opened(place.name, os.O_RDONLY) as descriptor,
        ):
            os.fchmod(descriptor, os.fstat(descriptor).st_mode & 0o777 & ~excess(place, root))

    def _remove(self, store: Store, path: str) -> None:
        folder, _, name = path.rpartition("/")
        with store.committer.locked():  # nobody is writing it
            store.disk.remove_temporary(f"{folder}/note".lstrip("/"), name)

    def _read_again(self, store: Store, path: str) -> None:
        row, event = store.catalog.refresh_note(path), store.catalog.event(path)
        if row and event:
            store.state.put_note(row, turn_rows(path, row.stream, event.turns))

    def _no_longer_know(self, store: Store, path: str) -> None:
        standing = {id for brief in self._briefs for id, _ in brief.parts}
        event = store.catalog.event(path)
        there = standing | {turn.id for turn in event.turns} if event else standing
        rows = [row for row in lost_turns(self._known, there) if row.path == path]
        store.state.drop_turns(row.id for row in rows if (store.state.turn(row.id) or row).path == path)

    def _close(self, store: Store, path: str) -> None:
        row = store.catalog.refresh_note(path)
        if row and row.is_open:
            edits = planning.close_edits(head_of(row), self._now, "recovery", None, False)
            _commit(store, edits, row.stream)


def run_memories(
    findings: Sequence[Finding], briefs: Sequence[Brief], known: Snapshot, memory_for: MemoryFor
) -> list[str]:
    """File what waits, close what was left open, and sum up what is owed, each with its agent's memory.

    Returns:
        Why it failed, for each agent with which it did.
    """
    streams = {brief.path: brief.stream for brief in briefs}
    paths = _by_code(findings)
    owed = {streams[path] for path in paths.get("summary-pending", ())}
    pending = {row.stream for row in known.turns if row.payload is not None}
    waiting = pending if {"waiting", "state-damaged"} & paths.keys() else set()
    # Not the active event of a stream that goes on, nor one that a waiting turn may go on with.
    left = paths.get("left-open", set()) - paths.get("also-open", set())
    closing = {streams[path] for path in left} - pending

    def run(agent: str) -> None:
        with memory_for(agent) as memory:
            memory.flush()
            for stream in sorted(stream for stream in closing if _agent(stream) == agent):
                memory.close_event(thread_id=stream.partition("/")[2], closed_by="recovery")
            for _ in range(len(paths.get("summary-pending", ())) // SUMMED_UP_AT_ONCE):
                memory.flush()

    agents = sorted({_agent(stream) for stream in closing | owed | waiting})
    return list(filter(None, [_tried(partial(run, agent)) for agent in agents]))


def _tried(step: Callable[[], object]) -> str:
    """Do something; gives why it failed, so that what comes next is done all the same."""
    try:
        step()
    except AutoMemoryError as error:
        return str(error)
    return ""


def _by_code(findings: Sequence[Finding]) -> dict[str, set[str]]:
    paths: dict[str, set[str]] = {}
    for finding in findings:
        paths.setdefault(finding.code, set()).add(finding.path)
    return paths


def _commit(store: Store, edits: Sequence[Edit], stream: str) -> None:
    store.committer.commit(Plan(merged(edits), stream), Basis(store.state.version(stream)))


def _named(path: str) -> SetFields:
    place = parse_event_path(path)
    return SetFields(path, {"name": place[1]} if place else {})


def _agent(stream: str) -> str:
    return stream.partition("/")[0]

"""Checks of `state.db` against the notes, and of what waits in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime
from unicodedata import normalize

from automemory._process import alive, owner
from automemory.intake import Accepted
from automemory.maintenance.events import STALE, Brief
from automemory.maintenance.finding import Finding, fixable
from automemory.vault.snapshot import Snapshot
from automemory.vault.store import HOME
from automemory.vault.tables import TurnRow

STATE = f"{HOME}/state.db"


def check_state(
    known: Snapshot, briefs: Sequence[Brief], now: datetime, is_gone: Callable[[str], bool]
) -> Iterator[Finding]:
    """What is wrong with `state.db`, and what in it waits; `is_gone` says whether a note is no more."""
    if known.damage:
        remedy = "it is set aside and made again from the notes; waiting turns that are readable are kept"
        yield fixable(STATE, "state-damaged", f"is damaged: {known.damage}", remedy)
        return
    if not known.exists:
        if any(brief.parts for brief in briefs):
            yield fixable(STATE, "state-missing", "is missing", "it is made again from the notes")
        return
    if known.plans:
        yield fixable(STATE, "plan", f"holds changes that were interrupted: {known.plans}", "are finished")
    for row in known.turns:
        if abandoned(row, now):
            kind = "a turn that did not finish" if row.state == "draft" else "a turn that is not filed yet"
            what = f"{kind} waits in it: {row.id} of {row.stream!r}"
            yield fixable(STATE, "waiting", what, "it is filed")
    yield from _out_of_step(known, briefs, is_gone)


def abandoned(row: TurnRow, now: datetime) -> bool:
    """Whether nobody is going to file a waiting turn.

    Of a process on another machine nobody can tell whether it still runs: it is given a day.
    """
    if row.payload is None or not alive(row.owner):
        return row.payload is not None
    try:
        return _machine(row.owner) != _machine(owner()) and now - Accepted.load(row.payload).at > STALE
    except ValueError:
        return False


def _machine(name: str) -> str:
    return name.rsplit(":", 2)[0]


def _out_of_step(
    known: Snapshot, briefs: Sequence[Brief], is_gone: Callable[[str], bool]
) -> Iterator[Finding]:
    rows = {row.id: row for row in known.turns}
    standing: dict[str, set[str]] = {}
    for brief in briefs:
        for id, _ in brief.parts:
            standing.setdefault(id, set()).add(normalize("NFC", brief.path))
    for brief in briefs:
        ids = {id for id, _ in brief.parts} if brief.stream else set()
        count = sum(not _known(rows.get(id), standing[id]) for id in ids)
        if count:
            what = f"{STATE} does not know where {count} of its turns are"
            yield fixable(brief.path, "turn-unknown", what, "the note is read again")
    read = {normalize("NFC", brief.path) for brief in briefs}
    lost = Counter(row.path for row in lost_turns(known, standing))
    for path, count in sorted(lost.items()):
        if normalize("NFC", path) not in read and not is_gone(path):
            continue  # nobody can say what stands in it
        what = f"{STATE} knows {count} turns of it that stand in no note"
        remedy = "they are no longer known: if they are handed in again, they are recorded"
        yield fixable(path, "turn-lost", what, remedy)


def lost_turns(known: Snapshot, standing: Collection[str]) -> list[TurnRow]:
    """Turns that are known as filed and stand in no note, of which the ids of turns are given."""
    filed = [row for row in known.turns if row.state == "filed" and row.payload is None]
    return [row for row in filed if row.id not in standing]


def _known(row: TurnRow | None, paths: Collection[str]) -> bool:
    """Whether a turn is known to stand in one of the notes in which it stands."""
    return row is not None and (row.state != "filed" or normalize("NFC", row.path) in paths)

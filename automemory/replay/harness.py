"""Saved conversations, recorded turn by turn as if they happened now, at the times they happened.

All sources are read before the first turn is recorded: a file that cannot be read leaves the vault as it was.
Recording knows every turn by its id, so that running the same replay again, after an interruption or on a
file that grew, adds what is new and nothing else.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import date as Date
from datetime import datetime
from functools import partial
from itertools import count
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from automemory.errors import ImportFailed
from automemory.intake import local_time
from automemory.replay.importers.conversation import Conversation
from automemory.replay.reading import Entry, OnProgress, Progress, in_order, read_all, shown_ahead, turns_of
from automemory.replay.sources import find_sources
from automemory.replay.spool import Spool
from automemory.replay.summary import ReplayReport, SourceReport
from automemory.result import TurnResult
from automemory.turn import Turn, turn_id

if TYPE_CHECKING:
    from automemory.memory import AutoMemory
    from automemory.replay.deciding import Step
    from automemory.replay.workers import Workers

OnRecorded = Callable[[str, Turn, TurnResult], None]


class _Stopped(Exception):
    """The person asked to stop."""


def replay(
    sources: Sequence[Path | str],
    memory: AutoMemory,
    *,
    format: str = "auto",
    date: Date | None = None,
    since: Date | None = None,
    until: Date | None = None,
    zone: ZoneInfo | None = None,
    on_progress: OnProgress = lambda progress: None,
    on_recorded: OnRecorded = lambda stream, turn, result: None,
    workers: Workers | None = None,
) -> ReplayReport:
    """Record saved conversations, each as a stream of its own whose last event is closed at its end.

    Conversations are taken in the order of their first messages' times, those without any time last; within
    one, the source's order is kept. Of several that are one stream the longest comes first, and what it holds
    is not taken from the others. `Ctrl-C` stops between two turns.

    Args:
        sources: Files, and folders and zip archives of files (read in the order of their names).
        memory: Where to; with `recent_scope="stream"` the result does not depend on the other
            conversations.
        format: A name in `importers.FORMATS`, or `auto`.
        date: The day of conversations without any time; today if not given.
        since: Turns of earlier days are left out.
        until: Turns of later days are left out.
        zone: The vault's zone, in which days are meant; the host's if None.
        on_progress: Called after each conversation read and each turn recorded.
        on_recorded: Called with each turn that is in time, its stream and what became of it.
        workers: Decide conversations ahead of the one that is recorded; `memory` has `workers.ahead` as its
            decider. Conversations of which something is in the vault already are decided here.

    Raises:
        ImportFailed: if a file given by name cannot be read or holds no turn, or if no turn is left to
            record. Nothing has been recorded then.
    """
    report = ReplayReport(date or datetime.now(zone).date())
    with Spool() as spool, _stoppable(on_progress) as step:
        try:
            entries = read_all(find_sources(sources), format, spool, report, step)
            window = since or Date.min, until or Date.max, zone
            work = _Recording(memory, report, *window, on_recorded, workers)
            done, total = 0, report.turns
            ordered = in_order(entries, zone)
            for entry, decided in _decided(ordered, workers, lambda e: work.to_decide(spool.get(e.place))):
                for _ in work.record(spool.get(entry.place), entry.source, decided):
                    done += 1
                    step(Progress("recording", done, total))
        except _Stopped:
            report.interrupted = True
            return report
    if not report.outcomes:
        raise _nothing_between(since, until, total)
    return report


def survey(
    sources: Sequence[Path | str],
    *,
    format: str = "auto",
    date: Date | None = None,
    since: Date | None = None,
    until: Date | None = None,
    zone: ZoneInfo | None = None,
    on_progress: OnProgress = lambda progress: None,
) -> ReplayReport:
    """What `replay` would read and leave out; decides nothing and writes nothing.

    Of turns that several files hold, all but the first count as duplicates.

    Args:
        sources, format, date, since, until, zone, on_progress: See `replay`.

    Raises:
        ImportFailed: as `replay`.
    """
    report = ReplayReport(date or datetime.now(zone).date())
    known: set[tuple[str, str]] = set()
    with Spool() as spool, _stoppable(on_progress) as step:
        try:
            entries = read_all(find_sources(sources), format, spool, report, step)
        except _Stopped:
            report.interrupted = True
            return report
        for entry in in_order(entries, zone):
            _look_at(
                entry, spool.get(entry.place), known, report, (since or Date.min, until or Date.max, zone)
            )
    if report.turns == sum(source.outside for source in report.sources):
        raise _nothing_between(since, until, report.turns)
    return report


def _look_at(
    entry: Entry,
    conversation: Conversation,
    known: set[tuple[str, str]],
    report: ReplayReport,
    days: tuple[Date, Date, ZoneInfo | None],
) -> None:
    source = entry.source
    source.undated += conversation.at is None
    for turn in turns_of(conversation, report.date):
        name = entry.stream, turn.messages[0].id or ""
        if not _is_between(turn, *days):
            source.outside += 1
        elif entry.stream and name in known:
            source.outcomes["duplicate"] += 1
        known.add(name)


def _decided(
    entries: Sequence[Entry], workers: Workers | None, turns_of: Callable[[Entry], list[Turn] | None]
) -> Iterator[tuple[Entry, Sequence[Step] | None]]:
    """Each entry, with what was decided ahead of it if anything was."""
    return workers.decide(entries, turns_of) if workers else ((entry, None) for entry in entries)


def _is_between(turn: Turn, since: Date, until: Date, zone: ZoneInfo | None) -> bool:
    assert turn.at is not None
    return since <= local_time(turn.at, zone).date() <= until


def _nothing_between(since: Date | None, until: Date | None, total: int) -> ImportFailed:
    return ImportFailed(f"none of the {total} turns lies between {since or '…'} and {until or '…'}")


class _Recording:
    """Records conversations and counts what becomes of their turns."""

    def __init__(
        self,
        memory: AutoMemory,
        report: ReplayReport,
        since: Date,
        until: Date,
        zone: ZoneInfo | None,
        on_recorded: OnRecorded,
        workers: Workers | None,
    ) -> None:
        self._memory = memory
        self._ahead = workers.ahead if workers else None
        self._report = report
        self._window = since, until, zone
        self._on_recorded = on_recorded
        self._used: set[str] = set()

    def to_decide(self, conversation: Conversation) -> list[Turn] | None:
        """The turns that a worker is to decide; None if the conversation is too large to be sent about."""
        if not isinstance(conversation.messages, tuple):
            return None
        return [t for t in turns_of(conversation, self._report.date) if _is_between(t, *self._window)]

    def record(
        self, conversation: Conversation, source: SourceReport, decided: Sequence[Step] | None = None
    ) -> Iterator[TurnResult | None]:
        """Record a conversation and end its last event; gives a result a turn, None where it is left out.

        Args:
            conversation: The conversation.
            source: Where it is counted.
            decided: What was decided ahead at each turn that is in time, and at the end.
        """
        source.undated += conversation.at is None
        stream = self._stream(conversation)
        known = set(self._memory.recorded_ids(stream))
        steps = iter(decided or () if not known else ())
        recorded = 0
        turns = turns_of(conversation, self._report.date)
        for turn in shown_ahead(turns, partial(self._show, stream, known)):
            result = self._turn(turn, stream, source, steps)
            recorded += result is not None
            yield result
        if recorded:
            self._go_on(steps)
            self._memory.close_event(thread_id=stream, closed_by="end")

    def _show(self, stream: str, known: Collection[str], turns: Sequence[Turn]) -> None:
        """Have the decider read turns that it is going to decide."""
        key = self._memory.stream_key(stream)
        new = [turn for turn in turns if turn_id(key, turn.messages[0]) not in known]
        self._memory.read_ahead(turn for turn in new if _is_between(turn, *self._window))

    def _go_on(self, steps: Iterator[Step]) -> None:
        """Say what was decided ahead of what is recorded next."""
        if self._ahead:
            self._ahead.step = next(steps, None)

    def _turn(
        self, turn: Turn, stream: str, source: SourceReport, steps: Iterator[Step]
    ) -> TurnResult | None:
        if not _is_between(turn, *self._window):
            source.outside += 1
            return None
        self._go_on(steps)
        result = self._memory.record(turn, thread_id=stream)
        source.outcomes[result.outcome] += 1
        if result.event is not None and result.event.how in {"opened", "inherited"}:
            self._report.opened += result.outcome == "recorded"
        self._report.error = result.error or self._report.error
        self._on_recorded(stream, turn, result)
        return result

    def _stream(self, conversation: Conversation) -> str:
        """The stream a conversation goes to.

        One that the source does not name shares its name with all that begin with the same words. It goes to
        the first stream of that name which no other conversation of this run has, and which holds nothing or
        the same talk.
        """
        if conversation.named_by_source:
            return conversation.id
        names = (conversation.id if number == 1 else f"{conversation.id}-{number}" for number in count(1))
        stream = next(name for name in names if name not in self._used and self._fits(name, conversation))
        self._used.add(stream)
        return stream

    def _fits(self, stream: str, conversation: Conversation) -> bool:
        key = self._memory.stream_key(stream)
        recorded = set(self._memory.recorded_ids(stream))
        ours = {turn_id(key, turn.messages[0]) for turn in turns_of(conversation, self._report.date)}
        return recorded <= ours or ours <= recorded


@contextmanager
def _stoppable(on_progress: OnProgress) -> Iterator[OnProgress]:
    """A step after which the first Ctrl-C takes effect, as `_Stopped`; a second one interrupts at once."""
    asked = threading.Event()

    def ask(signum: int, frame: FrameType | None) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    def step(progress: Progress) -> None:
        on_progress(progress)
        if asked.is_set():
            raise _Stopped

    if threading.current_thread() is not threading.main_thread():  # signals are the main thread's
        yield step
        return
    previous = signal.signal(signal.SIGINT, ask)
    try:
        yield step
    finally:
        signal.signal(signal.SIGINT, previous)

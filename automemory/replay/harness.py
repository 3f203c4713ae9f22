"""Saved conversations, recorded turn by turn as if they happened now, at the times they happened.

All sources are read before the first turn is recorded: a file that cannot be read leaves the vault as it was.
Recording knows every turn by its id, so that running the same replay again, after an interruption or on a
file that grew, adds what is new and nothing else.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date as Date
from datetime import datetime, time, timedelta
from itertools import count
from math import inf
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Literal
from zoneinfo import ZoneInfo

from automemory.errors import ImportFailed
from automemory.intake import local_time
from automemory.replay.importers import BadRecord, Conversation, importer_for
from automemory.replay.spool import Spool
from automemory.replay.summary import ReplayReport, SourceReport
from automemory.result import TurnResult
from automemory.turn import Message, Turn, split_turns, turn_id

if TYPE_CHECKING:
    from automemory.memory import AutoMemory


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a replay is: bytes while it reads, turns while it records."""

    phase: Literal["reading", "recording"]
    done: int
    total: int


OnProgress = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class _Entry:
    """A conversation in the spool."""

    place: int
    source: SourceReport
    at: datetime | None

    def began(self, zone: ZoneInfo | None) -> float:
        """When it began, in seconds since 1970; after all others if nobody knows."""
        return local_time(self.at, zone).timestamp() if self.at else inf


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
) -> ReplayReport:
    """Record saved conversations, each as a stream of its own whose last event is closed at its end.

    Conversations are taken in the order of their first messages' times, those without any time last; within
    one, the source's order is kept. `Ctrl-C` stops between two turns.

    Args:
        sources: Files, and folders of files (read in the order of their names).
        memory: Where to; with `recent_scope="stream"` the result does not depend on the other
            conversations.
        format: A name in `importers.FORMATS`, or `auto`.
        date: The day of conversations without any time; today if not given.
        since: Turns of earlier days are left out.
        until: Turns of later days are left out.
        zone: The vault's zone, in which days are meant; the host's if None.
        on_progress: Called after each conversation read and each turn recorded.

    Raises:
        ImportFailed: if a file given by name cannot be read or holds no turn, or if no turn is left to
            record. Nothing has been recorded then.
    """
    report = ReplayReport(date or datetime.now(zone).date())
    with Spool() as spool, _stoppable(on_progress) as step:
        try:
            entries = _read_all(_files(sources), format, spool, report, step)
            work = _Recording(memory, report, since or Date.min, until or Date.max, zone)
            done, total = 0, report.turns
            for entry in sorted(entries, key=lambda entry: entry.began(zone)):
                for _ in work.record(spool.get(entry.place), entry.source):
                    done += 1
                    step(Progress("recording", done, total))
        except _Stopped:
            report.interrupted = True
            return report
    if not report.outcomes:
        raise ImportFailed(f"none of the {total} turns lies between {since or '…'} and {until or '…'}")
    return report


def _files(sources: Sequence[Path | str]) -> list[tuple[Path, bool]]:
    """The files to read, each once, and whether it was named itself."""
    found: dict[str, tuple[Path, bool]] = {}
    for source in map(Path, sources):
        if source.is_dir():
            inside = sorted(path for path in source.rglob("*") if path.is_file())
            vaults = [path.parent for path in source.rglob(".automemory")]
            visible = [
                path
                for path in inside
                if not _hidden(path.relative_to(source)) and not any(v in path.parents for v in vaults)
            ]
            if not visible:
                raise ImportFailed(f"{source}: no file in this folder")
            for path in visible:
                found.setdefault(_real(path), (path, False))
        else:
            found[_real(source)] = (source, True)
    return list(found.values())


def _real(path: Path) -> str:
    return os.path.realpath(path)  # does not fail where links go round in a circle


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _read_all(
    files: list[tuple[Path, bool]], format: str, spool: Spool, report: ReplayReport, step: OnProgress
) -> list[_Entry]:
    """Read every file into the spool.

    Raises:
        ImportFailed: for a file named itself; one in a folder is skipped, unless none there can be read.
    """
    entries: list[_Entry] = []
    for path, named in files:
        source = SourceReport(str(path))
        report.sources.append(source)
        try:
            for conversation in _read(path, format, source, step):
                entries.append(_Entry(spool.put(conversation), source, conversation.at))
        except ImportFailed as failure:
            if named:
                raise
            source.skipped = str(failure).removeprefix(f"{path}: ")
    if not entries:
        reasons = "; ".join(f"{source.path}: {source.skipped}" for source in report.sources[:3])
        raise ImportFailed(f"no turn in any of {len(files)} files ({reasons})")
    return entries


def _read(path: Path, format: str, source: SourceReport, step: OnProgress) -> Iterator[Conversation]:
    """The conversations of one file.

    Raises:
        ImportFailed: if it cannot be read or has no turn; the message says what was seen.
    """
    try:
        with path.open("rb") as file:
            size = path.stat().st_size
            importer = importer_for(file, format)
            source.format = importer.name
            for found in importer.read(file):
                if isinstance(found, BadRecord):
                    source.count_bad(found)
                    continue
                source.conversations += 1
                source.turns += len(split_turns(found.messages))
                yield found
                step(Progress("reading", file.tell(), size))
    except OSError as error:
        raise ImportFailed(f"{path}: cannot be read ({error.strerror or error})") from error
    except ImportFailed as failure:
        raise ImportFailed(f"{path}: {failure}") from failure
    if not source.turns:
        nothing = BadRecord("the file", "no conversation in it")
        first = source.bad_records[0] if source.bad_records else nothing
        raise ImportFailed(f"{path}: no turn read as {source.format} ({first.position}: {first.reason})")


class _Recording:
    """Records conversations and counts what becomes of their turns."""

    def __init__(
        self, memory: AutoMemory, report: ReplayReport, since: Date, until: Date, zone: ZoneInfo | None
    ) -> None:
        self._memory = memory
        self._report = report
        self._since, self._until, self._zone = since, until, zone
        self._used: set[str] = set()

    def record(self, conversation: Conversation, source: SourceReport) -> Iterator[TurnResult | None]:
        """Record a conversation and end its last event; gives a result a turn, None where it is left out."""
        if conversation.at is None:
            source.undated += 1
        turns = split_turns(_dated(conversation, datetime.combine(self._report.date, time(12))))
        stream = self._stream(conversation, turns)
        recorded = 0
        for turn in turns:
            result = self._turn(turn, stream, source)
            recorded += result is not None
            yield result
        if recorded:
            self._memory.close_event(thread_id=stream, closed_by="end")

    def _turn(self, turn: Turn, stream: str, source: SourceReport) -> TurnResult | None:
        assert turn.at is not None
        if not self._since <= local_time(turn.at, self._zone).date() <= self._until:
            source.outside += 1
            return None
        result = self._memory.record(turn, thread_id=stream)
        source.outcomes[result.outcome] += 1
        if result.event is not None and result.event.how in {"opened", "inherited"}:
            self._report.opened += result.outcome == "recorded"
        self._report.error = result.error or self._report.error
        return result

    def _stream(self, conversation: Conversation, turns: list[Turn]) -> str:
        """The stream a conversation goes to.

        One that the source does not name shares its name with all that begin with the same words. It goes to
        the first stream of that name which no other conversation of this run has, and which holds nothing or
        the same talk.
        """
        if conversation.named_by_source:
            return conversation.id
        names = (conversation.id if number == 1 else f"{conversation.id}-{number}" for number in count(1))
        stream = next(name for name in names if name not in self._used and self._fits(name, turns))
        self._used.add(stream)
        return stream

    def _fits(self, stream: str, turns: list[Turn]) -> bool:
        key = self._memory.stream_key(stream)
        recorded = set(self._memory.recorded_ids(stream))
        ours = {turn_id(key, turn.messages[0]) for turn in turns}
        return recorded <= ours or ours <= recorded


def _dated(conversation: Conversation, default: datetime) -> list[Message]:
    """Its messages, each with a time: its own, that of the message before it, or else the first there is.

    Where there is none at all they come a second apart, so that their order shows.
    """
    at, apart = conversation.at or default, timedelta(seconds=0 if conversation.at else 1)
    messages = []
    for message in conversation.messages:
        at = message.at or at + apart
        messages.append(message if message.at else replace(message, at=at))
    return messages


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

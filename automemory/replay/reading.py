"""Reads saved conversations into a spool, and says in which order they are to be recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date as Date
from datetime import datetime, time, timedelta
from math import inf
from typing import Literal
from zoneinfo import ZoneInfo

from automemory.errors import ImportFailed
from automemory.intake import local_time
from automemory.replay.importers.conversation import Conversation
from automemory.replay.importers.records import BadRecord, LeftOut
from automemory.replay.importers.registry import importer_for
from automemory.replay.sources import Source
from automemory.replay.spool import Spool
from automemory.replay.summary import ReplayReport, SourceReport
from automemory.turn import Message, Turn, iter_turns

_TURNS_AHEAD = 16  # shown at once
_SIZE_AHEAD = 100_000  # characters, after which no more are


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a replay is: bytes while it reads, turns while it records."""

    phase: Literal["reading", "recording"]
    done: int
    total: int


OnProgress = Callable[[Progress], None]


@dataclass(frozen=True, slots=True)
class Entry:
    """A conversation in the spool.

    Attributes:
        place: Where it is.
        source: The report of its file.
        at: When it began, if anybody knows.
        stream: The name of its stream if the source gives one, else empty.
        length: How many messages it has.
    """

    place: int
    source: SourceReport
    at: datetime | None
    stream: str
    length: int


def read_all(
    sources: Sequence[Source], format: str, spool: Spool, report: ReplayReport, step: OnProgress
) -> list[Entry]:
    """Read every file into the spool.

    Raises:
        ImportFailed: for a file named itself that has no turn, and for a folder or an archive in which no
            file has one. A file in one of these may be anything and is skipped.
    """
    total, before = sum(source.size for source in sources), 0
    entries: list[Entry] = []
    for source in sources:
        about = SourceReport(source.name)
        report.sources.append(about)
        start = before

        def on_read(place: int, start: int = start) -> None:
            step(Progress("reading", min(start + place, total), total))

        try:
            for found in _read(source, format, about, on_read):
                stream = found.id if found.named_by_source else ""
                entries.append(Entry(spool.put(found), about, found.at, stream, len(found.messages)))
        except ImportFailed as failure:
            if source.named:
                raise ImportFailed(f"{source.name}: {failure}") from failure
            about.skipped = str(failure)
        before += source.size
    _refuse_empty(sources, report.sources)
    return entries


def in_order(entries: Sequence[Entry], zone: ZoneInfo | None) -> list[Entry]:
    """Entries in the order of their first messages, those that nobody can date last.

    Those of one stream follow each other, the longest first: of a transcript that went on in two ways, the
    longer way is the one whose turns are recorded as they stand there.
    """
    first: dict[str, tuple[float, int]] = {}
    keys = []
    for number, entry in enumerate(entries):
        began = (local_time(entry.at, zone).timestamp() if entry.at else inf, number)
        name = entry.stream or f"\0{number}"
        first[name] = min(began, first.get(name, began))
        keys.append((name, -entry.length, number))
    ranked = sorted(keys, key=lambda key: (first[key[0]], key[1], key[2]))
    return [entries[number] for _, _, number in ranked]


def turns_of(conversation: Conversation, default: Date) -> Iterator[Turn]:
    """A conversation's turns, one at a time, each message with a time."""
    return iter_turns(_dated(conversation, datetime.combine(default, time(12))))


def shown_ahead(turns: Iterable[Turn], show: Callable[[list[Turn]], None]) -> Iterator[Turn]:
    """The turns one by one, after some of them together were shown to `show`."""
    some: list[Turn] = []
    size = 0
    for turn in turns:
        some.append(turn)
        size += size_of(turn)
        if len(some) == _TURNS_AHEAD or size > _SIZE_AHEAD:
            show(some)
            yield from some
            some, size = [], 0
    show(some)
    yield from some


def size_of(turn: Turn) -> int:
    """About how many characters a turn has."""
    return sum(len(m.text) + sum(len(call.arguments) for call in m.tool_calls) for m in turn.messages)


def _dated(conversation: Conversation, default: datetime) -> Iterator[Message]:
    """Its messages, each with a time: its own, that of the message before it, or else the first there is.

    Where there is none at all they come a second apart, so that their order shows.
    """
    at, apart = conversation.at or default, timedelta(seconds=0 if conversation.at else 1)
    for message in conversation.messages:
        at = message.at or at + apart
        yield message if message.at else replace(message, at=at)


def _read(
    source: Source, format: str, about: SourceReport, on_read: Callable[[int], None]
) -> Iterator[Conversation]:
    """The conversations of one file.

    Raises:
        ImportFailed: if it cannot be read or has no turn; the message says what was seen.
    """
    damage: list[Exception] = []
    with source.open(on_read, damage.append) as file:
        try:
            importer = importer_for(file, format)
        except ImportFailed:
            if damage:
                raise _unreadable(damage[0]) from damage[0]
            raise
        about.format = importer.name
        for found in importer.read(file):
            if isinstance(found, BadRecord):
                about.count_bad(found)
            elif isinstance(found, LeftOut):
                about.left_out[found.reason] += found.count
            else:
                about.conversations += 1
                about.turns += sum(1 for _ in turns_of(found, Date.today()))
                yield found
    if damage and not about.turns:
        raise _unreadable(damage[0]) from damage[0]
    if damage:
        about.count_bad(BadRecord("the rest of the file", f"cannot be read ({damage[0]})", rest=True))
    if not about.turns:
        raise ImportFailed(f"no turn read as {about.format} ({about.why_nothing()})")


def _unreadable(error: Exception) -> ImportFailed:
    return ImportFailed(f"cannot be read ({getattr(error, 'strerror', None) or error})")


def _refuse_empty(sources: Sequence[Source], reports: Sequence[SourceReport]) -> None:
    """Raise `ImportFailed` for a folder or an archive without any turn."""
    origins = dict.fromkeys(source.origin for source in sources)
    for origin in origins:
        its = [about for source, about in zip(sources, reports, strict=True) if source.origin == origin]
        if not any(about.turns for about in its):
            reasons = "; ".join(f"{about.path}: {about.skipped}" for about in its[:3])
            raise ImportFailed(f"{origin}: no turn in any of {len(its)} files ({reasons})")

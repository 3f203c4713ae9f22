"""Checks of what the notes and day indexes of a vault say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from unicodedata import normalize

from automemory.errors import VaultError
from automemory.maintenance.finding import Finding, fixable, notice
from automemory.maintenance.rebuild import indexed, missing
from automemory.vault import frontmatter, note
from automemory.vault.blocks import cut
from automemory.vault.edits import Closing
from automemory.vault.event import EventHead, RecordedTurn, read_head, text_field
from automemory.vault.layout import DAILY, day_index_path
from automemory.vault.links import find_links
from automemory.vault.places import Places
from automemory.vault.resolver import Resolver
from automemory.vault.snapshot import Snapshot
from automemory.vault.tables import stream_key

STALE = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Seen:
    """An event's note as it was read.

    Attributes:
        path: Its vault path.
        text: The note.
        record: What its turns stand in: the note, or a file beside it.
        head: What its frontmatter says; None if it is broken or missing.
        blocks: Its turns' blocks.
    """

    path: str
    text: str
    record: str
    head: EventHead | None
    blocks: Sequence[RecordedTurn]

    @property
    def stream(self) -> str:
        return stream_key(self.head.agent, self.head.thread) if self.head and self.head.thread else ""

    @property
    def last_at(self) -> datetime | None:
        return max((block.at for block in self.blocks if block.at), default=None)


@dataclass(frozen=True, slots=True)
class Brief:
    """What is remembered of a note once it was checked.

    Attributes:
        path: Its vault path.
        stream: Whose turns it records; empty if nobody's.
        is_open: Whether it may be a stream's active event.
        last_at: When its newest turn happened.
        parts: Id and part of each block.
    """

    path: str
    stream: str
    is_open: bool
    last_at: datetime | None
    parts: tuple[tuple[str, int], ...]


def check_days(root: Path, known: Snapshot, now: datetime, briefs: list[Brief]) -> Iterator[Finding]:
    """What is wrong with the notes and indexes, day by day; `briefs` gets what the notes hold."""
    places = Places(root)
    resolver = Resolver(places)
    for day in places.days():
        read = list(_read(places, day))
        yield from (found for found in read if isinstance(found, Finding))
        seen = [each for each in read if isinstance(each, Seen)]
        for each in seen:
            yield from _check_note(each, now)
            yield from _check_links(each.path, each.text, resolver)
            if each.head and each.head.turns:
                yield from _check_links(each.head.turns, each.record, resolver)
            is_open = bool(each.head and each.head.open)
            parts = tuple((block.id, block.part) for block in each.blocks)
            briefs.append(Brief(each.path, each.stream, is_open, each.last_at, parts))
        yield from _check_index(places, day, seen, known, resolver)


def check_streams(briefs: Sequence[Brief]) -> Iterator[Finding]:
    """Streams with more than one open event: all but the one with the newest turn are to be closed."""
    opened: dict[str, list[Brief]] = {}
    for brief in briefs:
        if brief.is_open:
            opened.setdefault(brief.stream, []).append(brief)
    for several in opened.values():
        active = max(several, key=lambda b: (b.last_at.timestamp() if b.last_at else 0.0, b.path))
        for brief in several:
            if brief is not active:
                what = f"is open, and so is {active.path!r} of the same agent and thread"
                yield fixable(brief.path, "also-open", what, "is closed with `recovery`")


def check_turns(briefs: Sequence[Brief]) -> Iterator[Finding]:
    """Turns that stand in the vault twice."""
    places: dict[str, list[str]] = {}
    twice: dict[str, list[str]] = {}
    for brief in briefs:
        for id in dict.fromkeys(id for id, _ in brief.parts):
            places.setdefault(id, []).append(brief.path)
        again = {id for n, (id, part) in enumerate(brief.parts) if (id, part) in brief.parts[:n]}
        if again:
            twice[brief.path] = sorted(again)
    for path, ids in twice.items():
        what = f"turns stand in it twice: {_some(ids)}"
        yield Finding(path, "turn-twice", what, "delete one of the two blocks by hand")
    copies: dict[tuple[str, ...], list[str]] = {}
    for id, paths in places.items():
        if len(paths) > 1:
            copies.setdefault(tuple(paths), []).append(id)
    for (first, *others), ids in copies.items():
        what = f"holds turns that stand in {', '.join(map(repr, others))} too: {_some(ids)}"
        yield Finding(first, "turn-twice", what, "one of them is a copy: delete it, or its blocks, by hand")


def _read(places: Places, day: str) -> Iterator[Seen | Finding]:
    """The notes of a day; a finding for each that cannot be read."""
    for found in places.notes(day):
        try:
            text = places.read(found).decode("utf-8", "surrogateescape") if places.status(found) else None
        except (OSError, VaultError):
            text = None
        if text is None:
            remedy = "give yourself the right to read it, or put a note of the folder's name there"
            yield Finding(found.path, "unreadable", "is no file of the vault that can be read", remedy)
            continue
        front = frontmatter.read(text)
        head = read_head(found.path, front.fields) if front.fields else None
        record = _text(places, head.turns) if head and head.turns else text
        yield Seen(found.path, text, record, head, note.blocks(record))


def _text(places: Places, path: str) -> str:
    """A file's text; empty if there is none that can be read."""
    try:
        return places.text(path)
    except (OSError, VaultError):
        return ""


def _check_note(seen: Seen, now: datetime) -> Iterator[Finding]:
    path, front = seen.path, frontmatter.read(seen.text)
    if front.error:
        remedy = "repair the block between the two `---` lines by hand; turns are appended all the same"
        yield Finding(path, "frontmatter", f"the frontmatter is broken: {front.error}", remedy)
    elif not front.fields and seen.blocks:
        remedy = "put the block back by hand: `name`, `title`, `thread` and the rest, between two `---` lines"
        yield Finding(path, "frontmatter", "the frontmatter is gone", remedy)
    yield from _check_blocks(seen.head.record if seen.head else path, seen.record)
    head = seen.head
    if head is None or not head.thread:
        return
    name = text_field(front.fields, "name")
    if normalize("NFC", name) != normalize("NFC", head.name):
        yield fixable(path, "name", f"says its name is {name!r}", f"it says {head.name!r}, as its folder")
    if head.closed and head.summary_by == "pending":
        yield fixable(path, "summary-pending", "its final summary is owed", "it is summed up")
    last = seen.last_at
    if head.open and last and now - last > STALE:
        what = f"is open; its last turn was on {last:%Y-%m-%d at %H:%M}"
        yield fixable(path, "left-open", what, "is closed with `recovery`, with its final summary")


def _check_blocks(path: str, text: str) -> Iterator[Finding]:
    if note.mend(text):
        what = "its last turn was cut off while it was written"
        yield fixable(path, "torn", what, "the rest of it is kept, closed and marked `torn`")
    for piece in cut(text)[1][:-1]:
        if f"<!-- /turn {piece.id}" not in piece.raw:
            what = f"the block of turn {piece.id} has no end marker"
            yield Finding(
                path, "cut-off", what, f"put `<!-- /turn {piece.id} torn -->` behind what is left of it"
            )


def _check_links(path: str, text: str, resolver: Resolver) -> Iterator[Finding]:
    """Links with a path that lead nowhere; a bare name may be a note that is yet to be written."""
    dead = {
        link.target
        for link in find_links(text)
        if "/" in link.target and resolver.resolve(link.target, path) is None
    }
    for target in sorted(dead):
        what = f"links to {target!r}, which is not there"
        yield notice(path, "dead-link", what, "if it was moved, correct the link; else it may stay")


def _check_index(
    places: Places, day: str, seen: Sequence[Seen], known: Snapshot, resolver: Resolver
) -> Iterator[Finding]:
    path = day_index_path(day)
    events = [event for each in seen if (event := indexed(each.path, each.text, each.blocks))]
    text = _text(places, path) if places.is_file(path) else None
    if text is not None:
        yield from _check_links(path, text, resolver)
    gone = [Closing(p, "", d) for p, d in known.descriptions.items() if p.startswith(f"{DAILY}/{day}/")]
    read = {each.path for each in seen}
    edit = missing(text, day, events, gone, lambda path: path in read or places.is_gone(path))
    if edit is not None:
        what = "is not in step with the day's events" if text is not None else "is missing"
        yield fixable(path, "index", what, "what is missing is added, as by `automemory index rebuild`")


def _some(ids: Sequence[str]) -> str:
    return ", ".join(ids[:3]) + (f" and {len(ids) - 3} more" if len(ids) > 3 else "")

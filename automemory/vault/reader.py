"""Reading a vault: needs nothing but the Markdown files, and never writes.

How to read a vault for a layer above: `docs/vault-format.md`, section 13.
"""

from __future__ import annotations

import os
from asyncio import to_thread
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import date as Date
from functools import partial
from unicodedata import normalize

from automemory.errors import VaultError
from automemory.vault import backlinks, note
from automemory.vault.backlinks import Acknowledgement, Backlink
from automemory.vault.chain import chain
from automemory.vault.changes import Changes, changes
from automemory.vault.event import Event, EventHead
from automemory.vault.heads import in_order, read_opening
from automemory.vault.index import IndexLine, read_lines
from automemory.vault.layout import day_index_path, fold, parse_event_path, parse_link
from automemory.vault.places import Found, Places
from automemory.vault.resolver import Resolver

__all__ = ["Acknowledgement", "Backlink", "Changes", "Day", "Event", "EventHead", "Problem", "Reader"]


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in the vault that is no readable event: its vault path, and what is wrong with it."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Day:
    """A day index.

    Attributes:
        date: The day, `YYYY-MM-DD`.
        lines: All its lines, people's own included; empty if there is no index.
    """

    date: str
    lines: tuple[IndexLine, ...]


class Reader:
    """Reads the events of a vault.

    Every method has a twin with `a` before its name for use in a coroutine. Notes that people wrote or broke
    are skipped and reported by `problems`, never fatal.

    Args:
        vault: The vault's folder.

    Raises:
        VaultError: if there is no such folder.
    """

    def __init__(self, vault: str | os.PathLike[str]) -> None:
        self._places = Places(vault)

    def events(
        self,
        *,
        since: str | None = None,
        until: str | None = None,
        agent: str | None = None,
        thread: str | None = None,
        status: str | None = None,
        open: bool | None = None,
        text: str | None = None,
    ) -> list[EventHead]:
        """Events in the order of their days, within a day in the order of their first turns.

        Args:
            since, until: First and last day, `YYYY-MM-DD`.
            agent, thread, status: Only events with this value.
            open: True for events that are open only, False to leave these out.
            text: Only events whose note holds this text, whatever its case; backslashes do not count, so that
                what was disarmed is found as it was said.
        """
        wanted = {"agent": agent, "thread": thread, "status": status, "open": open}
        found = []
        for day in self._places.days(since, until):
            openings = [read_opening(self._places, file) for file in self._places.notes(day)]
            heads = in_order(openings)
            heads = [h for h in heads if all(v is None or getattr(h, k) == v for k, v in wanted.items())]
            found += [head for head in heads if text is None or self._holds(head, text)]
        return found

    async def aevents(
        self,
        *,
        since: str | None = None,
        until: str | None = None,
        agent: str | None = None,
        thread: str | None = None,
        status: str | None = None,
        open: bool | None = None,
        text: str | None = None,
    ) -> list[EventHead]:
        """See `events`."""
        wanted = {"agent": agent, "thread": thread, "status": status, "text": text}
        return await to_thread(partial(self.events, since=since, until=until, open=open, **wanted))

    def event(self, ref: str) -> Event:
        """One event with its turns.

        Args:
            ref: Its vault path, a link to it, `<date>/<name>`, or its name if only one event has it.

        Raises:
            VaultError: if there is no such event, or several.
        """
        path = self._find(ref)
        event = note.read_event(path, self._read(path), self._read_beside)
        if event is None:
            raise VaultError(f"{path!r} is not the path of an event's note")
        return event

    async def aevent(self, ref: str) -> Event:
        """See `event`."""
        return await to_thread(self.event, ref)

    def day(self, date: str) -> Day:
        """The index of a day, `YYYY-MM-DD`.

        Raises:
            VaultError: if `date` is no day, or the index cannot be read.
        """
        with suppress(ValueError):
            path = day_index_path(Date.fromisoformat(date).isoformat())
            text = self._read(path) if self._places.is_file(path) else ""
            return Day(date, tuple(read_lines(text)))
        raise VaultError(f"{date!r} is no day: give it as YYYY-MM-DD")

    async def aday(self, date: str) -> Day:
        """See `day`."""
        return await to_thread(self.day, date)

    def chain(self, ref: str) -> list[EventHead]:
        """The events that an event goes on from, itself, and those that go on from it, oldest first.

        Reads the notes it goes on from, and of those of its own and later days their heads.
        """
        return chain(self._places, self._find(ref))

    async def achain(self, ref: str) -> list[EventHead]:
        """See `chain`."""
        return await to_thread(self.chain, ref)

    def backlinks(self, ref: str, *, quoted: bool = False) -> list[Backlink]:
        """The places under `daily/` that link to an event or to another file of the vault.

        Links in frontmatter and text count, in every form (`resolver.Resolver`), but not what is quoted,
        escaped, code or a comment.

        Args:
            ref: An event as in `event`, or the vault path of, or a link to, any file.
            quoted: Whether to give the wikilinks in quoted text too.

        Raises:
            VaultError: if there is no such file.
        """
        target = Resolver(self._places).resolve(_target(ref), "")
        return backlinks.backlinks(self._places, target or self._find(ref), quoted=quoted)

    async def abacklinks(self, ref: str, *, quoted: bool = False) -> list[Backlink]:
        """See `backlinks`."""
        return await to_thread(self.backlinks, ref, quoted=quoted)

    def acknowledged(self, *, since: str | None = None, until: str | None = None) -> list[Acknowledgement]:
        """The resources that notes under `daily/` link to, by path.

        A resource is a file of the vault outside `daily/`. All Markdown files under `daily/` are such notes:
        summary notes, views, materials, day indexes. What counts as a link: see `backlinks`.

        Args:
            since, until: Only what the indexes and folders of these days hold, `YYYY-MM-DD`.
        """
        return backlinks.acknowledged(self._places, since, until)

    async def aacknowledged(
        self, *, since: str | None = None, until: str | None = None
    ) -> list[Acknowledgement]:
        """See `acknowledged`."""
        return await to_thread(self.acknowledged, since=since, until=until)

    def changed(self, since: str | None = None) -> Changes:
        """The events that are new, changed or gone since a watermark (`Changes.watermark`).

        Args:
            since: The watermark that an earlier call gave; None for all events.

        Raises:
            VaultError: if `since` is no watermark.
        """
        return changes(self._places, since)

    async def achanged(self, since: str | None = None) -> Changes:
        """See `changed`."""
        return await to_thread(self.changed, since)

    def problems(self) -> list[Problem]:
        """Folders without a summary note, broken or missing frontmatter, and what cannot be read."""
        found = []
        for day in self._places.days():
            if not os.access(self._places.real / "daily" / day, os.R_OK | os.X_OK):
                found.append(Problem(f"daily/{day}", "cannot be read: check its permissions"))
            for file in self._places.notes(day, missing=True):
                head = read_opening(self._places, file).head
                if isinstance(head, str):
                    found.append(Problem(file.path, head))
        return found

    async def aproblems(self) -> list[Problem]:
        """See `problems`."""
        return await to_thread(self.problems)

    def _holds(self, head: EventHead, text: str) -> bool:
        said = self._read(head.path) + (self._read_beside(head.turns) if head.turns else "")
        return _searchable(text) in _searchable(said)

    def _read_beside(self, path: str) -> str:
        """A file of an event besides its note; empty if there is none in the vault."""
        return self._read(path) if self._places.is_file(path) else ""

    def _find(self, ref: str) -> str:
        """The vault path of the event that a person means."""
        path = _target(ref)
        for candidate in (path, f"{path}.md"):
            with suppress(OSError):  # no file can have such a name
                if parse_event_path(candidate) and self._places.place(candidate).is_file():
                    return candidate
        date, _, name = path.rpartition("/")
        named = self._named(date.removeprefix("daily/"), name.removesuffix(".md"))
        if len(named) == 1:
            return named[0]
        if not named:
            where = str(self._places.root)
            raise VaultError(f"there is no event {ref!r} in {where!r}: `automemory events` lists them")
        raise VaultError(f"{ref!r} is the name of several events, give one of: {', '.join(named)}")

    def _named(self, day: str, name: str) -> list[str]:
        files = (file for d in self._places.days(day or None, day or None) for file in self._places.notes(d))
        return [file.path for file in files if fold(file.path.split("/")[2]) == fold(name)]

    def _read(self, path: str) -> str:
        with _readable(path):
            return self._places.read(Found(path, "")).decode("utf-8", "replace")


@contextmanager
def _readable(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise VaultError(f"{path!r} cannot be read ({error.strerror or error})") from error


def _target(ref: str) -> str:
    return parse_link(ref) or ref.strip()


def _searchable(text: str) -> str:
    return normalize("NFC", text.replace("\\", "")).casefold()

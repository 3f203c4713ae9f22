"""Reading a vault: needs nothing but the Markdown files, and never writes."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from unicodedata import normalize

import aiofiles

from automemory.errors import PathEscape, VaultError
from automemory.vault import frontmatter, note
from automemory.vault.disk import is_folder, native, portable
from automemory.vault.event import Event, EventHead, read_head
from automemory.vault.layout import DAY, fold, parse_event_path, parse_link, safe_path

_HEAD = 16 * 1024


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in the vault that is no readable event: its vault path, and what is wrong with it."""

    path: str
    reason: str


class Reader:
    """Reads the events of a vault.

    Notes that people wrote or broke are skipped and reported by `problems`, never fatal.

    Args:
        vault: The vault's folder.

    Raises:
        VaultError: if there is no such folder.
    """

    def __init__(self, vault: str | os.PathLike[str]) -> None:
        self._root = Path(vault).expanduser()
        if not os.path.isdir(self._root):  # noqa: PTH112 - takes any name
            raise VaultError(f"{str(self._root)!r} is no folder: give the vault's folder")
        self._real = self._root.resolve()

    def events(
        self,
        *,
        since: str | None = None,
        until: str | None = None,
        agent: str | None = None,
        thread: str | None = None,
        status: str | None = None,
        text: str | None = None,
    ) -> list[EventHead]:
        """Events in the order of their days, within a day in the order of their first turns.

        Args:
            since, until: First and last day, `YYYY-MM-DD`.
            agent, thread, status: Only events with this value.
            text: Only events whose note holds this text, whatever its case.
        """
        wanted = {"agent": agent, "thread": thread, "status": status}
        found = []
        for day in self._days(since, until):
            heads = [h for p in self._notes(day) if isinstance(h := self._head(p), EventHead)]
            heads = [h for h in heads if all(v is None or getattr(h, k) == v for k, v in wanted.items())]
            found += self._in_order([h for h in heads if text is None or self._holds(h.path, text)])
        return found

    async def aevents(
        self,
        *,
        since: str | None = None,
        until: str | None = None,
        agent: str | None = None,
        thread: str | None = None,
        status: str | None = None,
        text: str | None = None,
    ) -> list[EventHead]:
        """See `events`."""
        return await asyncio.to_thread(
            lambda: self.events(
                since=since, until=until, agent=agent, thread=thread, status=status, text=text
            )
        )

    def event(self, ref: str) -> Event:
        """One event with its turns.

        Args:
            ref: Its vault path, a link to it, `<date>/<name>`, or its name if only one event has it.

        Raises:
            VaultError: if there is no such event, or several.
        """
        path = self._find(ref)
        return self._parsed(path, self._read(path))

    async def aevent(self, ref: str) -> Event:
        """See `event`."""
        path = await asyncio.to_thread(self._find, ref)
        with _readable(path):
            async with aiofiles.open(self._place(path), "rb") as file:
                data = await file.read()
        return self._parsed(path, data.decode("utf-8", "replace"))

    def chain(self, ref: str) -> list[EventHead]:
        """The events that an event goes on from, itself, and those that go on from it, oldest first."""
        start = self._find(ref)
        heads = {_key(head.path): head for head in self.events()}
        if _key(start) not in heads:
            raise VaultError(f"{start!r} has no readable frontmatter: repair it first")
        first = heads[_key(start)]
        before: list[EventHead] = []
        while (parent := heads.get(_key((before or [first])[0].inherits))) and parent not in (first, *before):
            before.insert(0, parent)
        line, later = {_key(start)}, []
        earlier = {_key(head.path) for head in before}
        for key, head in heads.items():  # in the order of days: an heir comes after what it inherits
            if _key(head.inherits) in line and key not in line | earlier:
                line.add(key)
                later.append(head)
        return [*before, first, *later]

    async def achain(self, ref: str) -> list[EventHead]:
        """See `chain`."""
        return await asyncio.to_thread(self.chain, ref)

    def problems(self) -> list[Problem]:
        """Folders without a summary note, and notes whose frontmatter is broken or missing."""
        found = []
        for day in self._days(None, None):
            for path in self._notes(day, with_missing=True):
                head = self._head(path)
                if isinstance(head, str):
                    found.append(Problem(path, head))
        return found

    async def aproblems(self) -> list[Problem]:
        """See `problems`."""
        return await asyncio.to_thread(self.problems)

    def _days(self, since: str | None, until: str | None) -> list[str]:
        days = [name for name in _folders(self._root / "daily") if DAY.fullmatch(name)]
        return [day for day in days if (since is None or day >= since) and (until is None or day <= until)]

    def _notes(self, day: str, *, with_missing: bool = False) -> Iterator[str]:
        for name in _folders(self._root / "daily" / day):
            folder = self._root / "daily" / day / native(name)
            wanted = normalize("NFC", f"{name}.md")
            same = [n for n in (portable(e.name) for e in folder.iterdir()) if normalize("NFC", n) == wanted]
            if same or with_missing:
                yield f"daily/{day}/{name}/{same[0] if same else f'{name}.md'}"

    def _head(self, path: str) -> EventHead | str:
        """An event's head from the head of its file, or what is wrong with it."""
        try:
            with self._place(path).open("rb") as file:
                data = file.read(_HEAD)
                text = data.decode("utf-8", "replace")
                if len(data) == _HEAD and frontmatter.read(text).error:
                    text = (data + file.read()).decode("utf-8", "replace")
        except FileNotFoundError:
            return "the folder has no summary note of its name"
        except (OSError, PathEscape) as error:
            return f"cannot be read: {error}"
        front = frontmatter.read(text)
        if front.error or not front.fields:
            return front.error or "the note has no frontmatter"
        return read_head(path, front.fields) or "the path is not that of an event's note"

    def _in_order(self, heads: list[EventHead]) -> list[EventHead]:
        firsts = {head.path: self._first_turn(head.path) for head in heads}
        return sorted(heads, key=lambda head: (firsts[head.path] or "~", head.name))

    def _first_turn(self, path: str) -> str:
        """When an event's first turn happened, in UTC; empty if it has none near its head."""
        with self._place(path).open("rb") as file:
            text = file.read(_HEAD).decode("utf-8", "replace")
        match = re.search(r"^<!-- turn id=\S+ at=(\S+)", text, re.MULTILINE)
        at = note.read_time(match[1]) if match else None
        return f"{at.timestamp():020.6f}" if at else ""

    def _holds(self, path: str, text: str) -> bool:
        return text.casefold() in self._read(path).casefold()

    def _find(self, ref: str) -> str:
        path = parse_link(ref) or ref.strip()
        for candidate in (path, f"{path}.md"):
            with suppress(OSError):  # no file can have such a name
                if parse_event_path(candidate) and self._place(candidate).is_file():
                    return candidate
        date, _, name = path.rpartition("/")
        date, name = date.removeprefix("daily/"), name.removesuffix(".md")
        named = [
            p for d in self._days(date or None, date or None) for p in self._notes(d) if self._is(p, name)
        ]
        if len(named) == 1:
            return named[0]
        if not named:
            raise VaultError(
                f"there is no event {ref!r} in {str(self._root)!r}: `automemory events` lists them"
            )
        raise VaultError(f"{ref!r} is the name of several events, give one of: {', '.join(named)}")

    @staticmethod
    def _is(path: str, name: str) -> bool:
        place = parse_event_path(path)
        return place is not None and fold(place[1]) == fold(name)

    def _parsed(self, path: str, text: str) -> Event:
        event = note.read_event(path, text)
        if event is None:
            raise VaultError(f"{path!r} is not the path of an event's note")
        return event

    def _read(self, path: str) -> str:
        with _readable(path):
            return self._place(path).read_bytes().decode("utf-8", "replace")

    def _place(self, path: str) -> Path:
        place = Path(os.path.realpath(self._real / native(str(safe_path(path)))))  # a loop stays as it is
        if self._real not in place.parents:
            raise PathEscape(f"{path!r} leads out of the vault: remove the symbolic link")
        return place


@contextmanager
def _readable(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise VaultError(f"{path!r} cannot be read ({error.strerror or error})") from error


def _folders(place: Path) -> list[str]:
    try:
        with os.scandir(place) as entries:
            return sorted(portable(e.name) for e in entries if not e.name.startswith(".") and is_folder(e))
    except (FileNotFoundError, NotADirectoryError):
        return []


def _key(path: str) -> str:
    return normalize("NFC", path)

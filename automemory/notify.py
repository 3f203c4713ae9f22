"""Acknowledgements as they happen: a resource is acknowledged once a note under `daily/` links to it.

    async for acknowledgement in awatch_acks("vault"):
        print(acknowledgement.resource)

Nothing is kept but in memory: what is acknowledged always follows from the notes (`Reader.acknowledged`).
"""

from __future__ import annotations

import os
from asyncio import to_thread
from collections.abc import AsyncGenerator, Collection, Generator, Iterable, Iterator
from contextlib import aclosing, closing, contextmanager
from pathlib import Path
from typing import Any, Protocol

from watchfiles import Change, awatch, watch

from automemory.errors import VaultError
from automemory.vault.backlinks import Acknowledgement, acknowledgements, resource_links
from automemory.vault.layout import DAILY
from automemory.vault.links import Link
from automemory.vault.places import Found, Places, is_note
from automemory.vault.resolver import Resolver

__all__ = ["Acknowledgement", "StopEvent", "awatch_acks", "watch_acks"]

# In milliseconds: what is written all the time is reported while it goes on, and five times a second there is
# a report even if nothing changed. The first one says that the watching has begun. The library's own files
# change often, so nothing is filtered before that.
_TIMES: dict[str, Any] = {
    "debounce": 400,
    "step": 50,
    "rust_timeout": 200,
    "yield_on_timeout": True,
    "watch_filter": None,
}


class StopEvent(Protocol):
    """A `threading.Event`, an `asyncio.Event` or the like."""

    def is_set(self) -> bool: ...


def watch_acks(
    vault: str | os.PathLike[str],
    *,
    known: Collection[str] | None = None,
    stop_event: StopEvent | None = None,
) -> Generator[Acknowledgement, None, None]:
    """Yield resources as they are acknowledged, each within a second of the change of a file.

    A resource that is no longer acknowledged, since the link or the file is gone, is not reported; if it is
    linked again, it is yielded again.

    Args:
        vault: The vault's folder.
        known: Vault paths of resources that are not news, such as those of the last run; what else is
            acknowledged when the watching begins comes first. None if all that is acknowledged then is known.
        stop_event: Ends the iteration soon after it is set.

    Raises:
        VaultError: if there is no such folder, or the system cannot watch it.
    """
    watched = _Watched(Places(vault), known)
    with _watchable(watched.folder), closing(watch(watched.folder, **_TIMES)) as reports:
        for changes in reports:
            if stop_event and stop_event.is_set():
                return
            yield from watched.update(changes)


async def awatch_acks(
    vault: str | os.PathLike[str],
    *,
    known: Collection[str] | None = None,
    stop_event: StopEvent | None = None,
) -> AsyncGenerator[Acknowledgement, None]:
    """See `watch_acks`.

    To begin takes the system some 20 ms for every thousand folders, and no other code of the process runs
    meanwhile; after that, all work is done in threads.
    """
    watched = _Watched(await to_thread(Places, vault), known)
    with _watchable(watched.folder):
        async with aclosing(awatch(watched.folder, **_TIMES)) as reports:
            async for changes in reports:
                if stop_event and stop_event.is_set():
                    return
                for acknowledgement in await to_thread(watched.update, changes):
                    yield acknowledgement


class _Watched:
    """The links of the notes under `daily/`, kept in step with the files, and what they acknowledge."""

    def __init__(self, places: Places, known: Collection[str] | None) -> None:
        self.folder = places.real
        self._places = places
        self._known = set(known) if known is not None else None
        self._links: dict[str, list[Link]] | None = None
        self._resources: dict[str, set[str]] = {}

    def update(self, changes: Iterable[tuple[Change, str]]) -> list[Acknowledgement]:
        """What these changes newly acknowledge; the first time, what is acknowledged and not known."""
        if self._links is None:
            self._links = {}
            self._read(self._places.markdown())
            return self._news(set(self._links))
        paths = {Path(place).relative_to(self.folder).as_posix() for _, place in changes}
        shown = [path for path in sorted(paths) if not any(part.startswith(".") for part in path.split("/"))]
        if not shown:
            return []
        inside = [path for path in shown if path == DAILY or path.startswith(f"{DAILY}/")]
        touched = {note for path in inside for note in self._take(path)}
        # A file elsewhere that came or went changes what any link leads to.
        return self._news(touched if len(inside) == len(shown) else touched | self._links.keys())

    def _take(self, path: str) -> set[str]:
        """Read again what lies at a changed path; gives the notes concerned."""
        assert self._links is not None
        gone = {note for note in self._links if note == path or note.startswith(f"{path}/")}
        for note in gone:
            del self._links[note]
        if is_note(path) and self._places.is_file(path):
            return gone | self._read([Found(path, "")])
        return gone | self._read(self._places.below(path))

    def _read(self, files: Iterable[Found]) -> set[str]:
        assert self._links is not None
        found = {file.path: links for file in files if (links := resource_links(self._places, file))}
        self._links |= found
        return set(found)

    def _news(self, touched: set[str]) -> list[Acknowledgement]:
        assert self._links is not None
        links = {note: self._links[note] for note in touched if note in self._links}
        found = acknowledgements(links, Resolver(self._places))
        for note in touched:
            self._resources.pop(note, None)
        for acknowledgement in found:
            for place in acknowledgement.places:
                self._resources.setdefault(place.path, set()).add(acknowledgement.resource)
        now = set().union(*self._resources.values())
        known = now if self._known is None else self._known
        self._known = now
        return [acknowledgement for acknowledgement in found if acknowledgement.resource not in known]


@contextmanager
def _watchable(folder: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, RuntimeError) as error:  # how watchfiles tells that the system's limits are too low
        raise VaultError(
            f"{str(folder)!r} cannot be watched ({error}): raise fs.inotify.max_user_watches, "
            "or set WATCHFILES_FORCE_POLLING=1"
        ) from error

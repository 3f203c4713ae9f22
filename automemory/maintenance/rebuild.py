"""Day indexes brought back in step with the events on disk; what people wrote in them stays."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from automemory.errors import Conflict, Unwritable, VaultError
from automemory.maintenance.scan import own_folder
from automemory.vault import frontmatter, index, note
from automemory.vault.apply import updated_index
from automemory.vault.catalog import head_of
from automemory.vault.commit import Basis
from automemory.vault.edits import Closing, Plan, UpdateIndex
from automemory.vault.event import RecordedTurn, read_head
from automemory.vault.layout import day_index_path
from automemory.vault.places import Places
from automemory.vault.resolver import same_path
from automemory.vault.store import Store

_TRIES = 3


@dataclass(frozen=True, slots=True)
class Indexed:
    """An event as its day's index is to show it.

    Attributes:
        path: Its note.
        first: When its first turn happened, in seconds since 1970; 0 if that is not known.
        summary: Its final summary; empty while it is open.
    """

    path: str
    first: float = 0.0
    summary: str = ""


def indexed(path: str, text: str, blocks: Sequence[RecordedTurn]) -> Indexed | None:
    """What an index has to show of a note; None if the note is no event of the library's.

    Args:
        path: Its vault path.
        text: The note.
        blocks: Its turns' blocks.
    """
    front = frontmatter.read(text)
    head = read_head(path, front.fields)
    if head is None or not (blocks or head.thread or front.fields.get("name")) or not _linkable(path):
        return None
    first = next((block.at.timestamp() for block in blocks if block.at), 0.0)
    return Indexed(path, first, head.description if head.closed else "")


def _linkable(path: str) -> bool:
    try:
        return bool(index.line(path))
    except VaultError:
        return False


def missing(
    text: str | None,
    day: str,
    events: Sequence[Indexed],
    gone: Iterable[Closing] = (),
    is_gone: Callable[[str], bool] = lambda path: True,
) -> UpdateIndex | None:
    """What brings an index in step; None if it is.

    Args:
        text: The index; None if there is no such file.
        day: Its day, `YYYY-MM-DD`.
        events: The events of the day.
        gone: What was last known of events of which no note is left.
        is_gone: Whether a note that is none of the events' is not just out of reach now.
    """
    ordered = sorted(events, key=lambda event: (event.first, event.path))
    known = {closing.path: closing for closing in gone}
    there = [line.event for line in index.read_lines(text or "") if line.event]
    dangling = [
        path
        for path in dict.fromkeys(there)
        if path.startswith(f"daily/{day}/")
        and not any(same_path(path, event.path) for event in ordered)
        and is_gone(path)
    ]
    edit = UpdateIndex(
        day_index_path(day),
        opened=[event.path for event in ordered],
        closed=[Closing(event.path, event.summary, event.summary) for event in ordered if event.summary],
        gone=[known.get(path, Closing(path, "", "")) for path in dangling],
    )
    if text is None:
        return edit if ordered else None
    return None if updated_index(text, edit) == text else edit


def rebuild(vault: str | os.PathLike[str], day: str | None = None, *, sync: bool = True) -> list[str]:
    """Add to the day indexes what is missing: the file, its heading, lines, final summaries.

    A line of an event that is gone is removed if only the library wrote it. On healthy days nothing changes.

    Args:
        vault: The vault's folder.
        day: The day, `YYYY-MM-DD`; all if None.
        sync: Whether to wait until the disk has what is written.

    Returns:
        The paths of the indexes that were changed.

    Raises:
        VaultError: if there is no such folder or day, or the vault cannot be written.
    """
    root = own_folder(vault)
    found = Places(root).days(day, day)
    if day and not found:
        raise VaultError(f"there is no day {day!r} in {str(root)!r}: `automemory events` lists them")
    store = Store(root, sync=sync)
    try:
        return [path for each in found for path in rebuild_day(store, each)]
    finally:
        store.close()


def maintenance(path: str) -> str:
    """What stands for a stream in a plan that is of none: no agent's id holds a `_`."""
    return f"_/{path}"


def rebuild_day(store: Store, day: str) -> Iterator[str]:
    """Bring a day's index in step; gives its path if it was changed."""
    for attempt in range(_TRIES):
        stream = maintenance(day_index_path(day))
        version = store.state.version(stream)
        known = {path: head_of(row) for path, row in store.state.notes_of_day(day).items()}
        gone = [Closing(path, "", head.description) for path, head in known.items()]
        places = Places(store.root)
        events, read = read_day(places, day)
        signatures = {}
        for event in events:
            signatures[event.path] = store.disk.signature(event.path)
        if read_day(places, day)[0] != events:  # the signatures may be of what came after
            continue
        data = store.disk.read(day_index_path(day))
        if data is None and store.disk.signature(day_index_path(day)):
            raise Unwritable(f"{day_index_path(day)!r} is no file: move it away")
        text = None if data is None else data.decode("utf-8", "surrogateescape")
        edit = missing(text, day, events, gone, lambda path: path in read or places.is_gone(path))  # noqa: B023
        if edit is None:
            return
        basis = Basis(version, {path: found for path, found in signatures.items() if found})
        try:
            store.committer.commit(Plan((edit,), stream), basis)
        except Conflict:
            if attempt == _TRIES - 1:
                raise
            continue
        yield edit.path
        return


def read_day(places: Places, day: str) -> tuple[list[Indexed], set[str]]:
    """The events of a day, and the paths of all notes of it that could be read."""
    found, read = [], set()
    for each in filter(places.status, places.notes(day)):
        with suppress(OSError, VaultError):  # what cannot be read is reported by the checks
            text = places.read(each).decode("utf-8", "surrogateescape")
            head = read_head(each.path, frontmatter.read(text).fields)
            apart = bool(head and head.turns and places.is_file(head.turns))
            record = places.text(head.turns) if head and apart else text
            found.append(indexed(each.path, text, note.blocks(record)))
            read.add(each.path)
    return [event for event in found if event], read

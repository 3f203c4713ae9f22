"""What the formats that store plain messages have in common.

A record of theirs is one message, a list of messages, or an object that holds such a list. Messages on their
own make one conversation together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO, TypeGuard

from automemory.replay.importers.conversation import Draft, Found, read_conversation
from automemory.replay.importers.records import BadRecord, records
from automemory.replay.importers.spill import SpillList

WRAPPERS = ("conversations", "data", "items", "runs", "chats", "results")
"""Keys under which an export may hold its conversations, where it is not an array of them."""


def is_list(value: Any) -> TypeGuard[Sequence[Any]]:
    """Whether a JSON value is a list, in memory or on disk."""
    return isinstance(value, (list, SpillList))


def held(record: Any, keys: tuple[str, ...]) -> Sequence[Any] | None:
    """The list of messages a record is or holds under one of `keys`; None if there is none."""
    if is_list(record):
        return record
    if isinstance(record, dict):
        return next((record[key] for key in keys if is_list(record.get(key))), None)
    return None


def any_message(found: tuple[Any, ...], keys: tuple[str, ...], is_message: Callable[[Any], bool]) -> bool:
    """Whether a message is among the records of a sample, on its own or held by one."""
    return any(
        is_message(record) or any(is_message(row) for row in held(record, keys) or ()) for record in found
    )


def unwrapped(record: Any, wanted: Callable[[Any], bool]) -> Sequence[Any] | None:
    """The conversations that a record holds, where it is an object around several of them."""
    if not isinstance(record, dict) or wanted(record):
        return None
    lists = (record[key] for key in WRAPPERS if is_list(record.get(key)))
    return next((rows for rows in lists if any(map(wanted, rows))), None)


def any_record(found: tuple[Any, ...], wanted: Callable[[Any], bool]) -> bool:
    """Whether a record of a sample is one that is wanted, or an object around some."""
    return any(wanted(record) or unwrapped(record, wanted) is not None for record in found)


def wanted_records(file: BinaryIO, wanted: Callable[[Any], bool]) -> Iterator[tuple[str, Any]]:
    """The records of a file, or of the objects around them; a `BadRecord` for what is none."""
    for position, record in records(file):
        rows = unwrapped(record, wanted)
        placed = [(position, record)] if rows is None else _placed(rows, position)
        for place, row in placed:
            if isinstance(row, BadRecord) or wanted(row):
                yield place, row
            else:
                yield place, BadRecord(place, "not a record of this format")


def read_rows(
    file: BinaryIO, keys: tuple[str, ...], unwrap: Callable[[Any], Any] = lambda row: row
) -> Iterator[Found]:
    """The conversations of a file.

    Args:
        file: The file.
        keys: Under which an object may hold a list of messages.
        unwrap: Makes a row a role/content dict, where it is not one yet.
    """
    loose: Draft | None = None
    for position, record in records(file):
        if isinstance(record, BadRecord):
            yield record
            continue
        rows = held(record, keys)
        if rows is None:
            loose = loose or Draft(position)
            yield from loose.add(position, unwrap(record))
        else:
            source = record if isinstance(record, dict) else None
            yield from read_conversation(map(unwrap, rows), position, source)
    if loose is not None:
        yield from loose.finish()


def _placed(rows: Sequence[Any], position: str) -> Iterator[tuple[str, Any]]:
    for number, row in enumerate(rows, 1):
        yield f"{position}, item {number}", row

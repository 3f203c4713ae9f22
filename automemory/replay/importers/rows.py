"""What the formats that store plain messages have in common.

A record of theirs is one message, a list of messages, or an object that holds such a list. Messages on their
own make one conversation together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from automemory.replay.importers.conversation import Conversation, Draft, read_conversation
from automemory.replay.importers.records import BadRecord, records


def held(record: Any, keys: tuple[str, ...]) -> list[Any] | None:
    """The list of messages a record is or holds under one of `keys`; None if there is none."""
    if isinstance(record, list):
        return record
    if isinstance(record, dict):
        return next((record[key] for key in keys if isinstance(record.get(key), list)), None)
    return None


def any_message(found: tuple[Any, ...], keys: tuple[str, ...], is_message: Callable[[Any], bool]) -> bool:
    """Whether a message is among the records of a sample, on its own or held by one."""
    return any(
        is_message(record) or any(is_message(row) for row in held(record, keys) or ()) for record in found
    )


def read_rows(
    file: BinaryIO, keys: tuple[str, ...], unwrap: Callable[[Any], Any] = lambda row: row
) -> Iterator[Conversation | BadRecord]:
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

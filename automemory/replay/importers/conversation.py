"""A saved conversation as every importer hands it on, and how it and its messages are named.

A conversation is a stream and is named by its first message's id, so that importing it again, or grown, adds
only what is new. A message without an id is named by its words and all that was said before it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, BinaryIO, Protocol

from automemory.errors import ConfigError
from automemory.replay.importers.records import BadRecord, Sample
from automemory.turn import Message, fingerprint, parse_time, read_messages

_COUNTER = re.compile(r"\D{0,12}\d{1,6}")
_ID_KEYS = ("id", "conversation_id", "thread_id", "session_id", "uuid")
_TIME_KEYS = ("created_at", "create_time", "timestamp")


@dataclass(frozen=True, slots=True)
class Conversation:
    """A saved conversation.

    Attributes:
        id: The name of its stream.
        messages: In the source's order, each with an id; instructions are left out.
        position: Where in its file it begins, such as `line 3` or `record 12`.
        title: Its title in the source, or empty.
        named_by_source: Whether `id` is the source's; if not, another conversation that begins with the same
            words has the same one.
    """

    id: str
    messages: tuple[Message, ...]
    position: str
    title: str = ""
    named_by_source: bool = True

    @property
    def at(self) -> datetime | None:
        """The first time that any of its messages has."""
        return next((m.at for m in self.messages if m.at is not None), None)


class Importer(Protocol):
    """One format of saved conversations."""

    name: str

    def detect(self, sample: Sample) -> bool:
        """Whether a file that begins like this is of this format."""
        ...

    def read(self, file: BinaryIO) -> Iterator[Conversation | BadRecord]:
        """The conversations of a file and what of it cannot be read; never raises for what is in the file."""
        ...


class Draft:
    """A conversation that is being read, message by message."""

    def __init__(self, position: str, source: Mapping[str, Any] | None = None) -> None:
        """Begin a conversation.

        Args:
            position: Where it begins.
            source: The record around its messages, which may have its id, its time and its title.
        """
        about = source or {}
        self._position = position
        self._messages: list[Message] = []
        self._seed = next((about[k] for k in _ID_KEYS if isinstance(about.get(k), str) and about[k]), "")
        self._at = next((at for at in (parse_time(about.get(k)) for k in _TIME_KEYS) if at), None)
        title = about.get("title")
        self._title = title if isinstance(title, str) else ""

    def add(self, position: str, row: Any) -> Iterator[BadRecord]:
        """Take one message; yields what is wrong with it, if anything is."""
        if not isinstance(row, Mapping):
            yield BadRecord(position, f"a message is expected here, not {_kind(row)}")
            return
        try:
            found = read_messages(row)
        except ConfigError:
            yield BadRecord(position, "no role: a message is an object with 'role' and 'content'")
        else:
            self._messages += [message for message in found if message.role != "system"]

    def finish(self) -> Iterator[Conversation | BadRecord]:
        """The conversation, or the record that there is none."""
        if not self._messages:
            yield BadRecord(self._position, "nobody says anything in it")
            return
        first = self._messages[0]
        if first.at is None and self._at is not None:
            self._messages[0] = replace(first, at=self._at)
        messages = _named(self._messages, self._seed)
        named = messages[0].id == first.id or bool(self._seed and not _COUNTER.fullmatch(self._seed))
        yield Conversation(messages[0].id or "", messages, self._position, self._title, named)


def read_conversation(
    rows: Iterable[Any], position: str, source: Mapping[str, Any] | None = None
) -> Iterator[Conversation | BadRecord]:
    """One conversation from its rows, after the rows of it that are no messages."""
    draft = Draft(position, source)
    for number, row in enumerate(rows, 1):
        yield from draft.add(f"{position}, message {number}", row)
    yield from draft.finish()


def _named(messages: list[Message], seed: str) -> tuple[Message, ...]:
    """The messages, each with an id that no other conversation's message has.

    A mere counter (`1`, `msg-12`) tells messages of one conversation apart, not of two. An id that comes
    twice is kept for the first.
    """
    chain, seen, named = seed, set[str](), list[Message]()
    for message in messages:
        chain = hashlib.sha256(f"{chain}\x1f{fingerprint(message)}".encode("utf-8", "replace")).hexdigest()[
            :16
        ]
        name = message.id or chain
        if name in seen:
            name = chain
        elif _COUNTER.fullmatch(name):
            name = f"{name}-{chain}"
        seen.add(name)
        named.append(replace(message, id=name))
    return tuple(named)


def _kind(value: Any) -> str:
    names = {str: "text", bool: "true or false", type(None): "null", list: "a list"}
    return names.get(type(value), "a number")

"""A saved conversation as every importer hands it on, and how it and its messages are named.

A conversation is a stream and is named by its first message's id, so that importing it again, or grown, adds
only what is new. A message without an id is named by its words and all that was said before it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, BinaryIO, Protocol, TypeAlias

from automemory.errors import ConfigError
from automemory.replay.importers.records import BadRecord, LeftOut, Sample
from automemory.replay.importers.spill import SpillList
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
    messages: Sequence[Message]
    position: str
    title: str = ""
    named_by_source: bool = True

    @property
    def at(self) -> datetime | None:
        """The first time that any of its messages has."""
        return next((m.at for m in self.messages if m.at is not None), None)


Found: TypeAlias = Conversation | BadRecord | LeftOut
"""What an importer finds in a file."""


class Importer(Protocol):
    """One format of saved conversations."""

    name: str

    def detect(self, sample: Sample) -> bool:
        """Whether a file that begins like this is of this format."""
        ...

    def read(self, file: BinaryIO) -> Iterator[Found]:
        """The conversations of a file and what of it cannot be read; never raises for what is in the file."""
        ...


class Draft:
    """A conversation that is being read, message by message."""

    def __init__(
        self, position: str, source: Mapping[str, Any] | None = None, *, unique_ids: bool = False
    ) -> None:
        """Begin a conversation.

        Args:
            position: Where it begins.
            source: The record around its messages, which may have its id, its time and its title.
            unique_ids: Whether the source gives no id twice, in whatever file.
        """
        about = source or {}
        self._position = position
        self._messages: SpillList[Message] = SpillList()
        self._turns: list[int] = []
        self._id = ""
        self._seen: set[str] = set()
        self._seed = next((about[k] for k in _ID_KEYS if isinstance(about.get(k), str) and about[k]), "")
        self._chain = self._seed
        self._at = next((at for at in (parse_time(about.get(k)) for k in _TIME_KEYS) if at), None)
        title = about.get("title")
        self._title = title if isinstance(title, str) else ""
        self._named = unique_ids or bool(self._seed and not _COUNTER.fullmatch(self._seed))

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
            self.take(found)

    def take(self, messages: Iterable[Message]) -> None:
        """Take messages that are read already."""
        for message in messages:
            if message.role != "system":
                self._take(message)

    def drop_turns(self, count: int) -> int:
        """Take back the last turns, which people's messages begin; how many messages these are.

        The names of what is taken back are not used again, and the conversation keeps its own.
        """
        dropped = self._turns[-count:] if count > 0 else []
        if not dropped:
            return 0
        del self._turns[-count:]
        messages = len(self._messages) - dropped[0]
        self._messages.truncate(dropped[0])
        return messages

    def finish(self) -> Iterator[Conversation | LeftOut]:
        """The conversation, or that there is none."""
        if not self._messages:
            yield LeftOut("conversations in which nobody says anything")
            return
        messages = self._messages if self._messages.spilled else tuple(self._messages)
        yield Conversation(self._id, messages, self._position, self._title, self._named)

    def _take(self, message: Message) -> None:
        if not self._messages:
            self._named |= bool(message.id and (self._seed or not _COUNTER.fullmatch(message.id)))
            message = replace(message, at=message.at or self._at)
        named = replace(message, id=self._name(message))
        self._id = self._id or named.id or ""
        if named.role == "user":
            self._turns.append(len(self._messages))
        size = len(message.text) + sum(len(call.arguments) for call in message.tool_calls)
        self._messages.append(named, size)

    def _name(self, message: Message) -> str:
        """An id that no other conversation's message has.

        A mere counter (`1`, `msg-12`) tells messages of one conversation apart, not of two. An id that comes
        twice is kept for the first.
        """
        self._chain = short_hash(self._chain, fingerprint(message))
        name = message.id or self._chain
        if name in self._seen:
            name = self._chain
        elif _COUNTER.fullmatch(name):
            name = f"{name}-{self._chain}"
        self._seen.add(name)
        return name


def read_conversation(
    rows: Iterable[Any], position: str, source: Mapping[str, Any] | None = None
) -> Iterator[Found]:
    """One conversation from its rows, after the rows of it that are no messages."""
    draft = Draft(position, source)
    for number, row in enumerate(rows, 1):
        yield from draft.add(f"{position}, message {number}", row)
    yield from draft.finish()


def short_hash(*parts: str) -> str:
    """16 hex digits for some texts."""
    return hashlib.sha256("\x1f".join(parts).encode("utf-8", "replace")).hexdigest()[:16]


def _kind(value: Any) -> str:
    names = {str: "text", bool: "true or false", type(None): "null", list: "a list"}
    return names.get(type(value), "a number")

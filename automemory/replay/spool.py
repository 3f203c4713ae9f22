"""Conversations kept on a temporary file, to be read back one at a time and in any order.

Conversations are replayed by the time of their first message while exports list them in any order, and an
array cannot be entered in its middle. So every source is read once, before anything is recorded, and memory
holds one conversation, or a part of it where it is a long one. The file has no name, is private to the
process and gone with it.
"""

from __future__ import annotations

import pickle
import tempfile
from dataclasses import replace
from types import TracebackType
from typing import Self

from automemory.replay.importers.conversation import Conversation
from automemory.replay.importers.spill import SpillList
from automemory.turn import Message


class Spool:
    """A temporary store of conversations."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by __exit__
        self._long: dict[int, Conversation] = {}

    def put(self, conversation: Conversation) -> int:
        """Store a conversation; the number returned is for `get`."""
        place = self._file.seek(0, 2)
        if isinstance(conversation.messages, SpillList):
            messages = SpillList[Message](self._file)
            for message in conversation.messages:
                messages.append(
                    message, len(message.text) + sum(len(c.arguments) for c in message.tool_calls)
                )
            messages.store()
            self._long[place] = replace(conversation, messages=messages)
        else:
            pickle.dump(conversation, self._file, pickle.HIGHEST_PROTOCOL)
        return place

    def get(self, place: int) -> Conversation:
        if place in self._long:
            return self._long[place]
        self._file.seek(place)
        found: Conversation = pickle.load(self._file)
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

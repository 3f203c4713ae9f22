"""What a turn goes through before it is stored: exclusion, redaction, bounds, its time and its id."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from automemory.checks import above_zero
from automemory.content import clean
from automemory.decision import NotifyCandidate
from automemory.errors import ConfigError
from automemory.injected import without_marked
from automemory.message import shown
from automemory.redact import Redactor
from automemory.turn import Message, ToolCall, Turn

_LEFT_OUT = re.compile(r"\(… (\d{1,12}) characters left out …\)")
_ID = re.compile(r"[\w.-]{1,128}")
_EARLIEST, _LATEST = datetime(1970, 1, 10), datetime(9999, 12, 20)  # what any zone and window can count from
_MARGIN = 4096  # no secret is longer; what lies this close to a cut is not kept


@dataclass(frozen=True, slots=True)
class Submission:
    """A turn as it is handed in.

    Attributes:
        turn: The turn.
        thread: The thread it belongs to.
        event: What the caller says of its event: `new`, a slug, or None.
        notify: Resources offered with it, checked (`offers.check_offers`).
        id: The turn's id, if it is known to be one that is recorded already.
    """

    turn: Turn
    thread: str = "main"
    event: str | None = None
    notify: tuple[NotifyCandidate, ...] = ()
    id: str | None = None

    @classmethod
    def of(cls, turn: Any, thread: str, event: Any, notify: Sequence[NotifyCandidate], id: Any) -> Submission:
        """A turn as a caller gives it, checked: what is stored has to come back, or it blocks its stream.

        Raises:
            ConfigError: if nothing was said in it, or if something is not of the type it has to be.
        """
        if event is not None and not isinstance(event, str):
            raise ConfigError(f"event={shown(event)}: give 'new' or the slug of an event")
        if id is not None and not (isinstance(id, str) and _ID.fullmatch(id)):
            raise ConfigError(f"turn_id={shown(id)}: give the `turn_id` of an earlier result")
        given = isinstance(turn, Turn)
        made = Turn.of(turn.messages, complete=turn.complete) if given else Turn.of(turn)
        return cls(made, thread, event if event is None else clean(event), tuple(notify), id)


@dataclass(frozen=True, slots=True)
class Accepted:
    """A turn as it is stored until it is filed.

    Attributes:
        turn: Redacted and bounded.
        thread: The thread it belongs to.
        at: Its time, in the vault's zone, to the second.
        event: What the caller said of its event: `new`, a slug, or None.
    """

    turn: Turn
    thread: str
    at: datetime
    event: str | None = None

    def dump(self) -> str:
        """As JSON."""
        return json.dumps(asdict(self), ensure_ascii=False, default=datetime.isoformat)

    @classmethod
    def load(cls, payload: str) -> Accepted:
        """What was dumped.

        Raises:
            ValueError: if it is no such turn.
        """
        try:
            given = json.loads(payload)
            turn = Turn(tuple(map(_stored_message, given["turn"]["messages"])), given["turn"]["complete"])
            return cls(turn, given["thread"], datetime.fromisoformat(given["at"]), given["event"])
        except (KeyError, TypeError) as error:
            raise ValueError(f"a turn is expected here ({error})") from error


def _nothing(message: Message) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Intake:
    """How turns are taken in.

    Attributes:
        redact: Masks secrets in a text.
        exclude: Messages it is true of are left out.
        exclude_tools: Calls of these tools, and their results, are left out.
        max_message_chars, max_tool_chars: Longer texts lose their middle.
    """

    redact: Redactor
    exclude: Callable[[Message], bool] = _nothing
    exclude_tools: frozenset[str] = frozenset()
    max_message_chars: int = 20_000
    max_tool_chars: int = 4_000

    @classmethod
    def of(
        cls,
        redact: Redactor,
        exclude: Callable[[Message], bool] | Iterable[str] | None,
        max_message_chars: int,
        max_tool_chars: int,
    ) -> Intake:
        """As a memory's arguments say: `exclude` is a test for messages, names of tools, or nothing.

        Raises:
            ConfigError: if a number is not above 0.
        """
        above_zero(max_message_chars=max_message_chars, max_tool_chars=max_tool_chars)
        if callable(exclude):
            return cls(redact, exclude, frozenset(), max_message_chars, max_tool_chars)
        return cls(redact, _nothing, frozenset(exclude or ()), max_message_chars, max_tool_chars)

    def take(self, turn: Turn) -> Turn:
        """The turn as it may be recorded; without messages if all of it is excluded."""
        hidden = {c.id for m in turn.messages for c in m.tool_calls if c.id and c.name in self.exclude_tools}
        kept = []
        for message in turn.messages:
            result_of_hidden = message.role == "tool" and (
                message.name in self.exclude_tools or message.tool_call_id in hidden
            )
            calls = tuple(c for c in message.tool_calls if c.name not in self.exclude_tools)
            emptied = message.tool_calls and not calls and not message.text
            injected = message.text and not message.tool_calls and not without_marked(message.text)
            if not (result_of_hidden or emptied or injected or self.exclude(message)):
                kept.append(self._message(replace(message, tool_calls=calls)))
        return replace(turn, messages=tuple(kept))

    def first(self, turn: Turn) -> Message:
        """The turn's first message as it would be recorded; what the turn is known by."""
        return self._message(turn.messages[0])

    def offer(self, offered: NotifyCandidate) -> NotifyCandidate:
        """An offered resource as it may be stored and shown."""
        return NotifyCandidate(
            *(self.text(clean(words), 500) for words in (offered.path, offered.title, offered.reason))
        )

    def text(self, text: str, limit: int) -> str:
        """A text, redacted and at most about `limit` characters long."""
        if len(text) <= limit + _MARGIN:
            clear = self.redact(text)
            return clear if len(clear) <= limit else _cut(clear, clear, clear, limit)
        head, tail = self.redact(text[: limit + _MARGIN]), self.redact(text[-(limit + _MARGIN) :])
        return _cut(text, head[: max(0, len(head) - _MARGIN)], tail[_MARGIN:], limit)

    def _message(self, message: Message) -> Message:
        limit = self.max_tool_chars if message.role == "tool" else self.max_message_chars
        calls = tuple(
            replace(c, name=self.text(c.name, 200), arguments=self.text(c.arguments, self.max_tool_chars))
            for c in message.tool_calls
        )
        return replace(
            message,
            role=self.text(message.role, 200),
            text=self.text(without_marked(message.text), limit),
            name=self.text(message.name, 200) if message.name else message.name,
            tool_calls=calls,
        )


def zone_of(name: str | None) -> ZoneInfo | None:
    """The zone of an IANA name; None, the host's, if none is given.

    Raises:
        ConfigError: if there is no such zone.
    """
    try:
        return ZoneInfo(name) if name else None
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ConfigError(
            f"timezone={name!r} is not known: give an IANA name such as 'Asia/Shanghai'"
        ) from error


def local_time(at: datetime, zone: ZoneInfo | None) -> datetime:
    """A time in the vault's zone (None: the host's), to the second; one without a zone is meant there.

    A clock that is set to no time at all (year 1, say) counts as at the nearest that can be reckoned with.
    """
    at = min(max(at, _EARLIEST.replace(tzinfo=at.tzinfo)), _LATEST.replace(tzinfo=at.tzinfo))
    if zone is None:
        return at.astimezone().replace(microsecond=0)
    local = at.astimezone(zone) if at.tzinfo else at.replace(tzinfo=zone)
    return local.replace(microsecond=0)


def _stored_message(given: Mapping[str, Any]) -> Message:
    at = datetime.fromisoformat(given["at"]) if given["at"] else None
    return Message(**{**given, "at": at, "tool_calls": tuple(ToolCall(**c) for c in given["tool_calls"])})


def _cut(text: str, head: str, tail: str, limit: int) -> str:
    """Head and tail of a text around a mark of how much is gone, what an earlier cut took included."""
    first, last = head[: limit * 2 // 3], tail[max(0, len(tail) - limit // 3) :]
    gone = len(text) - len(first) - len(last) + _gone(text) - _gone(first) - _gone(last)
    return f"{first}\n(… {gone} characters left out …)\n{last}"


def _gone(text: str) -> int:
    return sum(map(int, _LEFT_OUT.findall(text)))

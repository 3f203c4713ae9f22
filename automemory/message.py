"""Messages of a conversation, read from LangChain messages or role/content dicts of any of the usual shapes.

Nothing here touches the disk, the clock or LangChain.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from automemory.content import Parts, as_json, clean, placeholder, read_content
from automemory.errors import ConfigError

ROLES = {
    "user": "user", "human": "user", "humanmessagechunk": "user",
    "assistant": "assistant", "ai": "assistant", "aimessagechunk": "assistant", "gpt": "assistant",
    "model": "assistant", "bot": "assistant", "chatgpt": "assistant", "bing": "assistant",
    "bard": "assistant", "claude": "assistant", "function_call": "assistant",
    "tool": "tool", "toolmessagechunk": "tool", "function": "tool", "functionmessagechunk": "tool",
    "observation": "tool", "function_response": "tool",
    "system": "system", "systemmessagechunk": "system", "developer": "system",
}  # fmt: skip
TIME_KEYS = ("timestamp", "created_at", "create_time")
_GIVE = "give a dict with 'role' and 'content', or a LangChain message"
_EARLIEST, _LATEST = datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool: its name, its arguments as text (JSON where structured) and the call's id."""

    name: str
    arguments: str = ""
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation.

    Attributes:
        role: `user`, `assistant`, `tool`, `system`, or an unknown role's own label.
        text: What was said, or a tool's output. Binary parts are placeholders, reasoning is left out.
        id: The source's stable id of the message, if it has one.
        at: When it was said; without a zone it is meant in the vault's zone.
        tool_calls: What the assistant called with this message.
        tool_call_id: On a tool's result, the id of the call it answers.
        name: On a tool's result, the tool's name.
        error: On a tool's result, whether the tool failed.
    """

    role: str
    text: str = ""
    id: str | None = None
    at: datetime | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    name: str | None = None
    error: bool = False


def read_messages(value: Any) -> list[Message]:
    """Messages from one message or a list of them; see `Turn.of` for the shapes taken.

    Raises:
        ConfigError: if an item is neither a message nor a dict with a role.
    """
    if isinstance(value, (Message, Mapping)) or hasattr(value, "content"):
        value = [value]
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise ConfigError(f"{shown(value)} is no message: {_GIVE}")
    return [message for item in value for message in _read_message(item)]


def parse_time(value: Any) -> datetime | None:
    """A time from ISO 8601 text, or from seconds (or smaller units) since 1970; None if it makes no sense.

    Times outside the years 2000 to 2099 are taken for missing: they come from zeroed or mis-scaled fields.
    """
    if isinstance(value, str):
        found = _from_text(value.strip())
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        found = _from_epoch(value)
    else:
        found = value if isinstance(value, datetime) else None
    if found is None:
        return None
    aware = found if found.tzinfo else found.replace(tzinfo=UTC)
    try:
        return found if _EARLIEST <= aware < _LATEST else None
    except OverflowError:
        return None


def _from_text(text: str) -> datetime | None:
    if re.fullmatch(r"-?\d+(\.\d+)?", text):
        return _from_epoch(float(text))
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _from_epoch(seconds: float) -> datetime | None:
    try:
        for _ in range(3):
            if abs(seconds) < 1e11:
                break
            seconds /= 1000
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    except (OverflowError, ValueError):
        return None


def _read_message(item: Any) -> list[Message]:
    if isinstance(item, Message):
        return [_cleaned(item)]
    data = item if isinstance(item, Mapping) else _attributes(item)
    label = data.get("role") or data.get("type")
    if not isinstance(label, str) or not label.strip():
        raise ConfigError(f"{shown(item)} has no role: {_GIVE}")
    role = ROLES.get(label.strip().lower(), clean(label.strip())[:40])
    parts = _parts(data.get("content"))
    kwargs = data.get("additional_kwargs")
    extra = kwargs if isinstance(kwargs, Mapping) else {}
    found = Message(
        role,
        parts.text,
        id=_text_or_none(data.get("id")),
        at=next((at for at in map(parse_time, _times(data, extra)) if at), None),
        tool_calls=_calls(data, extra, parts),
        tool_call_id=_text_or_none(data.get("tool_call_id")),
        name=_text_or_none(data.get("name")),
        error=data.get("status") == "error" or data.get("is_error") is True,
    )
    return _with_results(found, parts)


def _cleaned(message: Message) -> Message:
    """A message that a caller made, fit to be written.

    Raises:
        ConfigError: if a field does not hold what it has to.
    """
    try:
        calls = tuple(
            ToolCall(clean(call.name), clean(call.arguments), _text_or_none(call.id))
            for call in message.tool_calls
        )
        return Message(
            clean(message.role),
            clean(message.text),
            id=_text_or_none(message.id),
            at=parse_time(message.at),
            tool_calls=calls,
            tool_call_id=_text_or_none(message.tool_call_id),
            name=_text_or_none(message.name),
            error=bool(message.error),
        )
    except (TypeError, AttributeError) as error:
        raise ConfigError(f"{shown(message)} is no message ({error}): {_GIVE}") from error


def _parts(content: Any) -> Parts:
    """The parts of a content; of one that holds itself, or nests without end, a placeholder."""
    try:
        return read_content(content)
    except (RecursionError, TypeError, ValueError):
        return Parts([placeholder("data", None)])


def _attributes(item: Any) -> Mapping[str, Any]:
    if not hasattr(item, "content"):
        raise ConfigError(f"{shown(item)} is no message: {_GIVE}")
    names = (
        "role",
        "type",
        "content",
        "id",
        "name",
        "additional_kwargs",
        "tool_calls",
        "tool_call_id",
        "status",
        *TIME_KEYS,
    )
    return {name: getattr(item, name, None) for name in names}


def _with_results(message: Message, parts: Parts) -> list[Message]:
    """Tool results that came as parts of a message are messages of the tool, not of the person."""
    results = [
        Message(
            "tool",
            text,
            at=message.at,
            tool_call_id=call_id,
            error=error,
            id=f"{message.id}#{i}" if message.id else None,
        )
        for i, (call_id, text, error) in enumerate(parts.results)
    ]
    if results and not message.text and not message.tool_calls:
        return results
    return [*results, message]


def _calls(data: Mapping[str, Any], extra: Mapping[str, Any], parts: Parts) -> tuple[ToolCall, ...]:
    found = [ToolCall(name, _arguments(args), call_id) for call_id, name, args in parts.calls]
    known = {call.id for call in found}
    given = data.get("tool_calls") or extra.get("tool_calls") or ()
    legacy = data.get("function_call") or extra.get("function_call")
    for raw in [*(given if isinstance(given, Sequence) and not isinstance(given, str) else ()), legacy]:
        if not isinstance(raw, Mapping):
            continue
        inner = raw.get("function")
        call: Mapping[str, Any] = inner if isinstance(inner, Mapping) else raw
        name, call_id = _text_or_none(call.get("name")), _text_or_none(raw.get("id"))
        if name and (call_id is None or call_id not in known):
            found.append(ToolCall(name, _arguments(call.get("args", call.get("arguments"))), call_id))
    return tuple(found)


def _arguments(value: Any) -> str:
    if value is None:
        return ""
    try:
        return clean(value if isinstance(value, str) else as_json(value))
    except (RecursionError, TypeError, ValueError):  # it holds itself, or keys that are no text
        return placeholder("data", None)


def _times(data: Mapping[str, Any], extra: Mapping[str, Any]) -> list[Any]:
    return [source.get(key) for source in (data, extra) for key in TIME_KEYS]


def _text_or_none(value: Any) -> str | None:
    return clean(value) if isinstance(value, str) and value else None


def shown(value: Any) -> str:
    """A value as an error message names it."""
    try:
        text = repr(value)
    except Exception:  # anybody's object, or one that nests without end
        text = f"<{type(value).__name__}>"
    return text if len(text) <= 80 else text[:77] + "…"

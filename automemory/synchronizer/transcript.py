"""The conversation as text for a model: bounded, redacted, and without what a memory put into it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any
from zoneinfo import ZoneInfo

from automemory.decision import cut_middle
from automemory.injected import without_marked
from automemory.intake import Intake, local_time
from automemory.message import Message, read_messages
from automemory.redact import Redactor

_PERSON, _AGENT, _TOOL, _CALL = 2_000, 1_500, 600, 300  # characters shown of one, where there is room
_BETWEEN = 160  # of a person's words in the part that is left out
Render = Callable[[Message], str]


def spoken(value: Any) -> list[Message]:
    """What was said and done in a conversation.

    Left out are instructions, summaries that stand for older messages, and blocks that a memory put in.

    Raises:
        ConfigError: if something in it is no message.
    """
    single = isinstance(value, (str, bytes, Mapping, Message)) or hasattr(value, "content")
    items = value if single or not isinstance(value, Iterable) else [v for v in value if not _stands_in(v)]
    if value is None or (single and _stands_in(value)):
        return []
    found = (replace(m, text=without_marked(m.text)) for m in read_messages(items) if m.role != "system")
    return [message for message in found if message.text.strip() or message.tool_calls]


def renderer(redact: Redactor, zone: ZoneInfo | None, limit: int) -> Render:
    """Writes one message of a transcript of `limit` characters."""
    intake = Intake(redact, lambda message: False, frozenset(), 0, 0)

    def cut(text: str, most: int) -> str:
        return intake.text(text.strip(), min(most, max(80, limit // 8))).replace("\n", "\n  ")

    def render(message: Message) -> str:
        if message.role == "tool":
            label = f"tool {message.name or ''}".strip() + (" failed" if message.error else "")
            return f"{label}: {cut(message.text, _TOOL)}"
        lines = []
        if message.text.strip():
            when = f" ({local_time(message.at, zone):%Y-%m-%d %H:%M})" if message.at else ""
            person = message.role == "user"
            label = "person" if person else "agent" if message.role == "assistant" else message.role
            lines.append(f"{label}{when}: {cut(message.text, _PERSON if person else _AGENT)}")
        lines += [f"agent calls {call.name}: {cut(call.arguments, _CALL)}" for call in message.tool_calls]
        return cut_middle("\n".join(lines), max(200, limit // 4))

    return render


def transcript(messages: Sequence[Message], render: Render, limit: int) -> str:
    """The beginning and, mostly, the end of a conversation, in about `limit` characters.

    Of what lies between, only some of the persons' words are shown, shortened.
    """
    first, room = _fitting(iter(messages), render, limit // 5)
    rest = messages[len(first) :]
    last, _ = _fitting(reversed(rest), render, limit * 3 // 5 + room)
    between = rest[: len(rest) - len(last)]
    return "\n".join([*first, *_between(between, render, limit // 5), *reversed(last)])


def _fitting(messages: Iterable[Message], render: Render, room: int) -> tuple[list[str], int]:
    found: list[str] = []
    for message in messages:
        text = render(message)
        if len(text) + 1 > room:
            break
        room -= len(text) + 1
        found.append(text)
    return found, room


def _between(messages: Sequence[Message], render: Render, room: int) -> list[str]:
    if not messages:
        return []
    asked = [message for message in messages if message.role == "user"]
    step = max(1, -(-len(asked) * (_BETWEEN + 1) // max(1, room - 60)))
    lines = [cut_middle(" ".join(render(m).split()), _BETWEEN) for m in islice(asked, 0, None, step)]
    note = ", some of the person's words among them:" if lines else ""
    return [f"(… {len(messages)} messages left out{note} …)", *lines, "(…)"]


def _stands_in(item: Any) -> bool:
    """Whether a message stands for others: a summary made by a middleware."""
    fields = item if isinstance(item, Mapping) else getattr(item, "__dict__", {})
    extra = fields.get("additional_kwargs")
    return isinstance(extra, Mapping) and bool(extra.get("lc_source"))

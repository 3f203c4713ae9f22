"""Reading of saved conversations in tests, and small files of every format."""

from __future__ import annotations

import io
import json
from collections import Counter
from typing import Any

from automemory.replay.importers.conversation import Conversation
from automemory.replay.importers.records import BadRecord, LeftOut
from automemory.replay.importers.registry import importer_for

AT = 1_767_225_600  # 2026-01-01, midnight in UTC


def find(data: bytes | str, format: str = "auto") -> tuple[list[Conversation], list[BadRecord], Counter[str]]:
    """The conversations of a file, what is broken in it, and what is left out."""
    file = io.BytesIO(data.encode() if isinstance(data, str) else data)
    found = list(importer_for(file, format).read(file))
    left_out: Counter[str] = Counter()
    for item in found:
        if isinstance(item, LeftOut):
            left_out[item.reason] += item.count
    conversations = [item for item in found if isinstance(item, Conversation)]
    return conversations, [item for item in found if isinstance(item, BadRecord)], left_out


def read(data: bytes | str, format: str = "auto") -> tuple[list[Conversation], list[BadRecord]]:
    return find(data, format)[:2]


def one(data: bytes | str, format: str = "auto") -> Conversation:
    """The only conversation of a file in which nothing is broken."""
    (conversation,), bad = read(data, format)
    assert not bad
    return conversation


def said(conversation: Conversation) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in conversation.messages]


def format_of(data: bytes | str) -> str:
    return importer_for(io.BytesIO(data.encode() if isinstance(data, str) else data)).name


def lines(*values: Any) -> str:
    return "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values)


def node(own: str, parent: str | None, role: str, *parts: Any, at: float | None = None, **more: Any) -> Any:
    """A node of a ChatGPT conversation, with a message of `parts`; `more` goes into the message."""
    content = more.pop("content", {"content_type": "text", "parts": list(parts)})
    author = {"role": role, "name": more.pop("name", None)}
    message = {
        "id": f"message-{own}-0a1b2c3d",
        "author": author,
        "content": content,
        "create_time": at,
        **more,
    }
    return {"id": own, "parent": parent, "children": [], "message": message}


def chatgpt(*nodes: Any, current: str | None = None, **more: Any) -> dict[str, Any]:
    """A ChatGPT conversation under a root without a message."""
    mapping = {"root": {"id": "root", "parent": None, "children": [], "message": None}}
    mapping |= {item["id"]: item for item in nodes}
    return {"title": "A talk", "create_time": AT, "mapping": mapping, "current_node": current, **more}


def claude(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A Claude.ai conversation."""
    return {"uuid": "c0ffee00-0000", "name": "A talk", "chat_messages": list(messages), **more}


def chat(uuid: str, sender: str, text: str = "", **more: Any) -> dict[str, Any]:
    """A message of a Claude.ai conversation."""
    return {"uuid": f"{uuid}-4f5e6d7c", "sender": sender, "text": text, **more}


def line(uuid: str, kind: str, content: Any, parent: str | None = None, **more: Any) -> dict[str, Any]:
    """A line of a Claude Code transcript."""
    tail = "-9a8b7c6d-ffff"
    return {
        "type": kind,
        "uuid": uuid + tail,
        "parentUuid": parent + tail if parent else None,
        "sessionId": "s1",
        "message": {"role": kind, "content": content},
        **more,
    }


def item(role: str, text: str, **more: Any) -> dict[str, Any]:
    """A message of a Codex rollout, as the model got or gave it."""
    kind = "input_text" if role == "user" else "output_text"
    payload = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
    return {"timestamp": "2026-01-01T00:00:00Z", "type": "response_item", "payload": payload, **more}


def event(kind: str, /, **payload: Any) -> dict[str, Any]:
    """An event of a Codex rollout."""
    return {"timestamp": "2026-01-01T00:00:00Z", "type": "event_msg", "payload": {"type": kind, **payload}}


def meta(session: str, **payload: Any) -> dict[str, Any]:
    """The head of a Codex rollout."""
    return {
        "timestamp": "2026-01-01T00:00:00Z",
        "type": "session_meta",
        "payload": {"id": session, **payload},
    }


def smith(own: str, asked: Any, answered: Any, **more: Any) -> dict[str, Any]:
    """A run of LangSmith: a root, unless `parent_run_id` is given."""
    return {
        "id": own,
        "run_type": "chain",
        "inputs": asked,
        "outputs": answered,
        "start_time": "2026-01-01T00:00:00Z",
        "end_time": "2026-01-01T00:01:00Z",
        "trace_id": more.get("parent_run_id", own),
        "parent_run_id": None,
        **more,
    }


HELLO: list[dict[str, Any]] = [
    {"role": "user", "content": "Hello"},
    {"role": "assistant", "content": "Hi there"},
]
USER_TURN = [{"from": "human", "value": "Hello"}, {"from": "gpt", "value": "Hi there"}]
SAVED: dict[str, list[Any]] = {
    "chatgpt": [chatgpt(node("a", "root", "user", "Hello"), node("b", "a", "assistant", "Hi there"))],
    "claude-ai": [claude(chat("a", "human", "Hello"), chat("b", "assistant", "Hi there"))],
    "claude-code": [
        line("a", "user", "Hello"),
        line("b", "assistant", [{"type": "text", "text": "Hi there"}]),
    ],
    "codex": [meta("s1-abc"), item("user", "Hello"), item("assistant", "Hi there")],
    "langsmith": [smith("run-1-abc", {"messages": HELLO[:1]}, {"messages": HELLO[1:]})],
    "sharegpt": [{"conversations": USER_TURN}],
    "openai": [{"messages": HELLO}],
    "plain": HELLO,
}
"""A conversation of two messages in each format, as records."""

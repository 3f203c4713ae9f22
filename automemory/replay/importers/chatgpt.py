"""ChatGPT's data export: `conversations.json` or a shard of it, or a single conversation.

A conversation is a tree of messages (`mapping`), in which `current_node` is where the person stopped. OpenAI
documents none of it; the kinds of content are those that public descriptions of exports tell of.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from automemory.content import placeholder
from automemory.replay.importers.branches import moment, newest_leaf, path_to
from automemory.replay.importers.conversation import Draft, Found
from automemory.replay.importers.records import BadRecord, LeftOut, Sample, text
from automemory.replay.importers.rows import any_record, wanted_records
from automemory.replay.importers.spill import SpillMap

_HIDDEN = {"thoughts", "reasoning_recap", "user_editable_context", "model_editable_context"}
_TEXTS = ("text", "result", "output_str", "summary", "content", "name")
_MARKS = ("is_visually_hidden_from_conversation", "is_user_system_message")


class ChatGPT:
    name = "chatgpt"

    def detect(self, sample: Sample) -> bool:
        return any_record(sample.records, _is_conversation)

    def read(self, file: BinaryIO) -> Iterator[Found]:
        for position, record in wanted_records(file, _is_conversation):
            yield from [record] if isinstance(record, BadRecord) else _read(record, position)


def _is_conversation(record: Any) -> bool:
    return isinstance(record, dict) and isinstance(record.get("mapping"), (dict, SpillMap))


def _read(record: Mapping[str, Any], position: str) -> Iterator[Found]:
    own = text(record.get("conversation_id")) or text(record.get("id"))
    draft = Draft(position, {**record, "id": own})
    shown, others = _shown(record)
    if others:
        yield LeftOut("messages of branches that were given up", others)
    calls: dict[str, str] = {}
    for number, (node, message) in enumerate(shown, 1):
        if _is_hidden(message):
            yield LeftOut("hidden messages")
            continue
        if row := _row(message, node, calls):
            yield from draft.add(f"{position}, message {number}", row)
    yield from draft.finish()


def _shown(record: Mapping[str, Any]) -> tuple[Iterator[tuple[str, Mapping[str, Any]]], int]:
    """The messages of the branch the person saw, by their nodes, and how many there are besides."""
    mapping: Mapping[str, Any] = record["mapping"]
    parents: dict[str, str | None] = {}
    said: set[str] = set()
    for name, node in mapping.items():
        if isinstance(node, Mapping):
            parents[name] = text(node.get("parent")) or None
            if isinstance(node.get("message"), Mapping):
                said.add(name)
    orphans = [name for name, parent in parents.items() if parent not in parents]
    if len(orphans) > 1:
        above = _parents_by_children(mapping)
        parents |= {name: above.get(name) for name in orphans}
    leaf = text(record.get("current_node"))
    path = path_to(leaf if leaf in parents else newest_leaf(parents, _times(mapping)), parents)
    shown = [name for name in path if name in said]
    return ((name, mapping[name]["message"]) for name in shown), len(said) - len(shown)


def _parents_by_children(mapping: Mapping[str, Any]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, node in mapping.items():
        children = node.get("children") if isinstance(node, Mapping) else None
        found |= {text(child): name for child in (children if isinstance(children, list) else ())}
    return found


def _times(mapping: Mapping[str, Any]) -> dict[str, float | None]:
    times: dict[str, float | None] = {}
    for name, node in mapping.items():
        message = node.get("message") if isinstance(node, Mapping) else None
        times[name] = moment(message.get("create_time")) if isinstance(message, Mapping) else None
    return times


def _is_hidden(message: Mapping[str, Any]) -> bool:
    content, metadata = message.get("content"), message.get("metadata")
    if isinstance(metadata, Mapping) and any(metadata.get(mark) is True for mark in _MARKS):
        return True
    return isinstance(content, Mapping) and text(content.get("content_type")) in _HIDDEN


def _row(message: Mapping[str, Any], node: str, calls: dict[str, str]) -> dict[str, Any] | None:
    """A message as a role/content dict; None where it says nothing.

    Args:
        message: The message.
        node: The name of its node.
        calls: Ids of tool calls without an answer, by the tool's name; kept up to date.
    """
    author = message.get("author")
    author = author if isinstance(author, Mapping) else {}
    role = text(author.get("role"))
    said = _said(message)
    if not said and role != "tool":
        return None
    row: dict[str, Any] = {
        "role": role,
        "content": said,
        "id": text(message.get("id")) or node,
        "timestamp": message.get("create_time"),
    }
    recipient = text(message.get("recipient"))
    if role == "assistant" and recipient not in {"", "all", "user"}:
        calls[recipient.split(".")[0]] = row["id"]
        call = {"name": recipient, "args": said, "id": row["id"]}
        return row | {"content": "", "tool_calls": [call]}
    if role == "tool":
        tool = text(author.get("name")) or "tool"
        failed = "error" if _content(message).get("content_type") == "system_error" else "ok"
        return row | {"name": tool, "tool_call_id": calls.pop(tool.split(".")[0], None), "status": failed}
    return row


def _content(message: Mapping[str, Any]) -> Mapping[str, Any]:
    content = message.get("content")
    if isinstance(content, Mapping):
        return content
    return {"parts": content if isinstance(content, list) else [content]}


def _said(message: Mapping[str, Any]) -> str:
    content = _content(message)
    parts = content.get("parts")
    if isinstance(parts, list):
        found = [_part(part) for part in parts]
    elif isinstance(parts, str):
        found = [parts]
    else:
        found = [_part(content)]
    return "\n\n".join(words for words in [*found, *_attachments(message, content)] if words.strip())


def _part(part: Any) -> str:
    """The text of a part of whatever kind, or a placeholder."""
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping):
        return ""
    kind = text(part.get("content_type"))
    title = " ".join(filter(None, (text(part.get("title")), text(part.get("url")))))
    words = next(filter(None, (text(part.get(key)) for key in _TEXTS)), "")
    if words or title:
        return "\n".join(filter(None, (title, words)))
    label = next((word for word in ("image", "audio", "video") if word in kind), "")
    return placeholder(label or kind, None) if kind not in {"", "text", "code", "multimodal_text"} else ""


def _attachments(message: Mapping[str, Any], content: Mapping[str, Any]) -> Iterator[str]:
    """Placeholders for the files of a message that none of its parts points to."""
    metadata = message.get("metadata")
    files = metadata.get("attachments") if isinstance(metadata, Mapping) else None
    parts = content.get("parts")
    pointers = [
        p.get("asset_pointer") for p in (parts if isinstance(parts, list) else ()) if isinstance(p, Mapping)
    ]
    shown = " ".join(map(text, pointers))
    for file in files if isinstance(files, list) else ():
        if isinstance(file, Mapping) and not (text(file.get("id")) and text(file.get("id")) in shown):
            kind = text(file.get("mime_type")) or text(file.get("mimeType"))
            yield placeholder("file", kind or None, name=text(file.get("name")) or None)

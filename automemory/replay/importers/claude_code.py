"""Claude Code's transcripts: JSON lines, each a message, a tool's result or something the host notes down.

Lines name their parents. A person who goes back to an earlier question begins a branch, and what followed on
the old one is left out. Other forks, such as parallel tool calls, are no branches; and parents that were
never written down are common, so a line without a known parent follows the line before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, BinaryIO

from automemory.content import HIDDEN
from automemory.replay.importers.branches import path_to
from automemory.replay.importers.conversation import Draft, Found
from automemory.replay.importers.machine import is_command, is_placeholder, spoken
from automemory.replay.importers.records import BadRecord, LeftOut, Sample, records, text
from automemory.replay.importers.spill import SpillList
from automemory.turn import parse_time

_SPOKEN = {"user", "assistant"}
_NOTES = {
    "summary", "system", "progress", "attachment", "file-history-snapshot", "queue-operation", "custom-title",
    "ai-title", "agent-name", "agent-color", "agent-setting", "mode", "permission-mode", "last-prompt", "tag",
    "pr-link", "worktree-state", "saved_hook_context", "started", "result", "content-replacement",
    "task-summary", "stream_event", "rate_limit_event",
}  # fmt: skip
_MARKS = ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly")
_HOSTS = {"system", "hook", "agent", "cron", "loop", "task-notification", "teammate"}
_EXPANSION_S = 0.1
"""A text part that follows a command within so many seconds is what the host made of it."""

_TOOLS = "tool_result"


class ClaudeCode:
    name = "claude-code"

    def detect(self, sample: Sample) -> bool:
        return any(map(_is_line, sample.records))

    def read(self, file: BinaryIO) -> Iterator[Found]:
        session, draft = _Session(), Draft("line 1", unique_ids=True)
        for position, record in records(file):
            if isinstance(record, BadRecord):
                yield record
            else:
                yield from session.add(position, record)
        for position, row in session.rows():
            yield from [row] if isinstance(row, LeftOut) else draft.add(position, row)
        yield from draft.finish()


def _is_line(record: Any) -> bool:
    if not isinstance(record, dict):
        return False
    kind = text(record.get("type"))
    if kind in _SPOKEN and isinstance(record.get("message"), Mapping):
        return True
    return kind in _NOTES and ("sessionId" in record or "leafUuid" in record)


class _Session:
    """The lines of a transcript, and how they hang together."""

    def __init__(self) -> None:
        self._rows: SpillList[tuple[str, str, dict[str, Any]]] = SpillList()
        self._parents: dict[str, str | None] = {}
        self._prompts: set[str] = set()
        self._taken: set[str] = set()
        self._last = self._leaf = ""
        self._command: tuple[str, datetime | None] = ("", None)

    def add(self, position: str, record: Any) -> Iterator[Found]:
        """Take a line; yields what is wrong with it, or why it is no message."""
        kind = record.get("type") if isinstance(record, dict) else None
        if not isinstance(kind, str):
            yield BadRecord(position, "not a line of a transcript")
        elif record.get("isSidechain") is True or text(record.get("parent_tool_use_id")):
            yield LeftOut("messages of subagents")
        else:
            line = _queued(record) or record
            yield from self._message(position, self._place(line), line)

    def rows(self) -> Iterator[tuple[str, dict[str, Any] | LeftOut]]:
        """The messages of the branch that goes on, in the order of the lines."""
        given_up = self._given_up()
        for position, name, row in self._rows:
            yield position, LeftOut("messages of branches that were given up") if name in given_up else row

    def _place(self, record: Mapping[str, Any]) -> str:
        """Put a line into the tree; gives the name it has there."""
        own = text(record.get("uuid"))
        if not own:
            return self._last
        if own in self._parents:
            return own
        known = (record.get(key) for key in ("parentUuid", "logicalParentUuid"))
        self._parents[own] = next(
            (p for p in known if isinstance(p, str) and p in self._parents), self._last or None
        )
        self._last = own
        return own

    def _message(self, position: str, name: str, record: Mapping[str, Any]) -> Iterator[Found]:
        kind, message = text(record.get("type")), record.get("message")
        if kind not in _SPOKEN:
            if kind not in _NOTES:
                yield LeftOut.unknown(kind)
            return
        if not isinstance(message, Mapping):
            yield BadRecord(position, "no message in it")
            return
        if text(record.get("uuid")) in self._taken:
            yield LeftOut("repeated lines")
            return
        role = "assistant" if kind == "assistant" else "user"
        content = message.get("content")
        if role == "user":
            content = self._persons(record, name, content)
        elif _is_notice(record, content) or _is_silent(content):
            content = None
        if content:
            self._keep(position, name, {**_about(record), "role": role, "content": content})
        else:
            yield LeftOut(f"lines that the {'host wrote' if role == 'user' else 'model did not say'}")

    def _keep(self, position: str, name: str, row: dict[str, Any]) -> None:
        # Neither a second copy of a line nor a tool's late result is where the conversation stands.
        if name == self._last and (row["role"] == "assistant" or name in self._prompts):
            self._leaf = name
        if row["id"]:
            self._taken.add(row["id"])
        self._rows.append((position, name, row), _size(row["content"]))

    def _persons(self, record: Mapping[str, Any], name: str, content: Any) -> Any:
        """What of a user line's content is the person's, or a tool's; nothing if it is the host's."""
        if any(map(is_command, _texts(content))):
            self._command = (name, parse_time(record.get("timestamp")))
        mute = _is_hosts(record) or self._is_expansion(record)
        parts = [content] if isinstance(content, (str, Mapping)) else content
        kept = [] if mute else [p for p in map(_spoken_part, parts if isinstance(parts, list) else []) if p]
        if mute and isinstance(parts, list):
            kept = [part for part in parts if _is_result(part)]
        if any(not _is_result(part) for part in kept):
            self._prompts.add(name)
        return kept

    def _is_expansion(self, record: Mapping[str, Any]) -> bool:
        command, then = self._command
        at = parse_time(record.get("timestamp"))
        if not command or record.get("parentUuid") != command or at is None or then is None:
            return False
        typed = isinstance(record["message"].get("content"), str)
        alike = (at.tzinfo is None) == (then.tzinfo is None)
        return not typed and alike and abs((at - then).total_seconds()) <= _EXPANSION_S

    def _given_up(self) -> set[str]:
        path = set(path_to(self._leaf or None, self._parents))
        given_up: set[str] = set()
        for name, parent in self._parents.items():  # parents come before their children
            if name not in path and (name in self._prompts or parent in given_up):
                given_up.add(name)
        return given_up


def _is_hosts(record: Mapping[str, Any]) -> bool:
    """Whether a line says of itself that the host wrote it."""
    origin = record.get("origin")
    kind = text(origin.get("kind") if isinstance(origin, Mapping) else origin)
    if kind not in {"", "human"} or text(record.get("promptSource")) in _HOSTS:
        return True
    return any(record.get(mark) is True for mark in _MARKS)


def _queued(record: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What a person typed while the agent worked, as the line of a message."""
    attachment = record.get("attachment")
    if record.get("type") != "attachment" or not isinstance(attachment, Mapping):
        return None
    if attachment.get("type") != "queued_command" or attachment.get("commandMode", "prompt") != "prompt":
        return None
    message = {"role": "user", "content": attachment.get("prompt")}
    marks = {"origin": attachment.get("origin"), "isMeta": attachment.get("isMeta")}
    return {**record, **marks, "type": "user", "message": message}


def _about(record: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": text(record.get("uuid")) or None, "timestamp": record.get("timestamp")}


def _spoken_part(part: Any) -> Any:
    """A part without what the host wrote into it; empty if nothing is left."""
    if isinstance(part, str):
        return spoken(part)
    if isinstance(part, Mapping) and part.get("type") == "text":
        left = spoken(text(part.get("text")))
        return {**part, "text": left} if left.strip() else None
    return part


def _is_result(part: Any) -> bool:
    return isinstance(part, Mapping) and part.get("type") == _TOOLS


def _is_notice(record: Mapping[str, Any], content: Any) -> bool:
    """Whether an assistant line is the host's: an error of the API, or that there was nothing to say."""
    message = record["message"]
    if record.get("isApiErrorMessage") is True or message.get("model") == "<synthetic>":
        return True
    parts = content if isinstance(content, list) else [content]
    said = _texts(content)
    return len(said) == len(parts) and all(map(is_placeholder, said))


def _is_silent(content: Any) -> bool:
    """Whether a content is nothing but reasoning."""
    parts = content if isinstance(content, list) else []
    kinds = [text(part.get("type")) if isinstance(part, Mapping) else "" for part in parts]
    return bool(kinds) and HIDDEN.issuperset(kinds)


def _texts(content: Any) -> list[str]:
    """The parts of a content that are text."""
    parts = content if isinstance(content, list) else [content]
    found = [part.get("text") if isinstance(part, Mapping) else part for part in parts]
    return [words for words in found if isinstance(words, str)]


def _size(content: Any) -> int:
    return len(str(content)) if isinstance(content, (str, list)) else 0

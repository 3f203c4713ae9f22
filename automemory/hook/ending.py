"""The two ends of a long transcript, which a hook reads where they tell as much as all of it would.

A session goes on for days, and its host waits for the hook at each of its turns: what lies before a turn that
is known already says nothing new. Only Claude Code's transcripts are cut, whose messages have ids of their
own, and only where nothing in the part that is read refers to what comes before it.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

from automemory.hook.transcript import Session, importer_of, session_of
from automemory.replay.importers.conversation import Conversation

LONG = 2_000_000
_HEAD, _TAIL = 256_000, 512_000
_FORM = "claude-code"


def ending(transcript: Path, *, finished: bool = True, said: str = "") -> Session | None:
    """The last turns of a long transcript; None if it has to be read from its beginning.

    Whether nothing is missing shows in the vault: one of these turns is known there.

    Args:
        transcript, finished, said: See `session`.
    """
    stream = beginning(transcript)
    if not stream:
        return None
    with transcript.open("rb") as file:
        file.seek(-_TAIL, io.SEEK_END)
        file.readline()  # the rest of a line
        lines = file.read()
    if not _stands_alone(lines):
        return None
    found = session_of(io.BytesIO(lines), finished=finished, said=said)
    return Session(stream, found.turns[1:]) if found else None


def beginning(transcript: Path) -> str:
    """The name of a long transcript's stream; empty if it is short, or if its beginning does not tell."""
    try:
        if transcript.stat().st_size < LONG:
            return ""
        with transcript.open("rb") as file:
            head = io.BytesIO(file.read(_HEAD).rpartition(b"\n")[0])
    except OSError:  # told when it is read as a whole
        return ""
    importer = importer_of(head)
    found = importer.read(head) if importer.name == _FORM else iter(())
    return next((f.id for f in found if isinstance(f, Conversation)), "")


def _stands_alone(lines: bytes) -> bool:
    """Whether no line after the first question goes on from one that is not here: no branch begins before."""
    known: set[str] = set()
    asked = False
    for line in lines.split(b"\n"):
        record = _record(line)
        own = record.get("uuid")
        if record.get("isSidechain") is True or not isinstance(own, str):
            continue
        parents = {record.get("parentUuid"), record.get("logicalParentUuid")}
        if asked and known.isdisjoint(parents):
            return False
        known.add(own)
        asked = asked or _is_question(record)
    return asked


def _is_question(record: dict[str, Any]) -> bool:
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    parts = content if isinstance(content, list) else [content]
    results = (isinstance(part, dict) and part.get("type") == "tool_result" for part in parts)
    return record.get("type") == "user" and not any(results)


def _record(line: bytes) -> dict[str, Any]:
    """A line's object; empty if it is none, as the last one that is being written."""
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}

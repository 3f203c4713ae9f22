"""Readers of saved conversations, one module a format.

Formats are recognised by what is in a file, never by its name.
"""

from __future__ import annotations

import codecs
from typing import BinaryIO

from automemory.errors import ConfigError, ImportFailed
from automemory.replay.importers.chatgpt import ChatGPT
from automemory.replay.importers.claude_ai import ClaudeAI
from automemory.replay.importers.claude_code import ClaudeCode
from automemory.replay.importers.codex import Codex
from automemory.replay.importers.conversation import Conversation, Found, Importer
from automemory.replay.importers.langchain_dump import LangChainDump
from automemory.replay.importers.langsmith import LangSmith
from automemory.replay.importers.openai_chat import OpenAIChat
from automemory.replay.importers.plain import Plain
from automemory.replay.importers.records import BadRecord, LeftOut, Sample, sample
from automemory.replay.importers.sharegpt import ShareGPT

__all__ = [
    "FORMATS",
    "IMPORTERS",
    "BadRecord",
    "Conversation",
    "Found",
    "Importer",
    "LeftOut",
    "Sample",
    "importer_for",
]

IMPORTERS: tuple[Importer, ...] = (
    ChatGPT(),
    ClaudeAI(),
    ClaudeCode(),
    Codex(),
    LangSmith(),
    ShareGPT(),
    LangChainDump(),
    OpenAIChat(),
    Plain(),
)
"""All formats, the narrower before the wider: the first that detects a file reads it."""

FORMATS = tuple(importer.name for importer in IMPORTERS)

_SEEN = {
    "jsonl": "JSON lines of another kind",
    "array": "a JSON array of something else",
    "object": "a JSON object of another kind",
    "empty": "nothing in it",
    "other": "no JSON",
}


def importer_for(file: BinaryIO, format: str = "auto") -> Importer:
    """The importer that reads a file.

    Args:
        file: The file, at any position.
        format: A name in `FORMATS`, or `auto` to recognise it.

    Raises:
        ImportFailed: if no format is recognised; the message says what was seen.
        ConfigError: if there is no such format.
    """
    if format != "auto":
        return _named(format)
    seen = sample(file)
    found = next((importer for importer in IMPORTERS if importer.detect(seen)), None)
    if found is None:
        raise ImportFailed(f"{_described(file, seen)}; formats known: {', '.join(FORMATS)}")
    return found


def _named(format: str) -> Importer:
    for importer in IMPORTERS:
        if importer.name == format:
            return importer
    raise ConfigError(f"no format {format!r}: give auto or one of {', '.join(FORMATS)}")


def _described(file: BinaryIO, seen: Sample) -> str:
    file.seek(0)
    if file.read(2) in {codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE}:
        return "UTF-16 text; save it as UTF-8"
    first = next((record for record in seen.records if isinstance(record, dict)), None)
    keys = f" with the keys {', '.join(sorted(map(str, first))[:8])}" if first else ""
    return f"{_SEEN[seen.layout]}{keys}"

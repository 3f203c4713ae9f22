"""All formats that can be read, and which of them reads a file."""

from __future__ import annotations

from typing import BinaryIO

from automemory.errors import ConfigError
from automemory.replay.importers.chatgpt import ChatGPT
from automemory.replay.importers.claude_ai import ClaudeAI
from automemory.replay.importers.claude_code import ClaudeCode
from automemory.replay.importers.codex import Codex
from automemory.replay.importers.conversation import Importer
from automemory.replay.importers.detection import detected
from automemory.replay.importers.langchain_dump import LangChainDump
from automemory.replay.importers.langsmith import LangSmith
from automemory.replay.importers.openai_chat import OpenAIChat
from automemory.replay.importers.plain import Plain
from automemory.replay.importers.sharegpt import ShareGPT

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


def importer_for(file: BinaryIO, format: str = "auto") -> Importer:
    """The importer that reads a file.

    Args:
        file: The file, at any position.
        format: A name in `FORMATS`, or `auto` to recognise it.

    Raises:
        ImportFailed: if no format is recognised; the message says what was seen.
        ConfigError: if there is no such format.
    """
    if format == "auto":
        return detected(file, IMPORTERS)
    for importer in IMPORTERS:
        if importer.name == format:
            return importer
    raise ConfigError(f"no format {format!r}: give auto or one of {', '.join(FORMATS)}")

"""OpenAI chat files: `{"messages": [{"role", "content"}…]}`, one a line, in an array, or alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from automemory.replay.importers.conversation import Found
from automemory.replay.importers.records import Sample
from automemory.replay.importers.rows import held, read_rows

_KEYS = ("messages",)


class OpenAIChat:
    name = "openai"

    def detect(self, sample: Sample) -> bool:
        rows = (
            row for record in sample.records if isinstance(record, dict) for row in held(record, _KEYS) or ()
        )
        return any(_is_message(row) for row in rows)

    def read(self, file: BinaryIO) -> Iterator[Found]:
        return read_rows(file, _KEYS)


def _is_message(row: Any) -> bool:
    return isinstance(row, dict) and isinstance(row.get("role"), str)

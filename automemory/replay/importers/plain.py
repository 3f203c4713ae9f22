"""Plain `{"role", "content"}` messages: a JSON array of them, or one a line.

Also labelled conversations, without their labels: `{"id", "turns": [{"role", "text"}…]}`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from automemory.replay.importers.conversation import Found
from automemory.replay.importers.records import Sample
from automemory.replay.importers.rows import any_message, read_rows

_KEYS = ("turns",)


class Plain:
    name = "plain"

    def detect(self, sample: Sample) -> bool:
        return any_message(sample.records, _KEYS, _is_message)

    def read(self, file: BinaryIO) -> Iterator[Found]:
        return read_rows(file, _KEYS, _with_content)


def _is_message(row: Any) -> bool:
    if not isinstance(row, dict) or not isinstance(row.get("role"), str):
        return False
    return "content" in row or "text" in row or "tool_calls" in row


def _with_content(row: Any) -> Any:
    if isinstance(row, dict) and "content" not in row and isinstance(row.get("text"), str):
        return {**row, "content": row["text"]}
    return row

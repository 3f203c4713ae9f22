"""ShareGPT files: `{"conversations": [{"from", "value"}…]}`, one a line, in an array, or alone.

The rows may as well be role/content messages. Tool calls are rows of `function_call` whose value is JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, BinaryIO

from automemory.replay.importers.conversation import Found
from automemory.replay.importers.records import Sample, text
from automemory.replay.importers.rows import held, read_rows

_KEYS = ("conversations", "conversation", "items")
_CALLS = {"function_call", "tool_call"}


class ShareGPT:
    name = "sharegpt"

    def detect(self, sample: Sample) -> bool:
        rows = (row for record in sample.records for row in held(record, _KEYS) or () if _is_row(row, record))
        return any(rows)

    def read(self, file: BinaryIO) -> Iterator[Found]:
        return read_rows(file, _KEYS, _flat)


def _is_row(row: Any, record: Any) -> bool:
    """Whether a row is a message; in a bare list only if it could be of no other format."""
    if not isinstance(row, dict):
        return False
    if isinstance(row.get("from"), str) and "value" in row:
        return True
    return (
        isinstance(record, dict) and isinstance(row.get("role"), str) and ("content" in row or "value" in row)
    )


def _flat(row: Any) -> Any:
    if not isinstance(row, dict):
        return row
    role = text(row.get("role")) or text(row.get("from"))
    content = next((row[key] for key in ("value", "content", "text") if row.get(key) is not None), None)
    called = _call(content) if role in _CALLS else None
    if called:
        return {**row, "role": "assistant", "content": "", "tool_calls": [called]}
    return {**row, "role": role, "content": content}


def _call(value: Any) -> dict[str, Any] | None:
    """The call that a text of JSON holds; None if it is none."""
    try:
        found = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and isinstance(found.get("name"), str) else None

"""LangChain messages as `messages_to_dict`, `dumpd` or `model_dump` write them.

A list of them, one a line, or held by an object under `messages` as in a graph's state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

from automemory.replay.importers.conversation import Found
from automemory.replay.importers.records import Sample
from automemory.replay.importers.rows import any_message, read_rows

_KEYS = ("messages",)
_TYPES = {"human", "ai", "tool", "system", "function", "chat"}


class LangChainDump:
    name = "langchain"

    def detect(self, sample: Sample) -> bool:
        return any_message(sample.records, _KEYS, _is_message)

    def read(self, file: BinaryIO) -> Iterator[Found]:
        return read_rows(file, _KEYS, flat)


def _is_message(row: Any) -> bool:
    """Whether a row is a LangChain message: wrapped as in a dump, or with a LangChain type for a role."""
    found = flat(row)
    if not isinstance(found, dict):
        return False
    wrapped = found is not row
    return (
        "content" in found
        and _is_type(found.get("type"))
        and (wrapped or "role" not in row or row["type"] == "chat")
    )


def _is_type(label: Any) -> bool:
    return isinstance(label, str) and label.lower().removesuffix("messagechunk") in _TYPES


def flat(row: Any) -> Any:
    """A message without its wrapping, its type beside its content; anything else as it is."""
    if not isinstance(row, dict):
        return row
    kwargs, data = row.get("kwargs"), row.get("data")
    if "lc" in row and isinstance(kwargs, Mapping):
        return {"type": _type_of(row.get("id")), **kwargs}
    if isinstance(data, Mapping) and isinstance(row.get("type"), str):
        return {"type": row["type"], **{key: value for key, value in data.items() if value is not None}}
    return row


def _type_of(path: Any) -> str:
    """`human` for `[…, "HumanMessage"]`: older dumps leave the type to the class's name."""
    name = str(path[-1]) if isinstance(path, list) and path else ""
    return name.removesuffix("Chunk").removesuffix("Message").lower()

"""Claude.ai's data export: `conversations.json`, or a single conversation with its `chat_messages`.

A message's words are in its `content` blocks, in `text`, or, where something long was pasted, only in the
`extracted_content` of an attachment. Where messages name their parents, those of other branches are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO

from automemory.content import CALLS, RESULTS, placeholder, read_content
from automemory.replay.importers.branches import moment, newest_leaf, path_to
from automemory.replay.importers.conversation import Draft, Found
from automemory.replay.importers.records import BadRecord, LeftOut, Sample, text
from automemory.replay.importers.rows import any_record, is_list, wanted_records

# Where the end is missing, the rest is passed over at once: not once more from each beginning.
_THINKING = re.compile(r"<antThinking>.*?(?:(</antThinking>)\s*|\Z)", re.DOTALL)
_UNSHOWN = re.compile(
    r"(?:(?<!\s)\s++)?```\n?This block is not supported on your current device yet\.\n?```\s*"
)
_WORDS = {"text", "voice_note"}
_OTHERS = CALLS | RESULTS | {"image", "document", "audio"}
_FILE_KEYS = ("file_name", "name", "file_uuid")


class ClaudeAI:
    name = "claude-ai"

    def detect(self, sample: Sample) -> bool:
        return any_record(sample.records, _is_conversation)

    def read(self, file: BinaryIO) -> Iterator[Found]:
        for position, record in wanted_records(file, _is_conversation):
            yield from [record] if isinstance(record, BadRecord) else _read(record, position)


def _is_conversation(record: Any) -> bool:
    return isinstance(record, dict) and is_list(record.get("chat_messages"))


def _read(record: Mapping[str, Any], position: str) -> Iterator[Found]:
    rows: Sequence[Any] = record["chat_messages"]
    draft = Draft(position, {**record, "id": record.get("uuid"), "title": record.get("name")})
    given_up = _given_up(rows, record.get("current_leaf_message_uuid"))
    if given_up:
        yield LeftOut("messages of branches that were given up", len(given_up))
    for number, row in enumerate(rows, 1):
        if isinstance(row, Mapping) and text(row.get("uuid")) in given_up:
            continue
        made = _row(row) if isinstance(row, Mapping) else row
        if made:
            yield from draft.add(f"{position}, message {number}", made)
        else:
            yield LeftOut("empty messages")
    yield from draft.finish()


def _given_up(rows: Sequence[Any], leaf: Any) -> set[str]:
    """Messages that are not on the branch that ends with `leaf`.

    None where the tree does not hold together: an answer has to have the question it answers.
    """
    parents: dict[str, str | None] = {}
    times: dict[str, float | None] = {}
    linked = False
    for row in rows:
        if not isinstance(row, Mapping) or not text(row.get("uuid")):
            return set()
        parent = text(row.get("parent_message_uuid"))
        known = parent if parent in parents else None
        if known is None and parents and row.get("sender") != "human":
            return set()
        linked = linked or known is not None
        parents[row["uuid"]] = known
        times[row["uuid"]] = moment(row.get("created_at"))
    chosen = text(leaf) if text(leaf) in parents else newest_leaf(parents, times)
    if not linked:
        return set()
    return set(parents) - set(path_to(chosen, parents))


def _row(row: Mapping[str, Any]) -> dict[str, Any] | None:
    """A message as a role/content dict; None where it holds nothing."""
    blocks = row.get("content")
    said, rest = _split(blocks)
    words = read_content(said).text or _UNSHOWN.sub("", text(row.get("text")))
    if isinstance(blocks, list) and not words and not rest:
        words = read_content(blocks).text
    content = [*rest, _THINKING.sub(lambda thought: "" if thought[1] else thought[0], words), *_files(row)]
    if not rest and not any(isinstance(part, str) and part.strip() for part in content):
        return None
    sender = row.get("sender") or row.get("role")
    return {
        "role": sender,
        "content": content,
        "id": row.get("uuid"),
        "timestamp": row.get("created_at"),
    }


def _split(blocks: Any) -> tuple[Any, list[Any]]:
    """The blocks that hold words, and those that are tools' or media."""
    if not isinstance(blocks, list):
        return blocks, []
    kinds = [text(block.get("type")) if isinstance(block, Mapping) else "text" for block in blocks]
    words = [block for block, kind in zip(blocks, kinds, strict=True) if kind in _WORDS]
    return words, [block for block, kind in zip(blocks, kinds, strict=True) if kind in _OTHERS]


def _files(row: Mapping[str, Any]) -> Iterator[str]:
    """What a person put beside the words: the text of an attachment, a placeholder for a file."""
    found = [row.get("attachments"), row.get("files") or row.get("files_v2")]
    for file in (file for files in found if isinstance(files, list) for file in files):
        if not isinstance(file, Mapping):
            continue
        name = next(filter(None, (text(file.get(key)) for key in _FILE_KEYS)), None)
        kind = text(file.get("file_type")) or text(file.get("file_kind"))
        yield placeholder("file", kind or None, name=name)
        yield text(file.get("extracted_content"))

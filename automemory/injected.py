"""Memory shown to a model as a marked block, and telling such a block from what somebody said."""

from __future__ import annotations

import re

CONTEXT_CHARS = 8_000
"""Longest note that stands for an agent's past, by default."""

BEGIN = '<memory_note path="{path}">'
END = "</memory_note>"
_MARK = re.compile(r"<(?=/?\s*memory_note)", re.IGNORECASE)
# Where the end is missing, the rest is passed over at once: not once more from each beginning.
_BLOCK = re.compile(r'<memory_note path="[^"\n]*">.*?(?:(</memory_note>)|\Z)', re.DOTALL)


def marked(path: str, text: str) -> str:
    """A block of what the note at `path` says; nothing in `text` can end it."""
    begin = BEGIN.format(path=" ".join(path.replace('"', "'").split()))
    return f"{begin}\n{safe(text)}\n{END}"


def safe(text: str) -> str:
    """Text that cannot end the block it stands in."""
    return _MARK.sub("‹", text)


def without_marked(text: str) -> str:
    """A text without the blocks that the memory put into it, so that none is taken for somebody's words."""
    if END not in text:
        return text
    return _BLOCK.sub(lambda block: "" if block[1] else block[0], text).strip()

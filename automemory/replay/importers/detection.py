"""Which of several formats a file is of: told by what is in it, never by its name."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from typing import BinaryIO

from automemory.errors import ImportFailed
from automemory.redact import redact
from automemory.replay.importers.conversation import Importer
from automemory.replay.importers.records import Sample, sample

_KEY_CHARS = 400
_SEEN = {
    "jsonl": "JSON lines of another kind",
    "array": "a JSON array of something else",
    "object": "a JSON object of another kind",
    "empty": "nothing in it",
    "other": "no JSON",
}


def detected(file: BinaryIO, importers: Sequence[Importer]) -> Importer:
    """The first of these importers that detects a file, which may be at any position.

    Raises:
        ImportFailed: if none does; the message says what was seen.
    """
    seen = sample(file)
    found = next((importer for importer in importers if importer.detect(seen)), None)
    if found is None:
        known = ", ".join(importer.name for importer in importers)
        raise ImportFailed(f"{_described(file, seen)}; formats known: {known}")
    return found


def _described(file: BinaryIO, seen: Sample) -> str:
    file.seek(0)
    if file.read(2) in {codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE}:
        return "UTF-16 text; save it as UTF-8"
    first = next((record for record in seen.records if isinstance(record, dict)), None)
    names = redact(", ".join(key[:_KEY_CHARS] for key in sorted(map(str, first))[:8])) if first else ""
    keys = f" with the keys {names}" if names else ""
    return f"{_SEEN[seen.layout]}{keys}"

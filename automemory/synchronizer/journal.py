"""What a run did, told from the records of its tool calls and never from what the model says of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from automemory.synchronizer.result import SKIP
from automemory.synchronizer.toolkit import ToolRecord
from automemory.vault.layout import fold, parse_event_path

_NOTE = {"created", "inherited", "updated"}
_READS = {"list", "stat", "read", "property:read"}
_SHOWN = 300
_SKIPPED = re.compile(r"\W{0,4}\[?SKIP\]?\W{0,4}")
_BEGINS_SKIPPING = re.compile(r"\W{0,4}\[SKIP\]")
_PATH = re.compile(
    r"daily/\d{4}-\d\d-\d\d(?:\.md|/(?:(?!daily/)[^\n`*\"\]|])*?\.md|/[^\s/`*\"\]|]+(?=[/\s]|$))"
)
_CLAIMED = re.compile(r"\b(?:created|inherited|updated)\b[\s:`*\"\[]*(\S+\.md)\b", re.IGNORECASE)
_ORIGIN = re.compile(r"(?:from|inherits:?|来自|继承自)[\s`*\"\[]*$", re.IGNORECASE)
_THOUGHT = re.compile(r".*</think(?:ing)?>", re.DOTALL | re.IGNORECASE)


@dataclass(slots=True)
class Journal:
    """What happened in a run so far.

    Attributes:
        records: The tool calls in order, refused ones and those that no tool takes included.
        troubles: Why the run ended early, in sentences.
        closing: What the model said last; None if it was not asked for that, or did not come to it.
        calls: How many requests were sent to the model.
        tokens: Of their prompts and replies.
        skipped: Whether it said that there is nothing to note, otherwise than by a closing line.
    """

    records: Sequence[ToolRecord] = ()
    troubles: list[str] = field(default_factory=list)
    closing: str | None = None
    calls: int = 0
    tokens: int = 0
    skipped: bool = False

    @property
    def wrote(self) -> bool:
        """Whether a summary note was written."""
        return any(record.ok and record.how in _NOTE for record in self.records)

    @property
    def says_skip(self) -> bool:
        return self.skipped or (self.closing is not None and says_skip(self.closing))

    @property
    def path(self) -> str:
        """The summary note that was written last; empty if none was."""
        return next((r.path for r in reversed(self.records) if r.ok and r.how in _NOTE), "")

    @property
    def actions(self) -> str:
        """One line on what was done; empty if no note was written."""
        written = [record for record in self.records if record.ok and record.how in _NOTE]
        if not written:
            return ""
        how = next(record.how for record in written if fold(record.path) == fold(self.path))
        return f"{how} {self.path} (+{len(self._materials)} materials)"

    @property
    def applied(self) -> tuple[dict[str, Any], ...]:
        return tuple(_entry(record) for record in self.records if record.ok)

    @property
    def failed(self) -> tuple[dict[str, Any], ...]:
        refused = [
            _entry(record)
            for at, record in enumerate(self.records)
            if not record.ok and not self._made_good(record, self.records[at + 1 :])
        ]
        told = [*self.troubles, *([] if self.troubles else self._contradictions())]
        return (*refused, *({"tool": "model", "arguments": {}, "result": text} for text in told))

    @property
    def _materials(self) -> list[str]:
        return list(dict.fromkeys(r.path for r in self.records if r.ok and r.how == "material"))

    def _made_good(self, refused: ToolRecord, later: Sequence[ToolRecord]) -> bool:
        """Whether a call that was refused was done right later, or was a look that nothing depended on."""
        done = [record for record in later if record.ok]
        if refused.tool in _READS:
            return bool(done) or self.says_skip
        if refused.tool not in {"write", "property:update"}:
            return bool(done)
        wanted = _wanted(str(refused.arguments.get("path", "")))
        return any(record.how in wanted for record in done)

    def _contradictions(self) -> list[str]:
        """What the model's last words say that is not so."""
        if self.closing is None:
            return []
        said = " ".join(self.closing.split())[:_SHOWN]
        if self.says_skip:
            done = self.actions or (f"{len(self._materials)} materials" if self._materials else "")
            return [f"the model says {SKIP}, but wrote: {done}"] if done else []
        if not self.wrote:
            return [f"no summary note was written, though the model says: {said or '(nothing)'}"]
        known = {fold(self.path), fold(self.path.rpartition("/")[0]), *map(fold, self._materials)}
        others = [path for path in claimed(self.closing) if fold(path.rstrip("/")) not in known]
        return [f"the model says it wrote {path}, but the note written is {self.path}" for path in others]


def says_skip(text: str) -> bool:
    """Whether last words are that there is nothing to note."""
    lines = [line for line in _spoken(text).split("\n") if line.strip()]
    ends = lines[:1] + lines[-1:]
    return any(_SKIPPED.fullmatch(line) or _BEGINS_SKIPPING.match(line) for line in ends)


def claimed(text: str) -> list[str]:
    """The paths that last words name as written; not those that something was taken over from."""
    spoken = _spoken(text)
    found = [m[0] for m in _PATH.finditer(spoken) if not _ORIGIN.search(spoken[: m.start()][-40:])]
    strays = [m[1] for m in _CLAIMED.finditer(spoken) if "daily/" not in m[1] and "/" in m[1]]
    return list(dict.fromkeys([*found, *strays]))


def _spoken(text: str) -> str:
    return _THOUGHT.sub("", text)


def _wanted(path: str) -> set[str]:
    """What a call with this path was to write: a note (or an index for one), a material, either."""
    if parse_event_path(path) or re.fullmatch(r"daily/\d{4}-\d\d-\d\d(?:\.md)?", path):
        return _NOTE
    return {"material"} if re.fullmatch(r"daily/\d{4}-\d\d-\d\d/[^/]+/.+", path) else {*_NOTE, "material"}


def _entry(record: ToolRecord) -> dict[str, Any]:
    result = record.result if len(record.result) <= _SHOWN else record.result[: _SHOWN - 1] + "…"
    return {"tool": record.tool, "arguments": dict(record.arguments), "result": result}

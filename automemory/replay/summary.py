"""What a replay read, what it recorded, what it left out, and why."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from automemory.replay.importers.records import BadRecord

SHOWN = 20
"""Bad records of a source that are told one by one."""


@dataclass(slots=True)
class SourceReport:
    """What became of one file.

    Attributes:
        path: The file.
        format: The format it was read as; empty if it was skipped.
        skipped: Why nothing of it was read, if so.
        conversations, turns: How many it holds.
        outcomes: How many turns were `recorded`, `duplicate`, `extended`, …; see `TurnResult.outcome`.
        left_out: Records that were read but are no part of a conversation, by the reason.
        outside: Turns before `since` or after `until`.
        undated: Conversations without any time, filed under the declared date.
        bad: How many records could not be read.
        bad_records: The first of them.
        cut_short: Whether the file was not read to its end.
    """

    path: str
    format: str = ""
    skipped: str = ""
    conversations: int = 0
    turns: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    left_out: Counter[str] = field(default_factory=Counter)
    outside: int = 0
    undated: int = 0
    bad: int = 0
    bad_records: list[BadRecord] = field(default_factory=list)
    cut_short: bool = False

    def count_bad(self, record: BadRecord) -> None:
        self.bad += 1
        self.cut_short |= record.rest
        if len(self.bad_records) < SHOWN:
            self.bad_records.append(record)

    def why_nothing(self) -> str:
        """What stands in a file that has no turn."""
        if self.bad_records:
            return f"{self.bad_records[0].position}: {self.bad_records[0].reason}"
        left_out = ", ".join(f"{reason}: {count}" for reason, count in self.left_out.most_common(3))
        return left_out or "the file: no conversation in it"


@dataclass(slots=True)
class ReplayReport:
    """What a replay did.

    Attributes:
        date: The day undated conversations were filed under.
        sources: Each file's share, in the order given.
        opened: How many events were opened, inherited ones included.
        interrupted: Whether it was stopped before the end; the same call goes on where it stopped.
        error: The last failure to write, if turns were deferred.
    """

    date: date
    sources: list[SourceReport] = field(default_factory=list)
    opened: int = 0
    interrupted: bool = False
    error: str = ""

    @property
    def turns(self) -> int:
        return sum(source.turns for source in self.sources)

    @property
    def outcomes(self) -> Counter[str]:
        total: Counter[str] = Counter()
        for source in self.sources:
            total.update(source.outcomes)
        return total

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON values."""
        return {
            "date": self.date.isoformat(),
            "turns": self.turns,
            **{
                name: self.outcomes[name]
                for name in ("recorded", "duplicate", "extended", "deferred", "excluded")
            },
            "outside": sum(source.outside for source in self.sources),
            "bad": sum(source.bad for source in self.sources),
            "undated": sum(source.undated for source in self.sources),
            "events_opened": self.opened,
            "interrupted": self.interrupted,
            "error": self.error,
            "sources": [_source(source) for source in self.sources],
        }


def _source(source: SourceReport) -> dict[str, Any]:
    return {
        "path": source.path,
        "format": source.format,
        "skipped": source.skipped,
        "conversations": source.conversations,
        "turns": source.turns,
        **source.outcomes,
        "outside": source.outside,
        "undated": source.undated,
        "left_out": dict(source.left_out),
        "bad": source.bad,
        "cut_short": source.cut_short,
        "bad_records": [{"position": bad.position, "reason": bad.reason} for bad in source.bad_records],
    }

"""A vault full of what people, synchronizers and attackers leave in one."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

DAY = "2026-05-27"
NOW = datetime(2026, 5, 27, 13, 0, tzinfo=UTC)
NOTE = """---
name: {name}
title: A title
description: Words.
status: active
created: 2026-05-27
updated: 2026-05-27
{extra}thread: {thread}
---

## Turns
"""
YEAR_ONE = """
### 00:00:00
<!-- turn id=0000000000000001 at=0001-01-01T00:00:00+14:00 n=1 by=local -->

> [!user]
> Hi
<!-- /turn 0000000000000001 -->
"""
MARKS = """<!-- turn id=../../x at=yesterday n=-5 by= -->
<!-- /turn y -->
<!-- turn id=a at=2026-05-27T12:00:00Z n=99999999999999999999 part=9e9 -->
"""


def note(name: str, thread: str = "main", extra: str = "") -> bytes:
    return NOTE.format(name=name, thread=thread, extra=extra).encode()


def yaml_bomb() -> bytes:
    lines = [b"---\na: &a [x,x,x,x,x,x,x,x,x]\n"]
    for letter in "bcdefghi":
        before = chr(ord(letter) - 1)
        lines.append(f"{letter}: &{letter} [{','.join([f'*{before}'] * 9)}]\n".encode())
    return b"".join([*lines, b"thread: main\n---\n"])


# Notes that are broken, and nobody's: not a byte of them may change.
BROKEN = {
    "no-frontmatter": b"Just words.\n",
    "bad-yaml": b"---\nname: [unclosed\nthread: main\n---\n\n## Turns\n",
    "scalar": b"---\njust a text\n---\n\nWords.\n",
    "unclosed": b"---\nname: unclosed\nthread: main\n",
    "doubled-key": b"---\nname: a\nname: b\nthread: main\n---\nWords.\n",
    "list": b"---\n- a\n- b\n---\nWords.\n",
    "empty": b"",
    "binary": bytes(range(256)) * 40,
    "nul": b"---\nname: nul\nthread: main\0\n---\n",
    "deep-yaml": b"---\nname: " + b"[" * 3000 + b"\nthread: main\n---\n",
    "bomb": yaml_bomb(),
    "odd-types": b"---\nname: 5\ndescription: [a, b]\nstatus: {a: b}\nclosed: true\n---\n",
    "half-synced": note("half-synced")[:-40],
    "conflict": b"<<<<<<< HEAD\n---\nname: conflict\n=======\n---\nname: other\n>>>>>>> theirs\n---\n",
    "other-agent": note("other-agent", extra="agent: else\n"),
    "inherits-out": note("inherits-out", "i", 'inherits: "[[../../outside.md]]"\n'),
}
# Open events of the stream that has their name.
OPEN = {
    "crlf": note("crlf", "crlf").replace(b"\n", b"\r\n"),
    "bom": b"\xef\xbb\xbf" + note("bom", "bom"),
    "turns-out": note("turns-out", "turns-out", "turns: ../../../outside.md\n"),
    "own-heir": note("own-heir", "own-heir", f'inherits: "[[daily/{DAY}/own-heir/own-heir.md]]"\n'),
    "year-one": note("year-one", "year-one") + YEAR_ONE.encode(),
    "bad-marks": note("bad-marks", "bad-marks") + MARKS.encode(),
    "other-name": note("not-this-folder", "other-name"),
}
# Where the way of a name leads that a decider may choose.
LINKS = ("linked", "dead", "loop", "note-link", "dead-note", "pipe", "pipe-note", "note-is-folder", "strasse")
INDEX = b"\xef\xbb\xbf# my day\r\n\r\n- [ ] mine\r\n- [[../outside|x]] \xff\r\n"


@dataclass(frozen=True)
class Zoo:
    """The vault, and what lies outside of it."""

    vault: Path
    outside: Path

    def beyond(self) -> dict[str, bytes]:
        """All files outside, by name."""
        files = (p for p in sorted(self.outside.rglob("*")) if p.is_file())
        return {p.relative_to(self.outside).as_posix(): p.read_bytes() for p in files}

    def broken(self) -> dict[str, bytes]:
        """The notes that nobody may change, as they are."""
        day = self.vault / "daily" / DAY
        return {name: (day / name / f"{name}.md").read_bytes() for name in BROKEN}


def build(folder: Path) -> Zoo:
    vault, outside = folder / "vault", folder / "outside"
    day = vault / "daily" / DAY
    day.mkdir(parents=True)
    (outside / "event").mkdir(parents=True)
    (outside / "secret.md").write_bytes(note("secret"))
    (outside / "event" / "linked.md").write_bytes(note("linked"))
    for name, data in {**BROKEN, **OPEN, ".hidden": note(".hidden")}.items():
        (day / name).mkdir()
        (day / name / f"{name}.md").write_bytes(data)
    for name in ("folder-only", "note-link", "dead-note", "pipe-note", "round", "Straße"):
        (day / name).mkdir()
    (day / "note-is-folder" / "note-is-folder.md").mkdir(parents=True)
    (day / "a-file.md").write_text("A person's own.\n", "utf-8")
    (day / "linked").symlink_to(outside / "event")
    (day / "note-link" / "note-link.md").symlink_to(outside / "secret.md")
    (day / "loop").symlink_to(day / "loop")
    (day / "dead").symlink_to(outside / "nothing")
    (day / "dead-note" / "dead-note.md").symlink_to(outside / "nothing.md")
    (day / "round" / "up").symlink_to(day)
    os.mkfifo(day / "pipe")
    os.mkfifo(day / "pipe-note" / "pipe-note.md")
    (vault / "daily" / "2026-05-26").symlink_to(outside)
    (vault / "daily" / "2026-05-25").write_text("no folder", "utf-8")
    (vault / "daily" / "2026-02-31").mkdir()
    (day / os.fsdecode(b"bad-\xff-name")).mkdir()
    (vault / ".obsidian").mkdir()
    (vault / f"daily/{DAY}.md").write_bytes(INDEX)
    return Zoo(vault, outside)

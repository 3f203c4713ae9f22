"""Says what is wrong with a vault, from `docs/vault-format.md` alone: nothing of the library is used."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml

FRONT = re.compile(r"---\n(.*?\n)---\n(.*)", re.DOTALL)
BEGIN = re.compile(r"<!-- turn id=(\S+) at=(\S+) n=(\d+) by=\w+((?: \w+=\S+)*) -->")
END = re.compile(r"<!-- /turn (\S+) -->")
LINE = re.compile(r"- \[\[(daily/[^|\]]+)\|([^\]]+)\]\](?: — (.*))?")
CLOSED_BY = {"switch", "day-end", "cap", "request", "end", "recovery"}
REQUIRED = {"name", "title", "description", "status", "created", "updated"}


@dataclass
class Block:
    id: str
    at: str
    part: int
    text: str


@dataclass
class Event:
    path: str
    day: str
    name: str
    fields: Mapping[str, str] = field(default_factory=dict)
    body: str = ""
    blocks: list[Block] = field(default_factory=list)


def problems(
    vault: Path | str,
    recorded: Sequence[str] = (),
    orders: Sequence[Sequence[str]] = (),
    kept: Mapping[str, Sequence[str]] | None = None,
    finished: bool = False,
) -> list[str]:
    """What is wrong with a vault; empty if nothing is.

    Args:
        vault: The vault.
        recorded: Ids of turns that have to stand in it.
        orders: Sequences of ids, each to be kept to in every event.
        kept: Lines of other people by vault path, which have to be there.
        finished: Whether nothing may be under way.
    """
    root = Path(vault)
    found: list[str] = []
    events = [_read(root, note, found) for note in sorted(root.glob("daily/*/*/")) if note.is_dir()]
    for event in events:
        _check_fields(root, event, found)
        _check_blocks(event, orders, found)
    _check_turns(events, recorded, found)
    _check_streams(events, found)
    _check_indexes(root, events, found)
    found += [f"left behind: {p.name}" for p in root.rglob(".automemory-*")]
    for path, lines in (kept or {}).items():
        there = (root / path).read_text("utf-8").split("\n") if (root / path).exists() else []
        found += [f"{path}: lost {line!r}" for line in lines if there.count(line) != 1]
    if finished:
        found += _under_way(root)
    return found


def _read(root: Path, folder: Path, found: list[str]) -> Event:
    note = folder / f"{folder.name}.md"
    event = Event(note.relative_to(root).as_posix(), folder.parent.name, folder.name)
    if not note.is_file():
        found.append(f"{event.path}: a folder without its note")
        return event
    text = note.read_bytes().decode("utf-8")
    front = FRONT.fullmatch(text)
    if not front:
        found.append(f"{event.path}: no frontmatter")
        return event
    event.fields = yaml.load(front[1], yaml.BaseLoader)
    event.body, turns = _parted(folder, front[2], event, found)
    event.blocks = _blocks(event.path, turns, found)
    return event


def _parted(folder: Path, text: str, event: Event, found: list[str]) -> tuple[str, str]:
    """A note's text before its turns, and the turns, which may stand in a file of their own."""
    if "turns" not in event.fields:
        body, heading, turns = text.partition("## Turns\n")
        if bool(heading) != ("thread" in event.fields):
            found.append(f"{event.path}: turns without a thread, or a thread without turns")
        return body, turns
    apart = folder / "turns.md"
    if event.fields["turns"] != f"[[daily/{event.day}/{event.name}/turns.md]]" or not apart.is_file():
        found.append(f"{event.path}: turns are {event.fields['turns']}, which is not there")
        return text, ""
    return text, apart.read_bytes().decode("utf-8").split("## Turns\n", 1)[1]


def _blocks(path: str, turns: str, found: list[str]) -> list[Block]:
    """The blocks of a `## Turns` section, which holds nothing else."""
    blocks: list[Block] = []
    rest = turns
    while rest:
        head = re.match(
            r"\n### (\d\d:\d\d:\d\d)\n(<!-- turn .*? -->)\n(.*?)\n(<!-- /turn .*?-->)\n", rest, re.DOTALL
        )
        begin, end = (BEGIN.fullmatch(head[2]), END.fullmatch(head[4])) if head else (None, None)
        if not head or not begin or not end or begin[1] != end[1]:
            found.append(f"{path}: no whole block at {rest[:160]!r}")
            break
        if begin[2][11:19] != head[1]:
            found.append(f"{path}: heading {head[1]} over a turn of {begin[2]}")
        quoted = head[3].split("\n\n", 1)[1] if not head[3].startswith("\n") else head[3][1:]
        if any(line and not line.startswith(">") for line in quoted.split("\n")):
            found.append(f"{path}: unquoted text in turn {begin[1]}")
        part = re.search(r" part=(\d+)", begin[4])
        blocks.append(Block(begin[1], begin[2], int(part[1]) if part else 1, head[3]))
        rest = rest[head.end() :]
    return blocks


def _check_fields(root: Path, event: Event, found: list[str]) -> None:
    fields = event.fields
    if missing := REQUIRED - fields.keys():
        found.append(f"{event.path}: without {sorted(missing)}")
        return
    if (fields["name"], fields["created"]) != (event.name, event.day):
        found.append(f"{event.path}: says it is {fields['name']} of {fields['created']}")
    if ("closed" in fields) != ("closed_by" in fields) or fields.get("closed_by", "end") not in CLOSED_BY:
        found.append(f"{event.path}: closed is {fields.get('closed')}, closed_by {fields.get('closed_by')}")
    if "inherits" in fields:
        target = fields["inherits"].removeprefix("[[").removesuffix("]]")
        if not (root / target).is_file() or f"[[{target}|" not in event.body:
            found.append(f"{event.path}: inherits {target}, which is not there or not linked")


def _check_blocks(event: Event, orders: Sequence[Sequence[str]], found: list[str]) -> None:
    ids = list(dict.fromkeys(block.id for block in event.blocks))
    for order in orders:
        ranks = [order.index(id) for id in ids if id in order]
        if ranks != sorted(ranks):
            found.append(f"{event.path}: turns out of order")
    found += [f"{event.path}: turn {b.id} is of {b.at}" for b in event.blocks if b.at[:10] != event.day]


def _check_turns(events: Sequence[Event], recorded: Sequence[str], found: list[str]) -> None:
    places: dict[str, list[tuple[str, int]]] = {}
    for event in events:
        for block in event.blocks:
            places.setdefault(block.id, []).append((event.path, block.part))
    for id, parts in places.items():
        if len({path for path, _ in parts}) > 1 or [part for _, part in parts] != [*range(1, len(parts) + 1)]:
            found.append(f"turn {id} stands at {parts}")
    found += [f"turn {id} is lost" for id in recorded if id not in places]


def _check_streams(events: Sequence[Event], found: list[str]) -> None:
    opened: dict[tuple[str, str], str] = {}
    for event in events:
        stream = (event.fields.get("agent", ""), event.fields.get("thread", ""))
        if (
            "thread" in event.fields
            and "closed" not in event.fields
            and (other := opened.setdefault(stream, event.path)) != event.path
        ):
            found.append(f"{event.path} and {other} are both open")


def _check_indexes(root: Path, events: Sequence[Event], found: list[str]) -> None:
    lines: dict[str, list[str]] = {}
    for index in root.glob("daily/*.md"):
        text = index.read_bytes().decode("utf-8")
        if not text.endswith("\n"):
            found.append(f"{index.name} is torn")
        for path, name, tail in (m.groups() for m in map(LINE.fullmatch, text.split("\n")) if m):
            lines.setdefault(path, []).append(tail or "")
            if path != f"daily/{index.stem}/{name}/{name}.md" or not (root / path).is_file():
                found.append(f"{index.name}: {path} leads nowhere")
    for event in events:
        tails = lines.get(event.path, [])
        if len(tails) != 1:
            found.append(f"{event.path} has {len(tails)} index lines")
        elif "closed" in event.fields and tails[0] != event.fields["description"]:
            found.append(f"{event.path} was closed as {event.fields['description']!r}, not as {tails[0]!r}")


def _under_way(root: Path) -> list[str]:
    db = sqlite3.connect(f"file:{root}/.automemory/state.db?mode=ro", uri=True)
    try:
        plans = db.execute("SELECT count(*) FROM plans").fetchone()[0]
        turns = db.execute("SELECT count(*) FROM turns WHERE payload IS NOT NULL").fetchone()[0]
    finally:
        db.close()
    return [f"{plans} plans and {turns} turns are under way"] if plans or turns else []

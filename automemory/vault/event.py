"""An event as values: what its note says, and the view of it that a decider gets."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Any

from automemory.decision import RECENT_TURNS, EventView, Exchange
from automemory.turn import Step
from automemory.vault.layout import TURNS_FILE, parse_event_path, parse_link, turns_path

CLOSED_BY = ("switch", "day-end", "cap", "request", "end", "recovery")

TITLE_CHARS, DESCRIPTION_CHARS = 120, 600
_WIKILINK = re.compile(r"!?\[\[(?:[^\[\]|]*\|)?([^\[\]]*)\]\]")


@dataclass(frozen=True, slots=True)
class EventHead:
    """What an event's frontmatter says.

    Attributes:
        path: Vault path of the summary note, as it is on disk.
        date: The event's day, `YYYY-MM-DD`.
        name: The folder's name, which is the note's stem.
        title, description: Title and summary; the opening summary while the event is open.
        status: The task's state: `active` or `completed`.
        created, updated: Days, `YYYY-MM-DD`.
        inherits: Vault path of the event this one goes on from, or empty.
        thread: The thread whose turns it records; empty for a note that records none.
        agent: The agent's id, or empty.
        closed: When the event was closed (ISO 8601 with zone); empty while it is open.
        closed_by: One of `CLOSED_BY`.
        summary_by: `model`, `extract` or `pending`.
        turns: Vault path of the file that holds the turns, where they do not stand in the note itself.
    """

    path: str
    date: str
    name: str
    title: str = ""
    description: str = ""
    status: str = "active"
    created: str = ""
    updated: str = ""
    inherits: str = ""
    thread: str = ""
    agent: str = ""
    closed: str = ""
    closed_by: str = ""
    summary_by: str = ""
    turns: str = ""

    @property
    def record(self) -> str:
        """Vault path of the file that the turns stand in."""
        return self.turns or self.path

    @property
    def open(self) -> bool:
        """Whether this is an event that turns may be appended to as the active one."""
        return bool(self.thread) and not self.closed

    @property
    def slug(self) -> str:
        """The name without the agent's prefix."""
        return self.name.removeprefix(f"{self.agent}_") if self.agent else self.name


def dump_head(head: EventHead) -> str:
    """A head as `state.db` keeps it, in JSON."""
    return json.dumps({name: getattr(head, name) for name in head.__dataclass_fields__})


@lru_cache(maxsize=4096)
def stored_head(text: str) -> EventHead | None:
    """The head that `dump_head` wrote; None if it is none."""
    try:
        return EventHead(**json.loads(text))
    except (ValueError, TypeError):
        return None


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    """One block of a note: a turn, or a later part of one.

    Attributes:
        id: The turn's id.
        at: When it happened, with zone; None where the marker is damaged.
        n: How many messages of the turn stand in the note up to and with this block.
        by: Who decided where it belongs (`Verdict.by`).
        p: Probability of a boundary, where the decider gave one.
        patch: What the turn added, in one or two sentences.
        refs: Vault paths the user or the assistant linked to.
        steps: What was said and done.
        part: 1, or 2 and more for what came after the turn was first recorded.
        incomplete: Whether the turn had not finished when it was recorded.
        torn: Whether the block was found cut off and closed as it was.
    """

    id: str
    at: datetime | None
    n: int
    by: str
    steps: tuple[Step, ...]
    p: float | None = None
    patch: str = ""
    refs: tuple[str, ...] = ()
    part: int = 1
    incomplete: bool = False
    torn: bool = False


@dataclass(frozen=True, slots=True)
class Event:
    """A whole event: its head, the text of its sections, and its turns in order, parts joined."""

    head: EventHead
    body: str
    turns: tuple[RecordedTurn, ...]
    chars: int = 0


def read_head(path: str, fields: Mapping[str, Any]) -> EventHead | None:
    """An event's head from its note's frontmatter; None if the path is not that of an event's note."""
    place = parse_event_path(path)
    if place is None:
        return None
    date, folder = place

    def text(key: str) -> str:
        return text_field(fields, key)

    return EventHead(
        path=path,
        date=date,
        name=folder,
        title=text("title") or folder,
        description=text("description"),
        status=text("status") or "active",
        created=text("created"),
        updated=text("updated"),
        inherits=parse_link(fields.get("inherits")) or "",
        thread=text("thread"),
        agent=text("agent"),
        closed=text("closed"),
        closed_by=text("closed_by"),
        summary_by=text("summary_by"),
        turns=_turns_file(path, fields.get("turns")),
    )


def text_field(fields: Mapping[str, Any], key: str) -> str:
    """A field as text: empty if it is absent, null or a structure.

    An unquoted `[[target]]` is a list in a list to YAML; of a list of one element the element counts, so the
    target comes back (without its brackets).
    """
    value = fields.get(key)
    while isinstance(value, list) and len(value) == 1:
        value = value[0]
    return "" if value is None or isinstance(value, (list, dict)) else str(value)


def _turns_file(path: str, value: object) -> str:
    """The file beside the note that it says its turns stand in; wherever the folder has been moved."""
    target = parse_link(value) or ""
    return turns_path(path) if target.rpartition("/")[2] == TURNS_FILE else ""


def join_parts(blocks: Sequence[RecordedTurn]) -> tuple[RecordedTurn, ...]:
    """Turns of an event, each once: later parts are joined to the first."""
    turns: dict[str, RecordedTurn] = {}
    for block in blocks:
        first = turns.get(block.id)
        turns[block.id] = block if first is None else _joined(first, block)
    return tuple(turns.values())


def exchange(turn: RecordedTurn) -> Exchange:
    return Exchange.of(turn.steps, turn.at, turn.patch)


def view(event: Event) -> EventView | None:
    """The event as a decider sees it; None if it has no turn yet."""
    if not event.turns:
        return None
    recent = tuple(exchange(turn) for turn in event.turns[-RECENT_TURNS:])
    head = event.head
    return EventView(
        head.slug,
        head.title,
        head.description,
        exchange(event.turns[0]),
        recent,
        len(event.turns),
        event.chars,
    )


def _joined(first: RecordedTurn, later: RecordedTurn) -> RecordedTurn:
    answered = {(s.tool, s.arguments) for s in later.steps if s.role == "tool" and s.status != "no result"}
    kept = [s for s in first.steps if s.status != "no result" or (s.tool, s.arguments) not in answered]
    return replace(
        first,
        n=max(first.n, later.n),
        steps=(*kept, *later.steps),
        patch=first.patch or later.patch,
        refs=tuple(dict.fromkeys((*first.refs, *later.refs))),
        part=later.part,
        incomplete=later.incomplete,
        torn=first.torn or later.torn,
    )


def one_line(text: str, limit: int) -> str:
    """A text as one line of at most `limit` characters, cut at a word; wikilinks become their names."""
    return folded(_WIKILINK.sub(r"\1", text), limit)


def folded(text: str, limit: int) -> str:
    """A text as one line of at most `limit` characters, cut at a word."""
    folded = " ".join(text.split())
    if len(folded) <= limit:
        return folded
    head = folded[: limit - 1]
    cut = head.rfind(" ")
    return (head[:cut] if cut > limit // 2 else head).rstrip() + "…"

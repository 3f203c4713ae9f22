"""From a verdict to edits: which event a turn belongs to, and what has to be written. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from automemory.decision import EventSummary, EventView, Exchange, NotifyCandidate, RecentEvent, Verdict
from automemory.intake import Accepted
from automemory.turn import Step
from automemory.vault.disk import Signature
from automemory.vault.edits import Closing, Create, CreateFile, Edit, SetFields, UpdateIndex
from automemory.vault.event import EventHead, RecordedTurn
from automemory.vault.layout import (
    day_index_path,
    event_path,
    fallback_slug,
    fold,
    folder_name,
    link,
    numbered,
    parse_event_path,
    slug_from_words,
    slugify,
    turns_path,
)
from automemory.vault.note import new_note, new_turns, section, turn_block
from automemory.vault.quoting import inline, live_links

Route = Literal["continue", "switch", "day-end", "cap", "open", "extend"]
TRIVIAL_CHARS = 600
TITLE_CHARS, DESCRIPTION_CHARS = 120, 600
_NUMBER = re.compile(r"-\d+$")
_WIKILINK = re.compile(r"!?\[\[(?:[^\[\]|]*\|)?([^\[\]]*)\]\]")


@dataclass(frozen=True, slots=True)
class Place:
    """A note that turns can be appended to, as it was found.

    Attributes:
        head: What its frontmatter says.
        view: What a decider may see of it; None where no decision is needed.
        signature: The file it was read from.
        size: How long it will be, in bytes, when the block is appended.
        lead: What has to come before an appended block.
        newline: Its line ends.
        note: The signature of the note, where the turns stand apart from it.
    """

    head: EventHead
    view: EventView | None
    signature: Signature
    size: int
    lead: str
    newline: str
    note: Signature | None = None

    @property
    def known(self) -> dict[str, Signature]:
        """The signatures of the event's files."""
        return {self.head.record: self.signature} | ({self.head.path: self.note} if self.note else {})


@dataclass(frozen=True, slots=True)
class Located:
    """Where a turn finds its stream.

    Attributes:
        date: The turn's day.
        version: The stream's commit counter.
        active: The active event; for a turn of an earlier day, the last event of that day.
        earlier: Whether the turn is of a day before the active event's.
        strays: Further open events of the stream, to be closed.
        recent: Events the turn may go back to, newest first.
        links: Targets that the turn links to and that exist in the vault.
        gone: The event that was active until its note disappeared.
        extends: Whether `active` is the note that holds the first part of this very turn.
        offers: Resources on offer, the latest first.
    """

    date: str
    version: int
    active: Place | None = None
    earlier: bool = False
    strays: tuple[EventHead, ...] = ()
    recent: tuple[EventHead, ...] = ()
    links: frozenset[str] = frozenset()
    gone: Closing | None = None
    extends: bool = False
    offers: tuple[NotifyCandidate, ...] = ()


@dataclass(frozen=True, slots=True)
class Limits:
    """Where things end.

    Attributes:
        max_turns, max_chars: Safety caps of an event.
        window_days: How many days back an event can be gone on with, and how long an offer lasts.
        offer_turns: For how many turns after its own a resource stays on offer.
    """

    max_turns: int = 200
    max_chars: int = 400_000
    window_days: int = 7
    offer_turns: int = 10


@dataclass(frozen=True, slots=True)
class Target:
    """The event that a turn opens or goes back to.

    Attributes:
        how: `resumed`, `inherited` or `opened`.
        slug: The event's slug.
        title: Its title.
        description: Its opening summary, where it is new.
        source: The event that is resumed or inherited, or that a numbered name stands beside.
    """

    how: Literal["resumed", "inherited", "opened"]
    slug: str
    title: str
    description: str = ""
    source: EventHead | None = None


def route(located: Located, verdict: Verdict, limits: Limits) -> Route:
    """Which way a decided turn takes through the graph."""
    active = located.active
    if active is None:
        return "open"
    if located.earlier:
        return "continue"
    if not verdict.decision.continue_:
        return "switch"
    if located.date > active.head.date:
        return "day-end"
    if active.view and (active.view.turns >= limits.max_turns or active.view.chars >= limits.max_chars):
        return "cap"
    return "continue"


def target(way: Route, located: Located, verdict: Verdict, turn: Accepted) -> Target:
    """Which event to open: go back to one of today, inherit one of an earlier day, or make a new one."""
    active = located.active.head if located.active else None
    description = one_line(verdict.decision.summary_patch, DESCRIPTION_CHARS)
    if active and way == "day-end":
        return Target("inherited", active.slug, active.title, description, active)
    if active and way == "cap":
        return Target("inherited", _unnumbered(active), active.title, description, active)
    words = turn.turn.user_text or turn.turn.reply_text
    slug = slugify(verdict.decision.new_event_slug) or slug_from_words(words) or fallback_slug(turn.at)
    title = one_line(verdict.title, TITLE_CHARS) or slug.replace("-", " ")
    for head in located.recent:
        if fold(head.slug) == fold(slug) and head.date == located.date and head.thread == turn.thread:
            return Target("resumed", head.slug, head.title, description, head)
    # The event that ends was shown too: on a later day, its name means that it goes on.
    for head in (*([active] if active else []), *located.recent):
        same = fold(head.slug) == fold(slug) or fold(head.title) == fold(title)
        if same and head.date < located.date and head.status == "active":
            return Target("inherited", head.slug, head.title, description, head)
    return Target("opened", slug, title, description)


def trivial(view: EventView) -> bool:
    """Whether an event is one short turn, which its opening summary describes well enough."""
    first = view.opening
    return (
        view.turns == 1 and len(first.user) + len(first.reply) + sum(map(len, first.actions)) < TRIVIAL_CHARS
    )


def close_edits(
    head: EventHead, at: datetime, closed_by: str, summary: EventSummary | None, pending: bool
) -> list[Edit]:
    """What closing an event writes; without a summary the description stays, `pending` if one is owed."""
    fields: dict[str, str | None] = {"updated": max(head.updated, head.date)}
    fields |= _summary_fields(summary, finished=closed_by != "day-end") if summary else {}
    fields |= {"closed": at.isoformat(timespec="seconds"), "closed_by": closed_by}
    fields["summary_by"] = "pending" if pending else summary.by if summary else head.summary_by or "extract"
    return _described(head, fields)


def summary_edits(head: EventHead, summary: EventSummary) -> list[Edit]:
    """What the summary of an event writes that was closed without the one it was owed."""
    fields = _summary_fields(summary, finished=head.closed_by != "day-end") | {"summary_by": summary.by}
    return _described(head, fields)


def _described(head: EventHead, fields: dict[str, str | None]) -> list[Edit]:
    """Set a closed event's fields, its description in the day index too."""
    closing = Closing(head.path, fields.get("description") or head.description, head.description)
    return [SetFields(head.path, fields), UpdateIndex(day_index_path(head.date), closed=[closing])]


def _summary_fields(summary: EventSummary, *, finished: bool) -> dict[str, str | None]:
    fields: dict[str, str | None] = {"description": one_line(summary.description, DESCRIPTION_CHARS)}
    fields |= {"title": one_line(summary.title, TITLE_CHARS)} if summary.title else {}
    return fields | ({"status": "completed"} if summary.completed and finished else {})


def resume_edits(head: EventHead) -> list[Edit]:
    """What going back to an event of the day writes: it is open again, and so is its task."""
    fields: dict[str, str | None] = {"updated": head.date, "closed": None, "closed_by": None}
    return [SetFields(head.path, fields | ({"status": "active"} if head.status != "active" else {}))]


def create_edits(
    goal: Target,
    located: Located,
    accepted: Accepted,
    block: RecordedTurn,
    agent: str,
    taken: Callable[[str], bool],
    body: str,
    *,
    apart: bool = False,
) -> tuple[list[Edit], EventHead]:
    """What opening a new event writes, and the head it will have.

    Args:
        goal: The event to open.
        located: Where the turn is.
        accepted: The turn.
        block: The turn's block.
        agent: The agent's id, or empty.
        taken: Whether a folder name of that day is in use.
        body: The text of the sections of the event that is inherited.
        apart: Whether its turns stand in a file of their own.
    """
    folder = numbered(folder_name(goal.slug, agent), taken)
    path = event_path(located.date, folder)
    inherits = goal.source.path if goal.source and goal.how == "inherited" else ""
    head = EventHead(
        path=path,
        date=located.date,
        name=folder,
        title=goal.title,
        description=goal.description,
        created=located.date,
        updated=located.date,
        inherits=inherits,
        thread=accepted.thread,
        agent=agent,
        closed=accepted.at.isoformat(timespec="seconds") if located.earlier else "",
        closed_by="day-end" if located.earlier else "",
        summary_by="model" if block.by == "llm" else "extract" if located.earlier else "",
        turns=turns_path(path) if apart else "",
    )
    sections, text = _sections(goal, body), turn_block(block)
    closed = [Closing(path, head.description, "")] if located.earlier else []
    index = UpdateIndex(day_index_path(located.date), opened=[path], closed=closed)
    if not apart:
        return [Create(path, new_note(_fields(head), sections, text), text), index], head
    note = CreateFile(path, new_note(_fields(head), sections, ""))
    return [note, Create(head.turns, new_turns(path, folder, text), text), index], head


def block_of(
    accepted: Accepted,
    id: str,
    steps: Sequence[Step],
    part: int,
    verdict: Verdict | None,
    links: frozenset[str],
) -> RecordedTurn:
    """The block a turn (or what is new of it) becomes."""
    return RecordedTurn(
        id=id,
        at=accepted.at,
        n=len(accepted.turn.messages),
        by=verdict.by if verdict else "placed",
        steps=tuple(steps),
        p=verdict.p if verdict else None,
        patch=_patch(verdict, links) if verdict else "",
        refs=tuple(live_links(steps, links.__contains__)),
        part=part,
        incomplete=not accepted.turn.complete,
    )


def _patch(verdict: Verdict, links: frozenset[str]) -> str:
    """The patch as one safe line that cannot be taken for the line of references."""
    line = inline(_folded(verdict.decision.summary_patch, DESCRIPTION_CHARS), links.__contains__)
    return "r" + line[1:] if line.startswith("Refs:") else line


def recent_event(head: EventHead) -> RecentEvent:
    return RecentEvent(head.path, head.slug, head.title, head.description, head.date, head.status == "active")


def empty_view(head: EventHead) -> EventView:
    """The view of an event before its first turn."""
    return EventView(head.slug, head.title, head.description, Exchange("", ""), (), 0, 0)


def opened_view(head: EventHead, first: Exchange, chars: int) -> EventView:
    return EventView(head.slug, head.title, head.description, first, (first,), 1, chars)


def one_line(text: str, limit: int) -> str:
    """A text as one line of at most `limit` characters, cut at a word; wikilinks become their names."""
    return _folded(_WIKILINK.sub(r"\1", text), limit)


def _folded(text: str, limit: int) -> str:
    folded = " ".join(text.split())
    if len(folded) <= limit:
        return folded
    head = folded[: limit - 1]
    cut = head.rfind(" ")
    return (head[:cut] if cut > limit // 2 else head).rstrip() + "…"


def _unnumbered(head: EventHead) -> str:
    """The slug without the number that an earlier cap gave it; a number of its own stays."""
    before = parse_event_path(head.inherits)
    base = _NUMBER.sub("", head.name)
    if before and before[0] == head.date and base in {before[1], _NUMBER.sub("", before[1])}:
        return _NUMBER.sub("", head.slug)
    return head.slug


def _sections(goal: Target, body: str) -> str:
    if goal.source is None:
        return ""
    words = "Continues" if goal.how == "inherited" else "See also"
    kept = [f"## {name}\n{text}" for name in ("Objective", "Plan") if (text := section(body, name))]
    return "\n\n".join([f"{words} {link(goal.source.path, goal.source.name)}.", *kept])


def _fields(head: EventHead) -> dict[str, str]:
    fields = {
        "name": head.name,
        "title": head.title,
        "description": head.description,
        "status": head.status,
        "created": head.created,
        "updated": head.updated,
        "inherits": link(head.inherits) if head.inherits else "",
        "turns": link(head.turns) if head.turns else "",
        "agent": head.agent,
        "thread": head.thread,
        "closed": head.closed,
        "closed_by": head.closed_by,
        "summary_by": head.summary_by,
    }
    always = {"name", "title", "description", "status", "created", "updated", "thread"}
    return {key: value for key, value in fields.items() if value or key in always}

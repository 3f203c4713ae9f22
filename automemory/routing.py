"""Which event a turn belongs to: from where it stands and a verdict to a way and a target. Pure functions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from automemory.decision import EventView, NotifyCandidate, Verdict
from automemory.intake import Accepted
from automemory.limits import Limits
from automemory.vault.edits import Closing
from automemory.vault.event import DESCRIPTION_CHARS, TITLE_CHARS, EventHead, one_line
from automemory.vault.files import Signature
from automemory.vault.layout import fold, parse_event_path
from automemory.vault.naming import fallback_slug, slug_from_words, slugify

Route = Literal["continue", "switch", "day-end", "cap", "open", "extend"]
TRIVIAL_CHARS = 600
_NUMBER = re.compile(r"-\d+$")


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


def _unnumbered(head: EventHead) -> str:
    """The slug without the number that an earlier cap gave it; a number of its own stays."""
    before = parse_event_path(head.inherits)
    base = _NUMBER.sub("", head.name)
    if before and before[0] == head.date and base in {before[1], _NUMBER.sub("", before[1])}:
        return _NUMBER.sub("", head.slug)
    return head.slug

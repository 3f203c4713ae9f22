"""What the front door gives back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from automemory.decision import Verdict

Outcome = Literal["recorded", "duplicate", "extended", "accepted", "deferred", "excluded"]
How = Literal["opened", "resumed", "inherited", "continued", "closed"]


@dataclass(frozen=True, slots=True)
class EventRef:
    """An event a turn or a call touched: its note's vault path, slug and title, and what happened to it."""

    path: str
    slug: str
    title: str
    how: How


@dataclass(frozen=True, slots=True)
class TurnResult:
    """What happened to a turn. Nothing is reported as written that is not on disk.

    Attributes:
        outcome: `recorded`; `duplicate` (it is filed already); `extended` (what was new of it was added);
            `accepted` (it is stored and will be filed); `deferred` (the vault cannot be written now, it will
            be filed once it can); `excluded` (it is not to be recorded).
        turn_id: The turn's id.
        event: The event it went to.
        closed: The event it closed.
        verdict: The decision, where one was made.
        files: Vault paths of the files that changed.
        error: Why it is deferred.
    """

    outcome: Outcome
    turn_id: str
    event: EventRef | None = None
    closed: EventRef | None = None
    verdict: Verdict | None = None
    files: tuple[str, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class Status:
    """How a memory is doing.

    Attributes:
        vault: The vault's folder.
        decider: The decider's name.
        counters: How many turns had each outcome, how many events were opened, how many decisions fell back,
            and what model calls cost, since this object was made.
        waiting: Turns stored but not filed yet.
        unstored: Turns that wait in memory because not even `state.db` can be written.
        active: The active event of each stream used since this object was made: stream to vault path.
        problems: Notes that could not be changed, and why.
        last_error: The last failure, or empty.
    """

    vault: str
    decider: str
    counters: dict[str, int] = field(default_factory=dict)
    waiting: int = 0
    unstored: int = 0
    active: dict[str, str] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    last_error: str = ""

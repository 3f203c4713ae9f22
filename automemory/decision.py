"""What is asked of a decider, turn by turn, and what it answers.

Everything a decider sees is a bounded copy: its size does not depend on the length of the event, of the day
or of a message. `EventView.with_turn` is the only way a view grows, so a view read back from a note equals
the one that grew turn by turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from automemory.turn import Step

if TYPE_CHECKING:
    from automemory.boundary import BoundaryDecision

Granularity = Literal["coarse", "default", "fine"]
By = Literal["local", "llm", "fallback", "host", "placed"]

RECENT_TURNS = 8
_MARK = " … "  # of words left out
USER_CHARS, REPLY_CHARS, ACTION_CHARS, MAX_ACTIONS = 1600, 800, 240, 12


def cut_middle(text: str, limit: int) -> str:
    """Head and tail of a text that is longer than `limit` characters."""
    if len(text) <= limit:
        return text
    head = (limit - len(_MARK)) * 2 // 3
    return text[:head] + _MARK + text[len(text) - (limit - len(_MARK) - head) :]


@dataclass(frozen=True, slots=True)
class Exchange:
    """A bounded view of one turn.

    Attributes:
        user: What the person said, head and tail.
        reply: What the agent said last, head and tail.
        actions: One line for each of the last tool calls: the tool's name and the head of its arguments.
        at: When the turn happened, with zone.
        patch: One or two sentences on what the turn added; empty before it is decided.
    """

    user: str
    reply: str
    actions: tuple[str, ...] = ()
    at: datetime | None = None
    patch: str = ""

    @classmethod
    def of(cls, steps: Sequence[Step], at: datetime | None = None, patch: str = "") -> Exchange:
        said = "\n\n".join(s.text for s in steps if s.role not in {"assistant", "tool"} and s.text)
        replies = [s.text for s in steps if s.role == "assistant" and s.text.strip()]
        tools = [s for s in steps if s.role == "tool"]
        return cls(
            cut_middle(said, USER_CHARS),
            cut_middle(replies[-1] if replies else "", REPLY_CHARS),
            tuple(
                cut_middle(f"{s.tool} {s.arguments or ''}".strip(), ACTION_CHARS)
                for s in tools[-MAX_ACTIONS:]
            ),
            at,
            patch,
        )


@dataclass(frozen=True, slots=True)
class EventView:
    """The active event as a decider sees it.

    Attributes:
        slug, title, description: As in the note.
        opening: Its first turn.
        recent: Its last turns, oldest first, at most `RECENT_TURNS`; the opening is among them while the
            event is short.
        turns: How many turns it has.
        chars: How many characters its note has.
    """

    slug: str
    title: str
    description: str
    opening: Exchange
    recent: tuple[Exchange, ...]
    turns: int
    chars: int

    def with_turn(self, turn: Exchange, chars: int) -> EventView:
        return replace(
            self, recent=(*self.recent, turn)[-RECENT_TURNS:], turns=self.turns + 1, chars=self.chars + chars
        )


@dataclass(frozen=True, slots=True)
class RecentEvent:
    """A closed event of the same agent that a turn may go back to.

    Attributes:
        path: Vault path of its note.
        slug, title, description: As in the note.
        date: Its day, `YYYY-MM-DD`.
        active: Whether its task is still open (`status: active`).
    """

    path: str
    slug: str
    title: str
    description: str
    date: str
    active: bool = True


@dataclass(frozen=True, slots=True)
class NotifyCandidate:
    """A resource that may be worth the agent's attention: its vault path, title, and why it is offered."""

    path: str
    title: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class DecisionContext:
    """All a decider knows of a turn."""

    turn: Exchange
    active: EventView | None = None
    recent: tuple[RecentEvent, ...] = ()
    notify: tuple[NotifyCandidate, ...] = ()
    granularity: Granularity = "default"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A decision and how it came about.

    Attributes:
        decision: The decision itself.
        by: Who decided: `local`, `llm`, `fallback` (stood in for a decider that failed), `host` (the caller)
            or `placed` (nothing was to decide: the place followed from the turn's time, or from its first
            part).
        p: Probability of a boundary, 0 to 1, where the decider gives one.
        title: A title for the new event, where the decider has one; otherwise the slug in words.
        calls, prompt_tokens, completion_tokens: What the decision cost.
        ms: Milliseconds it took.
        error: Why a decider failed, where `by` is `fallback`.
    """

    decision: BoundaryDecision
    by: By
    p: float | None = None
    title: str = ""
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    ms: float = 0.0
    error: str = ""


@dataclass(frozen=True, slots=True)
class EventSummary:
    """An event's final summary: its text, perhaps a better title, and whether its task is explicitly done."""

    description: str
    title: str = ""
    completed: bool = False
    by: Literal["model", "extract"] = "extract"
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True, slots=True)
class KeptSection:
    """A section that is kept up to date turn by turn.

    Attributes:
        file: The file it stands in, beside the summary note; `note` is that note itself.
        name: Its heading, unique in the schema.
        policy: What becomes of old text when there is new: see `vault.sections.Section`.
        about: What belongs there, in the words a model is told.
        items: Whether it is a list.
        dated: Whether its entries begin with the turn's date and time.
    """

    file: str
    name: str
    policy: str
    about: str
    items: bool = False
    dated: bool = False

    @property
    def key(self) -> str:
        """Its name in a model's answer."""
        return self.name.casefold().replace(" ", "_")

    @property
    def grows(self) -> bool:
        """Whether entries are added to it one by one."""
        return self.policy in {"append", "union"}


@dataclass(frozen=True, slots=True)
class ViewContext:
    """What is known when the sections of an event are brought up to date.

    Attributes:
        event: The event as it was before the turn.
        turn: The turn.
        sections: The sections to keep.
        current: What they say now, by name; those that are empty left out.
    """

    event: EventView
    turn: Exchange
    sections: tuple[KeptSection, ...]
    current: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ViewPatch:
    """New text by section name: of a list its new entries, of a text all of it; and what it cost."""

    new: Mapping[str, str | tuple[str, ...]]
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


class Decider(Protocol):
    """Decides turn by turn. Raises `DecisionError` if it cannot."""

    async def decide(self, context: DecisionContext) -> Verdict: ...


@runtime_checkable
class ReadsAhead(Protocol):
    """A decider that is faster if it reads several turns at once, before it decides them one by one.

    What it decides may not depend on it: a turn that was read may come otherwise, or never.
    """

    def read_ahead(self, turns: Sequence[Exchange]) -> None: ...


@runtime_checkable
class Summarizer(Protocol):
    """Sums up an event that ends, from its own turns (oldest first). Raises `DecisionError` if it cannot."""

    async def summarize(self, event: EventView, turns: list[Exchange]) -> EventSummary: ...


@runtime_checkable
class ViewWriter(Protocol):
    """Says what a turn adds to an event's sections; None if no model can be asked now.

    Raises `DecisionError` if it fails.
    """

    async def write_views(self, context: ViewContext) -> ViewPatch | None: ...

"""What became of a turn and how that was decided, small enough to keep of every turn of a replay."""

from __future__ import annotations

import json
import tempfile
from array import array
from collections import Counter
from dataclasses import asdict, dataclass, replace
from statistics import median
from types import TracebackType
from typing import Self

from automemory.redact import redact
from automemory.result import TurnResult
from automemory.turn import Turn

WORDS_CHARS, READ_CHARS = 240, 4000
_NEW = frozenset({"opened", "inherited"})
_BOUNDARY = _NEW | {"resumed"}


@dataclass(frozen=True, slots=True)
class TracedTurn:
    """One turn.

    Attributes:
        words: The head of what the person said, else of the reply; secrets masked, on one line.
        outcome: See `TurnResult.outcome`.
        at: When it happened, ISO 8601, or empty.
        how: What happened to its event: `opened`, `resumed`, `inherited` or `continued`; empty if not filed.
        event: Vault path of its event.
        title: The event's title.
        by: Who decided; empty where nobody did.
        p: Probability of a boundary, where the decider gave one.
        cut: Whether a boundary was decided.
        calls, prompt_tokens, completion_tokens: What the decision cost.
        ms: Milliseconds it took.
        patch: What the turn added to the event.
        error: What failed.
        labelled: Whether there is a label.
        label: The label: whether it begins an event; None where either answer is right.
    """

    words: str
    outcome: str = "recorded"
    at: str = ""
    how: str = ""
    event: str = ""
    title: str = ""
    by: str = ""
    p: float | None = None
    cut: bool = False
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    ms: float = 0.0
    patch: str = ""
    error: str = ""
    labelled: bool = False
    label: bool | None = None

    @property
    def mark(self) -> str:
        """`hit`, `miss`, `false cut`, `either` (either answer is right), or empty."""
        if not self.labelled:
            return ""
        if self.label is None:
            return "either" if self.cut else ""
        return ("hit" if self.cut else "miss") if self.label else ("false cut" if self.cut else "")


def traced(
    turn: Turn, result: TurnResult, *, labelled: bool = False, label: bool | None = None
) -> TracedTurn:
    """The trace of a turn; what the built-in detectors take for a secret is masked."""
    event, verdict = result.event, result.verdict
    how = event.how if event else ""
    told = TracedTurn(
        "" if result.outcome == "excluded" else _words(turn),
        result.outcome,
        turn.at.isoformat(timespec="seconds") if turn.at else "",
        how,
        event.path if event else "",
        event.title if event else "",
        error=result.error,
        labelled=labelled,
        label=label,
    )
    if verdict is None:
        return told
    return replace(
        told,
        by=verdict.by,
        p=verdict.p,
        cut=not verdict.decision.continue_ and how in _BOUNDARY,
        calls=verdict.calls,
        prompt_tokens=verdict.prompt_tokens,
        completion_tokens=verdict.completion_tokens,
        ms=verdict.ms,
        patch=verdict.decision.summary_patch,
        error=result.error or verdict.error,
    )


def _words(turn: Turn) -> str:
    said = turn.user_text or turn.reply_text or next((m.text for m in turn.messages if m.text), "")
    whole = said if len(said) <= READ_CHARS else said[:READ_CHARS].rsplit(None, 1)[0]  # no half of a secret
    line = " ".join(redact(whole).split())
    return line if len(line) <= WORDS_CHARS else line[: WORDS_CHARS - 1] + "…"


@dataclass(slots=True)
class TracedConversation:
    """What a list of conversations says of one.

    Attributes:
        name, family: Its name, and what kind it is of.
        turns, events, calls, ms: How many turns it has, how many events they opened, what they cost.
        boundaries, hits: Labelled boundaries, and how many of them were found.
        false_cuts: Cuts where there is no boundary.
        labelled: Whether it has labels.
    """

    name: str
    family: str = ""
    turns: int = 0
    events: int = 0
    calls: int = 0
    ms: float = 0.0
    boundaries: int = 0
    hits: int = 0
    false_cuts: int = 0
    labelled: bool = False

    def add(self, turn: TracedTurn) -> None:
        self.labelled = turn.labelled
        if self.turns:
            self.boundaries += turn.label is True
            self.hits += turn.mark == "hit"
            self.false_cuts += turn.mark == "false cut"
        self.turns += 1
        self.events += turn.how in _NEW
        self.calls += turn.calls
        self.ms += turn.ms


class Trace:
    """The traced turns of many conversations, on a temporary file; memory holds a few bytes of each.

    Attributes:
        conversations: In the order they came.
        totals: Sums over all turns: `turns`, `events`, `calls`, `prompt_tokens`, `completion_tokens`,
            `errors`.
        times: Milliseconds of each decision, by who decided.
    """

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by __exit__
        self._places: list[int] = []
        self._last: tuple[str, str] | None = None
        self.conversations: list[TracedConversation] = []
        self.times: dict[str, array[float]] = {}
        self.totals: Counter[str] = Counter()

    def add(self, conversation: str, turn: TracedTurn, family: str = "") -> None:
        """Keep a turn; those of one conversation come one after another. Its name may hold a secret too."""
        if self._last != (conversation, family):
            self._last = conversation, family
            self._places.append(self._file.tell())
            self.conversations.append(TracedConversation(redact(conversation), family))
        self.conversations[-1].add(turn)
        self._file.write(json.dumps(asdict(turn)).encode() + b"\n")
        self.totals.update(turns=1, events=turn.how in _NEW, errors=bool(turn.error))
        for name in ("calls", "prompt_tokens", "completion_tokens"):
            self.totals[name] += getattr(turn, name)
        if turn.by:
            self.times.setdefault(turn.by, array("f")).append(turn.ms)

    @property
    def ms(self) -> float | None:
        """Milliseconds a decision took, as a median."""
        spent = [ms for times in self.times.values() for ms in times]
        return median(spent) if spent else None

    def turns(self, number: int, limit: int) -> list[TracedTurn]:
        """The first turns of a conversation, at most `limit`."""
        self._file.seek(self._places[number])
        count = min(self.conversations[number].turns, limit)
        found = [TracedTurn(**json.loads(self._file.readline())) for _ in range(count)]
        self._file.seek(0, 2)
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

"""Whether a turn goes back to a recent event.

Only when sure: a wrong return spoils two events, a missed one none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from automemory.deciders.cues import BACK
from automemory.deciders.encoder import Encoder, Vectors
from automemory.deciders.extract import prose
from automemory.deciders.text import identifiers, read
from automemory.decision import DecisionContext, Exchange, RecentEvent

WORDED_SIMILARITY, SILENT_SIMILARITY, SILENT_LEAD = 0.35, 0.6, 0.1


@dataclass(frozen=True, slots=True)
class Shared:
    """What a turn shares with one recent event.

    Attributes:
        identifiers, words: How many, of those that no other event in sight has.
        share: Which part of the turn's content words the event has.
    """

    identifiers: int
    words: int
    share: float

    def enough(self, *, worded: bool) -> bool:
        """Something where the user says that something earlier is meant; else much, by name or in words."""
        if worded:
            return 2 * self.identifiers + self.words >= 2
        named = self.identifiers >= 2 and self.share >= 0.25
        return named or (self.words >= 4 and self.share >= 0.45)


def going_back(context: DecisionContext, encoder: Encoder) -> RecentEvent | None:
    """The recent event a turn goes back to, or None in doubt."""
    worded = bool(BACK.search(context.turn.user[:400]))
    shared = _shared(context)
    if not any(s.enough(worded=worded) for s in shared):
        return None
    similar, lead = _similarities(context, encoder)
    least, ahead = (WORDED_SIMILARITY, 0.0) if worded else (SILENT_SIMILARITY, SILENT_LEAD)
    sure = [
        i for i, s in enumerate(shared) if s.enough(worded=worded) and similar[i] >= least and lead[i] > ahead
    ]
    return context.recent[max(sure, key=lambda i: float(similar[i]))] if sure else None


def _shared(context: DecisionContext) -> list[Shared]:
    """For each recent event, in the context's order."""
    texts = [f"{e.title}\n{e.description}\n{e.slug.replace('-', ' ')}" for e in context.recent]
    words, names = [read(text).words for text in texts], [identifiers(text) for text in texts]
    words_now, names_now = _of_active(context)
    mine, own = read(context.turn.user).words, identifiers(context.turn.user) | _targets(context.turn)
    found = []
    for i in range(len(texts)):
        others = frozenset().union(words_now, *words[:i], *words[i + 1 :])
        other_names = frozenset().union(names_now, *names[:i], *names[i + 1 :])
        share = len(mine & words[i]) / max(len(mine), 1)
        found.append(Shared(len((own & names[i]) - other_names), len((mine & words[i]) - others), share))
    return found


def _similarities(context: DecisionContext, encoder: Encoder) -> tuple[Vectors, Vectors]:
    """The user's words to each event's title or description, and the lead over any other event in sight."""
    titles = [event.title or event.slug for event in context.recent]
    descriptions = [e.description or t for e, t in zip(context.recent, titles, strict=True)]
    opening = context.active.opening.user if context.active else ""
    active = [_spoken(opening)] if opening.strip() else []
    vectors = encoder.encode([_spoken(context.turn.user), *titles, *descriptions, *active])
    n, found = len(titles), vectors[1:] @ vectors[0]
    similar = np.maximum(found[:n], found[n : 2 * n])
    everything = np.concatenate([similar, found[2 * n :]])
    lead = [similar[i] - np.delete(everything, i).max(initial=0.0) for i in range(n)]
    return similar, np.array(lead, dtype=np.float32)


def _spoken(text: str) -> str:
    return prose(text) or text.strip()


def _targets(turn: Exchange) -> frozenset[str]:
    return frozenset().union(*(identifiers(action) for action in turn.actions))


def _of_active(context: DecisionContext) -> tuple[frozenset[str], frozenset[str]]:
    """Words and identifiers of the active event: they are no sign of another one."""
    active = context.active
    if active is None:
        return frozenset(), frozenset()
    turns = (active.opening, *active.recent)
    texts = [active.title, active.description, *(t.user for t in turns), *(t.reply for t in turns)]
    names = [identifiers(text) for text in texts] + [_targets(t) for t in turns]
    return frozenset().union(*(read(text).words for text in texts)), frozenset().union(*names)

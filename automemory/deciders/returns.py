"""Whether a turn goes back to a recent event. Only when sure: a wrong return spoils two events, a missed one none."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from automemory.deciders.cues import BACK
from automemory.deciders.encoder import Encoder
from automemory.deciders.extract import prose
from automemory.deciders.text import identifiers, read
from automemory.decision import DecisionContext, Exchange, RecentEvent


@dataclass(frozen=True, slots=True)
class Evidence:
    """What speaks for going back to one event.

    Attributes:
        event: The event.
        identifiers, words: How many the turn shares with this event and with no other one in sight.
        share: Which part of the turn's content words the event has.
        similarity: Of the user's words to the event's title or description, the higher one.
        lead: By how much that is more than to any other event in sight, the active one included.
        wording: Whether the user says that something earlier is meant.
    """

    event: RecentEvent
    identifiers: int
    words: int
    share: float
    similarity: float
    lead: float
    wording: bool


def going_back(context: DecisionContext, encoder: Encoder) -> RecentEvent | None:
    """The recent event a turn goes back to, or None in doubt."""
    sure = [e for e in evidence(context, encoder) if is_sure(e)]
    return max(sure, key=lambda e: (e.identifiers + e.words, e.similarity)).event if sure else None


def is_sure(found: Evidence) -> bool:
    """Wording with something shared; without wording much has to be shared, by name or in so many words."""
    if found.wording:
        return 2 * found.identifiers + found.words >= 2 and found.similarity >= 0.35 and found.lead > 0
    if found.similarity < 0.6 or found.lead < 0.1:
        return False
    named = found.identifiers >= 2 and found.share >= 0.25
    return named or (found.words >= 4 and found.share >= 0.45)


def evidence(context: DecisionContext, encoder: Encoder) -> list[Evidence]:
    """Evidence for each recent event, in the context's order."""
    events, turn = context.recent, context.turn
    spoken = prose(turn.user) or turn.user.strip()
    if not events or not spoken:
        return []
    texts = [_text(event) for event in events]
    words, names = [read(text).words for text in texts], [identifiers(text) for text in texts]
    words_now, names_now = _of_active(context)
    mine, own = read(turn.user).words, identifiers(turn.user) | _targets(turn)
    titles = [event.title or event.slug for event in events]
    descriptions = [event.description or event.title or event.slug for event in events]
    vectors = encoder.encode([spoken, *titles, *descriptions, *_spoken_of_active(context)])
    n, similarities = len(events), vectors[1:] @ vectors[0]
    similar, active = np.maximum(similarities[:n], similarities[n : 2 * n]), similarities[2 * n :]
    found = []
    for i, event in enumerate(events):
        others = frozenset().union(words_now, *words[:i], *words[i + 1 :])
        other_names = frozenset().union(names_now, *names[:i], *names[i + 1 :])
        rivals = np.concatenate([np.delete(similar, i), active])
        found.append(Evidence(
            event, len((own & names[i]) - other_names), len((mine & words[i]) - others),
            len(mine & words[i]) / max(len(mine), 1), float(similar[i]),
            float(similar[i] - rivals.max()) if len(rivals) else 1.0, bool(BACK.search(turn.user[:400])),
        ))  # fmt: skip
    return found


def _spoken_of_active(context: DecisionContext) -> list[str]:
    """What the active event was opened with."""
    opening = context.active.opening.user if context.active else ""
    return [prose(opening) or opening.strip()] if opening.strip() else []


def _text(event: RecentEvent) -> str:
    return f"{event.title}\n{event.description}\n{event.slug.replace('-', ' ')}"


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

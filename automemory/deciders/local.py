"""The embedded decider: no model server, no key, no network.

A decision is a pure function of its context, so a restart changes nothing; the only state are caches of
what was already read and encoded.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace

from automemory.boundary import BoundaryDecision
from automemory.deciders import extract
from automemory.deciders.cues import is_acknowledgement
from automemory.deciders.encoder import Encoder, UseEncoder
from automemory.deciders.features import Look, features, probe
from automemory.deciders.returns import going_back
from automemory.deciders.scorer import Ensemble, Scorer, shipped
from automemory.decision import DecisionContext, EventSummary, EventView, Exchange, Verdict


class LocalDecider:
    """Decides by a learned score, and names and sums up by extraction, in the conversation's language.

    Args:
        encoder: Where sentence vectors come from. The score is trained on those of `UseEncoder`, the
            default; another encoder has to give 512 dimensions.
        scorer: The learned score; the one that ships with the package by default.
        look: A reader of exchanges to share; its own one by default.
    """

    def __init__(
        self, encoder: Encoder | None = None, scorer: Scorer | None = None, look: Look | None = None
    ) -> None:
        self._encoder = encoder or UseEncoder()
        self._look = look or Look(self._encoder)
        self._scorer = scorer

    async def decide(self, context: DecisionContext) -> Verdict:
        return await asyncio.to_thread(self.decide_sync, context)

    async def summarize(self, event: EventView, turns: list[Exchange]) -> EventSummary:
        return await asyncio.to_thread(self.summarize_sync, event, turns)

    def read_ahead(self, turns: Sequence[Exchange]) -> None:
        """See `ReadsAhead`."""
        self._look.read_ahead(turns)

    def decide_sync(self, context: DecisionContext) -> Verdict:
        """Decide in the calling thread; a first call loads the encoder (about a second)."""
        started = time.perf_counter()
        verdict = self._decide(context)
        return replace(verdict, ms=round((time.perf_counter() - started) * 1000, 2))

    def summarize_sync(self, event: EventView, turns: list[Exchange]) -> EventSummary:
        """Two or three sentences of the turns; whether the task is done is nothing extraction can tell."""
        return EventSummary(extract.summary(turns or event.recent) or event.description, by="extract")

    def probability(self, context: DecisionContext) -> float:
        """The calibrated probability that the turn begins a new event; 0 where a rule says it goes on."""
        if context.active is None or continues_by_rule(context):
            return 0.0
        scorer, active = self._scorer or shipped(), context.active
        self._look.read_ahead((active.opening, *active.recent, context.turn))
        recent = [self._look(exchange) for exchange in active.recent or (active.opening,)]
        turn = self._look(context.turn)
        named = features(turn, recent, self._look(active.opening), active.turns)
        return scorer.probability(named, probe(turn, recent[-1]), _ensembles(context))

    def _decide(self, context: DecisionContext) -> Verdict:
        if context.active is None:
            return self._open(context, None)
        p = self.probability(context)
        if continues_by_rule(context) or p < (self._scorer or shipped()).thresholds[context.granularity]:
            return _verdict(True, "", extract.patch(context.turn.user), p)
        return self._open(context, p)

    def _open(self, context: DecisionContext, p: float | None) -> Verdict:
        turn = context.turn
        earlier = going_back(context, self._encoder)
        if earlier is not None:
            return replace(_verdict(False, earlier.slug, extract.patch(turn.user), p), title=earlier.title)
        said = turn.user if extract.title(turn.user) else turn.reply
        title, rest = extract.title(said), "\n".join((turn.reply, *turn.actions))
        taken = {event.slug for event in context.recent} | (
            {context.active.slug} if context.active else set()
        )
        slug = _untaken(extract.slug(said, rest) or "event", taken)
        return replace(_verdict(False, slug, extract.patch(turn.user or turn.reply), p), title=title)


def continues_by_rule(context: DecisionContext) -> bool:
    """Whether a turn goes on with the event whatever its score: an acknowledgement, or nothing a person said.

    With fine granularity a reply that stands alone is weighed like any other utterance.
    """
    turn = context.turn
    if turn.user.strip():
        return is_acknowledgement(turn.user)
    return bool(turn.actions) or not turn.reply.strip() or context.granularity != "fine"


def _ensembles(context: DecisionContext) -> tuple[Ensemble, ...]:
    """Those that score a turn: at fine granularity both, as a change of intention is a change of topic.

    A reply that stands alone never is the former.
    """
    if context.granularity != "fine":
        return ("default",)
    return ("default", "fine") if context.turn.user.strip() else ("fine",)


def _verdict(goes_on: bool, slug: str, patch: str, p: float | None) -> Verdict:
    decision = BoundaryDecision(continue_=goes_on, new_event_slug=slug, summary_patch=patch)
    return Verdict(decision, by="local", p=p)


def _untaken(slug: str, taken: set[str]) -> str:
    """A slug that is not taken for going back to an event it only shares its words with."""
    folded = {other.casefold() for other in taken}
    number, found = 1, slug
    while found.casefold() in folded:
        number += 1
        found = f"{slug}-{number}"
    return found

"""The local decider first, the model where it matters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from automemory.deciders.llm import LLMDecider
from automemory.deciders.local import LocalDecider, continues_by_rule
from automemory.decision import (
    RECENT_TURNS,
    DecisionContext,
    EventSummary,
    EventView,
    Exchange,
    Verdict,
    ViewContext,
    ViewPatch,
)
from automemory.errors import ConfigError


class CascadeDecider:
    """Asks the model only about turns that may well begin a new event.

    Args:
        llm: The decider with the model.
        local: The decider whose probability says which turns are worth a call.
        low: Below this probability (0 to 1) a turn continues without a call.
        batch_turns: With n > 1 the model is asked only at every n-th turn after the one that opened the
            event, or the next that is no acknowledgement, and shown all n; a boundary then lies at the turn
            of the call, up to n - 1 turns late.

    Raises:
        ConfigError: if `batch_turns` is not between 1 and 9.
    """

    name = "cascade"

    def __init__(
        self, llm: LLMDecider, local: LocalDecider, *, low: float = 0.05, batch_turns: int = 1
    ) -> None:
        if not 1 <= batch_turns <= RECENT_TURNS + 1:
            raise ConfigError(f"batch_turns={batch_turns!r}: give a number from 1 to {RECENT_TURNS + 1}")
        self.llm = llm
        self._local = local
        self._low = low
        self._batch = batch_turns

    async def decide(self, context: DecisionContext) -> Verdict:
        """See `LLMDecider.decide`; a turn that is not worth a call is decided here."""
        if context.active is None:
            return await self.llm.decide(context)
        local = await self._local.decide(context)
        p = local.p or 0.0
        if continues_by_rule(context) or not self._is_asked(context, p):
            decision = local.decision.model_copy(update={"continue_": True, "new_event_slug": ""})
            return replace(local, decision=decision, title="")
        verdict = await self.llm.decide(context, shown=self._batch)
        return replace(verdict, p=local.p)

    def read_ahead(self, turns: Sequence[Exchange]) -> None:
        """See `ReadsAhead`."""
        self._local.read_ahead(turns)

    async def summarize(self, event: EventView, turns: list[Exchange]) -> EventSummary:
        """See `LLMDecider.summarize`."""
        return await self.llm.summarize(event, turns)

    async def write_views(self, context: ViewContext) -> ViewPatch | None:
        """See `LLMDecider.write_views`."""
        return await self.llm.write_views(context)

    def _is_asked(self, context: DecisionContext, p: float) -> bool:
        if self._batch == 1 or context.active is None:
            return p >= self._low
        late = context.active.turns % self._batch  # turns since the last that was due
        missed = context.active.recent[-late:] if late else ()
        return all(continues_by_rule(replace(context, turn=turn)) for turn in missed)

"""How large an event may grow, and how far back a turn looks."""

from __future__ import annotations

from dataclasses import dataclass

from automemory.checks import above_zero


@dataclass(frozen=True, slots=True)
class Limits:
    """Where things end.

    Attributes:
        max_turns, max_chars: Safety caps of an event.
        window_days: How many days back an event can be gone on with, and how long an offer lasts.
        offer_turns: For how many turns after its own a resource stays on offer.

    Raises:
        ConfigError: if one is not above 0.
    """

    max_turns: int = 200
    max_chars: int = 400_000
    window_days: int = 7
    offer_turns: int = 10

    def __post_init__(self) -> None:
        above_zero(max_turns_per_event=self.max_turns, max_event_chars=self.max_chars)
        above_zero(inherit_window_days=self.window_days, offer_turns=self.offer_turns)

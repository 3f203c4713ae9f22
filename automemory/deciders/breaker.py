"""Leaving a model alone for a while after it failed repeatedly."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal

State = Literal["closed", "open", "half-open"]


class Breaker:
    """A circuit breaker.

    Closed, it lets every call through. After `failures` failures in a row it is open and lets none through
    for `pause_s`; then it is half open and lets one through at a time. A success closes it, a failure opens
    it again for twice as long as before.

    Args:
        failures: How many failures in a row open it.
        pause_s: The first pause, in seconds.
        max_pause_s: The longest pause, in seconds.
        clock: Seconds from a clock that never goes back.
    """

    def __init__(
        self,
        *,
        failures: int = 3,
        pause_s: float = 60.0,
        max_pause_s: float = 900.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._limit = failures
        self._pauses = (pause_s, max_pause_s)
        self._clock = clock
        self._failures = 0
        self._pause_s = 0.0
        self._until = 0.0
        self._probing = False

    @property
    def state(self) -> State:
        if not self._pause_s:
            return "closed"
        return "half-open" if self._clock() >= self._until else "open"

    @property
    def left_s(self) -> float:
        """Seconds until a call is let through again; 0 unless open."""
        return max(0.0, self._until - self._clock()) if self._pause_s else 0.0

    def allow(self) -> bool:
        """Whether a call may be made now. Each one allowed must end in `succeed`, `fail` or `release`."""
        if self.state == "closed":
            return True
        if self.state == "open" or self._probing:
            return False
        self._probing = True
        return True

    def succeed(self) -> None:
        self._failures, self._pause_s, self._probing = 0, 0.0, False

    def fail(self) -> None:
        self._failures += 1
        probing, self._probing = self._probing, False
        first, longest = self._pauses
        if probing:
            self._pause_s = min(longest, self._pause_s * 2)
        elif self._failures >= self._limit and not self._pause_s:
            self._pause_s = first
        else:
            return  # not enough yet, or a straggler from before it opened
        self._until = self._clock() + self._pause_s

    def release(self) -> None:
        """The call ended without telling anything about the model, as when its caller was cancelled."""
        self._probing = False

"""How a synchronizer works: its strategy and its limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from automemory.errors import ConfigError

Strategy = Literal["tools", "patch"]
_LEAST_TOKENS = 2_048


@dataclass(frozen=True, slots=True)
class Settings:
    """See `Synchronizer` for the meaning.

    Raises:
        ConfigError: if a value makes no sense.
    """

    strategy: Strategy = "tools"
    inherit_window_days: int = 7
    max_steps: int = 12
    max_tokens: int = 200_000
    timeout_s: float = 180.0
    context_tokens: int = 32_000
    max_prompt_chars: int = 24_000

    def __post_init__(self) -> None:
        if self.strategy not in get_args(Strategy):
            raise ConfigError(f"strategy={self.strategy!r}: give 'tools' or 'patch'")
        for name in ("inherit_window_days", "max_steps", "max_tokens", "timeout_s", "max_prompt_chars"):
            if getattr(self, name) <= 0:
                raise ConfigError(f"{name}={getattr(self, name)!r}: give a number above 0")
        if self.context_tokens < _LEAST_TOKENS:
            raise ConfigError(f"context_tokens={self.context_tokens!r}: give at least {_LEAST_TOKENS}")

    @property
    def reply_tokens(self) -> int:
        """Longest reply, in tokens."""
        return min(4_000, self.context_tokens // 4)

    def reached(self, steps: int, tokens: int, left_s: float) -> str:
        """The limit that a run has reached, in a sentence; empty if it may go on."""
        if steps >= self.max_steps:
            return f"the limit of {self.max_steps} steps was reached"
        if tokens >= self.max_tokens:
            return f"the limit of {self.max_tokens} tokens was reached"
        return f"the limit of {self.timeout_s:g} s was reached" if left_s <= 0 else ""

"""How one endpoint wants to be asked: the mode of structured output and the parameters it takes.

What works is found by asking and kept for the life of the process.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Literal

Mode = Literal["json_schema", "tools", "free-tools", "json_mode", "text"]
MODES: tuple[Mode, ...] = ("json_schema", "tools", "free-tools", "json_mode", "text")
_ABOUT_MODE = re.compile(r"response_format|json_|structured|schema|tool|function|grammar", re.IGNORECASE)
_ABOUT_LIMIT = re.compile(r"max_(?:completion_)?tokens")


@dataclass(frozen=True, slots=True)
class Dialect:
    """How to ask.

    Attributes:
        mode: How the structure is asked for. `tools` requires a call of the one tool given, `free-tools`
            leaves it to the model.
        limits: Names of the parameter for the longest reply, the one to use first; empty if none is taken.
        temperature: Whether the temperature can be set.
    """

    mode: Mode = "json_schema"
    limits: tuple[str, ...] = ("max_tokens", "max_completion_tokens")
    temperature: bool = True

    def next_mode(self) -> Dialect | None:
        """The same with the next mode; None after the last."""
        later = MODES[MODES.index(self.mode) + 1 :]
        return replace(self, mode=later[0]) if later else None

    def after(self, refusal: str) -> Dialect | None:
        """What to try after a request was refused as invalid; None if nothing of it can be changed.

        Args:
            refusal: The server's words, or the name of the parameter it refused.
        """
        if not _ABOUT_MODE.search(refusal) or self.mode == "text":
            if self.temperature and "temperature" in refusal:
                return replace(self, temperature=False)
            if self.limits and _ABOUT_LIMIT.search(refusal):
                return replace(self, limits=self.limits[1:])
        return self.next_mode()


_known: dict[Hashable, Dialect] = {}


def recall(endpoint: Hashable) -> Dialect | None:
    """The dialect that worked with this endpoint before, in this process."""
    return _known.get(endpoint)


def remember(endpoint: Hashable, dialect: Dialect) -> None:
    """Keep what worked."""
    _known[endpoint] = dialect

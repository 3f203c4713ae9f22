"""Who decides: the embedded decider, a model, or the one before the other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from automemory.checks import above_zero
from automemory.decision import Decider, Summarizer
from automemory.errors import ConfigError

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from automemory.deciders.encoder import Encoder

NAMES = ("auto", "local", "llm", "cascade")
_SHARE = 0.9  # of the time budget: the decider has to give up before its caller does, to know that it failed


def choose(
    decider: str | Decider,
    model: BaseChatModel | str | None,
    *,
    encoder: Encoder | None,
    prompts_dir: Path | None,
    timeout_s: float,
    max_calls_per_day: int | None,
) -> tuple[Decider, Decider, Summarizer]:
    """The decider that is meant, the one that stands in for it, and who sums up.

    Raises:
        ConfigError: if there is no decider of that name, it needs a model and has none that can be set up, or
            a budget is not above 0.
    """
    from automemory.deciders.local import LocalDecider

    above_zero(max_calls_per_day=1 if max_calls_per_day is None else max_calls_per_day)
    local = LocalDecider(encoder)
    if not isinstance(decider, str):
        return decider, local, decider if isinstance(decider, Summarizer) else local
    if decider not in NAMES:
        raise ConfigError(f"decider={decider!r}: give one of {', '.join(map(repr, NAMES))}, or an object")
    if decider == "local" or (decider == "auto" and model is None):
        return local, local, local
    if model is None:
        raise ConfigError(f"decider={decider!r} needs a model: give model='openai:…' or a chat model")

    from automemory.deciders.cascade import CascadeDecider
    from automemory.deciders.llm import LLMDecider

    llm = LLMDecider(
        model,
        local=local,
        prompts_dir=prompts_dir,
        timeout_s=timeout_s * _SHARE,
        max_calls_per_day=max_calls_per_day,
    )
    llm.endpoint.load()
    chosen = CascadeDecider(llm, local) if decider == "cascade" else llm
    return chosen, local, chosen

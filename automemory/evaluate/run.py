"""An evaluation: families of labelled conversations, a decider, and what was measured."""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from automemory._version import __version__
from automemory.deciders.encoder import UseEncoder
from automemory.deciders.scorer import shipped
from automemory.evaluate.floors import SEED, similarities_of
from automemory.evaluate.labelled import Labelled, Level
from automemory.evaluate.measures import Measures, Sheet
from automemory.evaluate.trial import Calendar, Trial, run_trials
from automemory.settings import Settings, load_settings

ALL = "all families"
OnTrial = Callable[[str, Trial], None]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What was measured, and of what.

    Attributes:
        version: Of this package.
        decider, model, level, granularity: What was evaluated.
        cuts_from: The probability from which on the decider cuts; None if it is not that simple.
        asks_from: The probability from which on a cascade asks its model; None for others.
        seed: Of the random floor.
        spent: Model calls and tokens of the whole run, final summaries included.
        families: The measures of each family; of `all` together too where there are several.
        first_error: Why the decider failed first, or empty.
    """

    version: str
    decider: str
    model: str | None
    level: Level
    granularity: str
    cuts_from: float | None
    asks_from: float | None
    seed: int
    spent: dict[str, int]
    families: dict[str, Measures]
    first_error: str = ""


def evaluate(
    families: Mapping[str, Sequence[Labelled]],
    *,
    level: Level = "turn",
    granularity: str | None = None,
    on_trial: OnTrial = lambda family, trial: None,
    **settings: Any,
) -> Evaluation:
    """Decide labelled conversations through the code of live turns, and measure.

    Args:
        families: Conversations by family, read at `level`.
        level: What their turns are.
        granularity: As of `AutoMemory`; `fine` at utterance level, unless given.
        on_trial: Called after each conversation.
        settings: Further settings, such as `decider` and `model`.

    Raises:
        ConfigError: if a setting is wrong.
    """
    sheets = {family: Sheet() for family in (*families, *([ALL] if len(families) > 1 else []))}
    encoder, calendar, error = UseEncoder(), Calendar(), ""
    granularity = granularity or ("fine" if level == "utterance" else None)
    with tempfile.TemporaryDirectory() as scratch:
        meant = load_settings(**settings, granularity=granularity, vault=scratch, timezone="UTC")
        with meant.memory(durability="os", recent_scope="stream", encoder=encoder, clock=calendar) as memory:
            for family, conversations in families.items():
                for trial in run_trials(conversations, memory, calendar):
                    error = error or next((t.error for t in trial.turns if t.by == "fallback"), "")
                    alike = similarities_of(trial.conversation, encoder)
                    for name in {family, ALL} & set(sheets):
                        sheets[name].add(trial, alike)
                    on_trial(family, trial)
            status = memory.status()
    measures = {name: sheet.measures() for name, sheet in sheets.items()}
    return _evaluation(meant, level, status.counters, measures, error)


def thresholds(settings: Settings) -> tuple[str, float | None, float | None]:
    """A decider's name, from which probability on it cuts, and from which on it asks a model."""
    from automemory.deciders.cascade import CascadeDecider

    name = settings.decider
    if name == "auto":
        name = "llm" if settings.model else "local"
    cuts = shipped().thresholds[settings.granularity] if name == "local" else None
    low: float = inspect.signature(CascadeDecider).parameters["low"].default
    return name, cuts, low if name == "cascade" else None


def _evaluation(
    settings: Settings,
    level: Level,
    counters: Mapping[str, int],
    families: dict[str, Measures],
    error: str,
) -> Evaluation:
    name, cuts_from, asks_from = thresholds(settings)
    return Evaluation(
        version=__version__,
        decider=name,
        model=None if name == "local" else settings.model,
        level=level,
        granularity=settings.granularity,
        cuts_from=cuts_from,
        asks_from=asks_from,
        seed=SEED,
        spent={key: counters.get(key, 0) for key in ("calls", "prompt_tokens", "completion_tokens")},
        families=families,
        first_error=error,
    )

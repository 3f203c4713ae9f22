"""A memory's synchronizer: a thread's workspace brought up to date, and the note that stands for its past."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from automemory.errors import ConfigError
from automemory.injected import marked
from automemory.redact import Redactor

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from automemory.engine import Engine
    from automemory.recorder import Recorder
    from automemory.synchronizer.result import SynchronizerResult
    from automemory.synchronizer.settings import Strategy
    from automemory.synchronizer.synchronizer import Synchronizer

_LAST_WORDS = "What had been said in this conversation, shortened:"
_LEAST_WORDS = 1_000  # characters of the conversation, where it is told too


@dataclass(frozen=True, slots=True)
class Condenser:
    """Condenses what a thread is at.

    Attributes:
        engine, recorder: The memory's parts.
        model: The model it was given; None for none.
        redact: Masks secrets.
        prompts_dir: A folder whose prompt files replace those that ship.
        clock: Gives the time.
    """

    engine: Engine
    recorder: Recorder
    model: BaseChatModel | str | None
    redact: Redactor
    prompts_dir: Path | None
    clock: Callable[[], datetime]
    _made: dict[str, Synchronizer] = field(default_factory=dict)

    def over(self, engine: Engine, recorder: Recorder) -> Condenser:
        """The same for another vault."""
        return replace(self, engine=engine, recorder=recorder, _made={})

    async def synchronize(
        self,
        messages: Any,
        workspace: str | None,
        thread: str,
        strategy: Strategy,
        turns: bool,
        timeout_s: float | None = None,
    ) -> SynchronizerResult:
        """Bring the note of a thread's workspace up to date; see `AutoMemory.asynchronize`."""
        active = await self.recorder.active_path(thread)
        synchronizer = self._synchronizer(strategy)
        return await synchronizer.run(
            messages, workspace, include_turns=turns, active=active, timeout_s=timeout_s
        )

    async def context(
        self, messages: Any, thread: str, strategy: Strategy, limit: int, timeout_s: float | None = None
    ) -> str:
        """What an agent goes on from when these messages leave its context, marked as reference data.

        The workspace's note, brought up to date where there is a model. If it cannot be, what is known of the
        thread's active event, what its latest turns added included, and the conversation itself, shortened.
        """
        known = ""
        if self.model is not None:
            result = await self.synchronize(messages, None, thread, strategy, False, timeout_s)
            known = result.as_context(limit)
            if known and result.summary:
                return known
        known = await self.recorder.known(thread, limit * 2 // 3) or known
        said = self._last_words(messages, limit - len(known) - 1)
        return "\n".join(filter(None, (known, said)))

    def _last_words(self, messages: Any, limit: int) -> str:
        from automemory.synchronizer.transcript import renderer, spoken, transcript

        found = spoken(messages)
        if not found or limit < _LEAST_WORDS:
            return ""
        room = limit - len(marked("", _LAST_WORDS)) - 2
        text = transcript(found, renderer(self.redact, self.engine.vault.options.zone, room), room)
        return marked("", f"{_LAST_WORDS}\n\n{text[-room:]}")

    def _synchronizer(self, strategy: Strategy) -> Synchronizer:
        if self.model is None:
            raise ConfigError("a note is condensed by a model: give AutoMemory one, as model='openai:…'")
        if strategy not in self._made:
            from automemory.synchronizer.synchronizer import Synchronizer

            options = self.engine.vault.options
            self._made[strategy] = Synchronizer(
                options.root,
                self.model,
                timezone=options.zone.key if options.zone else None,
                inherit_window_days=options.limits.window_days,
                strategy=strategy,
                agent_id=options.agent or None,
                redact=self.redact,
                prompts_dir=self.prompts_dir,
                store=self.engine.vault.store,
                clock=self.clock,
            )
        return self._made[strategy]

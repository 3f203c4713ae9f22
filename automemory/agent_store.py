"""One agent's use of a vault, as far as turns are stored in it and notes read: it files nothing.

Loads nothing heavy, so that a process that only hands turns in (a coding agent's hook) starts fast.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args
from zoneinfo import ZoneInfo

from automemory._process import alive, renew_after_fork
from automemory.checks import above_zero, one_of
from automemory.content import clean
from automemory.errors import ConfigError
from automemory.intake import local_time
from automemory.limits import Limits
from automemory.message import shown
from automemory.redact import Redactor
from automemory.result import EventRef
from automemory.schema import NoteSchema
from automemory.vault.event import stored_head
from automemory.vault.store import Store
from automemory.vault.tables import TurnRow, stream_key

if TYPE_CHECKING:
    from automemory.vault.event import Event

_NEAR = 20  # events looked through for one that is not settled

Durability = Literal["fsync", "os"]


@dataclass(frozen=True, slots=True)
class Options:
    """The settings of a memory; see `AutoMemory` for their meaning."""

    root: Path
    agent: str = ""
    zone: ZoneInfo | None = None
    limits: Limits = field(default_factory=Limits)
    scope: Literal["agent", "stream"] = "agent"
    single_stream: bool = False
    decide_timeout_s: float = 20.0
    lock_timeout_s: float = 10.0
    durability: Durability = "fsync"
    placeholders: tuple[str, ...] = ()
    schema: NoteSchema = field(default_factory=NoteSchema)

    def __post_init__(self) -> None:
        one_of("recent_scope", self.scope, ("agent", "stream"))
        one_of("durability", self.durability, get_args(Durability))
        above_zero(decide_timeout_s=self.decide_timeout_s, lock_timeout_s=self.lock_timeout_s)


class AgentStore:
    """A vault that an agent's turns are stored in.

    Args:
        options: The memory's settings.
        clock: Gives the time.
        redact: Masks secrets in a text.

    Attributes:
        options: The memory's settings.
        waiting: Ids of turns to be filed as soon as the vault can be written.
    """

    def __init__(self, options: Options, clock: Callable[[], datetime], redact: Redactor) -> None:
        self.options = options
        self._clock = clock
        self._redact = redact
        self._store: Store | None = None
        self.renew()
        renew_after_fork(self)

    def renew(self) -> None:
        """Begin with nothing under way; what the parent of a fork has opened stays as it is, unused."""
        self.waiting: set[str] = set()
        self._opening = threading.Lock()
        self._inherited = self._store  # to collect it would close the parent's files
        self._store = None

    def now(self) -> datetime:
        """The time by the clock, in the vault's zone."""
        return local_time(self._clock(), self.options.zone)

    @property
    def store(self) -> Store:
        """The vault, opened when first needed.

        Raises:
            Unwritable: if it cannot be opened now; the next use tries again.
        """
        if self._store is None:
            o = self.options
            if o.placeholders:
                raise ConfigError(
                    f"vault={str(o.root)!r}: give values for {', '.join(o.placeholders)} with `filled`"
                )
            self._store = Store(o.root, sync=o.durability == "fsync", lock_timeout_s=o.lock_timeout_s)
            self.waiting |= {r.id for r in self.pending() if not alive(r.owner)}
        return self._store

    def pending(self) -> list[TurnRow]:
        """This agent's turns that are not filed yet, oldest first."""
        own = stream_key(self.options.agent, "")
        return [row for row in self.store.state.pending() if row.stream.startswith(own)]

    def stream(self, thread: str) -> str:
        return stream_key(self.options.agent, self.thread(thread))

    def thread(self, thread: Any) -> str:
        """The thread that a caller names, as it is written: a hash of a name in which there is a secret.

        Raises:
            ConfigError: if it is no text, or empty.
        """
        if not isinstance(thread, str) or not thread:
            raise ConfigError(f"thread_id={shown(thread)}: give a text that is not empty")
        return "main" if self.options.single_stream else _written(clean(thread), self._redact)

    def ready(self) -> Store:
        """The vault, opened anew where it has to be; for a thread that may be kept waiting."""
        with self._opening:
            self.forget_damaged()
            return self.store

    def forget_damaged(self) -> bool:
        """Let go of a `state.db` that is damaged or was taken away: the next use makes it from the notes."""
        damaged = self._store is not None and self._store.state.lost
        if damaged:
            self._store = None
        return damaged

    def latest(self, thread: str) -> tuple[Event, bool] | None:
        """The thread's active event, or the agent's latest unsettled one; and whether it is the thread's."""
        catalog, stream = self.store.catalog, self.stream(thread)
        today = self.now().date()
        since = str(today - timedelta(days=self.options.limits.window_days))
        own = [head for head in catalog.open_events(stream)[:1] if head.date >= since]
        others = self.options.scope == "agent" and not own
        near = catalog.recent("agent", self.options.agent, since, str(today), _NEAR) if others else []
        heads = own or [head for head in near if head.status == "active"]
        event = catalog.event(heads[0].path) if heads else None
        return (event, bool(own)) if event else None

    def ref(self, path: str) -> EventRef | None:
        """The event whose note lies at `path`, as a result names it; None if there is none."""
        row = self.store.catalog.refresh_note(path) if path else None
        head = stored_head(row.head) if row else None
        return EventRef(head.path, head.slug, head.title, "continued") if head else None


@lru_cache(maxsize=1024)
def _written(thread: str, redact: Redactor) -> str:
    """A thread's name without secrets; different names stay different."""
    if redact(thread) == thread:
        return thread
    return f"redacted-{hashlib.sha256(thread.encode()).hexdigest()[:16]}"

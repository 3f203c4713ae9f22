"""Processes that decide conversations ahead of the writer: on this machine, or on a Ray cluster."""

from __future__ import annotations

import logging
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from types import TracebackType
from typing import Any, Generic, Protocol, Self, TypeVar

from automemory.errors import ConfigError
from automemory.replay.deciding import Ahead, Step, decide_ahead
from automemory.replay.reading import size_of
from automemory.settings import Settings
from automemory.turn import Turn

Item = TypeVar("Item")
Decided = Callable[[], list[Step]]
"""Waits for the steps of a conversation; raises if its worker failed."""

_WAITING = 3  # conversations a worker that are decided or under way before the writer comes to them
_HELD = 24_000_000  # characters of such conversations, if there is one for each worker
_log = logging.getLogger(__name__)


class Cluster(Protocol):
    """Where conversations are decided."""

    size: int

    def submit(self, turns: Sequence[Turn], settings: Settings) -> Decided:
        """Have a conversation decided somewhere."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class _Asked(Generic[Item]):
    """A conversation that waits: its turns and who decides them, and about how many characters it has."""

    item: Item
    turns: Sequence[Turn] | None
    decided: Decided | None
    size: int


class Workers:
    """Decides conversations ahead of the one that is being filed, a bounded number of them.

    Args:
        settings: Those of the replay; every worker makes its deciders from them.
        cluster: Where the workers are.

    Attributes:
        ahead: The decider that the writer's memory has to have.
    """

    def __init__(self, settings: Settings, cluster: Cluster) -> None:
        self._settings, self._cluster = settings, cluster
        self.ahead = Ahead(*settings.deciders())

    def decide(
        self, items: Iterable[Item], turns_of: Callable[[Item], Sequence[Turn] | None]
    ) -> Iterator[tuple[Item, list[Step] | None]]:
        """Each item in order, with what was decided ahead of it.

        Args:
            items: Conversations.
            turns_of: The turns of one; None if the writer is to decide it itself.

        Yields:
            None in place of steps where nothing was decided ahead, or where the worker failed twice.
        """
        waiting: deque[_Asked[Item]] = deque()
        for item in items:
            turns = turns_of(item)
            decided = self._cluster.submit(turns, self._settings) if turns else None
            waiting.append(_Asked(item, turns, decided, sum(map(size_of, turns or ()))))
            while self._are_enough(waiting):
                yield self._answer(waiting.popleft())
        while waiting:
            yield self._answer(waiting.popleft())

    def _are_enough(self, waiting: Sequence[_Asked[Item]]) -> bool:
        """Whether no more are to be read ahead: each worker has some, or they take too much memory."""
        held = sum(asked.size for asked in waiting)
        size = self._cluster.size
        return len(waiting) >= _WAITING * size or (len(waiting) > size and held > _HELD)

    def _answer(self, asked: _Asked[Item]) -> tuple[Item, list[Step] | None]:
        item, turns, decided = asked.item, asked.turns, asked.decided
        if turns is None or decided is None:
            return item, None
        try:
            return item, decided()
        except Exception as error:
            _log.warning("a worker failed (%s), the conversation is given to another one", error)
        try:
            return item, self._cluster.submit(turns, self._settings)()
        except Exception as error:
            _log.warning("a worker failed again (%s), the conversation is decided here", error)
            return item, None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._cluster.close()


class Processes:
    """Worker processes on this machine.

    Args:
        count: How many.
    """

    def __init__(self, count: int) -> None:
        self.size = count
        self._pool = self._started()

    def submit(self, turns: Sequence[Turn], settings: Settings) -> Decided:
        try:
            return self._pool.submit(decide_ahead, turns, settings).result
        except BrokenProcessPool:  # one of them was killed, and that ends them all
            self._pool = self._started()
            return self._pool.submit(decide_ahead, turns, settings).result

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)

    def _started(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(self.size, get_context("spawn"), _leave_interrupts_to_the_writer)


class RayCluster:
    """Workers on a Ray cluster: the one that `RAY_ADDRESS` names, else one that is started here.

    Args:
        count: How many conversations are decided at a time; the cluster's processors if None.

    Raises:
        ConfigError: if Ray is not installed.
    """

    def __init__(self, count: int | None = None) -> None:
        try:
            import ray
        except ImportError as error:
            raise ConfigError("engine='ray' needs Ray: pip install 'automemory[ray]'") from error
        self._ray: Any = ray
        self._ours = not ray.is_initialized()
        if self._ours:
            ray.init(log_to_driver=False, include_dashboard=False)
        self.size = count or max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        self._decide: Any = ray.remote(num_cpus=1, max_retries=2)(decide_ahead)

    def submit(self, turns: Sequence[Turn], settings: Settings) -> Decided:
        reference = self._decide.remote(turns, settings)

        def decided() -> list[Step]:
            steps: list[Step] = self._ray.get(reference)
            return steps

        return decided

    def close(self) -> None:
        if self._ours:
            self._ray.shutdown()


@contextmanager
def open_workers(settings: Settings, engine: str, count: int | None) -> Iterator[Workers | None]:
    """Workers for a replay; None if the writer is to decide itself.

    Args:
        settings: Those of the replay.
        engine: `local` or `ray`.
        count: How many conversations are decided at a time; None is 1 for `local`, and as many as there are
            processors for `ray`.

    Raises:
        ConfigError: if there is no such engine, or if the budget of calls a day would be each worker's own.
    """
    if engine not in ("local", "ray"):
        raise ConfigError(f"engine={engine!r}: give 'local' or 'ray'")
    if engine == "local" and (count or 1) == 1:
        yield None
        return
    if settings.max_calls_per_day is not None:
        raise ConfigError(
            f"max_calls_per_day={settings.max_calls_per_day}: workers do not share a budget, use one"
        )
    with Workers(settings, RayCluster(count) if engine == "ray" else Processes(count or 1)) as workers:
        yield workers


def _leave_interrupts_to_the_writer() -> None:
    """A terminal's Ctrl-C reaches every process; the writer ends the workers when it is done."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

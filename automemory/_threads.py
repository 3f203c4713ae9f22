"""Threads for blocking work that serve to the end of the process."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from queue import SimpleQueue
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
_Work = SimpleQueue["tuple[Future[Any], Callable[[], Any]] | None"]


class Threads(ThreadPoolExecutor):
    """A pool as asyncio wants it, which takes work as long as there is anybody to hand it in.

    The pools of the standard library take none once the main thread has ended, though other threads may go on
    and record. These are daemons: `Worker.drain` waits for what they do.

    Args:
        most: How many threads at most.
        name: What their names begin with.
    """

    def __init__(self, most: int, name: str) -> None:
        super().__init__(most, name)
        self._most, self._name = most, name
        self._work: _Work = SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._started = 0
        self._starting = threading.Lock()
        weakref.finalize(self, self._work.put, None).atexit = False

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        future: Future[T] = Future()
        self._work.put((future, partial(fn, *args, **kwargs)))
        with self._starting:
            if not self._idle.acquire(blocking=False) and self._started < self._most:
                self._started += 1
                name = f"{self._name}-{self._started}"
                threading.Thread(target=_serve, args=(self._work, self._idle), name=name, daemon=True).start()
        return future


def _serve(work: _Work, idle: threading.Semaphore) -> None:
    while (item := work.get()) is not None:
        _do(*item)
        del item  # it holds what it works on
        idle.release()
    work.put(None)  # for the next one


def _do(future: Future[Any], call: Callable[[], Any]) -> None:
    if future.set_running_or_notify_cancel():
        try:
            result = call()
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)

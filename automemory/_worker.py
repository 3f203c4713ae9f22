"""The library's own event loop, on a daemon thread, one a process.

Sync and async callers, from any thread and inside any running loop, hand their work over to it; so nothing
here ever blocks a caller's loop or belongs to one. After a fork the child starts its own.
"""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures.thread  # noqa: F401 - so that its exit hook, registered first, is run after ours
import os
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from concurrent.futures import wait as wait_for
from contextlib import suppress
from contextvars import ContextVar, copy_context
from functools import update_wrapper
from typing import Any, Concatenate, ParamSpec, TypeVar

from automemory._detach import detach
from automemory._threads import Threads
from automemory.errors import ConfigError

P = ParamSpec("P")
S = TypeVar("S")
T = TypeVar("T")
_waited_for: ContextVar[bool] = ContextVar("automemory_waited_for", default=False)
EXIT_WAIT_S = 30.0
_THREADS = 32


class Worker:
    """Runs coroutines on the private loop."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._under_way: set[Future[Any]] = set()
        os.register_at_fork(after_in_child=self._forget) if hasattr(os, "register_at_fork") else None
        # Pools that others' work uses (a model's, say) are shut down before `atexit` runs; what is under way
        # has to end before that.
        getattr(threading, "_register_atexit", atexit.register)(self.drain)
        atexit.register(self.drain)  # for what threads that outlived the main one handed in

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start `work` on the loop, as no part of the LangChain run it is started from."""
        context = copy_context()
        context.run(detach)
        future = context.run(asyncio.run_coroutine_threadsafe, work, self._running())
        self._under_way.add(future)
        future.add_done_callback(self._under_way.discard)
        return future

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run `work` and wait for it.

        Raises:
            ConfigError: on the loop's own thread, where waiting would never end.
        """
        if threading.current_thread() is self._thread:
            work.close()
            raise ConfigError(
                "a sync call from inside a decider or summarizer would wait for itself: use the async form"
            )
        return self.submit(work).result()

    def wait(self, future: Future[Any], timeout_s: float) -> bool:
        """Whether what `submit` started is done within this time; on the loop's own thread it never is."""
        if threading.current_thread() is not self._thread:
            wait_for([future], timeout_s)
        return future.done()

    async def await_done(self, future: Future[Any], timeout_s: float) -> bool:
        """Whether what `submit` started is done within this time; it goes on if the caller is cancelled."""
        loop, done = asyncio.get_running_loop(), asyncio.Event()

        def wake(_: Future[Any]) -> None:
            with suppress(RuntimeError):  # the caller's loop is closed
                loop.call_soon_threadsafe(done.set)

        future.add_done_callback(wake)
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                await done.wait()
        return future.done()

    async def arun(self, work: Coroutine[Any, Any, T]) -> T:
        """Run `work` and await it; if the caller is cancelled, the work goes on."""
        if _waited_for.get():  # on the loop already, and by nobody who could be cancelled
            _waited_for.set(False)
            return await work
        return await asyncio.shield(asyncio.wrap_future(self.submit(work)))

    def drain(self, timeout_s: float = EXIT_WAIT_S) -> None:
        """Wait for what is under way, and for what comes of it."""
        end = time.monotonic() + timeout_s
        while self._under_way and (left := end - time.monotonic()) > 0:
            wait_for(list(self._under_way), left)

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._mutex:
            if self._loop is None or self._thread is None or not self._thread.is_alive():
                self._loop = asyncio.new_event_loop()
                self._loop.set_default_executor(Threads(_THREADS, "automemory-work"))
                self._thread = threading.Thread(target=self._loop.run_forever, name="automemory", daemon=True)
                self._thread.start()
            return self._loop

    def _forget(self) -> None:
        self._mutex = threading.Lock()
        self._loop = self._thread = None
        self._under_way = set()


worker = Worker()


def blocking(method: Callable[Concatenate[S, P], Coroutine[Any, Any, T]]) -> Callable[Concatenate[S, P], T]:
    """The sync twin of an async method whose work is one `worker.arun`."""

    def twin(self: S, /, *args: P.args, **options: P.kwargs) -> T:
        return worker.run(_alone(lambda: method(self, *args, **options)))

    update_wrapper(twin, method)
    twin.__name__ = method.__name__.removeprefix("a")
    twin.__doc__ = f"The sync form of `{method.__name__}`."
    return twin


async def _alone(begin: Callable[[], Coroutine[Any, Any, T]]) -> T:
    _waited_for.set(True)
    return await begin()

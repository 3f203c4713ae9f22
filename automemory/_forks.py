"""Locks that a fork waits for.

Only the thread that forks goes on in the child: a lock that another one held would stay taken there for ever,
what it guards half changed, and a module that it was importing could not be imported any more.
"""

from __future__ import annotations

import os
import threading
from weakref import WeakSet


class Forks:
    """Takes its locks before a fork, and gives them back after it in both processes."""

    def __init__(self) -> None:
        self._locks: WeakSet[threading.RLock] = WeakSet()
        self._held: list[threading.RLock] | None = None
        self.watch()

    def lock(self) -> threading.RLock:
        """A new lock that forks wait for; who holds it must wait for no other one of these."""
        made = threading.RLock()
        self._locks.add(made)
        return made

    def watch(self) -> None:
        """Be called at each fork; what is registered last is called first."""
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(before=self._before, after_in_parent=self._after, after_in_child=self._after)

    def _before(self) -> None:
        if self._held is None:
            self._held = []
            for lock in sorted(self._locks, key=id):
                lock.acquire()
                self._held.append(lock)

    def _after(self) -> None:
        for lock in self._held or ():
            lock.release()
        self._held = None


forks = Forks()

"""Who this process is among those that share a vault."""

from __future__ import annotations

import os
import socket
from functools import lru_cache
from typing import Protocol
from weakref import WeakSet

import psutil


class Renewable(Protocol):
    """What holds threads, locks or files that are of no use after a fork."""

    def renew(self) -> None:
        """Begin anew in the child: what was under way belongs to the parent."""
        ...


_renewable: WeakSet[Renewable] = WeakSet()


def renew_after_fork(part: Renewable) -> None:
    """Have a part begin anew in every child process that is forked from this one."""
    _renewable.add(part)


def _renew_all() -> None:
    for part in list(_renewable):
        part.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)


def owner() -> str:
    """Names this process among those of all machines: host, process id and start time."""
    return _name(os.getpid())


def alive(name: str) -> bool:
    """Whether the process that `owner` named may still be at work; one on another machine always may."""
    host, _, pid = name.rpartition(":")[0].rpartition(":")
    if host != socket.gethostname():
        return bool(host)
    try:
        return _name.__wrapped__(int(pid)) == name
    except (psutil.Error, ValueError):
        return False


@lru_cache(maxsize=4)
def _name(pid: int) -> str:
    return f"{socket.gethostname()}:{pid}:{psutil.Process(pid).create_time():.2f}"

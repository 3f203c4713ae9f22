"""Who this process is among those that share a vault."""

from __future__ import annotations

import os
import socket
from functools import lru_cache

import psutil


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

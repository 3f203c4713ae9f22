"""Who this process is among those that share a vault."""

from __future__ import annotations

import os
import socket

import psutil


def owner() -> str:
    """Names this process among those of all machines: host, process id and start time."""
    return f"{socket.gethostname()}:{os.getpid()}:{psutil.Process().create_time():.2f}"


def alive(name: str) -> bool:
    """Whether the process that `owner` named may still be at work; one on another machine always may."""
    host, _, rest = name.rpartition(":")
    host, _, pid = host.rpartition(":")
    if host != socket.gethostname():
        return bool(host)
    try:
        return f"{psutil.Process(int(pid)).create_time():.2f}" == rest
    except (psutil.Error, ValueError):
        return False

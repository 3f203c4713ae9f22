"""Makes the operations that change a vault fail, one by one: killed, refused, or lost with the power.

In a process that is to be thrown away, `Faults.install` puts itself around the functions of `os` that change
files and around the write transactions of `state.db`. Between two of these nothing on the disk changes, so
kills before each of them, and after the last, meet every state the disk passes through.
"""

from __future__ import annotations

import errno
import os
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from power import Durable
from vaults import save_by_hand
from watching import tell

from automemory.vault import state

IDLE = "nothing done"
OPERATIONS = ("open", "write", "fsync", "link", "replace", "rename", "mkdir", "unlink", "rmdir", "ftruncate")


@dataclass(frozen=True)
class Fault:
    """What goes wrong.

    Attributes:
        at: Number of the operation, counted from 0 while armed; -1 never.
        how: `kill`, `power` (a kill that takes what was not synced with it), `short` (a write that takes only
            half, and no error), `saved` (a person's editor saves every note and index just before, with a
            line more), or the name of an errno.
        half: Whether a write does half of its work first.
        after: Whether the operation is done first.
        lasting: Whether all later operations fail too, until `Faults.heal`.
        before: What an earlier power cut would have left; empty if all was synced.
    """

    at: int = -1
    how: str = "kill"
    half: bool = False
    after: bool = False
    lasting: bool = False
    before: str = ""


class Faults:
    """Counts operations while armed and lets one fail."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        self.met: list[str] = []
        self.armed = False
        self.durable: Durable | None = None
        self.vault = Path()

    def install(self) -> None:
        for name in OPERATIONS:
            setattr(os, name, self._around(name, getattr(os, name)))
        state.State._write = self._around_write(state.State._write)  # type: ignore[method-assign]

    def arm(self, vault: Path) -> None:
        """Begin to count; what lies in the folder around the vault now is taken for synced."""
        self.vault = vault
        if self.fault.how == "power":
            self.durable = Durable(str(vault.parent), self.fault.before)
        self.armed = True

    def heal(self) -> None:
        self.armed = False

    def die(self) -> None:
        self.armed = False
        if self.durable:
            self.durable.write()
        tell()
        os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(60)

    def _meets(self, name: str) -> bool:
        if not self.armed:
            return False
        number = len(self.met)
        self.met.append(name)
        return number == self.fault.at or (self.fault.lasting and number > self.fault.at >= 0)

    def _around(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def operation(*args: Any, **options: Any) -> Any:
            if not self.armed or (name == "open" and not args[1] & os.O_CREAT):
                return real(*args, **options)
            fails = self._meets(f"os.{name}")
            if fails and self.fault.after:
                real(*args, **options)
            if fails and self.fault.half and len(self.met) - 1 == self.fault.at:
                written = real(args[0], bytes(args[1])[: len(args[1]) // 2])
                if self.fault.how == "short" or self.fault.lasting:
                    return written  # the next operation fails, as on a disk that has just become full
            if fails:
                self._fail(args)
            number = len(self.met) - 1
            try:
                result = None if name == "fsync" else real(*args, **options)
            except (FileExistsError, FileNotFoundError):
                self.met[number] = IDLE
                raise
            return self._done(name, result, args, options)

        return operation

    def _done(self, name: str, result: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        if self.durable and name == "fsync":
            self.durable.synced(args[0])
        if self.durable and name == "open" and args[1] & os.O_EXCL:
            self.durable.created(result)
        if self.durable and name == "rename":
            self.durable.moved(
                _place(args[0], options.get("src_dir_fd")), _place(args[1], options.get("dst_dir_fd"))
            )
        return result

    def _fail(self, args: tuple[Any, ...]) -> None:
        if self.fault.how in {"kill", "power"}:
            self.die()
        if self.fault.how in {"short", "saved"}:
            self._save()
            return
        number = getattr(errno, self.fault.how)
        raise OSError(
            number, os.strerror(number), *(args[:1] if args and not isinstance(args[0], int) else ())
        )

    def _save(self) -> None:
        if self.fault.how == "saved":
            self.armed = False
            save_by_hand(self.vault)
            self.armed = True

    def _around_write(self, real: Callable[..., Any]) -> Callable[..., Any]:
        @contextmanager
        def write(db: state.State, sync: str | None = None) -> Iterator[sqlite3.Connection]:
            fails = self._meets("state.db")
            if fails and not self.fault.after:
                self._fail_write(db)
            with real(db, sync) as connection:
                yield connection
            if self.durable and sync is None:
                self.durable.state_synced()
            if fails:
                self._fail_write(db)

        return write

    def _fail_write(self, db: state.State) -> None:
        if self.fault.how in {"kill", "power"}:
            self.die()
        if self.fault.how in {"short", "saved"}:
            self._save()
        else:
            with db._storage():
                raise sqlite3.OperationalError("database or disk is full")


def _place(name: str, folder: int | None) -> Path:
    """Where a name lies that was given with a folder's descriptor."""
    return Path(f"/proc/self/fd/{folder}").readlink() / name if folder is not None else Path(name)

"""Which lines of the modules that change a vault a forked process ran: for `scripts/fault_run.py`."""

from __future__ import annotations

import json
import os
import sys
import threading
from types import CodeType, FrameType
from typing import Any

from automemory.hook import filing
from automemory.maintenance import editor, rebuild, repairs
from automemory.synchronizer import writing
from automemory.vault import (
    apply,
    catalog,
    commit,
    database,
    disk,
    file_operations,
    files,
    held,
    revise,
    snapshot,
    state,
    store,
    tables,
)

MODULES = (
    *(apply, catalog, commit, database, disk, file_operations, files, held),
    *(revise, snapshot, state, store, tables),
    *(editor, rebuild, repairs, writing, filing),
)
# Lines of other systems: on Windows a file that is open in another program cannot be replaced.
ELSEWHERE = {
    "file_operations.py": {
        'raise Busy(f"{name!r} is open in another program: close it there") from error',
    },
}
FOLDER = os.environ.get("AUTOMEMORY_FAULT_RUN", "")
_FILES = {str(module.__file__) for module in MODULES}
_open, _write, _close = os.open, os.write, os.close  # the real ones, whatever is put around them later
_lines: set[tuple[str, int]] = set()
_told: dict[str, Any] = {}


def watch(fault: dict[str, Any]) -> None:
    """Begin to note lines down, if a run asks for it."""
    if FOLDER:
        _told["fault"] = fault.get("how") if fault.get("at", -1) >= 0 else None
        threading.settrace(_enter)
        sys.settrace(_enter)


def tell(points: int = 0) -> None:
    """Leave behind what was noted down; called last, also before a kill."""
    if not FOLDER:
        return
    _told["points"] = _told.get("points", 0) + points
    lines = [[os.path.basename(name), line] for name, line in sorted(_lines)]  # noqa: PTH119
    place = _open(f"{FOLDER}/{os.getpid()}.json", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    _write(place, json.dumps({**_told, "lines": lines}).encode())
    _close(place)


def pytest_configure() -> None:
    """As a plugin of pytest: watch the tests that run in its own process."""
    watch({})


def pytest_runtest_setup() -> None:
    """Watch again: Python gives it up for good when the stack overflows, as tests of deep nesting make it."""
    if FOLDER and sys.gettrace() is None:
        sys.settrace(_enter)


def pytest_unconfigure() -> None:
    sys.settrace(None)  # what ends after this finds its modules emptied
    threading.settrace(None)
    tell()


def lines_of(code: CodeType) -> set[int]:
    """The lines inside the functions of a module's code; those that define them are run at import."""
    found: set[int] = set()
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            own = {line for _, _, line in inner.co_lines() if line}
            is_class = inner.co_name in code.co_names and "__qualname__" in inner.co_names
            found |= lines_of(inner) if is_class else own - {inner.co_firstlineno} | lines_of(inner)
    return found


def _enter(frame: FrameType, event: str, argument: Any) -> Any:
    return _line if frame.f_code.co_filename in _FILES else None


def _line(frame: FrameType, event: str, argument: Any) -> Any:
    if event == "line":
        _lines.add((frame.f_code.co_filename, frame.f_lineno))
    return _line

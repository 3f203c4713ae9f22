"""A disk that is really full, for the library's own writes and for SQLite's: the system's file size limit."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conversation import Step
from runner import Job, Runner
from test_kill import END, last
from vaults import Prepared, copy, files

Prepare = Callable[[str], Prepared]
NOTE = "daily/2026-05-27/alpha/alpha.md"
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="has no such limit")


@pytest.mark.parametrize("room", [-300_000, -250_000, 0, 40, 150])
def test_turns_wait_for_room(room: int, runner: Runner, prepared: Prepare, tmp_path: Path) -> None:
    """2.7: whatever file cannot grow, `state.db` or a note in the middle of a block, the turns are filed in
    order and whole once there is room again. `room` is what is left for a note of 300 kB."""
    ready = prepared("continue")
    vault = copy(ready.vault, tmp_path / "vault")
    grown = (vault / NOTE).read_text("utf-8").replace("## Turns\n", "x" * 300_000 + "\n\n## Turns\n")
    (vault / NOTE).write_text(grown, "utf-8")
    whole = copy(vault, tmp_path / "whole" / "vault")
    runner.run(Job(whole, [*ready.scenario.rest, END]))

    limit: Step = {"do": "limit", "bytes": len(grown.encode()) + room}
    first, [second, third] = ready.scenario.step, ready.scenario.after
    steps: list[Step] = [{"do": "open"}, limit, first, second, {"do": "limit", "bytes": 0}, third, END]
    [run] = runner.run(Job(vault, [*steps, last(ready)]))
    assert run.get("outcome")[0] == "deferred", run.said
    assert run.get("outcome")[2] == "recorded"
    assert not run.get("error")
    assert run.get("problems") == [[]]
    assert files(vault) == files(whole)

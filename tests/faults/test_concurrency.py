"""Many writers on one vault: nothing is lost, doubled or torn, and every event has its one index line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from checker import problems
from conversation import turn
from runner import Job, Run, Runner
from test_kill import ARM, END, last, points
from vaults import Prepared, copy, files

Prepare = Callable[[str], Prepared]
WRITERS, TURNS = 8, 20
FAST = {"durability": "os"}


def share(writer: int, thread: str, turns: int = TURNS) -> list[dict[str, Any]]:
    """A writer's turns: every fifth one opens an event, by a name that all writers use."""
    first = writer * turns if thread == "main" else 0
    return [
        turn(first + i, f"topic{i // 5}" if i % 5 == 0 else "", thread=thread) | {"writer": str(writer)}
        for i in range(turns)
    ]


def shares(same: bool, turns: int = TURNS) -> list[list[dict[str, Any]]]:
    return [share(writer, "main" if same else f"t{writer}", turns) for writer in range(WRITERS)]


def accepted(runs: Sequence[Run]) -> list[list[str]]:
    """The ids of each process's turns. One that lost the race for a name again and again may be deferred."""
    for run in runs:
        lost = {line["error_text"] for line in run.said if line.get("outcome") not in {"recorded", None}}
        assert all("keeps changing" in text for text in lost), lost
    return [run.get("id") for run in runs]


@pytest.mark.parametrize("same", [False, True], ids=["own streams", "one stream"])
def test_processes_share_a_vault(same: bool, runner: Runner, tmp_path: Path) -> None:
    """B74: eight processes record on the same day, each in its own stream or all in one."""
    jobs = [Job(tmp_path / "vault", [*turns, END], options=FAST) for turns in shares(same)]
    orders = accepted(runner.run(*jobs, at_once=WRITERS))
    everything = list(chain.from_iterable(orders))
    assert len(set(everything)) == WRITERS * TURNS
    assert problems(tmp_path / "vault", everything, orders, finished=True) == []


@pytest.mark.parametrize("same", [False, True], ids=["own streams", "one stream"])
@pytest.mark.parametrize("way", ["threads", "tasks"])
def test_threads_and_tasks_share_a_memory(way: str, same: bool, runner: Runner, tmp_path: Path) -> None:
    """B74: the same within one process, from threads and from coroutines."""
    turns = list(chain.from_iterable(shares(same, 10)))
    [run] = runner.run(Job(tmp_path / "vault", [{"do": way, "turns": turns}, END], options=FAST))
    [ids] = accepted([run])
    assert len(set(ids)) == len(turns)
    orders = [ids] if way == "tasks" and same else []
    assert problems(tmp_path / "vault", ids, orders, finished=True) == []


def test_a_holder_that_died_blocks_nobody(runner: Runner, tmp_path: Path) -> None:
    """6.3: the lock of a process that was killed while it held it is free."""
    vault = tmp_path / "vault"
    [dead] = runner.run(Job(vault, [turn(1, "alpha"), {"do": "die locked"}]))
    assert dead.killed
    [run] = runner.run(Job(vault, [turn(2), END], options={"lock_timeout_s": 5}))
    assert problems(vault, [*dead.acknowledged, *accepted([run])[0]], finished=True) == []


def test_turns_wait_for_a_holder_that_hangs(runner: Runner, tmp_path: Path) -> None:
    """2.7: while another process sits on the lock turns are deferred, and filed in order once it is gone."""
    vault = tmp_path / "vault"
    patient = {"lock_timeout_s": 0.05}
    steps = [turn(1, "alpha"), {"do": "lock"}, turn(2), turn(3, thread="b"), {"do": "unlock"}, turn(4), END]
    [run] = runner.run(Job(vault, steps, options=patient))
    assert run.get("outcome") == ["recorded", "deferred", "deferred", "recorded"]
    assert problems(vault, run.get("id"), [run.get("id")], finished=True) == []


def test_two_processes_open_a_vault_with_a_plan_under_way(
    runner: Runner, prepared: Prepare, tmp_path: Path
) -> None:
    """6.2: whoever finds the plan finishes it, once, and both go on."""
    ready = prepared("new day")
    for at in range(0, len(points(runner, ready, tmp_path)), 3):
        vault = copy(ready.vault, tmp_path / str(at) / "vault")
        [dead] = runner.run(Job(vault, [ARM, ready.scenario.step], {"at": at}))
        assert dead.killed
        steps = [*ready.scenario.rest, END]
        runs = runner.run(Job(vault, steps), Job(vault, steps), at_once=2)
        assert {outcome for run in runs for outcome in run.get("outcome")} <= {"recorded", "duplicate"}, at
        [end] = runner.run(Job(vault, [last(ready)]))
        assert end.get("problems") == [[]], at
        assert files(vault) == ready.wanted, at

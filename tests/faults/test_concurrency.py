"""Many writers on one vault: nothing is lost, doubled or torn, and every event has its one index line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import pytest
from checker import problems
from conversation import Step, turn
from runner import Job, Run, Runner
from test_kill import ARM, END, last, points
from vaults import Prepared, copy, files

from automemory.turn import Message, turn_id

Prepare = Callable[[str], Prepared]
LONGEST_S = 30.0  # of one turn: what it may wait for the lock, several times over
FAST = {"durability": "os"}


@dataclass(frozen=True)
class Case:
    """How many writers record how many turns each, in one stream or their own, as one agent or several."""

    streams: bool = False
    agents: bool = False
    days: int = 1
    writers: int = 8
    turns: int = 50

    def share(self, writer: int) -> list[Step]:
        """A writer's turns: every fifth one opens an event, by a name that all writers use."""
        thread = f"t{writer}" if self.streams else "main"
        first = 0 if self.streams else writer * self.turns
        topics = [f"topic{i // 5}" if i % 5 == 0 else "" for i in range(self.turns)]
        days = [i * self.days // self.turns for i in range(self.turns)]
        who = {"writer": str(writer), "agent": f"agent-{writer}" if self.agents else ""}
        return [turn(first + i, topics[i], day=days[i], thread=thread) | who for i in range(self.turns)]

    @property
    def shares(self) -> list[list[Step]]:
        return [self.share(writer) for writer in range(self.writers)]


WAYS = {
    "one stream": Case(),
    "own streams": Case(streams=True),
    "own agents": Case(agents=True),
    "own agents and streams": Case(streams=True, agents=True),
    "one stream over three days": Case(days=3),
    "own streams over three days": Case(streams=True, days=3),
}
CASES = [
    *(pytest.param(replace(case, writers=5, turns=8), id=name) for name, case in WAYS.items()),
    *(pytest.param(case, id=f"{name}, 8x50", marks=pytest.mark.slow) for name, case in WAYS.items()),
]


def accepted(runs: Sequence[Run]) -> list[list[str]]:
    """The ids of each process's turns. One that lost the race for a name again and again may be deferred."""
    for run in runs:
        lost = {line["error_text"] for line in run.said if line.get("outcome") not in {"recorded", None}}
        assert all("keeps changing" in text for text in lost), lost
        assert max(run.get("took"), default=0.0) < LONGEST_S
    return [run.get("id") for run in runs]


def check(vault: Path, case: Case, ids: Sequence[str], orders: Sequence[Sequence[str]]) -> None:
    """6.1: every turn once, each writer's in its order, each event with its index line; nothing waits."""
    assert len(set(ids)) == len(ids) == case.writers * case.turns
    assert problems(vault, ids, orders, finished=True) == []


@pytest.mark.parametrize("case", CASES)
def test_processes_share_a_vault(case: Case, runner: Runner, tmp_path: Path) -> None:
    """B74: in one stream or each in its own, as one agent or several, on one day or over midnights."""
    jobs = [
        Job(
            tmp_path / "vault",
            [*turns, END],
            options=FAST | {"agent_id": turns[0]["agent"] or None},
            longest_s=300,
        )
        for turns in case.shares
    ]
    orders = accepted(runner.run(*jobs, at_once=case.writers))
    check(tmp_path / "vault", case, list(chain.from_iterable(orders)), orders)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("way", ["threads", "tasks"])
def test_threads_and_tasks_share_a_vault(way: str, case: Case, runner: Runner, tmp_path: Path) -> None:
    """B74: the same within one process, from threads and from coroutines, with a memory for each agent."""
    turns = list(chain.from_iterable(case.shares))
    job = Job(tmp_path / "vault", [{"do": way, "turns": turns}, END], options=FAST, longest_s=300)
    [ids] = accepted(runner.run(job))
    orders = [[id_of(turn) for turn in own] for own in case.shares]
    assert set(ids) == set(chain.from_iterable(orders))
    check(tmp_path / "vault", case, ids, orders)


def id_of(step: Step) -> str:
    first = step["messages"][0]
    return turn_id(f"{step['agent']}/{step['thread']}", Message("user", "", id=first["id"]))


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

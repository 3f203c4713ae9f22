"""A process that is killed anywhere in a commit: nothing is lost, doubled or torn."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conversation import CASES, Step
from faulty import IDLE
from runner import Job, Run, Runner
from vaults import Prepared, copy, files

Prepare = Callable[[str], Prepared]
ARM: Step = {"do": "arm"}
END: Step = {"do": "end"}


@pytest.mark.parametrize("name", CASES)
def test_a_kill_at_any_point_loses_nothing(
    name: str, runner: Runner, prepared: Prepare, tmp_path: Path
) -> None:
    """B75: killed before any write, rename or transaction, halfway through a write, or after the last: what
    was acknowledged is there, the vault is whole, and the conversation goes on as if nothing had been."""
    ready = prepared(name)
    check_all(runner, ready, list(faults("kill", points(runner, ready, tmp_path))), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["first", "switch", "new day", "notes: switch"])
def test_recovery_can_be_killed_too(name: str, runner: Runner, prepared: Prepare, tmp_path: Path) -> None:
    """B75: killed in a commit and killed again while that is being finished: at every third point, another
    third after each of the first kills."""
    ready = prepared(name)
    for number, fault in enumerate(list(faults("kill", points(runner, ready, tmp_path)))):
        torn = copy(ready.vault, tmp_path / "torn" / "vault")
        runner.run(interrupted(torn, ready, fault))
        again = Prepared(ready.scenario, torn, ready.wanted, ready.kept)
        kills = list(faults("kill", points(runner, again, tmp_path)))
        check_all(runner, again, kills[number % 3 :: 3], tmp_path)
        shutil.rmtree(torn.parent)


def points(runner: Runner, ready: Prepared, folder: Path) -> list[str]:
    """The operations of the scenario's step, opening the vault included."""
    vault = copy(ready.vault, folder / "count" / "vault")
    vault.parent.mkdir(exist_ok=True)
    met: list[str] = runner.run(Job(vault, [ARM, ready.scenario.step, {"do": "points"}]))[0].get("points")[0]
    shutil.rmtree(vault.parent)
    return met


def faults(how: str, met: list[str]) -> Iterator[dict[str, Any]]:
    """A fault in every state that the disk passes through; for a kill, a sync changes nothing."""
    idle = {IDLE, "os.fsync"} if how == "kill" else {IDLE}
    for at, operation in enumerate(met):
        if at == 0 or met[at - 1] not in idle:
            yield {"at": at, "how": how}
        if operation == "os.write":
            yield {"at": at, "how": how, "half": True}
    done = [at for at, operation in enumerate(met) if operation != IDLE]
    if done:
        yield {"at": done[-1], "how": how, "after": True}


def interrupted(vault: Path, ready: Prepared, fault: dict[str, Any]) -> Job:
    return Job(vault, [ARM, ready.scenario.step], fault)


def check_all(runner: Runner, ready: Prepared, all_faults: list[dict[str, Any]], folder: Path) -> None:
    """Interrupt the step in every way given, then look at what is left and go on."""
    vaults = [copy(ready.vault, folder / str(i) / "vault") for i in range(len(all_faults))]
    jobs = [interrupted(vault, ready, fault) for vault, fault in zip(vaults, all_faults, strict=True)]
    runs = runner.run(*jobs)
    assert all(run.killed for run in runs)
    finish(runner, ready, vaults, runs, [str(fault) for fault in all_faults])


def finish(runner: Runner, ready: Prepared, vaults: list[Path], runs: list[Run], names: list[str]) -> None:
    """Open what is left, check it, record the whole conversation again, and compare with an undisturbed one.

    In every second vault what was accepted is filed before anything is handed in again. A close that was
    acknowledged is not asked for again.
    """
    jobs = []
    opened: Step = {"do": "open"}
    for number, (vault, run) in enumerate(zip(vaults, runs, strict=True)):
        check: Step = {"do": "check", "expected": {"recorded": run.acknowledged, "kept": ready.kept}}
        first = [{"do": "flush"}, check] if number % 2 else []
        rest = [step for step in ready.scenario.rest if step["do"] == "turn" or not run.get("done")]
        jobs.append(Job(vault, [opened, check, *first, *ready.scenario.before, *rest, END, last(ready)]))
    for name, vault, run in zip(names, vaults, runner.run(*jobs), strict=True):
        assert not run.get("error"), (name, run.said)
        assert run.get("problems")[:-1] == [[]] * (len(run.get("problems")) - 1), (name, run.said)
        assert run.get("problems")[-1] == [], (name, run.said)
        assert files(vault) == ready.wanted, name
        shutil.rmtree(vault.parent)


def last(ready: Prepared) -> Step:
    """Looks at a vault in which nothing is under way any more."""
    return {"do": "check", "expected": {"kept": ready.kept, "finished": True}}

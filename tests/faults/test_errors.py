"""A disk that refuses: nothing is raised, nothing stays half-written, all is filed once it is well again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conversation import CLOCK, CLOSE, DISTINCT, SCENARIOS, KeywordDecider, turn
from faulty import IDLE
from runner import Job, Run, Runner
from test_kill import ARM, END, faults, finish, last, points
from vaults import SAVED, Prepared, copy, files

from automemory.maintenance.doctor import repair
from automemory.memory import AutoMemory

Prepare = Callable[[str], Prepared]
NOTE = "daily/2026-05-27/alpha/alpha.md"
HEAL = {"do": "heal"}
SAVED_DURING = [
    pytest.param(name, marks=() if name in {"switch", "extend"} else pytest.mark.slow)
    for name in DISTINCT
    if SCENARIOS[name].before
]
QUICK = {("switch", "ENOSPC"), ("new day", "EIO"), ("continue", "EIO"), ("extend", "short")}
CASES = [
    pytest.param(name, how, marks=() if (name, how) in QUICK else pytest.mark.slow)
    for name in DISTINCT
    for how in ("ENOSPC", "EIO", "EROFS", "EINTR", "short")
    if how in {"ENOSPC", "EIO"} or name in {"first", "switch", "new day", "extend", "notes: switch"}
]


def disturbed(ready: Prepared, vault: Path, fault: dict[str, Any]) -> Job:
    """The conversation with a fault from its step on, and over one more turn; then all is well again."""
    step, rest = ready.scenario.step, ready.scenario.after
    if step is CLOSE:
        return Job(vault, [ARM, CLOSE, HEAL, CLOSE, *rest, END, last(ready)], fault)
    return Job(vault, [ARM, step, rest[0], HEAL, *rest[1:], END, last(ready)], fault)


def check(ready: Prepared, vault: Path, run: Run, fault: dict[str, Any]) -> None:
    refused = run.get("error")
    assert not refused or (ready.scenario.step is CLOSE and len(refused) == 1), (fault, run.said)
    outcomes = run.get("outcome")
    assert set(outcomes) <= {"recorded", "extended", "deferred"}, (fault, run.said)
    assert outcomes[-1] == "recorded", (fault, run.said)
    assert run.get("problems") == [[]], (fault, run.said)
    assert files(vault) == ready.wanted, (fault, run.said)


@pytest.mark.parametrize(("name", "how"), CASES)
def test_what_is_refused_is_deferred(
    name: str, how: str, runner: Runner, prepared: Prepare, tmp_path: Path
) -> None:
    """2.7: any write, sync, rename or transaction fails, at once or halfway; a full disk stays full for one
    more turn. Turns are recorded or deferred, and without a restart all are filed in order and whole."""
    ready = prepared(name)
    found = [f for f in faults(how, points(runner, ready, tmp_path)) if how != "short" or f.get("half")]
    refusals = [{**fault, "lasting": how == "ENOSPC"} for fault in found]
    vaults = [copy(ready.vault, tmp_path / str(i) / "vault") for i in range(len(refusals))]
    jobs = [disturbed(ready, vault, fault) for vault, fault in zip(vaults, refusals, strict=True)]
    for vault, run, fault in zip(vaults, runner.run(*jobs), refusals, strict=True):
        check(ready, vault, run, fault)


@pytest.mark.parametrize("name", SAVED_DURING)
def test_what_an_editor_saves_meanwhile_stays(
    name: str, runner: Runner, prepared: Prepare, tmp_path: Path
) -> None:
    """6.2: before any operation a person saves all notes and indexes, each with a line more. The lines are
    there in the end, and but for them the vault is as after an undisturbed run. Not so between the last look
    at a file and the rename that follows at once: no system call does both."""
    ready = prepared(name)
    met = points(runner, ready, tmp_path)
    saves = [{"at": at, "how": "saved"} for at in range(len(met)) if met[at] not in {IDLE, "os.replace"}]
    vaults = [copy(ready.vault, tmp_path / str(i) / "vault") for i in range(len(saves))]
    steps = [ARM, ready.scenario.step, HEAL, *ready.scenario.after, END, last(ready)]
    runs = runner.run(*(Job(vault, steps, save) for vault, save in zip(vaults, saves, strict=True)))
    for vault, run, save in zip(vaults, runs, saves, strict=True):
        assert set(run.get("outcome")) <= {"recorded", "extended"} and not run.get("error"), (save, run.said)
        assert run.get("problems") == [[]], (save, run.said)
        found, line = files(vault), f"{SAVED}\n".encode()
        assert sum(line in data for data in found.values()) >= 2, save
        assert {path: data.replace(line, b"") for path, data in found.items()} == ready.wanted, save


@pytest.mark.parametrize("name", ["continue", "switch"])
def test_what_was_refused_survives_a_kill(
    name: str, runner: Runner, prepared: Prepare, tmp_path: Path
) -> None:
    """6.1: the disk is full from any point on, so that nothing can be tidied up, and the process dies."""
    ready = prepared(name)
    refusals = [{**f, "lasting": True} for f in faults("ENOSPC", points(runner, ready, tmp_path))]
    vaults = [copy(ready.vault, tmp_path / str(i) / "vault") for i in range(len(refusals))]
    steps = [ARM, ready.scenario.step, {"do": "die"}]
    runs = runner.run(*(Job(vault, steps, fault) for vault, fault in zip(vaults, refusals, strict=True)))
    assert all(run.killed for run in runs)
    finish(runner, ready, vaults, runs, [str(fault) for fault in refusals])


def test_a_plan_that_cannot_be_finished_holds_up_its_own_stream_only(
    runner: Runner, prepared: Prepare, tmp_path: Path
) -> None:
    """6.2: the event of an interrupted plan leads out of the vault by now. Nothing is written there, other
    streams go on, and the plan is finished once its event is back."""
    ready = prepared("continue")
    vault = copy(ready.vault, tmp_path / "vault")
    write = points(runner, ready, tmp_path).index("os.write")
    runner.run(Job(vault, [ARM, ready.scenario.step], {"at": write}))
    event, outside = vault / "daily/2026-05-27/alpha", tmp_path / "outside"
    event.rename(outside)
    event.symlink_to(outside)
    before = files(outside)

    [run] = runner.run(Job(vault, [turn(1, "beta", thread="b"), ready.scenario.after[0]]))
    assert run.get("outcome") == ["recorded", "deferred"]
    assert all(words in run.get("error_text")[1] for words in ("cannot be finished", NOTE, "remove the symb"))
    found = repair(vault, CLOCK, lambda agent: AutoMemory(vault, decider=KeywordDecider()))
    assert "cannot be finished" in found.error and "remove the symbolic link" in found.error
    assert {"plan", "link-outside"} <= {finding.code for finding in found.findings}
    assert files(outside) == before

    event.unlink()
    outside.rename(event)
    [run] = runner.run(
        Job(vault, [{"do": "open"}, {"do": "flush"}, ready.scenario.after[1], END, last(ready)])
    )
    assert run.get("outcome") == ["recorded"]
    assert run.get("problems") == [[]]
    assert files(vault)[NOTE] == ready.wanted[NOTE]


def test_a_plan_ends_when_what_leads_outside_is_removed(
    runner: Runner, prepared: Prepare, tmp_path: Path
) -> None:
    """6.2: as the error says, without the link the stream goes on: its turns are filed in an event anew."""
    ready = prepared("continue")
    vault = copy(ready.vault, tmp_path / "vault")
    write = points(runner, ready, tmp_path).index("os.write")
    runner.run(Job(vault, [ARM, ready.scenario.step], {"at": write}))
    event, outside = vault / "daily/2026-05-27/alpha", tmp_path / "outside"
    event.rename(outside)
    event.symlink_to(outside)
    before = files(outside)
    runner.run(Job(vault, [ready.scenario.step]))
    event.unlink()
    doctor = {"do": "command", "what": ["doctor"]}
    check = {"do": "check", "expected": {"finished": True}}
    [run] = runner.run(Job(vault, [doctor, *ready.scenario.rest, END, check]))
    assert run.get("outcome")[-1] == "recorded", run.said
    assert run.get("problems") == [[]]
    assert files(outside) == before

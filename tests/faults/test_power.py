"""The power goes anywhere in a commit: what was not synced is lost, and nothing that was promised is."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conversation import CASES, DISTINCT
from runner import Job, Runner
from test_kill import ARM, faults, finish, interrupted, points
from vaults import Prepared, copy

Prepare = Callable[[str], Prepared]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="asks /proc what is synced")


def left(vault: Path) -> Path:
    """The vault as it is after the power went."""
    return vault.parent.with_name(f"{vault.parent.name}-durable") / vault.name


@pytest.mark.parametrize("name", CASES)
def test_acknowledged_turns_survive_a_power_cut(
    name: str, runner: Runner, prepared: Prepare, tmp_path: Path
) -> None:
    """6.1: with `durability="fsync"`, what was reported as recorded was synced by then, names included."""
    ready = prepared(name)
    vault = copy(ready.vault, tmp_path / "cut" / "vault")
    [run] = runner.run(Job(vault, [ARM, *ready.scenario.rest, {"do": "die"}], {"how": "power"}))
    assert run.killed
    assert len(run.said) == len(ready.scenario.rest)
    finish(runner, ready, [left(vault)], [run], ["at the end"])


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n == "switch" else pytest.mark.slow) for n in DISTINCT]
)
def test_a_power_cut_at_any_point_loses_nothing(
    name: str, runner: Runner, prepared: Prepare, tmp_path: Path
) -> None:
    """6.2: syncs come in an order that leaves the plan, or what it did, whatever else is lost."""
    ready = prepared(name)
    cuts = list(faults("power", points(runner, ready, tmp_path)))
    vaults = [copy(ready.vault, tmp_path / str(i) / "vault") for i in range(len(cuts))]
    runs = runner.run(*(interrupted(vault, ready, cut) for vault, cut in zip(vaults, cuts, strict=True)))
    assert all(run.killed for run in runs)
    finish(runner, ready, [left(vault) for vault in vaults], runs, [str(cut) for cut in cuts])


@pytest.mark.parametrize("name", ["first", pytest.param("new day", marks=pytest.mark.slow)])
def test_recovery_syncs_what_a_killed_process_had_not(
    name: str, runner: Runner, prepared: Prepare, tmp_path: Path
) -> None:
    """6.1: killed anywhere, taken up by the next process, and the power goes only then: who finishes a plan
    cannot know what of it is on the disk."""
    ready = prepared(name)
    cuts = list(faults("power", points(runner, ready, tmp_path)))
    vaults = [copy(ready.vault, tmp_path / str(i) / "vault") for i in range(len(cuts))]
    runner.run(*(interrupted(vault, ready, cut) for vault, cut in zip(vaults, cuts, strict=True)))
    again = [ARM, *ready.scenario.rest, {"do": "die"}]
    images = [left(vault) for vault in vaults]
    runs = runner.run(
        *(
            Job(vault, again, {"how": "power", "before": str(image.parent)})
            for vault, image in zip(vaults, images, strict=True)
        )
    )
    finish(runner, ready, [left(image) for image in images], runs, [str(cut) for cut in cuts])

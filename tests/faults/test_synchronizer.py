"""What the synchronizer writes is killed anywhere, refused by the disk, or loses power, and is whole."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from conversation import TWO, Scenario, Step, turn
from runner import Job, Runner
from test_kill import ARM, END, check_all, faults, finish, interrupted, points
from test_power import left
from vaults import KEPT, Prepared, copy, files, write_by_hand

from automemory.vault.sections import parse

ALPHA, FRESH = "daily/2026-05-27/alpha", "daily/2026-05-28/fresh"
HEAL: Step = {"do": "heal"}
SECTIONS = (
    "---\ntitle: Alpha and more\ndescription: What it came to.\nstatus: completed\n---\n"
    "## Objective\nEnd it.\n\n"
    "## Plan\n1. begin\n\n## Progress\n- Began\n\n## Findings\n- 第二段\n\n## Next\n- [ ] end\n"
)


def write(path: str, content: str) -> Step:
    return {"do": "write", "workspace": path.rpartition("/")[0], "path": path, "content": content}


def set_fields(path: str, **fields: str) -> Step:
    return {"do": "properties", "workspace": path.rpartition("/")[0], "path": path, "fields": fields}


AFTER = (turn(3), turn(4))
SCENARIOS = {
    "merge": Scenario(TWO, write(f"{ALPHA}/alpha.md", SECTIONS), AFTER),
    "material": Scenario(TWO, write(f"{ALPHA}/error.md", "# Error\n\nboom\n"), AFTER),
    "workspace": Scenario(TWO, write(f"{FRESH}/fresh.md", SECTIONS), AFTER),
    "inherit": Scenario(TWO, write("daily/2026-05-28/alpha/alpha.md", SECTIONS), AFTER),
    "fields": Scenario(TWO, set_fields(f"{ALPHA}/alpha.md", status="completed"), AFTER),
    "first": Scenario((), write(f"{FRESH}/fresh.md", SECTIONS), (turn(1, "alpha"), turn(2))),
}
WANTED = {
    "merge": (f"{ALPHA}/alpha.md", {"Progress": "- 2026-05-28 18:00 Began", "Findings": "- 第二段"}),
    "material": (
        f"{ALPHA}/alpha.md",
        {"Materials": f"- [[{ALPHA}/error.md|error]] — Error (Markdown, 14 B)"},
    ),
    "workspace": (f"{FRESH}/fresh.md", {"Plan": "1. begin", "Next": "- [ ] end"}),
    "inherit": ("daily/2026-05-28/alpha/alpha.md", {"Plan": "1. begin", "Next": "- [ ] end"}),
    "fields": (f"{ALPHA}/alpha.md", {}),
    "first": (f"{FRESH}/fresh.md", {"Objective": "End it."}),
}


@pytest.fixture(scope="module")
def ready(runner: Runner, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Prepared]:
    """Makes a scenario's vault, once."""
    made: dict[str, Prepared] = {}

    def prepare(name: str) -> Prepared:
        if name not in made:
            folder, scenario = tmp_path_factory.mktemp("synchronizer"), SCENARIOS[name]
            vault = folder / "vault"
            if scenario.before:
                runner.run(Job(vault, [*scenario.before, END]))
                write_by_hand(vault)
            whole = copy(vault, folder / "whole" / "vault")
            [run] = runner.run(Job(whole, [*scenario.rest, END]))
            assert run.get("done")[0] == "write", run.said
            made[name] = Prepared(scenario, vault, files(whole), KEPT if scenario.before else {})
        return made[name]

    return prepare


@pytest.mark.parametrize("name", SCENARIOS)
def test_an_undisturbed_write_says_what_it_says(ready: Callable[[str], Prepared], name: str) -> None:
    path, wanted = WANTED[name]
    found = parse(ready(name).wanted[path].decode())
    assert found | wanted == found


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow if n in {"first", "inherit"} else ()) for n in SCENARIOS]
)
def test_a_kill_at_any_point_loses_nothing(
    name: str, runner: Runner, ready: Callable[[str], Prepared], tmp_path: Path
) -> None:
    """B75: killed before any write, rename or transaction, halfway through one, or after the last; the call
    made again, and the turns that follow, leave the vault of an undisturbed run: nothing twice or torn."""
    found = ready(name)
    check_all(runner, found, list(faults("kill", points(runner, found, tmp_path))), tmp_path)


@pytest.mark.parametrize(
    ("name", "how"),
    [
        pytest.param(name, how, marks=() if (name, how) == ("merge", "EIO") else pytest.mark.slow)
        for name in SCENARIOS
        for how in ("ENOSPC", "EIO", "EROFS", "short")
    ],
)
def test_a_disk_that_refuses_is_told_and_the_call_can_be_made_again(
    name: str, how: str, runner: Runner, ready: Callable[[str], Prepared], tmp_path: Path
) -> None:
    """6.1: any write, sync or rename fails. The call is done, or refused with a reason; never half of it."""
    found = ready(name)
    refusals = list(faults(how, points(runner, found, tmp_path)))
    vaults = [copy(found.vault, tmp_path / str(i) / "vault") for i in range(len(refusals))]
    step = found.scenario.step
    steps = [ARM, step, HEAL, step, *found.scenario.after, END]
    runs = runner.run(*(Job(vault, steps, fault) for vault, fault in zip(vaults, refusals, strict=True)))
    for vault, run, fault in zip(vaults, runs, refusals, strict=True):
        assert len(run.get("error")) <= 1 and "write" in run.get("done"), (fault, run.said)
        assert files(vault) == found.wanted, (fault, run.said)


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc what is synced")
@pytest.mark.parametrize("name", SCENARIOS)
def test_what_was_done_survives_a_power_cut(
    name: str, runner: Runner, ready: Callable[[str], Prepared], tmp_path: Path
) -> None:
    """6.1: what a call reported as written was synced by then, names included."""
    found = ready(name)
    vault = copy(found.vault, tmp_path / "cut" / "vault")
    [run] = runner.run(Job(vault, [ARM, *found.scenario.rest, {"do": "die"}], {"how": "power"}))
    assert run.killed and run.get("done") == ["write"]
    finish(runner, found, [left(vault)], [run], ["at the end"])


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc what is synced")
@pytest.mark.parametrize("name", SCENARIOS)
def test_a_power_cut_at_any_point_loses_nothing(
    name: str, runner: Runner, ready: Callable[[str], Prepared], tmp_path: Path
) -> None:
    """6.2: syncs come in an order that leaves the plan, or what it did, whatever else is lost."""
    found = ready(name)
    cuts = list(faults("power", points(runner, found, tmp_path)))
    vaults = [copy(found.vault, tmp_path / str(i) / "vault") for i in range(len(cuts))]
    runs = runner.run(*(interrupted(vault, found, cut) for vault, cut in zip(vaults, cuts, strict=True)))
    finish(runner, found, [left(vault) for vault in vaults], runs, [str(cut) for cut in cuts])

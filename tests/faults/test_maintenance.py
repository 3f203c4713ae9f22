"""A correction, a rebuild or a repair that is killed anywhere ends as if it had not been."""

from __future__ import annotations

import shutil
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet
from checker import problems
from conversation import TWO, KeywordDecider, Step, turn
from runner import Job, Run, Runner
from test_kill import ARM, END, faults
from test_power import left
from vaults import KEPT, SAVED, copy, files, write_by_hand

from automemory.errors import AutoMemoryError
from automemory.maintenance.correction import Correction
from automemory.maintenance.editor import Editor
from automemory.memory import AutoMemory
from automemory.turn import Message, turn_id
from automemory.vault.reader import Reader

INDEX, ALPHA, BETA = "daily/2026-05-27.md", "daily/2026-05-27/alpha", "daily/2026-05-27/beta"
THREE = (*TWO, turn(3, "beta"), turn(4))
FORGOTTEN = turn_id("/main", Message("user", "", id="main-u2"))


@dataclass(frozen=True)
class Case:
    """A command in a vault in which some turns are recorded and something was done by hand."""

    before: tuple[Step, ...]
    command: tuple[str, ...]
    by_hand: Callable[[Path], None] = lambda vault: None
    gone: str = ""

    @property
    def step(self) -> Step:
        return {"do": "command", "what": list(self.command)}


def with_materials(vault: Path) -> None:
    """Materials beside the second event, of which one is named as one of the first, and links to both."""
    beta = vault / BETA
    (beta / "trace.txt").write_text("of beta\n", "utf-8")
    (beta / "folder").mkdir()
    (beta / "folder/deep.txt").write_text("deep\n", "utf-8")
    words = f"[[{BETA}/beta.md|beta]], [[{BETA}/trace.txt]]\n"
    (vault / "resource/r.md").write_text(f"a resource\n{words}", "utf-8")


def with_links(vault: Path) -> None:
    words = f"As in [[{BETA}/beta.md|beta]] and [[alpha]].\n"
    (vault / "resource/r.md").write_text(f"a resource\n{words}", "utf-8")


def without_lines(vault: Path) -> None:
    lines = (vault / INDEX).read_text("utf-8").split("\n")
    (vault / INDEX).write_text("\n".join(line for line in lines if "[[" not in line), "utf-8")


def broken(vault: Path) -> None:
    """Everything that a repair repairs without a model, and what it needs one for."""
    without_lines(vault)
    (vault / ALPHA / ".automemory-9-0.tmp").write_text("left", "utf-8")
    (vault / BETA / "beta.md").chmod(0o644)
    alpha = vault / ALPHA / "alpha.md"
    text = alpha.read_text("utf-8").replace("name: alpha", "name: other")
    opened = [line for line in text.split("\n") if not line.startswith(("closed:", "closed_by:"))]
    alpha.write_text("\n".join(opened), "utf-8")
    (vault / ".automemory/state.db").unlink()


CASES = {
    "merge": Case(THREE, ("merge", "alpha", "beta"), with_materials),
    "merge backwards": Case(THREE, ("merge", "beta", "alpha")),
    "split": Case((*TWO, turn(3)), ("split", "alpha", "2", "gamma")),
    "split by its words": Case((*TWO, turn(3)), ("split", "alpha", "3")),
    "forget a turn": Case(THREE, ("forget", FORGOTTEN), gone="Answer 2."),
    "forget an event": Case(THREE, ("forget", "beta"), with_links, gone="Answer 3."),
    "rebuild": Case(THREE, ("rebuild",), without_lines),
    "doctor": Case(THREE, ("doctor",), broken),
}
AFTER: list[Step] = [{"do": "flush"}, turn(8), turn(9), END]


@dataclass(frozen=True)
class Ready:
    """A case's vault before the command, and its files after an undisturbed run."""

    case: Case
    vault: Path
    wanted: dict[str, bytes]


@pytest.fixture
def ready(runner: Runner, tmp_path: Path, request: pytest.FixtureRequest) -> Ready:
    case = CASES[request.param]
    vault = tmp_path / "before" / "vault"
    runner.run(Job(vault, [*case.before, END]))
    write_by_hand(vault)
    case.by_hand(vault)
    whole = copy(vault, tmp_path / "whole" / "vault")
    [run] = runner.run(Job(whole, [case.step, *AFTER, end_check(case)]))
    assert run.get("problems") == [[]] and not run.get("error"), run.said
    return Ready(case, vault, files(whole))


def end_check(case: Case) -> Step:
    moved = {path.replace(ALPHA, BETA) if "merge backwards" in case.command else path for path in KEPT}
    kept = {} if case.command[:2] == ("merge", "beta") else {path: KEPT[path] for path in moved}
    return {"do": "check", "expected": {"kept": kept, "finished": True}}


def points(runner: Runner, ready: Ready, folder: Path) -> list[str]:
    vault = copy(ready.vault, folder / "count" / "vault")
    [run] = runner.run(Job(vault, [ARM, ready.case.step, {"do": "points"}]))
    met: list[str] = run.get("points")[0]
    return met


def go_on(runner: Runner, ready: Ready, vaults: list[Path], names: list[str], *, power: bool = False) -> None:
    """Open what is left, command it again (it may be done by then), go on, and compare.

    After a power cut as `power.Durable` has it, a file that was moved may be left as two, each whole.
    """
    steps = [{"do": "open"}, ready.case.step, *AFTER, end_check(ready.case)]
    runs: list[Run] = runner.run(*(Job(vault, steps) for vault in vaults))
    for name, vault, run in zip(names, vaults, runs, strict=True):
        assert run.get("problems") == [[]], (name, run.said)
        found = {path: data.replace(f"{SAVED}\n".encode(), b"") for path, data in files(vault).items()}
        assert found == ready.wanted or (power and same_but_twice(found, ready.wanted)), (name, run.said)
        if ready.case.gone:
            held = [p for p in vault.rglob("*") if p.is_file() and ready.case.gone.encode() in p.read_bytes()]
            assert not held, (name, held)
        shutil.rmtree(vault.parent)


def same_but_twice(found: dict[str, bytes], wanted: dict[str, bytes]) -> bool:
    notes = [{p: data for p, data in each.items() if p.endswith(".md")} for each in (found, wanted)]
    return notes[0] == notes[1] and set(found.values()) == set(wanted.values())


REFUSED_QUICK = {("merge", "EIO"), ("forget a turn", "short"), ("split", "saved"), ("doctor", "ENOSPC")}
QUICK = {"merge", "split", "forget an event", "rebuild"}


def cases(quick: set[str]) -> list[ParameterSet]:
    return [pytest.param(name, marks=() if name in quick else pytest.mark.slow) for name in CASES]


@pytest.mark.parametrize("ready", cases(QUICK), indirect=True)
def test_killed_anywhere_it_is_finished(ready: Ready, runner: Runner, tmp_path: Path) -> None:
    """6.2: before any write, link, rename, removal or transaction, or halfway through a write: opened again
    and commanded again, the vault is as after an undisturbed run. No turn and no material is lost."""
    kills = list(faults("kill", points(runner, ready, tmp_path)))
    vaults = [copy(ready.vault, tmp_path / str(i) / "vault") for i in range(len(kills))]
    jobs = [Job(vault, [ARM, ready.case.step], kill) for vault, kill in zip(vaults, kills, strict=True)]
    assert all(run.killed for run in runner.run(*jobs))
    go_on(runner, ready, vaults, [str(kill) for kill in kills])


@pytest.mark.parametrize(
    ("ready", "how"),
    [
        pytest.param(name, how, marks=() if (name, how) in REFUSED_QUICK else pytest.mark.slow)
        for name in CASES
        for how in ("ENOSPC", "EIO", "short", "saved")
        if how != "saved" or "merge" not in name  # what was saved in both notes stands in one then
    ],
    indirect=["ready"],
)
def test_refused_anywhere_it_can_be_commanded_again(
    how: str, ready: Ready, runner: Runner, tmp_path: Path
) -> None:
    """6.2: any write, link, rename, removal or transaction fails, or a person saves the files just before it:
    the command says so or is done; commanded again it is done once, and what was saved stays."""
    met = points(runner, ready, tmp_path)
    found = [f for f in faults(how, met) if f.get("half") or (how != "short" and not f.get("after"))]
    if how in {"ENOSPC", "EIO"}:  # one of the two at each point
        found = found[how == "EIO" :: 2]
    unlike = "os.replace"  # see `test_what_an_editor_saves_meanwhile_stays`
    disturbances = [f for f in found if how != "saved" or not (f.get("half") or met[f["at"]] == unlike)]
    vaults = [copy(ready.vault, tmp_path / str(i) / "vault") for i in range(len(disturbances))]
    steps = [ARM, ready.case.step, {"do": "heal"}]
    runner.run(*(Job(vault, steps, f) for vault, f in zip(vaults, disturbances, strict=True)))
    go_on(runner, ready, vaults, [str(f) for f in disturbances])


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc what is synced")
@pytest.mark.parametrize("ready", cases({"split"}), indirect=True)
def test_no_power_cut_loses_what_is_moved(ready: Ready, runner: Runner, tmp_path: Path) -> None:
    """6.2: nothing is removed before what is kept of it is durable; at every second operation."""
    cuts = list(faults("power", points(runner, ready, tmp_path)))[::2]
    vaults = [copy(ready.vault, tmp_path / str(i) / "vault") for i in range(len(cuts))]
    jobs = [Job(vault, [ARM, ready.case.step], cut) for vault, cut in zip(vaults, cuts, strict=True)]
    assert all(run.killed for run in runner.run(*jobs))
    go_on(runner, ready, [left(vault) for vault in vaults], [str(cut) for cut in cuts], power=True)


def make(editor: Editor, correct: Callable[..., Correction], *what: str) -> None:
    editor.make(lambda: correct(*what), lambda correction: True)


def test_corrections_while_an_agent_is_at_work(tmp_path: Path) -> None:
    """B74: events are cut and joined again while turns come in: each stands in one event, in order."""
    vault = tmp_path / "vault"
    memory = AutoMemory(vault, decider=KeywordDecider(), timezone="UTC", durability="os")
    memory.record(turn(1, "event-1")["messages"])
    ids: list[str] = []

    def record() -> None:
        for number in range(2, 26):
            said = turn(number, f"event-{number}" if number % 5 == 0 else "")
            ids.append(memory.record(said["messages"]).turn_id)

    agent = threading.Thread(target=record)
    agent.start()
    while agent.is_alive():
        with suppress(AutoMemoryError), Editor(vault, sync=False) as editor:  # as when it cannot be cut there
            if len(paths := [head.path for head in Reader(vault).events()]) > 2:
                make(editor, editor.merge, *paths[:2])
            make(editor, editor.split, paths[-1], "2")
    agent.join()
    memory.close()
    assert problems(vault, ids, [ids], finished=True) == []

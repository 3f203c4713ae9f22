"""The process behind a hook is killed anywhere, or refused by the disk: the next one files all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conversation import NOON, Step
from runner import Job, Runner
from test_kill import ARM, faults
from vaults import copy, files

HEAL: Step = {"do": "heal"}


def transcript(path: Path) -> Path:
    """Three turns as Claude Code writes them down."""
    lines: list[dict[str, Any]] = [
        {
            "type": role,
            "uuid": f"{n:08}-0000-4000-8000-000000000000",
            "parentUuid": f"{n - 1:08}-0000-4000-8000-000000000000" if n else None,
            "sessionId": "one",
            "timestamp": NOON.replace(second=n).isoformat(),
            "message": {"role": role, "content": f"{role} {n} on the login page."},
        }
        for n, role in enumerate(("user", "assistant") * 3)
    ]
    path.write_text("".join(json.dumps(each) + "\n" for each in lines), "utf-8")
    return path


@pytest.mark.parametrize("how", [pytest.param("kill", marks=pytest.mark.slow), "EIO"])
def test_the_next_hook_files_what_was_left(how: str, runner: Runner, tmp_path: Path) -> None:
    """6.1: whatever becomes of one call, after the next one the vault is as after an undisturbed session, and
    the log, which had grown too long, has been put aside."""
    step = {"do": "hook", "event": "SessionEnd", "transcript": str(transcript(tmp_path / "one.jsonl"))}
    empty, whole = tmp_path / "empty" / "vault", tmp_path / "whole" / "vault"
    (empty / ".automemory").mkdir(parents=True)
    (empty / ".automemory/hook.log").write_text("x" * 300_000, "utf-8")
    check = {"do": "check", "expected": {"finished": True}}
    [run] = runner.run(Job(copy(empty, whole), [ARM, step, {"do": "points"}, check]))
    assert run.get("exit") == [0] and run.get("problems") == [[]]
    assert len(files(whole)) == 2
    kinds = list(faults(how, run.get("points")[0]))[:: 4 if how == "kill" else 9]
    vaults = [copy(empty, tmp_path / str(n) / "vault") for n in range(len(kinds))]
    steps = [ARM, step] if how == "kill" else [ARM, step, HEAL, step]
    runs = runner.run(*(Job(vault, steps, kind) for vault, kind in zip(vaults, kinds, strict=True)))
    assert all(run.killed for run in runs) == (how == "kill")
    ended = runner.run(*(Job(vault, [step, check]) for vault in vaults))
    for vault, run, kind in zip(vaults, ended, kinds, strict=True):
        assert run.get("exit") == [0] and run.get("problems") == [[]], (kind, run.said)
        assert files(vault) == files(whole), kind
        assert (vault / ".automemory/hook.log.1").exists(), kind

"""The server that runs conversations, and the vaults they are interrupted in; each is made once."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # the forked processes import the same modules by name

from conversation import SCENARIOS
from runner import Job, Runner
from vaults import KEPT, Prepared, copy, files, write_by_hand


@pytest.fixture(scope="session")
def runner() -> Iterator[Runner]:
    runner = Runner()
    yield runner
    runner.close()


@pytest.fixture(scope="session")
def prepared(runner: Runner, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Prepared]:
    """Makes a scenario's vault, once."""
    made: dict[str, Prepared] = {}

    def prepare(name: str) -> Prepared:
        if name not in made:
            folder = tmp_path_factory.mktemp("prepared")
            vault, scenario = folder / "vault", SCENARIOS[name]
            if scenario.before:
                runner.run(Job(vault, [*scenario.before, {"do": "end"}]))
                write_by_hand(vault)
            whole = copy(vault, folder / "whole" / "vault")
            runner.run(Job(whole, [*scenario.rest, {"do": "end"}]))
            made[name] = Prepared(scenario, vault, files(whole), KEPT if scenario.before else {})
        return made[name]

    return prepare

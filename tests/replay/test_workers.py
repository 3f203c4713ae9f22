"""Conversations decided in parallel: whoever decides, the vault is the same, byte for byte."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from automemory.cli import main
from automemory.errors import ConfigError
from automemory.replay.deciding import decide_ahead
from automemory.replay.workers import Decided, Processes, RayCluster, Workers, open_workers
from automemory.settings import Settings, load_settings
from automemory.turn import Message, Turn, read_messages, split_turns

TASKS = [
    ["Why does login.py bounce back to itself?", "Does that happen with a new password as well?", "Thanks!"],
    ["Book me a table for four on Friday.", "Something with a garden, please."],
    ["我想写一封申诉信，语气客气但要坚定。", "再短一点。"],
    ["Back to login.py: does the redirect loop still happen?"],
]


def conversation(number: int) -> list[dict[str, Any]]:
    """Four tasks, each a while after the other; the names of all conversations are the same."""
    asked = [question for task in TASKS for question in task]
    rows: list[dict[str, Any]] = []
    for i, question in enumerate(asked):
        at = f"2026-05-0{1 + number % 3}T10:{i:02}:00+00:00"
        rows.append({"role": "user", "content": question, "id": f"c{number}-u{i}", "timestamp": at})
        rows.append({"role": "assistant", "content": f"About that: {question}", "id": f"c{number}-a{i}"})
    return rows


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "saved.jsonl"
    lines = [json.dumps({"messages": conversation(number)}, ensure_ascii=False) for number in range(5)]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.fixture
def settings(vault: Path) -> Settings:
    return load_settings(vault=vault, timezone="UTC")


def turns(number: int) -> list[Turn]:
    return split_turns(read_messages(conversation(number)))


def tree(vault: Path) -> dict[str, bytes]:
    return {str(path.relative_to(vault)): path.read_bytes() for path in vault.rglob("*.md")}


def replayed(saved: Path, vault: Path, *options: str) -> dict[str, bytes]:
    assert main(["replay", str(saved), "--vault", str(vault), "--timezone", "UTC", *options]) == 0
    return tree(vault)


def test_vault_is_the_same_with_any_number_of_workers(saved: Path, tmp_path: Path) -> None:
    """Also where a name is taken by another conversation's event, and an event is gone back to."""
    alone = replayed(saved, tmp_path / "one")
    assert alone == replayed(saved, tmp_path / "three", "--workers", "3")
    assert any("-2.md" in path for path in alone)


def test_conversation_that_is_known_in_part_is_decided_by_the_writer(
    saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was decided of the whole says nothing of the rest alone."""
    part = tmp_path / "part.jsonl"
    part.write_text(json.dumps({"messages": conversation(0)[:6]}), encoding="utf-8")
    one, two = tmp_path / "one", tmp_path / "two"
    for vault in (one, two):
        replayed(part, vault)
    assert replayed(saved, one) == replayed(saved, two, "--workers", "2")


def test_killed_workers_cost_nothing(settings: Settings) -> None:
    """Their conversations are given to new ones; the steps are those of an undisturbed run."""
    processes = Processes(2)
    with Workers(settings, processes) as workers:
        found = []
        for item, steps in workers.decide(range(8), turns):
            if item == 0:
                for pid in list(processes._pool._processes):
                    os.kill(pid, signal.SIGKILL)
            found.append(steps)
    assert [steps and len(steps) for steps in found] == [len(turns(0)) + 1] * 8
    assert all(_decisions(steps) == _decisions(found[0]) for steps in found)


def test_worker_that_fails_twice_leaves_the_conversation_to_the_writer(settings: Settings) -> None:
    class Failing:
        size = 1

        def submit(self, turns: Any, settings: Settings) -> Any:
            def decided() -> Any:
                raise OSError("gone")

            return decided

        def close(self) -> None: ...

    with Workers(settings, Failing()) as workers:
        assert list(workers.decide([1], turns)) == [(1, None)]


class _Held:
    """A cluster of two that answers at once."""

    size = 2

    def submit(self, turns: Sequence[Turn], settings: Settings) -> Decided:
        return list

    def close(self) -> None: ...


@pytest.mark.parametrize(("chars", "ahead"), [(1_000, 6), (20_000_000, 3)])
def test_large_conversations_are_read_ahead_in_smaller_numbers(
    settings: Settings, chars: int, ahead: int
) -> None:
    """Memory does not hold six of them because there are two workers: each has one, and one more is read."""
    read: list[int] = []

    def turns_of(number: int) -> list[Turn]:
        read.append(number)
        return [Turn((Message("user", "x" * chars, id=str(number)),))]

    decided = Workers(settings, _Held()).decide(range(9), turns_of)
    assert [(next(decided)[0], len(read)) for _ in range(3)] == [(0, ahead), (1, ahead + 1), (2, ahead + 2)]
    assert [item for item, _ in decided] == [3, 4, 5, 6, 7, 8]


def test_budget_of_calls_is_not_multiplied(vault: Path) -> None:
    settings = load_settings(vault=vault, max_calls_per_day=10)
    with pytest.raises(ConfigError, match="max_calls_per_day=10"), open_workers(settings, "local", 2):
        pass


def test_unknown_engine_is_named(vault: Path) -> None:
    with pytest.raises(ConfigError, match="engine='spark'"), open_workers(load_settings(), "spark", 2):
        pass


def _decisions(steps: Any) -> list[Any]:
    return [(s.verdict and s.verdict.decision, s.back_to, s.summed_up, s.summary) for s in steps]


@pytest.fixture
def cluster() -> Iterator[Any]:
    """Two nodes on this machine."""
    ray = pytest.importorskip("ray")
    utils = pytest.importorskip("ray.cluster_utils")
    made = utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    made.add_node(num_cpus=1)
    ray.init(address=made.address, log_to_driver=False)
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.mark.ray
@pytest.mark.filterwarnings("ignore")
def test_cluster_leaves_the_same_vault(saved: Path, tmp_path: Path, cluster: Any) -> None:
    assert replayed(saved, tmp_path / "one") == replayed(saved, tmp_path / "two", "--engine", "ray")


@pytest.mark.ray
@pytest.mark.filterwarnings("ignore")
def test_node_that_dies_costs_nothing(settings: Settings, cluster: Any) -> None:
    """One of three is taken away at work."""
    lost = cluster.add_node(num_cpus=1)
    with Workers(settings, RayCluster()) as workers:
        found = []
        for item, steps in workers.decide(range(8), turns):
            if item == 0:
                cluster.remove_node(lost, allow_graceful=False)
            found.append(steps)
    expected = _decisions(decide_ahead(turns(0), settings))
    assert [_decisions(steps) for steps in found] == [expected] * 8

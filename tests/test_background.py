"""Turns filed behind the agent's back: accepted at once, in order, and never lost."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agents import person, said, says, thread
from langchain.agents import create_agent

from automemory.boundary import BoundaryDecision
from automemory.decision import DecisionContext, Verdict
from automemory.memory import AutoMemory
from automemory.middleware import AutoMemoryMiddleware
from automemory.vaults import Pool

Open = Callable[..., AutoMemory]
MakeTurn = Callable[..., list[dict[str, Any]]]


class Slow:
    """Decides once it is let."""

    def __init__(self) -> None:
        self.let = threading.Event()

    async def decide(self, context: DecisionContext) -> Verdict:
        await asyncio.to_thread(self.let.wait, 20)
        new = context.active is None
        return Verdict(BoundaryDecision(continue_=not new, new_event_slug="one" if new else ""), "local")


@pytest.mark.parametrize("end", ["flush", "close"])
def test_turns_are_accepted_while_an_earlier_one_is_decided(
    open_memory: Open, turn: MakeTurn, vault: Path, end: str
) -> None:
    """`flush` and `close` wait for all of them; they are filed in the order they came."""
    decider = Slow()
    memory = open_memory(decider=decider, background=True)
    results = [memory.record(turn(number)) for number in range(3)]
    assert [result.outcome for result in results] == ["accepted"] * 3
    assert memory.status().waiting == 3 and not list(vault.glob("daily/*"))
    decider.let.set()
    getattr(memory, end)()
    assert said(vault) == [[f"Question {n}?", f"Answer {n}."] for n in range(3)]
    assert memory.status().counters["recorded"] == 3


async def test_async_forms_wait_for_it_too(open_memory: Open, turn: MakeTurn, vault: Path) -> None:
    memory = open_memory("one", background=True)
    results = await asyncio.gather(*(memory.arecord(turn(n), thread_id=f"t{n % 3}") for n in range(9)))
    assert {result.outcome for result in results} == {"accepted"}
    await memory.aflush()
    assert len(said(vault)) == 9
    assert [words[0] for words in said(vault, "t1")] == [f"Question {n}?" for n in (1, 4, 7)]


def test_known_turn_is_no_new_one(open_memory: Open, turn: MakeTurn, vault: Path) -> None:
    """Handed in again while it waits, and after it was filed."""
    memory = open_memory("one", background=True)
    for _ in range(2):
        memory.record(turn(1))
    memory.flush()
    assert memory.record(turn(1)).outcome == "duplicate"
    assert len(said(vault)) == 1


def test_agent_does_not_wait_for_the_decision(open_memory: Open, vault: Path) -> None:
    """Nor does its next turn, whose draft is stored meanwhile."""
    decider = Slow()
    memory = open_memory(decider=decider, background=True)
    agent = create_agent(says(), middleware=[AutoMemoryMiddleware(memory)])
    for number in range(3):
        agent.invoke({"messages": [person(number)]}, thread())
    assert memory.status().waiting == 3 and not list(vault.glob("daily/*"))
    decider.let.set()
    memory.flush()
    assert said(vault) == [[f"Question {n}?", f"Answer {n + 1}."] for n in range(3)]


SCRIPT = """
import asyncio, sys
from automemory.boundary import BoundaryDecision
from automemory.decision import Verdict
from automemory.memory import AutoMemory
class Slow:
    async def decide(self, context):
        await asyncio.sleep(float(sys.argv[2]))
        new = context.active is None
        return Verdict(BoundaryDecision(continue_=not new, new_event_slug="work" if new else ""), "local")
memory = AutoMemory(sys.argv[1], decider=Slow(), timezone="UTC", background=True)
for number in range(3):
    said = {"role": "user", "content": f"Question {number}?", "id": f"u{number}",
            "timestamp": f"2026-05-27T12:{number:02}:00+00:00"}
    print(memory.record([said]).outcome, flush=True)
"""


def test_interpreter_exit_waits_for_what_is_under_way(vault: Path) -> None:
    """B32: nobody has to call `close`."""
    run = subprocess.run([sys.executable, "-c", SCRIPT, str(vault), "0.05"], capture_output=True, check=True)
    assert run.stdout.split() == [b"accepted"] * 3 and not run.stderr
    assert said(vault) == [[f"Question {n}?"] for n in range(3)]


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_accepted_turns_outlive_the_process(open_memory: Open, vault: Path, how: signal.Signals) -> None:
    """B32: they are filed by whoever opens the vault next, in order."""
    command = [sys.executable, "-c", SCRIPT + "sys.stdin.read()", str(vault), "600"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert [process.stdout.readline() for _ in range(3)] == [b"accepted\n"] * 3
        os.kill(process.pid, how)
        process.communicate()
    open_memory("one").flush()
    assert said(vault) == [[f"Question {n}?"] for n in range(3)]


# Vaults of a template


def test_pool_lets_go_of_the_longest_unused(tmp_path: Path) -> None:
    """Never of one in use: then there are more for a while."""
    released: list[str] = []
    pool = Pool(lambda root: root.name, released.append, limit=2)
    for name in "abac":
        with pool.use(tmp_path / name):
            pass
    assert released == ["b"] and pool.opened() == ["a", "c"]
    with pool.use(tmp_path / "a"), pool.use(tmp_path / "c"), pool.use(tmp_path / "d"):
        assert pool.opened() == ["a", "c", "d"]
    with pool.use(tmp_path / "e"):
        assert len(pool.opened()) == 2


def test_vaults_are_closed_and_opened_again(
    open_memory: Open, turn: MakeTurn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More users than stay open: each holds its turns, and a draft stays one when its vault is let go."""
    memory = open_memory(*["one"] * 6, vault=tmp_path / "{user}")
    memory._pool._limit = 2
    from automemory.turn import Turn

    for round_ in range(2):
        for number in range(6):
            with memory.filled({"user": f"u{number}"}) as filled:
                filled.record(Turn.of(turn(round_), complete=False), thread_id="t")
                assert filled.record(turn(round_), thread_id="t").outcome == "recorded"
                filled.record(Turn.of(turn(9), complete=False), thread_id="draft")
    assert len(memory._pool.opened()) == 2
    memory.flush()
    for number in range(6):
        expected = [[f"Question {n}?", f"Answer {n}."] for n in range(2)]
        assert said(tmp_path / f"u{number}", "t") == expected


@pytest.mark.parametrize(
    "wrong", ["vaults/{}", "vaults/{0}", "{a.b}", "{user!r}", "{user:>9}", "vaults/{user"]
)
def test_wrong_template_is_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match="vault="):
        AutoMemory(wrong)


def test_template_itself_records_nothing(open_memory: Open, turn: MakeTurn, tmp_path: Path) -> None:
    """It says what is missing, and makes no folder of that name; pausing it pauses its vaults."""
    memory = open_memory("one", vault=tmp_path / "{user}")
    with pytest.raises(ValueError, match="user"):
        memory.record(turn(1))
    assert not list(tmp_path.iterdir())
    with memory.paused(), memory.filled({"user": "anna"}) as filled:
        assert filled.record(turn(1)).outcome == "excluded"
    assert memory.status().counters["excluded"] == 1

"""Memory broken in every way: the agent's answer arrives as it would without, and nobody waits for long."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from agents import WAYS, person, said, says, thread
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver

from automemory.callback import AutoMemoryCallbackHandler
from automemory.memory import AutoMemory
from automemory.middleware import AutoMemoryMiddleware

Open = Callable[..., AutoMemory]
HOLD_LOCK = """
import sys
from filelock import FileLock
with FileLock(sys.argv[1] + "/.automemory/vault.lock"):
    print("held", flush=True)
    sys.stdin.readline()
"""
HOLD_STATE = """
import sqlite3, sys
state = sqlite3.connect(sys.argv[1] + "/.automemory/state.db", isolation_level=None)
state.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
sys.stdin.readline()
"""


@contextmanager
def held(script: str, vault: Path) -> Iterator[None]:
    command = [sys.executable, "-c", script, str(vault)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout and holder.stdout.readline() == b"held\n"
        try:
            yield
        finally:
            holder.communicate(b"\n")


def lock_held(vault: Path) -> Any:
    return held(HOLD_LOCK, vault)


def state_held(vault: Path) -> Any:
    return held(HOLD_STATE, vault)


@contextmanager
def full_disk(vault: Path) -> Iterator[None]:
    def full(descriptor: int, data: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "write", full)
        yield


@contextmanager
def file_in_the_way(vault: Path) -> Iterator[None]:
    (vault / "daily").write_text("in the way", encoding="utf-8")
    yield
    (vault / "daily").unlink()


def answer_of(memory: AutoMemory, way: str, number: int = 1) -> str:
    agent = create_agent(
        says("The answer."), middleware=[AutoMemoryMiddleware(memory)], checkpointer=InMemorySaver()
    )
    return str(WAYS[way](agent, {"messages": [person(number)]}, thread())["messages"][-1].text)


@pytest.mark.parametrize("background", [False, True], ids=["inline", "background"])
@pytest.mark.parametrize("outage", [lock_held, state_held, full_disk, file_in_the_way])
@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
def test_answer_arrives_and_the_turn_is_filed_afterwards(
    open_memory: Open, vault: Path, outage: Any, way: str, background: bool
) -> None:
    """The decision budget bounds the wait; once the vault is back, nothing is missing."""
    memory = open_memory("one", lock_timeout_s=0.05, decide_timeout_s=2.0, background=background)
    memory.flush()
    with outage(vault):
        assert answer_of(memory, way) == "The answer."
    memory.flush()
    assert said(vault) == [["Question 1?", "The answer."]]


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
def test_vault_that_is_a_file(open_memory: Open, tmp_path: Path, way: str) -> None:
    """The status says what is wrong, and it is logged once, however many turns fail."""
    place = tmp_path / "vault"
    place.write_text("no folder", encoding="utf-8")
    memory = open_memory("one", vault=place)
    for number in range(3):
        assert answer_of(memory, way, number) == "The answer."
    status = memory.status()
    assert status.unstored and status.last_error
    place.unlink()
    memory.flush()


def test_failure_is_logged_once(open_memory: Open, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Every turn fails in the same way: one line says so, and the status counts them."""
    memory = open_memory("one", vault=tmp_path / "{user_id}")
    agent = create_agent(says(), middleware=[AutoMemoryMiddleware(memory)])
    with caplog.at_level(logging.WARNING, "automemory"):
        for number in range(3):
            agent.invoke({"messages": [person(number)]}, thread())
    assert len(caplog.records) == 1 and "user_id" in caplog.text
    assert memory.status().counters["failures"] >= 3


class Hanging:
    """A decider that never answers."""

    async def decide(self, context: Any) -> Any:
        await asyncio.Event().wait()


@pytest.mark.parametrize("background", [False, True], ids=["inline", "background"])
@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
def test_decider_that_hangs(open_memory: Open, vault: Path, way: str, background: bool) -> None:
    """B16: the answer waits no longer than the budget; the turn is filed by the fallback."""
    memory = open_memory(decider=Hanging(), decide_timeout_s=0.3, background=background)
    assert answer_of(memory, way) == "The answer."
    memory.flush()
    assert said(vault) == [["Question 1?", "The answer."]]


def test_handlers_failures_are_readable(open_memory: Open, tmp_path: Path) -> None:
    """B31: LangChain swallows what a callback raises; the handler's memory tells."""
    place = tmp_path / "vault"
    place.write_text("no folder", encoding="utf-8")
    handler = AutoMemoryCallbackHandler(open_memory("one", vault=place))
    agent = create_agent(says("The answer."))
    result = agent.invoke({"messages": [person(1)]}, {"callbacks": [handler]})
    assert result["messages"][-1].text == "The answer."
    status = handler.memory.status()
    assert status.unstored == 1 and "vault" in status.last_error
    place.unlink()
    handler.memory.flush()

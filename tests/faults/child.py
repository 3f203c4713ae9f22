"""What a forked process does: the steps of a job, one after the other, saying after each what came of it."""

from __future__ import annotations

import asyncio
import fcntl
import os
import resource
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from checker import problems
from conversation import CLOCK, KeywordDecider, Step
from faulty import Fault, Faults
from watching import tell, watch

from automemory.decision import NotifyCandidate
from automemory.errors import AutoMemoryError, VaultError
from automemory.hook import filing
from automemory.maintenance.doctor import repair
from automemory.maintenance.editor import Editor
from automemory.maintenance.rebuild import rebuild
from automemory.memory import AutoMemory
from automemory.redact import make_redactor
from automemory.synchronizer.toolkit import VaultToolkit

Say = Callable[..., None]
# Touches nothing, but what the library imports late is there before a fork.
AutoMemory("unused", decider=KeywordDecider())
make_redactor()("a text")
filing._SETTLED_S = 0.0  # transcripts are whole here
_holders: list[int] = []
OPTIONS: dict[str, Any] = {
    "timezone": "UTC",
    "clock": lambda: CLOCK,
    "decider": KeywordDecider(),
    "durability": "fsync",
}


def work(job: dict[str, Any], say: Say) -> None:
    vault = Path(job["vault"])
    watch(job["fault"])
    faults = Faults(Fault(**job["fault"]))
    faults.install()
    given = next((step["options"] for step in job["steps"] if "options" in step), {})
    memory = AutoMemory(vault, **(OPTIONS | given | job["options"]))
    for step in job["steps"]:
        try:
            _step(step, memory, faults, vault, say)
        except AutoMemoryError as error:
            say(error=f"{type(error).__name__}: {error}")
    tell()


def _step(step: Step, memory: AutoMemory, faults: Faults, vault: Path, say: Say) -> None:
    match step["do"]:
        case "turn":
            _record(step, memory, say)
        case "threads":
            with _memories(memory, vault) as memory_of:
                _at_once(step["turns"], lambda turn: _record(turn, memory_of(turn), say))
        case "tasks":
            with _memories(memory, vault) as memory_of:
                asyncio.run(_gather(step["turns"], memory_of, say))
        case "close":
            memory.close_event()
            say(done="close")
        case "flush":
            memory.flush()
            say(done="flush")
        case "end":
            memory.close()
            say(done="end")
        case "command":
            _command(step["what"], vault)
            say(done="command")
        case "write":
            kit = VaultToolkit(vault, timezone="UTC", clock=lambda: CLOCK, workspace=step["workspace"])
            kit.write(step["path"], step["content"], True)
            kit.close()
            say(done="write")
        case "properties":
            kit = VaultToolkit(vault, timezone="UTC", clock=lambda: CLOCK, workspace=step["workspace"])
            kit.property_update(step["path"], **step["fields"])
            kit.close()
            say(done="write")
        case "hook":
            words = [f"--vault={vault}", "--timezone=UTC", "--decider=local"]
            say(exit=filing.run(["claude-code", step["event"], step["transcript"], *words]))
        case "open":
            status = memory.status()
            say(waiting=status.waiting, unstored=status.unstored)
        case "arm":
            faults.arm(vault)
        case "heal":
            faults.heal()
        case "points":
            say(points=faults.met)
            tell(points=len(faults.met))
        case "check":
            say(problems=problems(vault, **step["expected"]))
        case "limit":  # a real full disk, for the system's writes and SQLite's alike
            _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (step["bytes"] or hard, hard))
        case "die":
            faults.die()
        case "die locked":
            with memory._engine.vault.store.committer.locked():
                faults.die()
        case "lock":
            _hold(vault)
        case "unlock":
            os.kill(_holders.pop(), signal.SIGKILL)
            os.wait()


def _command(what: list[str], vault: Path) -> None:
    """What a person commands: a correction, a rebuild of the indexes, a repair."""
    match what:
        case ["rebuild"]:
            rebuild(vault)
        case ["doctor"]:
            found = repair(vault, CLOCK, lambda agent: AutoMemory(vault, **OPTIONS, agent_id=agent or None))
            if found.error:
                raise VaultError(found.error)
        case [how, *arguments]:
            with Editor(vault) as editor:
                editor.make(lambda: getattr(editor, how)(*arguments), lambda correction: True)


def _hold(vault: Path) -> None:
    """Have another process take the vault's lock and keep it."""
    told, tell = os.pipe()
    holder = os.fork()
    if not holder:
        descriptor = os.open(vault / ".automemory/vault.lock", os.O_RDWR)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.write(tell, b"!")
        signal.pause()
    os.read(told, 1)
    _holders.append(holder)


def _record(step: Step, memory: AutoMemory, say: Say) -> None:
    notify = [NotifyCandidate(**each) for each in step.get("notify", ())]
    began = time.monotonic()
    result = memory.record(step["messages"], thread_id=step["thread"], event=step.get("event"), notify=notify)
    took = time.monotonic() - began
    say(outcome=result.outcome, id=result.turn_id, error_text=result.error, took=took)


async def _gather(turns: list[Step], memory_of: Callable[[Step], AutoMemory], say: Say) -> None:
    """The turns of each writer one after the other, all writers at once."""

    async def write(turns: list[Step]) -> None:
        for turn in turns:
            result = await memory_of(turn).arecord(turn["messages"], thread_id=turn["thread"])
            say(outcome=result.outcome, id=result.turn_id, error_text=result.error)

    await asyncio.gather(*map(write, _by_writer(turns)))


@contextmanager
def _memories(memory: AutoMemory, vault: Path) -> Iterator[Callable[[Step], AutoMemory]]:
    """A memory for each agent that is named, over one vault; closed in the end."""
    made = {"": memory}

    def memory_of(turn: Step) -> AutoMemory:
        agent = turn.get("agent", "")
        if agent not in made:
            made[agent] = AutoMemory(vault, **OPTIONS, agent_id=agent)
        return made[agent]

    yield memory_of
    for each in made.values():
        each.close()


def _each(record: Callable[[Step], None], turns: list[Step]) -> None:
    for turn in turns:
        record(turn)


def _at_once(turns: list[Step], record: Callable[[Step], None]) -> None:
    """The turns of each writer in a thread of its own."""
    workers = [threading.Thread(target=_each, args=(record, own)) for own in _by_writer(turns)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def _by_writer(turns: list[Step]) -> list[list[Step]]:
    streams: dict[str, list[Step]] = {}
    for turn in turns:
        streams.setdefault(turn["writer"], []).append(turn)
    return list(streams.values())

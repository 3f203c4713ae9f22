"""Turns recorded and notes written at the same time, by threads and by processes: nothing is lost."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from automemory.memory import AutoMemory
from automemory.synchronizer.toolkit import VaultToolkit
from automemory.vault.reader import Reader
from automemory.vault.sections import parse

NOW = datetime(2026, 5, 28, 14, 0, tzinfo=UTC)
FOLDER = "daily/2026-05-28/fix-login"
NOTE = f"{FOLDER}/fix-login.md"
TIMES = 12
SCRIPT = f"""
import sys
from datetime import UTC, datetime
from automemory.synchronizer.toolkit import VaultToolkit
kit = VaultToolkit(sys.argv[1], timezone="UTC", clock=lambda: datetime(2026, 5, 28, 14, 0, tzinfo=UTC))
print("ready", flush=True)
sys.stdin.readline()
for number in range({TIMES}):
    kit.write("{NOTE}", f"## Progress\\n- Step {{number}} of another\\n\\n## Next\\n- [ ] {{number}}", True)
    kit.write("{FOLDER}/another.md", f"text {{number}}")
"""


def turn(number: int) -> list[dict[str, Any]]:
    at = (NOW + timedelta(seconds=number)).isoformat()
    return [{"role": "user", "content": f"Question {number}?", "id": f"u{number}", "timestamp": at}]


def writer(vault: Path, name: str) -> Callable[[], None]:
    def write() -> None:
        kit = VaultToolkit(vault, timezone="UTC", clock=lambda: NOW)
        for number in range(TIMES):
            kit.write(NOTE, f"## Progress\n- Step {number} of {name}\n\n## Plan\nOf {name}", True)
            kit.write(f"{FOLDER}/{name}.md", f"text {number}")
        kit.close()

    return write


def check(vault: Path, names: list[str]) -> None:
    """Every turn, every step in its writer's order, and every material with its entry, is there once."""
    text = (vault / NOTE).read_text("utf-8")
    turns = Reader(vault).event(NOTE).turns
    assert [t.steps[0].text for t in turns] == [f"Question {n}?" for n in range(TIMES + 1)]
    progress = parse(text)["Progress"]
    for name in names:
        lines = [line for line in progress.split("\n") if line.endswith(f"of {name}")]
        assert lines == [f"- 2026-05-28 14:00 Step {n} of {name}" for n in range(TIMES)]
        files = [f"{name}.md", *(f"{name}-{n}.md" for n in range(2, TIMES + 1))]
        assert [(vault / FOLDER / file).read_text("utf-8") for file in files] == [
            f"text {n}\n" for n in range(TIMES)
        ]
        assert all(text.count(f"[[{FOLDER}/{file}|") == 1 for file in files)
    assert len(progress.split("\n")) == TIMES * len(names)


def test_threads_and_a_recorder_do_not_lose_each_others_writes(
    open_memory: Callable[..., AutoMemory], vault: Path
) -> None:
    """4.4: two writers of the note that a stream records into, at the same time."""
    memory = open_memory("fix login")
    memory.record(turn(0))
    workers = [threading.Thread(target=writer(vault, name)) for name in ("one", "two")]
    for worker in workers:
        worker.start()
    outcomes = [memory.record(turn(number)).outcome for number in range(1, TIMES + 1)]
    for worker in workers:
        worker.join()
    assert set(outcomes) <= {"recorded", "deferred"}  # deferred if the note changed again and again
    memory.flush()
    check(vault, ["one", "two"])


def test_another_process_and_a_recorder_do_not_lose_each_others_writes(
    open_memory: Callable[..., AutoMemory], vault: Path
) -> None:
    """4.4, across processes."""
    memory = open_memory("fix login")
    memory.record(turn(0))
    command = [sys.executable, "-c", SCRIPT, str(vault)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdin and other.stdout and other.stdout.readline() == "ready\n"
        other.stdin.write("go\n")
        other.stdin.flush()
        outcomes = [memory.record(turn(number)).outcome for number in range(1, TIMES + 1)]
        assert other.wait(60) == 0
    assert set(outcomes) <= {"recorded", "deferred"}
    memory.flush()
    check(vault, ["another"])


def test_calls_of_one_toolkit_at_once(vault: Path) -> None:
    """A model may make several calls in one message, which are run side by side."""
    kit = VaultToolkit(vault, timezone="UTC", clock=lambda: NOW)
    kit.write(NOTE, "## Plan\nA")
    calls = [
        threading.Thread(target=kit.write, args=(f"{FOLDER}/m.md", f"text {number}"))
        for number in range(TIMES)
    ]
    for call in calls:
        call.start()
    for call in calls:
        call.join()
    kit.close()
    assert len(list((vault / FOLDER).iterdir())) == TIMES + 1
    assert parse((vault / NOTE).read_text("utf-8"))["Materials"].count("\n") == TIMES - 1
    assert len(kit.records) == TIMES + 1

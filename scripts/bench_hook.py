"""Time until a coding agent's host goes on: `python scripts/bench_hook.py [--lines 10 1000 20000]`.

Calls `automemory hook claude-code` as the host does, a process a call: Stop, with one new turn at the end of
a transcript of so many lines whose other turns are known, and SessionStart, which hands back a note. Prints
medians in seconds, and the processor time of a call, which a busy machine spoils less. The process that
files behind the host's back is not started, so that calls do not wait for each other's.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import resource
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from automemory import AutoMemory, __version__
from automemory.acceptance import Acceptance
from automemory.agent_store import Options
from automemory.agent_vault import AgentVault
from automemory.hook.transcript import session
from automemory.intake import Intake, Submission
from automemory.redact import redact

START = time.time() - 80_000
WORDS = "the second step reads the file twice, so it is slower than the first one. " * 5
QUIET = f"import sys; sys.executable = {shutil.which('true')!r}; from automemory.cli import main; main()"


def line(number: int) -> str:
    role = ("user", "assistant")[number % 2]
    content: Any = f"Step {number}: {WORDS}" if role == "user" else [{"type": "text", "text": WORDS}]
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(START + 2 * number))
    about = {
        "type": role,
        "uuid": str(UUID(int=number)),
        "sessionId": "s",
        "timestamp": at,
        "isSidechain": False,
    }
    parent = {"parentUuid": str(UUID(int=number - 1)) if number else None}
    return json.dumps({**about, **parent, "message": {"role": role, "content": content}}) + "\n"


def prepared(folder: Path, lines: int) -> tuple[Path, Path]:
    """A transcript, and a vault that knows its turns."""
    transcript, vault = folder / f"{lines}.jsonl", folder / f"vault-{lines}"
    transcript.write_text("".join(map(line, range(lines))), encoding="utf-8", newline="")
    found = session(transcript)
    assert found is not None
    with AutoMemory(vault, decider="local", durability="os") as memory:
        memory.record(found.turns[0], thread_id=found.stream)
    opened = AgentVault(Options(vault, durability="os"), lambda: datetime.now().astimezone(), redact)
    acceptance = Acceptance(opened, Intake(redact))

    async def accept() -> None:
        for turn in found.turns[1:]:
            await acceptance.accept(Submission(turn, found.stream))
        await opened.close()

    asyncio.run(accept())
    with closing(sqlite3.connect(vault / ".automemory/state.db")) as state:  # as if they had been decided
        state.execute("UPDATE turns SET state='filed', filed=messages, payload=NULL")
        state.commit()
    return transcript, vault


def call(event: str, transcript: Path, vault: Path) -> tuple[float, float]:
    """Wall clock and processor time of one call, in seconds."""
    given = json.dumps({"hook_event_name": event, "transcript_path": str(transcript), "session_id": "s"})
    words = [sys.executable, "-c", QUIET, "hook", "claude-code", "--vault", str(vault)]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(words, input=given, capture_output=True, text=True, encoding="utf-8", check=True)
    took, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.stderr or (event == "SessionStart" and "additionalContext" not in done.stdout):
        raise SystemExit(f"{event} failed: {done.stderr or done.stdout or 'no note'}")
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lines", type=int, nargs="*", default=[10, 1000, 20_000])
    parser.add_argument("--runs", type=int, default=20)
    options = parser.parse_args()
    machine = f"{platform.machine()}, {os.cpu_count()} cores"
    print(
        f"automemory {__version__}, Python {platform.python_version()}, {machine}, {options.runs} runs each"
    )
    with tempfile.TemporaryDirectory() as folder:
        for lines in options.lines:
            transcript, vault = prepared(Path(folder), lines)
            for event in ("SessionStart", "Stop"):
                times = []
                for run in range(options.runs):
                    if event == "Stop":
                        with transcript.open("a", encoding="utf-8", newline="") as file:
                            file.write("".join(map(line, range(lines + 2 * run, lines + 2 * run + 2))))
                    times.append(call(event, transcript, vault))
                wall, spent = (statistics.median(column) for column in zip(*times, strict=True))
                slowest = max(wall for wall, _ in times)
                print(
                    f"{lines:6,} lines, {event:12} median {wall:.2f} s, slowest {slowest:.2f} s, "
                    f"processor time {spent:.2f} s",
                    flush=True,
                )


if __name__ == "__main__":
    main()

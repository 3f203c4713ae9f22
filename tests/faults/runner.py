"""Runs conversations in forked processes, so that a run costs no imports and can be killed.

Run as a script it is the server: it imports the library, never starts its loop, and forks a child for each
job. `Runner` is the client.
"""

from __future__ import annotations

import faulthandler
import gc
import json
import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

AT_ONCE = 3
LONGEST_S = 60


@dataclass(frozen=True)
class Job:
    """One process: steps over a vault (`conversation.Step`, or what `child._step` knows), and a fault.

    It is ended, and that is an error, if it takes longer than `longest_s` seconds.
    """

    vault: Path
    steps: Sequence[dict[str, Any]]
    fault: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    longest_s: int = LONGEST_S


@dataclass(frozen=True)
class Run:
    """What became of a job: what each finished step had to say, and whether the process was killed."""

    said: list[dict[str, Any]]
    killed: bool

    def get(self, key: str) -> list[Any]:
        return [line[key] for line in self.said if key in line]

    @property
    def acknowledged(self) -> list[str]:
        """Ids of the turns that were reported as recorded."""
        return [
            line["id"] for line in self.said if line.get("outcome") in {"recorded", "duplicate", "extended"}
        ]


class Runner:
    """Hands jobs to the server."""

    def __init__(self) -> None:
        command = [sys.executable, str(Path(__file__).resolve())]
        self._server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def run(self, *jobs: Job, at_once: int = AT_ONCE) -> list[Run]:
        """Run jobs, some at a time.

        Raises:
            AssertionError: if a process ended by anything but its end or a kill.
        """
        assert self._server.stdin and self._server.stdout
        request = {"jobs": [{**asdict(job), "vault": str(job.vault)} for job in jobs], "at_once": at_once}
        self._server.stdin.write(json.dumps(request).encode() + b"\n")
        self._server.stdin.flush()
        runs = [Run(**answer) for answer in json.loads(self._server.stdout.readline())]
        assert all(run.get("over") or run.killed for run in runs), "a process hung, or was ended"
        crashes = [text for run in runs for text in run.get("crash")]
        assert not crashes, crashes[0]
        return runs

    def close(self) -> None:
        self._server.communicate(timeout=60)


def serve(work: Callable[[dict[str, Any], Callable[..., None]], None]) -> None:
    gc.freeze()  # a collection in a child would copy all of our memory
    for line in sys.stdin.buffer:
        request = json.loads(line)
        started: list[tuple[int, int]] = []
        answers = []
        for job in request["jobs"]:
            if len(started) == request["at_once"]:
                answers.append(_end(*started.pop(0)))
            started.append(_start(work, job))
        answers += [_end(*child) for child in started]
        sys.stdout.write(json.dumps(answers) + "\n")
        sys.stdout.flush()


def _start(work: Callable[..., None], job: dict[str, Any]) -> tuple[int, int]:
    read_end, write_end = os.pipe()
    child = os.fork()
    if child:
        os.close(write_end)
        return child, read_end
    os.dup2(2, 1)  # what a child prints is no answer
    faulthandler.dump_traceback_later(job["longest_s"], exit=True)
    write = os.write

    def say(**line: Any) -> None:
        write(write_end, json.dumps(line).encode() + b"\n")

    try:
        work(job, say)
        say(over=True)
    except BaseException:
        say(crash=traceback.format_exc(), over=True)
    finally:
        os._exit(0)


def _end(child: int, read_end: int) -> dict[str, Any]:
    with os.fdopen(read_end, "rb") as pipe:
        lines = pipe.read().split(b"\n")
    _, status = os.waitpid(child, 0)
    return {"said": [json.loads(line) for line in lines if line], "killed": os.WIFSIGNALED(status)}


if __name__ == "__main__":
    from child import work

    serve(work)

"""Measure replays: `python scripts/bench_replay.py [--sizes 1 100 1000] [--data DIR] [--ways one two ray]`.

Replays generated exports of so many megabytes, of 200 turns each, so that a large one has few, huge messages;
and labelled sets, if a folder of them is given. Each on one core, by two workers on two, and by Ray if it is
installed, in a process of its own. Prints turns a second from the first turn recorded to the last, the same
by processor time (which a busy machine does not spoil), and the peak of memory.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from automemory import __version__

TURNS, CONVERSATIONS = 200, 10
START = 1_777_600_000
WORDS = "the second step reads the file twice, so it is slower than the first one; "
TOPICS = ("the login redirect", "a weekend trip", "last month's orders", "the flaky parser test")
SETS = ("sgd.val.jsonl", "spliced-agent-nocue.dev.jsonl")
WAYS = {"one": (1, "local", 1), "two": (2, "local", 2), "ray": (2, "ray", 2)}
"""Cores, engine, workers."""
Said = tuple[int, str, str]


def said(size: int, conversation: int) -> Iterator[Said]:
    """Number, role and text of a conversation's messages."""
    length = size // (2 * TURNS)
    for number in range(2 * TURNS // CONVERSATIONS):
        topic = TOPICS[(conversation + number // 8) % len(TOPICS)]
        opening = f"Step {number} of conversation {conversation}: what about {topic}? "
        text = opening + WORDS * (max(0, length - len(opening)) // len(WORDS))
        yield number, ("user", "assistant")[number % 2], text


def write_chatgpt(path: Path, size: int) -> None:
    """An export of ChatGPT: one array of conversations, each a tree of messages."""
    with path.open("w", encoding="utf-8") as file:
        for c in range(CONVERSATIONS):
            file.write("[" if c == 0 else ",")
            at = START + 86_400 * c
            head = {"title": f"Talk {c}", "create_time": at, "conversation_id": f"c{c}"}
            head["current_node"] = f"c{c}-{2 * TURNS // CONVERSATIONS - 1}"
            file.write(json.dumps(head)[:-1] + ', "mapping": {')
            for number, role, text in said(size, c):
                name, before = f"c{c}-{number}", f"c{c}-{number - 1}" if number else None
                content = {"content_type": "text", "parts": [text]}
                message = {"id": name, "author": {"role": role}, "create_time": at + number * 60}
                node: dict[str, Any] = {
                    "id": name,
                    "parent": before,
                    "children": [],
                    "message": message | {"content": content},
                }
                file.write((", " if number else "") + json.dumps(name) + ": " + json.dumps(node))
            file.write("}}")
        file.write("]")


def write_claude_code(folder: Path, size: int) -> None:
    """Transcripts of Claude Code: one file a session, a line a message."""
    folder.mkdir()
    for c in range(CONVERSATIONS):
        with (folder / f"s{c}.jsonl").open("w", encoding="utf-8") as file:
            for number, role, text in said(size, c):
                at = time.gmtime(START + 86_400 * c + number * 60)
                line: dict[str, Any] = {
                    "type": role,
                    "uuid": f"s{c}-{number}",
                    "sessionId": f"s{c}",
                    "cwd": "/p",
                }
                line |= {"parentUuid": f"s{c}-{number - 1}" if number else None, "isSidechain": False}
                line |= {"timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", at)}
                file.write(json.dumps(line | {"message": {"role": role, "content": text}}) + "\n")


WRITERS = {"chatgpt": write_chatgpt, "claude-code": write_claude_code}


def measure(source: Path, engine: str, workers: int) -> dict[str, float]:
    """Replay in this process; what it took."""
    from automemory.replay import Progress, replay
    from automemory.replay.workers import open_workers
    from automemory.settings import load_settings

    marks: list[tuple[float, float]] = []

    def step(progress: Progress) -> None:
        if progress.phase == "recording":
            marks.append((time.perf_counter(), time.process_time()))

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as vault:
        settings = load_settings(vault=Path(vault), timezone="UTC", decider="local")
        with open_workers(settings, engine, workers) as ahead:
            options: dict[str, Any] = {"decider": ahead.ahead} if ahead else {}
            with settings.memory(durability="os", recent_scope="stream", **options) as memory:
                began = time.perf_counter()
                report = replay([source], memory, on_progress=step, workers=ahead)
                took = time.perf_counter() - began
    turns = report.outcomes["recorded"]
    wall, spent = (marks[-1][i] - marks[0][i] for i in (0, 1))
    return {
        "turns": turns,
        "seconds": took,
        "rate": (turns - 1) / max(wall, 1e-9),
        "by_cpu": (turns - 1) / max(spent, 1e-9),
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "worker": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024,
    }


def run(source: Path, name: str, way: str) -> None:
    cores, engine, workers = WAYS[way]
    available = sorted(os.sched_getaffinity(0))[:cores]
    words = [sys.executable, __file__, "--measure", str(source), engine, str(workers)]
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        preexec_fn=lambda: os.sched_setaffinity(0, available),
    )
    if done.returncode:
        print(f"{name:32} {way:4} failed: {done.stderr.strip()[-200:]}", flush=True)
        return
    m = json.loads(done.stdout.splitlines()[-1])
    by_cpu = f" ({m['by_cpu']:.0f} by processor time)" if way == "one" else ""
    largest = f", largest worker {m['worker']:.0f} MB" if way == "two" else ""
    rate = f"{m['rate']:6.0f} turns/s{by_cpu}, peak {m['memory']:.0f} MB{largest}"
    print(f"{name:32} {way:4} {m['turns']:6.0f} turns in {m['seconds']:6.1f} s: {rate}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="*", default=[1, 100, 1000], help="megabytes")
    parser.add_argument("--forms", nargs="*", default=list(WRITERS), choices=list(WRITERS))
    parser.add_argument("--ways", nargs="*", default=list(WAYS), choices=list(WAYS))
    parser.add_argument("--data", type=Path, help="a folder of labelled sets")
    parser.add_argument("--dialogues", type=int, help="of each labelled set, at most")
    parser.add_argument("--measure", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        source, engine, workers = options.measure
        print(json.dumps(measure(Path(source), engine, int(workers))))
        return
    ways = [way for way in options.ways if way != "ray" or find_spec("ray")]
    machine = f"{platform.machine()}, {os.cpu_count()} cores"
    print(f"automemory {__version__}, Python {platform.python_version()}, {machine}, durability=os")
    with tempfile.TemporaryDirectory() as folder:
        for size in options.sizes:
            for form in options.forms:
                source = Path(folder, f"{form}-{size}")
                WRITERS[form](source, size * 1_000_000)
                for way in ways:
                    run(source, f"{form}, {size:,} MB", way)
                subprocess.run(["rm", "-r", str(source)], check=True)
        for name in SETS if options.data else ():
            lines = (options.data / name).read_text(encoding="utf-8").split("\n")[: options.dialogues]
            source = Path(folder, name)
            source.write_text("\n".join(lines) + "\n", encoding="utf-8")
            for way in ways:
                run(source, name, way)


if __name__ == "__main__":
    main()

"""Time a turn, and what takes it: `python scripts/bench_turn.py [--turns 10000] [--events 5000]`.

Records turns of about 100 tokens through the front door with the local decider, and prints medians in
milliseconds: for the first turns of a vault, around turn 1 000 and 10 000, and on a day that has thousands of
events already; with and without syncing. Turns in between are recorded with a decider that answers at once,
since only their number matters.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from automemory import __version__
from automemory.acceptance import Acceptance
from automemory.boundary import BoundaryDecision
from automemory.deciders.local import LocalDecider
from automemory.decision import DecisionContext, EventSummary, EventView, Exchange, Verdict
from automemory.engine import Engine
from automemory.memory import AutoMemory
from automemory.vault.commit import Committer
from automemory.vault.layout import event_path
from automemory.vault.note import new_note
from automemory.vault.state import State

START = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)
TOPICS = (
    "the login redirect",
    "a weekend trip to the coast",
    "the export of last month's orders",
    "the flaky parser test",
)
WORDS = (
    "we looked at it again and found the second step slower than the first, since it reads the file twice "
)
SAMPLE = 40


class Switchable:
    """The local decider while `real`, otherwise one that opens an event every 25 turns."""

    def __init__(self) -> None:
        self.local = LocalDecider()
        self.real = False
        self.count = 0

    async def decide(self, context: DecisionContext) -> Verdict:
        self.count += 1
        if self.real:
            return await self.local.decide(context)
        opens = context.active is None or self.count % 25 == 0
        decision = BoundaryDecision(
            continue_=not opens, new_event_slug=f"task {self.count}", summary_patch="A step."
        )
        return Verdict(decision, "local", 0.1)

    async def summarize(self, event: EventView, turns: list[Exchange]) -> EventSummary:
        return await self.local.summarize(event, turns)


def turn(number: int, at: datetime) -> list[dict[str, Any]]:
    topic = TOPICS[number // 12 % len(TOPICS)]
    question = f"Step {number}: what is next for {topic}? {WORDS * 2}"
    return [
        {"role": "user", "content": question, "timestamp": at.isoformat(), "id": f"m{number}"},
        {"role": "assistant", "content": f"For {topic}, {WORDS * 2}"},
    ]


class Meter:
    """Adds up where the time of the turns under measurement goes, and counts syncs."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = defaultdict(float)
        self.syncs = 0
        self._wrap(Acceptance, "store", "accept")
        self._wrap(Engine, "_locate", "locate")
        self._wrap(Committer, "commit", "commit")
        for name in ("put_turn", "put_plan"):
            self._count(State, name)
        fsync = os.fsync

        def counted(descriptor: int) -> None:
            self.syncs += 1
            fsync(descriptor)

        os.fsync = counted  # type: ignore[assignment]

    def _wrap(self, owner: type, name: str, part: str) -> None:
        function: Callable[..., Any] = getattr(owner, name)

        def timed(*args: Any, **kwargs: Any) -> Any:
            began = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                self.spent[part] += (time.perf_counter() - began) * 1000

        setattr(owner, name, timed)

    def _count(self, owner: type, name: str) -> None:
        function: Callable[..., Any] = getattr(owner, name)

        def counted(state: State, *args: Any) -> Any:
            self.syncs += state.synced
            return function(state, *args)

        setattr(owner, name, counted)


METER = Meter()


@contextmanager
def memory(vault: Path, durability: str) -> Iterator[tuple[AutoMemory, Switchable]]:
    decider = Switchable()
    with AutoMemory(vault, decider=decider, timezone="UTC", durability=durability) as opened:  # type: ignore[arg-type]
        yield opened, decider


def measure(opened: AutoMemory, decider: Switchable, first: int, start: datetime, label: str) -> float:
    """Record `SAMPLE` turns with the local decider and print what they took; gives the median in ms."""
    decider.real = True
    times, deciding, syncs = [], [], defaultdict(list)
    METER.spent.clear()
    for i in range(SAMPLE):
        METER.syncs, began = 0, time.perf_counter()
        result = opened.record(turn(first + i, start + timedelta(seconds=5 * i)))
        times.append((time.perf_counter() - began) * 1000)
        deciding.append(result.verdict.ms if result.verdict else 0.0)
        syncs["continue" if result.closed is None else "open and close"].append(METER.syncs)
    for i in range(3):
        METER.syncs = 0
        opened.record(turn(first + SAMPLE + i, start + timedelta(minutes=9, seconds=i)), event="new")
        syncs["open and close"].append(METER.syncs)
    decider.real = False
    parts = {name: spent / SAMPLE for name, spent in METER.spent.items()} | {
        "decider": statistics.mean(deciding)
    }
    rest = statistics.mean(times) - sum(parts.values())
    shown = "  ".join(f"{name} {parts[name]:.1f}" for name in ("accept", "locate", "decider", "commit"))
    counted = ", ".join(f"{max(n)} to {kind}" for kind, n in syncs.items())
    print(
        f"{label:34} median {statistics.median(times):6.1f} ms   "
        f"p90 {sorted(times)[int(SAMPLE * 0.9)]:6.1f}   mean of: {shown}  "
        f"graph and hand-over {rest:.1f}   syncs: {counted}",
        flush=True,
    )
    return statistics.median(times)


def grown_vault(turns: int, durability: str) -> None:
    marks = [mark for mark in (10, 1_000, 10_000) if mark <= turns]
    with tempfile.TemporaryDirectory() as folder, memory(Path(folder), durability) as (opened, decider):
        opened.record(turn(0, START))
        done, medians = 1, []
        for mark in marks:
            for number in range(done, mark):
                opened.record(turn(number, START + timedelta(minutes=4 * number)))
            at = START + timedelta(minutes=4 * mark)
            medians.append(measure(opened, decider, mark, at, f"turn {mark:,} of a vault"))
            done = mark + SAMPLE + 3
        print(
            f"{'':34} turn {marks[-1]:,} takes {medians[-1] / medians[0]:.2f} x turn {marks[0]}", flush=True
        )


def full_day(events: int, durability: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        vault, day = Path(folder), START.date().isoformat()
        lines = [f"# {day}", "", "## Events"]
        for number in range(events):
            path = event_path(day, f"task-{number}")
            fields = {"name": f"task-{number}", "title": f"Task {number}", "description": "One of many."}
            fields |= {"status": "active", "created": day, "updated": day, "thread": "other"}
            fields |= {"closed": START.isoformat(), "closed_by": "switch", "summary_by": "extract"}
            (vault / path).parent.mkdir(parents=True)
            (vault / path).write_text(new_note(fields, "", ""), encoding="utf-8", newline="")
            lines.append(f"- [[{path}|task-{number}]] — One of many.")
        if events:
            (vault / f"daily/{day}.md").write_text("\n".join(lines) + "\n", encoding="utf-8", newline="")
        with memory(vault, durability) as (opened, decider):
            opened.record(turn(0, START))
            measure(opened, decider, 1, START + timedelta(minutes=5), f"day of {events:,} events")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--turns", type=int, default=10_000)
    parser.add_argument("--events", type=int, default=5_000)
    options = parser.parse_args()
    machine = f"{platform.machine()}, {os.cpu_count()} cores"
    print(f"automemory {__version__}, Python {platform.python_version()}, {machine}")
    for durability in ("fsync", "os"):
        print(f"\ndurability={durability}: {SAMPLE} turns each, local decider")
        grown_vault(options.turns, durability)
        full_day(0, durability)
        full_day(options.events, durability)


if __name__ == "__main__":
    main()

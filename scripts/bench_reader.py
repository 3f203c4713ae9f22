"""Time the reading of a large vault: `python scripts/bench_reader.py [--events 50000] [--repeat 5]`.

Makes a vault in a temporary folder: days of 100 events of three turns each, about 3 kB a note, and one day
of 5 000; every twentieth event goes on with one of the day before, every tenth links to one of 200 resources.
Prints medians in milliseconds. Files are read from the system's cache; nothing is kept between two calls.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

from automemory import __version__
from automemory.notify import watch_acks
from automemory.turn import Step
from automemory.vault.event import RecordedTurn
from automemory.vault.index import line, new_index, tail
from automemory.vault.layout import day_index_path, event_path
from automemory.vault.note import new_note, turn_block
from automemory.vault.reader import Reader

START = datetime(2025, 1, 1, 8, 0, tzinfo=UTC)
A_DAY, FULL_DAY, RESOURCES = 100, 5_000, 200
WORDS = (
    "we looked at it again and found the second step slower than the first, since it reads the file twice. "
)


def note(number: int, at: datetime, inherits: str, refs: tuple[str, ...]) -> str:
    steps = (
        Step("user", f"Step {number}: what is next? {WORDS}"),
        Step("tool", f"{WORDS * 2}\n[[ -f x ]] && echo [[resource/r-0.md]]", "bash", '{"command": "ls"}'),
        Step("assistant", WORDS * 3),
    )
    turns = [
        RecordedTurn(
            f"{number:08x}{i:08x}", at + timedelta(seconds=i), 4, "local", steps, 0.1, "A step.", refs
        )
        for i in range(3)
    ]
    fields = {
        "name": f"task-{number}",
        "title": f"Task {number}",
        "description": "One of many.",
        "status": "active",
    }
    fields |= {"created": f"{at:%Y-%m-%d}", "updated": f"{at:%Y-%m-%d}"}
    fields |= {"inherits": f"[[{inherits}]]"} if inherits else {}
    fields |= {"thread": "main", "closed": at.isoformat(), "closed_by": "switch", "summary_by": "extract"}
    above = f"Continues [[{inherits}|task]]." if inherits else ""
    return new_note(fields, above, "\n".join(turn_block(turn) for turn in turns))


def write_day(vault: Path, first: int, count: int, at: datetime, before: list[str]) -> list[str]:
    """Write one day of events; returns their notes' paths."""
    day, paths, index = f"{at:%Y-%m-%d}", [], [new_index(f"{at:%Y-%m-%d}").rstrip()]
    for number in range(first, first + count):
        path = event_path(day, f"task-{number}")
        inherits = before[(number - first) % len(before)] if before and number % 20 == 0 else ""
        refs = (f"resource/r-{number % RESOURCES}.md",) if number % 10 == 0 else ()
        (vault / path).parent.mkdir(parents=True)
        text = note(number, at + timedelta(seconds=8 * (number - first)), inherits, refs)
        (vault / path).write_text(text, encoding="utf-8", newline="")
        paths.append(path)
        index.append(f"{line(path)} — {tail('One of many.')}")
    (vault / day_index_path(day)).write_text("\n".join(index) + "\n", encoding="utf-8", newline="")
    return paths


def make_vault(vault: Path, events: int) -> list[list[str]]:
    """Write the vault; returns its notes' paths by day, the full day last."""
    (vault / "resource").mkdir()
    for number in range(RESOURCES):
        (vault / f"resource/r-{number}.md").write_text("A resource.\n", encoding="utf-8")
    days: list[list[str]] = []
    for first in range(0, events - FULL_DAY, A_DAY):
        days.append(
            write_day(vault, first, A_DAY, START + timedelta(days=len(days)), days[-1] if days else [])
        )
    days.append(write_day(vault, events - FULL_DAY, FULL_DAY, START + timedelta(days=len(days)), []))
    return days


def measure(label: str, repeat: int, act: Callable[[], object]) -> None:
    times = []
    for _ in range(repeat):
        began = time.perf_counter()
        found = act()
        times.append((time.perf_counter() - began) * 1000)
    size = len(found) if hasattr(found, "__len__") else 1
    print(f"{label:48} median {statistics.median(times):9.1f} ms   finds {size:,}", flush=True)


def measure_watching(vault: Path, note: str, acknowledged: int, repeat: int) -> None:
    """How long the watching takes to begin, and an acknowledgement to be told."""
    for number in range(repeat):
        (vault / f"resource/new-{number}.md").write_text("New.\n", encoding="utf-8")
    began = time.perf_counter()
    with closing(watch_acks(vault, known=())) as watched:
        for _ in range(acknowledged):
            next(watched)
        print(f"{'watch: until it has begun':48} once   {(time.perf_counter() - began) * 1000:9.1f} ms")
        numbers = iter(range(repeat))

        def acknowledge() -> None:
            with (vault / note).open("a", encoding="utf-8") as file:
                file.write(f"[[resource/new-{next(numbers)}.md]]\n")
            next(watched)

        measure("watch: from a line in a note to its report", repeat, acknowledge)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--events", type=int, default=50_000)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    if options.events < FULL_DAY + 40 * A_DAY:
        parser.error(f"--events has to be at least {FULL_DAY + 40 * A_DAY}")
    machine = f"{platform.machine()}, {os.cpu_count()} cores"
    print(f"automemory {__version__}, Python {platform.python_version()}, {machine}")
    with tempfile.TemporaryDirectory() as folder:
        days = make_vault(Path(folder), options.events)
        print(f"{options.events:,} events on {len(days)} days")
        run(Reader(folder), days, options.repeat)
        acknowledged = len(Reader(folder).acknowledged())
        measure_watching(Path(folder), days[0][0], acknowledged, options.repeat)


def run(reader: Reader, days: list[list[str]], repeat: int) -> None:
    day, full = days[10][0].split("/")[1], days[-1][0].split("/")[1]
    month = (days[5][0].split("/")[1], days[34][0].split("/")[1])
    watermark = reader.changed().watermark
    measure("events of a day of 100", repeat, lambda: reader.events(since=day, until=day))
    measure("events of a day of 5,000", repeat, lambda: reader.events(since=full, until=full))
    measure("events of 30 days of 100", repeat, lambda: reader.events(since=month[0], until=month[1]))
    measure(
        "events of 30 days with a text",
        repeat,
        lambda: reader.events(since=month[0], until=month[1], text="nowhere"),
    )
    measure("day: the index of 100", repeat, lambda: reader.day(day).lines)
    measure("chain of an event of the last days", repeat, lambda: reader.chain(days[-2][0]))
    measure("chain of the first event", repeat, lambda: reader.chain(days[0][0]))
    measure("backlinks of an event", repeat, lambda: reader.backlinks(days[10][0]))
    measure("backlinks of a resource", repeat, lambda: reader.backlinks("resource/r-0.md"))
    measure("acknowledged", repeat, lambda: reader.acknowledged())
    measure("acknowledged on one day", repeat, lambda: reader.acknowledged(since=day, until=day))
    measure("changed since nothing changed", repeat, lambda: reader.changed(watermark).new)
    measure("changed without a watermark", repeat, lambda: reader.changed().new)
    print(f"a watermark has {len(watermark) / 1e6:.1f} MB")


if __name__ == "__main__":
    main()

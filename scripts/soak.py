"""Records a month of turns while its process is killed again and again, and checks what is there at the end.

    python scripts/soak.py                 # 10 000 turns over 30 days
    python scripts/soak.py --turns 500     # a minute's worth

Each process records a batch of turns of several threads and is killed at a random write, rename, link or
transaction, or not at all. The next one begins with the first turn that was not acknowledged. At the end
the checker of `tests/faults` (written from `docs/vault-format.md` alone) has to find every turn once and in
order.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "faults"))

from checker import problems
from conversation import turn
from runner import Job, Runner

THREADS, BATCH, DAYS = 4, 60, 30
POINTS = 12 * BATCH  # about as many operations as a batch has


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--turns", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=7)
    chosen = parser.parse_args()
    steps = conversation(chosen.turns)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="automemory-soak-") as folder:
        vault = Path(folder) / "vault"
        ids, kills = soak(vault, steps, random.Random(chosen.seed))
        orders = [
            [id for id, step in zip(ids, steps, strict=True) if step["thread"] == f"t{n}"]
            for n in range(THREADS)
        ]
        found = problems(vault, ids, orders, finished=True)
        events = len(list(vault.glob("daily/*/*/")))
    print(f"{len(steps)} turns over {DAYS} days, seed {chosen.seed}: {kills} kills, {events} events")
    print(f"{len(set(ids))} turns acknowledged, {time.monotonic() - began:.0f} s")
    print("\n".join(found) if found else "the checker finds nothing wrong")
    return bool(found)


def conversation(count: int) -> list[dict[str, Any]]:
    """Turns of several threads by turns, spread over the days; every ninth opens an event."""
    each = -(-count // DAYS)
    made = []
    for number in range(count):
        day, minute = divmod(number, each)
        about = f"topic{number // 9 % 40}" if number % 9 == 0 else ""
        step = turn(minute, about, day=day, thread=f"t{number % THREADS}")
        for message in step["messages"]:
            message["id"] += f"-{day}"
        made.append(step)
    return made


def soak(vault: Path, steps: list[dict[str, Any]], chance: random.Random) -> tuple[list[str], int]:
    """Record all turns; gives their ids and how many processes were killed."""
    runner, ids = Runner(), []
    outcomes: Counter[str] = Counter()
    try:
        while len(ids) < len(steps):
            batch = steps[len(ids) : len(ids) + BATCH]
            fault = {"at": chance.randrange(2 * POINTS), "how": "kill"}
            [run] = runner.run(Job(vault, [{"do": "arm"}, *batch], fault, {"durability": "os"}))
            ids += run.get("id")
            outcomes.update(run.get("outcome"), kills=run.killed)
        runner.run(Job(vault, [{"do": "flush"}, {"do": "end"}]))
    finally:
        runner.close()
    print(", ".join(f"{count} {name}" for name, count in outcomes.most_common()))
    return ids, outcomes["kills"]


if __name__ == "__main__":
    sys.exit(main())

"""Runs every fault of `tests/faults` and prints what was met: points, faults, runs, failures, lines reached.

    python scripts/fault_run.py            # everything, half an hour on two cores
    python scripts/fault_run.py --sample   # what an ordinary test run has

A point is an operation that changes the disk, met in an undisturbed run of a scenario. A fault is one of them
killed, cut off from power, refused, done by half, or preceded by a person's save. Lines are those inside the
functions of the modules that touch the vault's disk; those of other systems are counted apart. What the
faults did not reach, the tests of damaged and hostile vaults may: they are run as well, and counted apart.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FAULTS = ROOT / "tests" / "faults"
HOSTILE = [f"tests/{name}" for name in ("hostile", "vault", "maintenance", "hook", "synchronizer")]
# About half of the work.
IN_COMMITS = {"test_concurrency", "test_full_disk", "test_hook", "test_kill", "test_power"}
sys.path.insert(0, str(FAULTS))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sample", action="store_true", help="only what an ordinary test run has")
    chosen = parser.parse_args()
    slow = [] if chosen.sample else ["-m", "slow or not slow", "-k", "not 8x50"]  # many writers are no fault
    files = sorted(map(str, FAULTS.glob("test_*.py")))
    halves = [[f for f in files if (Path(f).stem in IN_COMMITS) is half] for half in (True, False)]
    with ThreadPoolExecutor() as pool:
        jobs = [*([*half, *slow] for half in halves), [*HOSTILE, "-p", "watching"]]
        *faults, (hostile_code, hostile) = pool.map(run, jobs)
    code = max(code for code, _ in faults)
    told = [each for _, some in faults for each in some]
    print_counts(told, code)
    print_lines(lines(told), lines(hostile))
    return code or hostile_code


def lines(told: list[dict[str, Any]]) -> set[tuple[str, int]]:
    return {(name, line) for each in told for name, line in each["lines"]}


def run(arguments: list[str]) -> tuple[int, list[dict[str, Any]]]:
    """Run tests and print how they went; gives pytest's exit code and what each watched process told."""
    with tempfile.TemporaryDirectory(prefix="automemory-faults-") as folder:
        words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
        paths = os.pathsep.join([str(FAULTS), *filter(None, [os.environ.get("PYTHONPATH")])])
        watched = {**os.environ, "AUTOMEMORY_FAULT_RUN": folder, "PYTHONPATH": paths}
        done = subprocess.run(words, cwd=ROOT, env=watched, stdout=subprocess.PIPE, text=True)
        print(done.stdout, flush=True)
        return done.returncode, [json.loads(path.read_bytes()) for path in Path(folder).iterdir()]


def print_counts(told: list[dict[str, object]], code: int) -> None:
    faults = Counter(str(each["fault"]) for each in told if each.get("fault"))
    points = sum(int(str(each.get("points", 0))) for each in told)
    failures = "none" if not code else "above"
    print(f"\npoints {points}, faults {faults.total()}, runs {len(told)}, failures {failures}")
    print("faults by kind:", ", ".join(f"{kind} {count}" for kind, count in faults.most_common()))


def print_lines(reached: set[tuple[str, int]], hostile: set[tuple[str, int]]) -> None:
    from watching import ELSEWHERE, MODULES, lines_of

    total = met = more = apart = 0
    for module in MODULES:
        path = Path(str(module.__file__))
        text = path.read_text(encoding="utf-8")
        foreign = ELSEWHERE.get(path.name, ())
        lines = lines_of(compile(text, str(path), "exec"))
        other = lines & {n for n, line in enumerate(text.split("\n"), 1) if line.strip() in foreign}
        lines -= other
        seen, also = ({n for name, n in some if name == path.name} & lines for some in (reached, hostile))
        late = also - seen
        total, met, more = total + len(lines), met + len(seen), more + len(late)
        apart += len(other)
        missed = ", ".join(map(str, sorted(lines - seen - late)))
        told = f"; of other systems: {', '.join(map(str, sorted(other)))}" if other else ""
        counts = f"{len(seen):4} and {len(late):3} of {len(lines):4} lines"
        print(f"{path.name:20} {counts}   not reached: {missed or '-'}{told}")
    print(f"{'all':20} {met} of {total} lines by faults, {met / total:.1%}", end="; ")
    print(f"{met + more} with hostile vaults, {(met + more) / total:.1%}; {apart} of other systems")


if __name__ == "__main__":
    sys.exit(main())

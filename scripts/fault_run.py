"""Runs every fault of `tests/faults` and prints what was met: points, faults, runs, failures, lines reached.

    python scripts/fault_run.py            # everything, the best part of an hour on two cores
    python scripts/fault_run.py --sample   # what an ordinary test run has

A point is an operation that changes the disk, met in an undisturbed run of a scenario. A fault is one of them
killed, cut off from power, or refused. Lines are those inside the functions of the modules that write.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FAULTS = ROOT / "tests" / "faults"
sys.path.insert(0, str(FAULTS))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sample", action="store_true", help="only what an ordinary test run has")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="automemory-faults-") as folder:
        words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(FAULTS)]
        words += [] if chosen.sample else ["-m", "slow or not slow"]
        code = subprocess.run(words, cwd=ROOT, env={**os.environ, "AUTOMEMORY_FAULT_RUN": folder}).returncode
        told = [json.loads(path.read_bytes()) for path in Path(folder).iterdir()]
    print_counts(told, code)
    print_lines({(name, line) for each in told for name, line in each["lines"]})
    return code


def print_counts(told: list[dict[str, object]], code: int) -> None:
    faults = Counter(str(each["fault"]) for each in told if each.get("fault"))
    points = sum(int(str(each.get("points", 0))) for each in told)
    failures = "none" if not code else "above"
    print(f"\npoints {points}, faults {faults.total()}, runs {len(told)}, failures {failures}")
    print("faults by kind:", ", ".join(f"{kind} {count}" for kind, count in faults.most_common()))


def print_lines(reached: set[tuple[str, int]]) -> None:
    from watching import MODULES, lines_of

    total = met = 0
    for module in MODULES:
        path = Path(str(module.__file__))
        lines = lines_of(compile(path.read_text(encoding="utf-8"), str(path), "exec"))
        seen = {line for name, line in reached if name == path.name} & lines
        total, met = total + len(lines), met + len(seen)
        missed = ", ".join(map(str, sorted(lines - seen)))
        print(f"{path.name:20} {len(seen):4} of {len(lines):4} lines   not reached: {missed or '-'}")
    print(f"{'all':20} {met:4} of {total:4} lines, {met / total:.1%}")


if __name__ == "__main__":
    sys.exit(main())

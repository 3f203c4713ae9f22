"""Fuzz the parsers and importers: `python scripts/fuzz.py TARGET… [--minutes 10]` (`pip install atheris`).

Atheris mutates, led by the coverage of the library's code; `fuzz_targets` says what is called with the input
and what has to hold. Before that, texts of one part repeated are tried for time: what takes more than a
second for 100 kB of them is a finding, since a regular expression that goes back and forth is. Prints
executions, the lines of the targets that were reached, and each finding with a short input; exit code 1 if
there is any. `--samples FOLDER` adds files to what is mutated. The time is shared out among the targets.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import itertools
import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

LONG, LIMIT_S = 100_000, 1.0
_MEMORY = 4 << 30
_PUMPED = 0.35  # share of the time for repeated texts


class TooSlow(BaseException):
    """The call took longer than it may; no `except Exception` catches it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What went wrong, where, and the input that shows it."""

    kind: str
    place: str
    input: str

    def __str__(self) -> str:
        return f"{self.kind}\n    at {self.place}\n    with {self.input[:600]}"


def main() -> int:
    arguments = _arguments()
    if arguments.child:
        return _mutate(arguments.targets[0], arguments.minutes * 60, Path(arguments.child))
    seconds = arguments.minutes * 60 / len(arguments.targets)
    findings = [f for name in arguments.targets for f in _run(name, seconds, arguments.samples)]
    print(f"{len(findings)} findings in {len(arguments.targets)} targets")
    return 1 if findings else 0


def _arguments() -> argparse.Namespace:
    from fuzz_targets import TARGETS

    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0] if __doc__ else "")
    parser.add_argument("targets", nargs="+", metavar="TARGET", help=f"all, or some of {', '.join(TARGETS)}")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--samples", type=Path, help="a folder whose files are mutated too")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.targets == ["all"]:
        arguments.targets = list(TARGETS)
    if unknown := set(arguments.targets) - set(TARGETS):
        parser.error(f"no target {', '.join(sorted(unknown))}")
    return arguments


def _run(name: str, seconds: float, samples: Path | None) -> list[Finding]:
    """Fuzz one target: repeated texts here, mutations in a process of their own, which Atheris ends."""
    from fuzz_inputs import encoded
    from fuzz_targets import TARGETS

    target = TARGETS[name]
    pumped, slow = _pump(name, seconds * _PUMPED)
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder, "corpus")
        corpus.mkdir()
        given = [file.read_bytes() for file in sorted(samples.iterdir())] if samples else []
        for number, seed in enumerate([*map(encoded, target.seeds), *given]):
            Path(corpus, f"seed{number}").write_bytes(seed)
        minutes = str(seconds * (1 - _PUMPED) / 60)
        words = [sys.executable, __file__, name, "--minutes", minutes, "--child", folder]
        told = subprocess.run(words, capture_output=True, text=True, errors="replace", check=False).stderr
        units = re.search(r"number_of_executed_units: (\d+)", told)
        notes = Path(folder, "findings")
        found = (
            [Finding(**json.loads(line)) for line in notes.read_text("utf-8").split("\n")[:-1]]
            if notes.exists()
            else []
        )
        if not units:
            found.append(Finding("the fuzzer ended", name, told[-600:]))
        reached, lines = _coverage(name, corpus)
    print(
        f"{name}: {pumped} repeated texts, {units[1] if units else '?'} executions, {seconds:.0f} s, "
        f"{reached} of {lines} lines reached",
        flush=True,
    )
    smallest: dict[tuple[str, str], Finding] = {}
    for finding in [*slow, *found]:
        key = (finding.kind.split(":")[0], finding.place)
        if key not in smallest or len(finding.input) < len(smallest[key].input):
            smallest[key] = finding
    for finding in smallest.values():
        print(f"  {finding}", flush=True)
    return list(smallest.values())


def _mutate(name: str, seconds: float, folder: Path) -> int:
    """Run Atheris on a target until the time is over; findings are noted down and the search goes on."""
    import atheris  # type: ignore[import-untyped,unused-ignore]

    with atheris.instrument_imports(include=["automemory"], enable_loader_override=False):
        from fuzz_inputs import decoded
        from fuzz_targets import TARGETS

        for module in TARGETS[name].modules:
            importlib.import_module(module)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    target = TARGETS[name]
    known: dict[tuple[str, str], int] = {}

    def once(data: bytes) -> None:
        finding = _checked(target.check, decoded(data), data)
        if finding is None:
            return
        key = (finding.kind.split(":")[0], finding.place)
        if len(data) < known.get(key, 1 << 30):
            known[key] = len(data)
            with Path(folder, "findings").open("a", encoding="utf-8") as notes:
                notes.write(
                    json.dumps({"kind": finding.kind, "place": finding.place, "input": finding.input}) + "\n"
                )

    options = (
        f"-max_total_time={max(1, round(seconds))}",
        "-max_len=400",
        "-timeout=0",
        "-print_final_stats=1",
    )
    atheris.Setup(
        ["fuzz", str(folder / "corpus"), *options, "-timeout=0", "-rss_limit_mb=0", "-seed=1"], once
    )
    atheris.Fuzz()
    return 0


def _checked(check: Callable[[Any], None], given: Any, data: bytes = b"") -> Finding | None:
    try:
        with limited(5 * LIMIT_S):
            check(given)
    except (Exception, TooSlow) as error:
        kind = f"{type(error).__name__}: {error}"
        return Finding(kind[:300], _place(error), repr(given) if given is not None else repr(data))
    return None


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if "automemory" in f.filename or Path(f.filename).name.startswith("fuzz_")]
    last = own[-1] if own else frames[-1]
    return f"{Path(last.filename).name}:{last.lineno} {last.name}: {last.line}"


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raises `TooSlow` after so much time of the processor; what others do on the machine does not count."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TooSlow

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _pump(name: str, seconds: float) -> tuple[int, list[Finding]]:
    """Time the target on texts in which a part is repeated; what is slow at a tenth is tried whole."""
    from fuzz_inputs import TOKENS
    from fuzz_targets import TARGETS

    target = TARGETS[name]
    chance, found, until = random.Random(name), [], time.monotonic() + seconds
    parts = sorted({*TOKENS, *target.words})
    tried = 0
    slow: set[int] = set()
    for unit in itertools.chain(((part,) for part in parts), _picked(chance, parts)):
        if time.monotonic() > until or len(slow) == len(target.pump):
            break
        before = "".join(chance.choices(parts, k=chance.randrange(3)))
        after = "".join(chance.choices(parts, k=chance.randrange(2)))
        for number, call in enumerate(target.pump):
            tried += 1
            if number not in slow and (took := _slow(call, before, "".join(unit), after)):
                slow.add(number)
                text = f"{before!r} + {''.join(unit)!r} * n + {after!r}"
                found.append(Finding(f"TooSlow: {took:.1f} s", f"{name}, call {number}", text))
    return tried, found


def _slow(call: Callable[[str], object], before: str, unit: str, after: str) -> float:
    """How long a call takes with a text of `LONG` characters, if that is too long; else 0."""
    if _time(call, before, unit, after, LONG // 10) < LIMIT_S / 50:
        return 0
    took = min(_time(call, before, unit, after, LONG) for _ in range(2))
    return took if took > LIMIT_S else 0


def _picked(chance: random.Random, parts: Sequence[str]) -> Iterator[tuple[str, ...]]:
    while True:
        yield tuple(chance.choices(parts, k=chance.choice((1, 2, 2, 3))))


def _time(call: Callable[[str], object], before: str, unit: str, after: str, size: int) -> float:
    text = before + unit * (size // max(1, len(unit))) + after
    start = time.process_time()
    with contextlib.suppress(Exception, TooSlow), limited(3 * LIMIT_S):
        call(text)
    return time.process_time() - start


def _coverage(name: str, corpus: Path) -> tuple[int, int]:
    """How many lines of the target's modules its corpus reaches, and how many there are."""
    from fuzz_inputs import decoded
    from fuzz_targets import TARGETS

    target = TARGETS[name]
    modules = [importlib.import_module(module) for module in target.modules]
    files = {str(module.__file__) for module in modules}
    reached: set[tuple[str, int]] = set()

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename not in files:
            return None
        if event == "line":
            reached.add((frame.f_code.co_filename, frame.f_lineno))
        return trace

    inputs = sorted(corpus.iterdir(), key=lambda file: file.stat().st_size)
    sys.settrace(trace)
    try:
        for file in inputs[:2000]:
            _checked(target.check, decoded(file.read_bytes()))
    finally:
        sys.settrace(None)
    lines = {line for file in files for line in _lines(compile(Path(file).read_text("utf-8"), file, "exec"))}
    return len(reached & lines), len(lines)


def _lines(code: CodeType) -> Iterator[tuple[str, int]]:
    """The lines of all functions in a module's code; the module's own run when it is imported."""
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if constant.co_flags & 0x2:  # a function, no class body
                yield from ((code.co_filename, line) for *_, line in constant.co_lines() if line)
            yield from _lines(constant)


if __name__ == "__main__":
    os.chdir(tempfile.gettempdir())  # nothing of what is fuzzed finds a vault or settings here
    sys.exit(main())

"""The measure of a fault run covers every module that changes the vault's disk."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from watching import ELSEWHERE, MODULES

CALLS = re.compile(
    r"\bos\.(open|write|fsync|link|replace|rename|mkdir|unlink|rmdir|ftruncate|fchmod)\(|FileLock\("
    r"|\bsqlite3\.connect\(|\.(mkdir|touch|unlink|rmdir|rename|chmod|write_text|write_bytes)\("
)
PACKAGES = ("vault", "maintenance", "hook", "synchronizer")


def test_no_module_that_changes_the_disk_is_left_out() -> None:
    """6.4: a new module that opens, writes, links, moves or removes something has to be watched as well."""
    watched = {Path(str(module.__file__)) for module in MODULES}
    library = next(iter(watched)).parent.parent
    found = {
        path
        for package in PACKAGES
        for path in (library / package).glob("*.py")
        if CALLS.search(path.read_text("utf-8"))
    }
    assert len(found) >= 8
    assert found <= watched, sorted(path.name for path in found - watched)


def test_lines_of_other_systems_are_there() -> None:
    """What is counted apart is named by its text; a line that is gone would stay listed."""
    paths = [Path(str(module.__file__)) for module in MODULES]
    texts = {path.name: path.read_text("utf-8") for path in paths}
    assert all(line in texts[name] for name, lines in ELSEWHERE.items() for line in lines)


AFTER_AN_OVERFLOW = """
from automemory.vault.disk import Disk

def test_overflow():
    def deeper():
        deeper()
    try:
        deeper()
    except RecursionError:
        pass

def test_after_it(tmp_path):
    Disk(tmp_path, sync=False)
"""


def test_lines_after_a_stack_overflow_are_counted(tmp_path: Path) -> None:
    """Python stops watching when the stack overflows; every later test's lines would count as not reached."""
    (tmp_path / "told").mkdir()
    (tmp_path / "test_two.py").write_text(AFTER_AN_OVERFLOW, "utf-8")
    paths = [str(Path(__file__).parent), *sys.path]
    watched = {"AUTOMEMORY_FAULT_RUN": str(tmp_path / "told"), "PYTHONPATH": os.pathsep.join(paths)}
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "watching", "test_two.py"]
    done = subprocess.run(words, cwd=tmp_path, env=os.environ | watched, capture_output=True, text=True)
    assert "2 passed" in done.stdout
    assert "Exception ignored" not in done.stderr
    [told] = (tmp_path / "told").iterdir()
    assert "disk.py" in {name for name, _ in json.loads(told.read_bytes())["lines"]}

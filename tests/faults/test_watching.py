"""The measure of a fault run covers every module that changes the vault's disk."""

from __future__ import annotations

import re
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

"""A file system that really is full, and has room again; where one can be mounted."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from automemory.memory import AutoMemory
from automemory.vault.reader import Reader

Open = Callable[..., AutoMemory]
MakeTurn = Callable[..., list[dict[str, Any]]]
CAN_MOUNT = sys.platform == "linux" and os.geteuid() == 0


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "small"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    if not CAN_MOUNT or subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("nothing can be mounted here; tests/faults/test_full_disk.py has the system's limit")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def fill(place: Path, left: int) -> Path:
    """Fill a file system but for `left` bytes."""
    ballast = place / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            file.truncate(max(0, file.tell() - left))
    return ballast


@pytest.mark.parametrize("left", [0, 4096, 12_288])
@pytest.mark.parametrize("opened", [True, False], ids=["opened", "not yet opened"])
def test_turns_wait_for_room_on_a_small_disk(
    open_memory: Open, turn: MakeTurn, small: Path, left: int, opened: bool
) -> None:
    """2.7: whatever the last free block was for, all are filed in order once there is room again."""
    vault = small / "vault"
    memory = open_memory("one", vault=vault, durability="fsync")
    if opened:
        memory.record(turn(0))
    ballast = fill(small, left)
    results = [memory.record(turn(number, reply="long " * 400)) for number in range(1, 9)]
    assert {result.outcome for result in results} <= {"recorded", "deferred"}
    assert results[-1].outcome == "deferred" and results[-1].error
    ballast.unlink()
    assert memory.record(turn(9)).outcome in {"recorded", "deferred"}
    memory.flush()
    [head] = Reader(vault).events()
    said = [t.steps[0].text for t in Reader(vault).event(head.path).turns]
    assert said == [f"Question {number}?" for number in range(0 if opened else 1, 10)]
    assert memory.status().waiting == memory.status().unstored == 0
    memory.close()
    assert Reader(vault).problems() == [] and not list(vault.rglob("*.tmp"))

"""Makes the helpers beside the tests importable, and the vaults that several of them attack."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import zoo


@pytest.fixture
def animals(tmp_path: Path) -> zoo.Zoo:
    return zoo.build(tmp_path)

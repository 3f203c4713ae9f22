from __future__ import annotations

import sys
from pathlib import Path

import pytest

from automemory.deciders.local import LocalDecider

sys.path.insert(0, str(Path(__file__).parent))  # for `conversations` and `phrases`, beside the tests


@pytest.fixture(scope="session")
def decider() -> LocalDecider:
    """One for all tests: loading the encoder takes a second, and a decision depends on its context only."""
    return LocalDecider()

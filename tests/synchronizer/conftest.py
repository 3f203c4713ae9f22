"""A synchronizer over the stub server, with a fixed clock."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for `scripted`, beside the tests

from scripted import NOON, TALK
from stub_openai import StubOpenAI

from automemory.synchronizer.result import SynchronizerResult
from automemory.synchronizer.synchronizer import Synchronizer

Run = Callable[..., SynchronizerResult]


@pytest.fixture
def make(stub: StubOpenAI, vault: Path) -> Callable[..., Synchronizer]:
    """Makes a synchronizer over the test's vault and server."""

    def make_one(**options: Any) -> Synchronizer:
        given = {"timezone": "UTC", "clock": lambda: NOON, "timeout_s": 20.0} | options
        return Synchronizer(given.pop("vault", vault), given.pop("model", stub.model()), **given)

    return make_one


@pytest.fixture
def run(stub: StubOpenAI, make: Callable[..., Synchronizer]) -> Run:
    """Scripts the model and runs a synchronizer on a conversation."""

    def run_once(
        *script: Any,
        messages: Any = TALK,
        workspace: str | None = None,
        active: str | None = None,
        include_turns: bool = False,
        **options: Any,
    ) -> SynchronizerResult:
        stub.script(*script)
        return make(**options).synchronize(messages, workspace, include_turns=include_turns, active=active)

    return run_once

"""A real, small model on a real server: the guarantees hold, however clever it is.

See `tests/test_real_model.py` for the variables. `AUTOMEMORY_TEST_LLM_CONTEXT` is the model's context in
tokens, 4 096 if it is not set.
"""

from __future__ import annotations

import json
import os
import urllib.request
from pathlib import Path

import pytest
from langchain_openai import ChatOpenAI
from scripted import FOLDER, NOON, NOTE, TALK, content

from automemory.synchronizer.synchronizer import Synchronizer

URL = os.environ.get("AUTOMEMORY_TEST_LLM", "").rstrip("/")
KEY = os.environ.get("OPENAI_API_KEY", "none")
CONTEXT = int(os.environ.get("AUTOMEMORY_TEST_LLM_CONTEXT", "4096"))

pytestmark = [pytest.mark.llm, pytest.mark.skipif(not URL, reason="AUTOMEMORY_TEST_LLM is not set")]


@pytest.fixture(scope="module")
def model() -> ChatOpenAI:
    name = os.environ.get("AUTOMEMORY_TEST_LLM_MODEL")
    if not name:
        request = urllib.request.Request(f"{URL}/models", headers={"Authorization": f"Bearer {KEY}"})
        with urllib.request.urlopen(request, timeout=30) as reply:
            name = str(json.load(reply)["data"][0]["id"])
    return ChatOpenAI(model=name, base_url=URL, api_key=KEY)


@pytest.mark.parametrize("strategy", ["patch", "tools"])
def test_a_note_survives_and_is_handed_back(model: ChatOpenAI, vault: Path, strategy: str) -> None:
    """Nothing raised, nothing lost; what a result says is what is on disk."""
    (vault / FOLDER).mkdir(parents=True)
    (vault / NOTE).write_text(content(), encoding="utf-8")
    synchronizer = Synchronizer(
        vault,
        model,
        strategy=strategy,  # type: ignore[arg-type]
        context_tokens=CONTEXT,
        timezone="UTC",
        clock=lambda: NOON,
        timeout_s=600.0,
        max_steps=4,
    )
    result = synchronizer.synchronize(TALK * 5, FOLDER)
    text = (vault / NOTE).read_text(encoding="utf-8")
    assert result.on_disk == text and "Found the cause in auth.py" in text
    assert "redirects to the configured host" in text
    if result.success and not result.skipped:
        assert result.summary == text and result.workspace == FOLDER
    if strategy == "patch":
        assert result.success, result.failed
    assert {p.name for p in vault.joinpath("daily").iterdir()} <= {"2026-05-27", "2026-05-27.md"}

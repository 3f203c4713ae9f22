"""What `langgraph.json` names: graphs that load with nothing but their environment, and can be served."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest
from agents import said, thread
from blockbuster import blockbuster_ctx
from stub_openai import Request, StubOpenAI

from automemory.errors import ConfigError

ROOT = Path(__file__).parent.parent


def load(name: str) -> Any:
    graphs = json.loads((ROOT / "langgraph.json").read_text(encoding="utf-8"))["graphs"]
    file, _, variable = graphs[name]["path"].partition(":")
    return runpy.run_path(str(ROOT / file))[variable]


def answer(request: Request) -> Any:
    chat = request.mode == "text"
    decided = {"continue": False, "new_event_slug": "offsite", "summary_patch": "Plan it."}
    return "Gladly." if chat else decided


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch, stub: StubOpenAI, vault: Path) -> StubOpenAI:
    stub.always(answer)
    for name, value in {
        "AUTOMEMORY_VAULT": str(vault),
        "AUTOMEMORY_MODEL": f"openai:{stub.name}",
        "OPENAI_BASE_URL": stub.url,
        "OPENAI_API_KEY": "sk-stub",
    }.items():
        monkeypatch.setenv(name, value)
    return stub


async def test_chat_agent_remembers_and_blocks_no_loop(environment: StubOpenAI, vault: Path) -> None:
    """As under `langgraph dev`: plain JSON comes in, blocking calls on the loop are errors."""
    agent = load("agent")
    with blockbuster_ctx():
        for text in ("Plan the offsite", "In May"):
            state = await agent.ainvoke({"messages": [{"role": "user", "content": text}]}, thread())
            assert state["messages"][-1].text == "Gladly."
    asked = [request.body["messages"] for request in environment.requests if request.mode == "text"]
    assert "memory_note" not in str(asked[0]) and "Plan it." in str(asked[1])
    assert said(vault, "t1") == [["Plan the offsite", "Gladly."], ["In May", "Gladly."]]


def test_chat_agent_needs_a_model(monkeypatch: pytest.MonkeyPatch, vault: Path) -> None:
    monkeypatch.setenv("AUTOMEMORY_VAULT", str(vault))
    monkeypatch.delenv("AUTOMEMORY_MODEL", raising=False)
    with pytest.raises(ConfigError, match="AUTOMEMORY_MODEL"):
        load("agent")

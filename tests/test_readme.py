"""The README's examples, run as they stand, one after the other."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from langchain_core.runnables import RunnableLambda
from langgraph.graph import END, START, MessagesState, StateGraph
from stub_openai import Request, StubOpenAI

from automemory import Reader

README = Path(__file__).parent.parent / "README.md"


def answer(request: Request) -> Any:
    """The agent is asked for text, memory for a decision."""
    decided = {"continue": False, "new_event_slug": "offsite", "summary_patch": "Plan it."}
    return "Gladly." if request.mode == "text" else decided


def test_every_python_example_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, stub: StubOpenAI, capsys: Any
) -> None:
    """In an empty folder, with a model that answers; what they say is recorded is in the vaults."""
    stub.always(answer)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_BASE_URL", stub.url)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-stub")
    graph = StateGraph(MessagesState)
    space: dict[str, Any] = {"graph": graph, "chain": RunnableLambda(lambda asked: {"answer": "Paris."})}
    opened: list[Any] = []
    for example in re.findall(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.M | re.S):
        exec(compile(example, str(README), "exec"), space)
        opened.append(space["memory"])
    graph.add_edge(START, "memory")
    graph.add_edge("memory", END)
    graph.compile().invoke({"messages": [("user", "Where to?"), ("assistant", "To the coast.")]})
    for memory in opened:
        memory.close()
    assert "recorded daily/" in capsys.readouterr().out
    said = [
        s.text for h in Reader("vault").events() for t in Reader("vault").event(h.path).turns for s in t.steps
    ]
    assert {"Plan the offsite", "Why does /login bounce back to itself?", "To the coast.", "Gladly."} <= set(
        said
    )
    assert any("Capital of France?" in text for text in said)
    assert Reader("vaults/anna").events()

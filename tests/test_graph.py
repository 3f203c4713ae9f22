"""The turn graph as LangGraph sees it: served, as a subgraph, sync and async, without blocking the loop."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from blockbuster import blockbuster_ctx
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages

from automemory.memory import AutoMemory

TURN = [HumanMessage("Where does the cookie go?", id="h1"), AIMessage("To the wrong domain.", id="a1")]


class Host(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    thread_id: str
    result: Any


def test_graph_files_a_turn_when_invoked_directly(
    open_memory: Callable[..., AutoMemory], vault: Path
) -> None:
    """The compiled graph is the same machine as `record`: `invoke` works without an event loop."""
    result = open_memory("cookie domain").graph.invoke({"messages": TURN, "thread_id": "t1"})["result"]
    assert result.outcome == "recorded"
    assert (vault / result.event.path).exists()


async def test_graph_is_a_subgraph_of_an_agents_graph(
    open_memory: Callable[..., AutoMemory], vault: Path
) -> None:
    """As a node of a host's graph it records the host's messages."""
    host: Any = StateGraph(Host)
    host.add_node("memory", open_memory("cookie domain").graph)
    host.add_edge(START, "memory")
    host.add_edge("memory", END)
    state = await host.compile().ainvoke({"messages": TURN, "thread_id": "t1"})
    assert state["result"].event.slug == "cookie-domain"
    assert (vault / state["result"].event.path).exists()


async def test_nothing_blocks_a_running_event_loop(open_memory: Callable[..., AutoMemory]) -> None:
    """B22: no node touches the disk on a loop's thread, whatever way a turn takes."""
    memory = open_memory("first", None, "second", "first")
    with blockbuster_ctx():
        for number in range(4):
            turn = [HumanMessage(f"Question {number}", id=f"h{number}"), AIMessage("Answer")]
            result = (await memory.graph.ainvoke({"messages": turn}))["result"]
            assert result.outcome == "recorded"
        assert (await memory.graph.ainvoke({"messages": turn}))["result"].outcome == "duplicate"
        assert (await memory.arecord(turn)).outcome == "duplicate"
        await memory.aclose_event()
        await memory.aflush()
        await memory.astatus()


def test_the_served_graph_takes_its_vault_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, vault: Path
) -> None:
    """`langgraph.json` names a graph that loads with nothing but `AUTOMEMORY_VAULT` and takes plain JSON."""
    import json
    import runpy

    root = Path(__file__).parent.parent
    file, _, name = json.loads((root / "langgraph.json").read_text(encoding="utf-8"))["graphs"]["turn"][
        "path"
    ].partition(":")
    monkeypatch.setenv("AUTOMEMORY_VAULT", str(vault))
    graph = runpy.run_path(str(root / file))[name]
    messages = [
        {"role": "user", "content": "Plan the offsite", "id": "u1"},
        {"role": "assistant", "content": "Gladly."},
    ]
    assert graph.invoke({"messages": messages})["result"].outcome == "recorded"
    assert list(vault.glob("daily/*/*/*.md"))

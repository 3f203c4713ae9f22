"""The recording node in graphs of one's own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agents import WAYS, person, said, thread
from blockbuster import blockbuster_ctx
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import RetryPolicy

from automemory.memory import AutoMemory

Open = Callable[..., AutoMemory]


def host(memory: AutoMemory, saver: Any = None) -> Any:
    def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(f"Re: {state['messages'][-1].text}")]}

    graph: Any = StateGraph(MessagesState)
    graph.add_node("answer", answer)
    graph.add_node("memory", memory.node())
    graph.add_edge(START, "answer")
    graph.add_edge("answer", "memory")
    graph.add_edge("memory", END)
    return graph.compile(checkpointer=saver)


@pytest.mark.parametrize("way", WAYS)
def test_node_records_the_last_turn(open_memory: Open, vault: Path, way: str) -> None:
    """Under the thread of the run; the state stays as it is."""
    graph = host(open_memory("one"), InMemorySaver())
    for number in (1, 2):
        state = WAYS[way](graph, {"messages": [person(number)]}, thread())
    assert len(state["messages"]) == 4
    assert said(vault, "t1") == [[f"Question {n}?", f"Re: Question {n}?"] for n in (1, 2)]


def test_history_without_lasting_ids_is_not_recorded_again(open_memory: Open, vault: Path) -> None:
    graph = host(open_memory("one"))
    history: list[Any] = []
    for text in ("yes", "yes"):
        history.append({"role": "user", "content": text})
        history.append(
            {"role": "assistant", "content": graph.invoke({"messages": history})["messages"][-1].text}
        )
    graph.invoke({"messages": history[:-1]})
    assert said(vault) == [["yes", "Re: yes"]] * 2


def test_node_blocks_no_loop_and_fails_quietly(open_memory: Open, tmp_path: Path) -> None:
    """B22: and a user without a safe name gets the answer all the same."""
    memory = open_memory("one", vault=tmp_path / "{user_id}")
    graph = host(memory)

    async def talk() -> None:
        with blockbuster_ctx():
            for user in ("anna", "../anna"):
                state = await graph.ainvoke({"messages": [person(1)]}, thread(user_id=user))
                assert state["messages"][-1].text == "Re: Question 1?"

    asyncio.run(talk())
    assert said(tmp_path / "anna") == [["Question 1?", "Re: Question 1?"]]
    assert [path.name for path in tmp_path.iterdir()] == ["anna"] and memory.status().counters["failures"]


def test_node_run_again_records_nothing_again(open_memory: Open, vault: Path) -> None:
    """B23: a retry policy runs the node a second time after it had recorded."""
    memory = open_memory("one")
    node, runs = memory.node(), []

    def flaky(state: MessagesState) -> dict[str, Any]:
        node.invoke(state)
        runs.append(state)
        if len(runs) == 1:
            raise ConnectionError("lost after recording")
        return {}

    graph: Any = StateGraph(MessagesState)
    retry = RetryPolicy(initial_interval=0.001, jitter=False)
    graph.add_node("answer", lambda state: {"messages": [AIMessage("Yes.")]})
    graph.add_node("memory", flaky, retry_policy=retry)
    graph.add_edge(START, "answer")
    graph.add_edge("answer", "memory")
    graph.compile().invoke({"messages": [person(1)]}, thread())
    assert len(runs) == 2 and said(vault) == [["Question 1?", "Yes."]]
    assert memory.status().counters["duplicate"] == 1

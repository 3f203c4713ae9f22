"""The callback handlers: one turn for what the person said, whatever runs there are within."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agents import WAYS, Raising, calls, fail, look, person, said, says, thread
from blockbuster import blockbuster_ctx
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import StructuredTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from automemory.callback import AsyncAutoMemoryCallbackHandler, AutoMemoryCallbackHandler
from automemory.memory import AutoMemory

Open = Callable[..., AutoMemory]
both = pytest.mark.parametrize("handler", [AutoMemoryCallbackHandler, AsyncAutoMemoryCallbackHandler])


def listening(handler: Any, name: str = "t1", **more: Any) -> dict[str, Any]:
    return {**thread(name), "callbacks": [handler], **more}


def agent_of(*answers: Any, tools: Any = (look, fail), **options: Any) -> Any:
    return create_agent(says(*answers), tools=list(tools), checkpointer=InMemorySaver(), **options)


@both
@pytest.mark.parametrize("way", WAYS)
def test_every_turn_is_recorded_once(open_memory: Open, vault: Path, handler: Any, way: str) -> None:
    """The handler gets the whole history each time; only what is new is recorded."""
    listener, agent = handler(open_memory("one")), agent_of(calls("look"), "Done.", "Gladly.")
    for number in (1, 2):
        WAYS[way](agent, {"messages": [person(number)]}, listening(listener))
    listener.memory.flush()
    assert said(vault, "t1") == [["Question 1?", "look: Found look.", "Done."], ["Question 2?", "Gladly."]]


@both
@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
def test_interrupt_is_no_end(open_memory: Open, vault: Path, handler: Any, way: str) -> None:
    """The turn waits as a draft, and is completed by the run that resumes it; or kept if none does."""

    @tool
    def ask(word: str) -> str:
        """Asks the person."""
        return f"They said {interrupt(word)}."

    listener = handler(open_memory("one"))
    agent = agent_of(calls("ask"), "Good.", calls("ask", first=5), "Never mind.", tools=[ask])
    config = listening(listener)
    WAYS[way](agent, {"messages": [person(1)]}, config)
    assert said(vault) == []
    WAYS[way](agent, Command(resume="yes"), config)
    WAYS[way](agent, {"messages": [person(2)]}, config)
    WAYS[way](agent, {"messages": [person(3)]}, config)
    listener.memory.flush()
    assert said(vault) == [
        ["Question 1?", "ask: They said yes.", "Good."],
        ["Question 2?", "ask: ", "…"],
        ["Question 3?", "Never mind."],
    ]


@both
def test_handler_given_twice_and_nested_agents_are_one_turn(
    open_memory: Open, vault: Path, handler: Any
) -> None:
    """B30: bound and given at the call, by two handlers of one memory, agents in tools of agents."""
    listener = handler(open_memory("one"))

    def as_tool(agent: Any, name: str) -> Any:
        async def work(word: str) -> str:
            return str((await agent.ainvoke({"messages": [HumanMessage(word)]}))["messages"][-1].text)

        def work_now(word: str) -> str:
            return str(agent.invoke({"messages": [HumanMessage(word)]})["messages"][-1].text)

        return StructuredTool.from_function(work_now, work, name=name, description=name)

    inner = as_tool(create_agent(says("Inner."), name="inner"), "inner")
    middle = as_tool(create_agent(says(calls("inner"), "Middle."), tools=[inner], name="middle"), "middle")
    agent = agent_of(calls("middle"), "Outer.", tools=[middle]).with_config(callbacks=[listener])
    config = {**thread(), "callbacks": [listener, handler(listener.memory)]}
    for way in ("invoke", "ainvoke"):
        WAYS[way](agent, {"messages": [HumanMessage("Ask the others", id=way)]}, config)
    listener.memory.flush()
    assert said(vault) == [
        ["Ask the others", "middle: Middle.", "Outer."],
        ["Ask the others", "Answer 3."],
    ]
    assert said(vault, "t1") == said(vault)


@both
def test_turn_that_failed_keeps_the_question(open_memory: Open, vault: Path, handler: Any) -> None:
    """B24: and is not merged with the next."""
    listener, agent = handler(open_memory("one")), agent_of(calls("fail"), "Better.")
    with pytest.raises(Raising):
        agent.invoke({"messages": [person(1)]}, listening(listener))
    agent.invoke({"messages": [person(2)]}, listening(listener))
    listener.memory.flush()
    assert said(vault) == [["Question 1?", "…"], ["Question 2?", "Better."]]


def test_chain_without_messages_is_a_turn(open_memory: Open, vault: Path) -> None:
    """Text goes in, text comes out: question and answer."""
    chain = ChatPromptTemplate([("user", "{question}")]) | says("Paris.") | StrOutputParser()
    listener = AutoMemoryCallbackHandler(open_memory("one"))
    for _ in range(2):
        chain.invoke({"question": "Capital of France?"}, {"callbacks": [listener]})
    assert said(vault) == [["Capital of France?", "Paris."], ["Capital of France?", "Answer 2."]]


def test_agent_in_a_chain_is_the_turn(open_memory: Open, vault: Path) -> None:
    """What goes round it is not."""
    chain = (
        RunnableLambda(lambda text: {"messages": [HumanMessage(f"Please: {text}")]})
        | agent_of("Done.")
        | RunnableLambda(lambda state: len(state["messages"]))
    )
    listener = AutoMemoryCallbackHandler(open_memory("one"))
    assert chain.invoke("tidy up", listening(listener)) == 2
    assert said(vault, "t1") == [["Please: tidy up", "Done."]]


def test_plain_graph_is_a_turn(open_memory: Open, vault: Path) -> None:
    """With an agent as one of its nodes, and a subgraph; or only the run of a given name."""

    def polish(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(state["messages"][-1].text.upper())]}

    graph: Any = StateGraph(MessagesState)
    graph.add_node("agent", create_agent(says("done.")))
    graph.add_node("polish", polish)
    graph.add_edge(START, "agent")
    graph.add_edge("agent", "polish")
    graph.add_edge("polish", END)
    compiled = graph.compile(checkpointer=InMemorySaver())
    memory = open_memory("one")
    compiled.invoke({"messages": [person(1)]}, listening(AutoMemoryCallbackHandler(memory)))
    named = AutoMemoryCallbackHandler(memory, run_name="mine")
    compiled.invoke({"messages": [person(2)]}, listening(named))
    compiled.invoke({"messages": [person(3)]}, listening(named, run_name="mine"))
    assert said(vault) == [["Question 1?", "done.", "DONE."], ["Question 3?", "Answer 3.", "ANSWER 3."]]


@both
async def test_nothing_blocks_the_event_loop(open_memory: Open, vault: Path, handler: Any) -> None:
    """B22: whole runs under a detector of blocking calls; and no run is kept in mind for ever."""
    listener, agent = handler(open_memory("one")), agent_of(calls("look"), "Done.")
    with blockbuster_ctx():
        for number in range(3):
            await agent.ainvoke({"messages": [person(number)]}, listening(listener))
    assert not listener._tracker._within and not listener._tracker._turns
    await listener.memory.aflush()
    assert len(await asyncio.to_thread(said, vault)) == 3


def test_values_of_placeholders_come_with_the_metadata(open_memory: Open, tmp_path: Path) -> None:
    listener = AutoMemoryCallbackHandler(open_memory("one", vault=tmp_path / "{user_id}"))
    agent_of("Hi.").invoke({"messages": [person(1)]}, listening(listener, metadata={"user_id": "anna"}))
    assert said(tmp_path / "anna", "t1") == [["Question 1?", "Hi."]]


def test_failure_can_be_raised(open_memory: Open, tmp_path: Path) -> None:
    """B31: with `on_failure="error"` it is not swallowed."""
    listener = AutoMemoryCallbackHandler(open_memory("one", vault=tmp_path / "{user_id}"), on_failure="error")
    with pytest.raises(ValueError, match="user_id"):
        agent_of("Hi.").invoke({"messages": [person(1)]}, listening(listener))

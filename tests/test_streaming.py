"""What the agent's user sees while the memory asks a model of its own: nothing of it (B21)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agents import person, said, thread
from langchain.agents import create_agent
from langchain_core.callbacks import BaseCallbackHandler
from langgraph.checkpoint.memory import InMemorySaver
from stub_openai import Request, StubOpenAI

from automemory.callback import AsyncAutoMemoryCallbackHandler, AutoMemoryCallbackHandler
from automemory.memory import AutoMemory
from automemory.middleware import AutoMemoryMiddleware

Open = Callable[..., AutoMemory]
DECISION = {"continue": False, "new_event_slug": "secret-slug", "summary_patch": "SECRET"}


class Tracer(BaseCallbackHandler):
    """Notes the names of the runs it is told of, and which of them belong to it."""

    def __init__(self) -> None:
        self.models: list[str] = []
        self.runs: set[Any] = set()
        self.strays: list[Any] = []

    def on_chain_start(self, *_: Any, run_id: Any, parent_run_id: Any = None, **kwargs: Any) -> None:
        self._seen(run_id, parent_run_id)

    def on_chat_model_start(self, *_: Any, run_id: Any, parent_run_id: Any = None, **kwargs: Any) -> None:
        self.models.append(str(kwargs.get("name")))
        self._seen(run_id, parent_run_id)

    def _seen(self, run_id: Any, parent_run_id: Any) -> None:
        self.runs.add(run_id)
        if parent_run_id is not None and parent_run_id not in self.runs:
            self.strays.append(run_id)


def answer(request: Request) -> Any:
    """One model for both: it decides where it is asked for an object, and chats otherwise."""
    return "Hello there, friend." if request.mode == "text" else DECISION


@pytest.fixture
def agent(open_memory: Open, stub: StubOpenAI) -> Any:
    model = stub.always(answer).model()
    memory = open_memory(decider="llm", model=model)
    return create_agent(model, middleware=[AutoMemoryMiddleware(memory)], checkpointer=InMemorySaver())


VALUE = {"messages": [person(1)]}
WORDS = "Hello there, friend."


def text_of(parts: list[Any]) -> str:
    return "".join(chunk.text for chunk, _ in parts)


def test_tokens_of_a_decision_are_not_streamed(agent: Any, stub: StubOpenAI, vault: Path) -> None:
    assert text_of(list(agent.stream(VALUE, thread(), stream_mode="messages"))) == WORDS
    assert {request.mode for request in stub.requests} > {"text"}
    assert said(vault) == [["Question 1?", WORDS]]


async def test_tokens_of_a_decision_are_not_streamed_async(agent: Any, vault: Path) -> None:
    parts = [part async for part in agent.astream(VALUE, thread(), stream_mode="messages", subgraphs=True)]
    assert text_of([part for _, part in parts]) == WORDS
    assert said(vault) == [["Question 1?", WORDS]]


async def test_decision_is_no_event_of_the_agent(agent: Any, vault: Path) -> None:
    """Neither its tokens nor its runs."""
    events = [event async for event in agent.astream_events(VALUE, thread(), version="v2")]
    models = {event["run_id"] for event in events if event["event"].startswith("on_chat_model")}
    assert len(models) == 1 and "secret-slug" not in str(events) and "SECRET" not in str(events)
    assert said(vault) == [["Question 1?", WORDS]]


@pytest.mark.filterwarnings("ignore:The v3 streaming protocol")
def test_decision_is_no_message_of_a_streamed_run(agent: Any, vault: Path) -> None:
    run = agent.stream_events(VALUE, thread(), version="v3")
    assert ["".join(message.text) for message in run.messages] == [WORDS]
    assert said(vault) == [["Question 1?", WORDS]]


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
async def test_decision_is_traced_as_part_of_the_agents_run(agent: Any, way: str) -> None:
    """The tracer is told of both calls, and of every run's parent."""
    tracer = Tracer()
    config = {**thread(), "callbacks": [tracer]}
    if way == "invoke":
        agent.invoke(VALUE, config)
    else:
        await agent.ainvoke(VALUE, config)
    assert len(tracer.models) == 2 and not tracer.strays


@pytest.mark.parametrize("handler", [AutoMemoryCallbackHandler, AsyncAutoMemoryCallbackHandler])
async def test_handler_streams_nothing_either(
    open_memory: Open, stub: StubOpenAI, vault: Path, handler: Any
) -> None:
    """B21: and it is not told of its own decision as if that were a turn."""
    model = stub.always(answer).model()
    memory = open_memory(decider="llm", model=model)
    agent = create_agent(model, checkpointer=InMemorySaver())
    config = {**thread(), "callbacks": [handler(memory)]}
    parts = [part async for part in agent.astream(VALUE, config, stream_mode="messages")]
    assert text_of(parts) == WORDS
    assert said(vault) == [["Question 1?", WORDS]]

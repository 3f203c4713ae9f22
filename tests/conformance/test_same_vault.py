"""One specification for every way in: the same conversations leave byte-equal vaults.

Middleware (sync, async, streamed), callback handlers, node, and a replay of the saved conversation are given
the same messages, ids, times and thread, and are closed alike.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_OID, uuid5

import pytest
from agents import WAYS, FakeModel, look, person, thread
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, message_to_dict
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph

from automemory.callback import AsyncAutoMemoryCallbackHandler, AutoMemoryCallbackHandler
from automemory.memory import AutoMemory
from automemory.middleware import AutoMemoryMiddleware
from automemory.replay.harness import replay
from automemory.vault.reader import Reader

Open = Callable[..., AutoMemory]
Files = Callable[[], dict[str, str]]


def lasting(name: str) -> str:
    """An id as real ones are: an importer keeps it, where it would qualify a mere counter."""
    return str(uuid5(NAMESPACE_OID, name))


def question(number: int, text: str = "") -> HumanMessage:
    return person(number, text).model_copy(update={"id": lasting(f"u{number}")})


def call(number: int, *words: str) -> AIMessage:
    made = [{"name": "look", "args": {"word": w}, "id": f"c{number}-{i}"} for i, w in enumerate(words)]
    return AIMessage("", id=lasting(f"s{number}"), tool_calls=made)


def reply(number: int, text: str) -> AIMessage:
    return AIMessage(text, id=lasting(f"a{number}"))


Conversation = list[tuple[HumanMessage, list[AIMessage]]]
CONVERSATIONS: dict[str, tuple[list[str | None], Conversation]] = {
    "plain": (
        ["cookie domain", None],
        [
            (question(1), [reply(1, "To the wrong domain.")]),
            (question(2), [reply(2, "Set it to the parent.")]),
        ],
    ),
    "tools": (
        ["look it up", None],
        [
            (question(1), [call(1, "cookies", "domains"), call(2, "again"), reply(1, "Here it is.")]),
            (question(2, "yes"), [reply(2, "Good.")]),
            (question(3, "yes"), [reply(3, "Still good.")]),
        ],
    ),
    "switches": (
        ["one", "two", "one", None],
        [
            (question(n, f"Now 你好 {n} [[a link]]"), [reply(n, f"> quoted {n}\n\n## Heading")])
            for n in range(4)
        ],
    ),
}


def model_of(conversation: Conversation) -> FakeModel:
    answers = (answer for _, answers in conversation for answer in answers)
    return FakeModel(messages=(answer.model_copy() for answer in answers))


def ask(agent: Any, conversation: Conversation, way: str, config: dict[str, Any]) -> list[BaseMessage]:
    for asked, _ in conversation:
        state = WAYS[way](agent, {"messages": [asked.model_copy()]}, config)
    found: list[BaseMessage] = state["messages"]
    return found


def agent_of(conversation: Conversation, *middleware: Any) -> Any:
    return create_agent(
        model_of(conversation), tools=[look], middleware=middleware, checkpointer=InMemorySaver()
    )


def by_middleware(memory: AutoMemory, conversation: Conversation, way: str) -> None:
    ask(agent_of(conversation, AutoMemoryMiddleware(memory)), conversation, way, thread("c1"))


def by_handler(memory: AutoMemory, conversation: Conversation, way: str) -> None:
    kind = AutoMemoryCallbackHandler if way == "invoke" else AsyncAutoMemoryCallbackHandler
    ask(agent_of(conversation), conversation, way, {**thread("c1"), "callbacks": [kind(memory)]})


def by_node(memory: AutoMemory, conversation: Conversation, way: str) -> None:
    graph: Any = StateGraph(MessagesState)
    graph.add_node("agent", create_agent(model_of(conversation), tools=[look]))
    graph.add_node("memory", memory.node())
    graph.add_edge(START, "agent")
    graph.add_edge("agent", "memory")
    graph.add_edge("memory", END)
    ask(graph.compile(checkpointer=InMemorySaver()), conversation, way, thread("c1"))


def by_turn_graph(memory: AutoMemory, conversation: Conversation, way: str) -> None:
    messages = ask(agent_of(conversation), conversation, way, thread("c1"))
    for start, end in _cuts(messages):
        memory.graph.invoke({"messages": messages[start:end], "thread_id": "c1"})


def _cuts(messages: list[BaseMessage]) -> Iterator[tuple[int, int]]:
    starts = [i for i, message in enumerate(messages) if message.type == "human"]
    return zip(starts, [*starts[1:], len(messages)], strict=True)


ENTRIES: dict[str, tuple[Callable[[AutoMemory, Conversation, str], None], str]] = {
    "middleware invoke": (by_middleware, "invoke"),
    "middleware ainvoke": (by_middleware, "ainvoke"),
    "middleware stream": (by_middleware, "stream"),
    "middleware astream": (by_middleware, "astream"),
    "handler": (by_handler, "invoke"),
    "async handler": (by_handler, "ainvoke"),
    "node": (by_node, "invoke"),
    "async node": (by_node, "ainvoke"),
    "turn graph": (by_turn_graph, "invoke"),
}


@pytest.fixture(params=CONVERSATIONS)
def spec(request: pytest.FixtureRequest) -> tuple[list[str | None], Conversation]:
    return CONVERSATIONS[request.param]


@pytest.mark.parametrize("background", [False, True], ids=["inline", "background"])
@pytest.mark.parametrize("entry", ENTRIES)
def test_vault_is_that_of_record_messages(
    open_memory: Open, files: Files, tmp_path: Path, spec: Any, entry: str, background: bool
) -> None:
    """What `record_messages` leaves is the measure."""
    answers, conversation = spec
    plain = open_memory(*answers, vault=tmp_path / "plain")
    plain.record_messages(ask(agent_of(conversation), conversation, "invoke", thread("c1")), thread_id="c1")
    memory = open_memory(*answers, background=background)
    enter, way = ENTRIES[entry]
    enter(memory, conversation, way)
    memory.flush()
    for one in (plain, memory):
        one.close_event(thread_id="c1", closed_by="end")
    assert files() == {
        path.relative_to(tmp_path / "plain").as_posix(): path.read_bytes().decode()
        for path in sorted((tmp_path / "plain").rglob("*.md"))
    }
    assert len(files()) > 1


def test_replay_of_the_saved_conversation_leaves_the_same(
    open_memory: Open, files: Files, tmp_path: Path, spec: Any
) -> None:
    """Under the thread that the replay names the conversation by."""
    answers, conversation = spec
    saved = ask(agent_of(conversation), conversation, "invoke", thread("c1"))
    source = tmp_path / "saved.json"
    source.write_text(json.dumps([message_to_dict(message) for message in saved]), encoding="utf-8")
    replayed = open_memory(*answers, vault=tmp_path / "replayed")
    replay([source], replayed)
    found = {
        path.relative_to(tmp_path / "replayed").as_posix(): path.read_bytes().decode()
        for path in sorted((tmp_path / "replayed").rglob("*.md"))
    }
    [name] = {head.thread for head in Reader(tmp_path / "replayed").events()}
    memory = open_memory(*answers)
    ask(agent_of(conversation, AutoMemoryMiddleware(memory)), conversation, "invoke", thread(name))
    memory.close_event(thread_id=name, closed_by="end")
    assert files() == found

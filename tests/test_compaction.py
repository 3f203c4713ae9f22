"""Compaction of an agent's context by the middleware, and by the summarization middlewares of others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agents import WAYS, calls, look, says, thread, turns
from hypothesis import given
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from automemory import AutoMemory, AutoMemoryMiddleware
from automemory.compaction import Compaction, compacted
from automemory.errors import ConfigError

Open = Callable[..., AutoMemory]


def agent_of(model: Any, *middleware: Any) -> Any:
    return create_agent(model, tools=[look], middleware=list(middleware), checkpointer=InMemorySaver())


def history(kinds: str) -> list[Any]:
    """Messages by their letters: h a person, a an answer, c a call, t its result, s an instruction."""
    made: list[Any] = []
    for i, kind in enumerate(kinds):
        call = [{"name": "look", "args": {}, "id": f"call-{i}"}]
        made.append(
            {
                "h": HumanMessage(f"Question {i}", id=str(i)),
                "a": AIMessage(f"Answer {i}", id=str(i)),
                "c": AIMessage("", tool_calls=call, id=str(i)),
                "t": ToolMessage("Found.", tool_call_id=f"call-{i - 1}", id=str(i)),
                "s": SystemMessage("Be brief.", id=str(i)),
            }[kind]
        )
    return made


TURN = st.sampled_from(["ha", "hcta", "hctctcta", "hct", "ctcta"])


@given(st.lists(TURN, min_size=1, max_size=12).map("".join), st.integers(1, 30), st.integers(1, 30))
def test_no_result_is_parted_from_its_call(kinds: str, at: int, keep: int) -> None:
    messages = history(kinds)
    cut = Compaction(("messages", keep + at), ("messages", keep)).cut(messages)
    kept = messages[cut:]
    made = {call["id"] for m in kept if isinstance(m, AIMessage) for call in m.tool_calls}
    assert {m.tool_call_id for m in kept if isinstance(m, ToolMessage)} <= made
    assert cut == 0 or (len(messages) >= keep + at and len(kept) >= keep)


@given(st.lists(TURN, min_size=1, max_size=12).map("".join), st.integers(1, 30))
def test_last_question_always_stays(kinds: str, keep: int) -> None:
    """However long the turn under way is, the model still sees what it was asked, and once."""
    messages = history(f"s{kinds}")
    cut = Compaction(("messages", keep + 1), ("messages", keep)).cut(messages)
    after = compacted(messages, cut, "note")[1:]
    asked = [m for m in messages if m.type == "human"]
    assert not asked or [m.id for m in after].count(asked[-1].id) == 1
    assert cut == 0 or after[0].type == "system"
    assert [m.id for m in after if m.id] == sorted((m.id for m in after if m.id), key=int)


def test_tokens_and_fractions_are_counted_as_langchain_does() -> None:
    messages = [
        HumanMessage("word " * 400, id="1"),
        AIMessage("word " * 400, id="2"),
        HumanMessage("x", id="3"),
    ]
    assert Compaction(("tokens", 900), ("messages", 1)).cut(messages) == 2
    assert Compaction(("tokens", 9_000), ("messages", 1)).cut(messages) == 0
    assert Compaction(("fraction", 0.5), ("fraction", 0.4), 2_000).cut(messages) == 1


@pytest.mark.parametrize("size", [("turns", 3), ("tokens", 0), ("fraction", 1.5), "tokens", ("tokens",), 7])
def test_sizes_that_make_no_sense_are_named(open_memory: Open, size: Any) -> None:
    with pytest.raises(ConfigError, match="compact_at="):
        AutoMemoryMiddleware(open_memory("one"), compact_at=size)


def test_keeping_more_than_would_be_compacted_is_refused(open_memory: Open) -> None:
    """It would ask the model again at every step."""
    with pytest.raises(ConfigError, match="keep="):
        AutoMemoryMiddleware(open_memory("one"), compact_at=("messages", 10))


def test_fraction_needs_a_model_that_says_how_much_it_takes(open_memory: Open) -> None:
    with pytest.raises(ConfigError, match="give tokens"):
        AutoMemoryMiddleware(open_memory("one"), compact_at=("fraction", 0.8))


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
def test_without_a_model_the_note_says_what_the_turns_added(open_memory: Open, vault: Path, way: str) -> None:
    """B25: the context stays bounded, every turn is recorded once, and the note is nobody's words (B18)."""
    memory = open_memory("Plan the offsite")
    mine = AutoMemoryMiddleware(memory, compact_at=("messages", 8), keep=("messages", 3))
    model = says()
    agent = agent_of(model, mine)
    for number in range(20):
        WAYS[way](agent, {"messages": [HumanMessage(f"Question {number}?")]}, thread())
    assert len(turns(vault)) == 20
    assert max(len(seen) for seen in model.seen) <= 10
    last = model.seen[-1]
    assert last[0].text.startswith("<memory_note path=") and "Plan the offsite" in last[0].text
    assert last[-1].text == "Question 19?"
    note = next(vault.glob("daily/*/*/*.md")).read_text(encoding="utf-8")
    assert "memory_note" not in note


def test_turn_that_is_compacted_half_way_is_recorded_whole(open_memory: Open, vault: Path) -> None:
    """The question and the first calls are gone from the context before the turn ends."""
    memory = open_memory("one")
    mine = AutoMemoryMiddleware(memory, compact_at=("messages", 5), keep=("messages", 2))
    steps = [calls("look", first=n) for n in range(6)]
    agent = agent_of(says(*steps, "Done."), mine)
    agent.invoke({"messages": [HumanMessage("Look six times.")]}, thread())
    [turn] = turns(vault)
    assert [step.role for step in turn.steps] == ["user", *["tool"] * 6, "assistant"]
    assert turn.steps[0].text == "Look six times." and not turn.incomplete


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
@pytest.mark.parametrize("first", [True, False])
def test_memory_is_the_summarizer_of_langchains_middleware(
    open_memory: Open, vault: Path, way: str, first: bool
) -> None:
    """B25: in either order the summary is the note of this thread, and nothing of it is recorded."""
    memory = open_memory("Plan the offsite")
    mine = AutoMemoryMiddleware(memory)
    theirs = SummarizationMiddleware(
        says(),
        trigger=("messages", 8),
        keep=("messages", 3),
        summarizer=memory.summarizer(),
        trim_tokens_to_summarize=None,
    )
    model = says()
    agent = agent_of(model, *((mine, theirs) if first else (theirs, mine)))
    for number in range(12):
        WAYS[way](agent, {"messages": [HumanMessage(f"Question {number}?")]}, thread("t9"))
    assert len(turns(vault)) == 12
    summaries = [m.text for m in model.seen[-1] if m.additional_kwargs.get("lc_source")]
    assert len(summaries) == 1 and "<memory_note path=" in summaries[0] and "Plan the offsite" in summaries[0]
    note = next(vault.glob("daily/*/*/*.md")).read_text(encoding="utf-8")
    assert "memory_note" not in note and "thread: t9" in note


def test_memory_is_the_summarizer_of_deepagents_middleware(
    open_memory: Open, vault: Path, tmp_path: Path
) -> None:
    """The same callable, with the middleware of the other library; skipped where that is not installed."""
    theirs = pytest.importorskip("deepagents.middleware.summarization")
    backends = pytest.importorskip("deepagents.backends")
    memory = open_memory("Plan the offsite")
    summarizing = theirs.SummarizationMiddleware(
        says(),
        backend=backends.FilesystemBackend(tmp_path / "offloaded", virtual_mode=True),
        trigger=("messages", 8),
        keep=("messages", 3),
        summarizer=memory.summarizer(),
        trim_tokens_to_summarize=None,
    )
    model = says()
    agent = agent_of(model, AutoMemoryMiddleware(memory), summarizing)
    for number in range(12):
        agent.invoke({"messages": [HumanMessage(f"Question {number}?")]}, thread("t9"))
    assert len(turns(vault)) == 12
    assert "<memory_note path=" in model.seen[-1][0].text and "Plan the offsite" in model.seen[-1][0].text

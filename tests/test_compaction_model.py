"""Compaction with a model that keeps the note: a scripted one with tools, over real HTTP."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest
from agents import WAYS, calls, look, person, said, says, thread, turns
from blockbuster import blockbuster_ctx
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from stub_openai import Reply, Request, StubOpenAI

from automemory import AutoMemory, AutoMemoryMiddleware
from automemory.vault.reader import Reader
from automemory.vault.sections import parse

Open = Callable[..., AutoMemory]
MakeTurn = Callable[..., list[dict[str, Any]]]
TURNS, EVERY = 100, 20
NOON = datetime(2026, 5, 27, 12, 0, tzinfo=UTC)
GROWING = ("Progress", "Findings", "Decisions")


@pytest.fixture
def open_memory(open_memory: Open) -> Open:
    """Its clock stands at the day of the turns."""
    return lambda *answers, **options: open_memory(*answers, **{"clock": lambda: NOON} | options)


class Keeper:
    """A model that keeps a note: each run writes what is new and forgets what was there before.

    Attributes:
        entries: What it wrote to the sections that only grow, by their names.
        materials: The files it wrote: name to text.
        runs: How many runs it was asked in.
    """

    def __init__(self, each: int = 2) -> None:
        self.entries: dict[str, list[str]] = {name: [] for name in GROWING}
        self.materials: dict[str, str] = {}
        self.runs = 0
        self._each = each

    def __call__(self, request: Request) -> Any:
        if "tool_choice" in request.body or not request.body.get("tools"):
            return self._patch()
        answered = sum(message["role"] == "tool" for message in request.body["messages"])
        path = self._path(request)
        if not answered:
            return _write(path, self._note(), overwrite=True)
        if answered == 1:
            name, text = f"trace-{self.runs}.md", f"# Trace {self.runs}\n\nBoom {self.runs}.\n"
            self.materials[name] = text
            return _write(f"{path.rpartition('/')[0]}/{name}", text)
        return f"updated {path} (+1 materials)"

    def _path(self, request: Request) -> str:
        found = re.search(r"<workspace>(daily/\S+?/)(?: \||</)", request.text)
        folder = found[1] if found else "daily/2026-05-27/the-task/"
        return f"{folder}{folder.rstrip('/').rpartition('/')[2]}.md"

    def _new(self) -> dict[str, list[str]]:
        self.runs += 1
        made = {
            name: [f"{name} {n} of run {self.runs}, {'and why ' * 4}in words" for n in range(self._each)]
            for name in GROWING
        }
        for name, lines in made.items():
            self.entries[name] += lines
        return made

    def _note(self) -> str:
        body = "\n\n".join(
            f"## {name}\n" + "\n".join(map("- {}".format, new)) for name, new in self._new().items()
        )
        steps = f"## Plan\nPlan {self.runs}.\n\n## Next\n- [ ] Step {self.runs}"
        return f"## Objective\nShip it.\n\n{steps}\n\n{body}\n"

    def _patch(self) -> dict[str, Any]:
        new = self._new()
        name, text = f"trace {self.runs}", f"# Trace {self.runs}\n\nBoom {self.runs}."
        self.materials[f"trace-{self.runs}.md"] = f"{text}\n"
        return {
            "skip": False,
            "title": "The task",
            "objective": "Ship it.",
            "plan": f"Plan {self.runs}.",
            **{section.lower(): lines for section, lines in new.items()},
            "next": [f"Step {self.runs}"],
            "description": "A long task.",
            "excerpts": [{"name": name, "content": text}],
        }  # fmt: skip


def _write(path: str, content: str, **options: Any) -> Reply:
    return Reply(content=None, calls=(("write", {"path": path, "content": content, **options}),))


def agent_of(model: Any, *middleware: Any, **options: Any) -> Any:
    options.setdefault("checkpointer", InMemorySaver())
    return create_agent(model, tools=[look], middleware=list(middleware), **options)


def compacting(memory: AutoMemory, **options: Any) -> AutoMemoryMiddleware:
    """Compacts every twenty turns of two messages."""
    given = {"compact_at": ("messages", 2 * EVERY + 1), "keep": ("messages", 3)} | options
    return AutoMemoryMiddleware(memory, **given)


def notes_in(model: Any) -> list[str]:
    """The notes that the agent's model was shown, each once."""
    shown = [m.text for seen in model.seen for m in seen if m.additional_kwargs.get("lc_source")]
    return list(dict.fromkeys(shown))


def note_of(vault: Path) -> tuple[Path, str]:
    [path] = [p for p in vault.glob("daily/*/*/*.md") if p.stem == p.parent.name]
    return path, path.read_text(encoding="utf-8")


def check_entries(shown: str, wanted: Sequence[str], section: str) -> None:
    """The newest entries stand in a section, and the number of older ones that gave way is said."""
    lines = [line for line in parse(shown)[section].split("\n") if line.startswith("- ")]
    dropped = [int(m[1]) for line in lines if (m := re.match(r"- \(… (\d+) older entries", line))]
    kept = lines[1:] if dropped else lines
    assert len(kept) + sum(dropped) == len(wanted), section
    assert kept, section
    assert all(want in line for want, line in zip(wanted[-len(kept) :], kept, strict=True)), section


@pytest.mark.parametrize(
    ("strategy", "each", "way"), [("patch", 2, "invoke"), ("tools", 16, "ainvoke")], ids=["short", "long"]
)
def test_nothing_that_was_noted_is_lost_in_a_long_run(
    open_memory: Open, stub: StubOpenAI, vault: Path, strategy: Any, each: int, way: str
) -> None:
    """B06, B25, B78: all is on disk; the context has what its cap allows, and says how many older ones go.

    A hundred turns are recorded once each, whatever left the context, and the note is nobody's words (B18).
    """
    keeper = Keeper(each)
    memory = open_memory("the task", model=stub.always(keeper).model())
    model = says()
    agent = agent_of(model, compacting(memory, compact_strategy=strategy))
    for number in range(TURNS):
        WAYS[way](agent, {"messages": [HumanMessage(f"Question {number}?")]}, thread())
    path, text = note_of(vault)
    assert said(vault) == [[f"Question {n}?", f"Answer {n + 1}."] for n in range(TURNS)]
    assert "memory_note" not in text and keeper.runs == len(notes_in(model)) == TURNS // EVERY
    there = parse(text)
    for section, wanted in keeper.entries.items():
        lines = there[section].split("\n")
        assert len(lines) == len(wanted)
        assert all(want in line for want, line in zip(wanted, lines, strict=True))
    for name, content in keeper.materials.items():
        assert (path.parent / name).read_text(encoding="utf-8") == content
        assert there["Materials"].count(f"/{name}|") == 1
    last = notes_in(model)[-1]
    assert len(last) <= 8_000 and f"The full note: {path.relative_to(vault).as_posix()}" in last
    for section, wanted in keeper.entries.items():
        check_entries(last, wanted, section)
    check_entries(last, list(keeper.materials), "Materials")
    assert ("older entries" in last) is (each == 16)
    assert f"Plan {keeper.runs}." in last and f"Step {keeper.runs}" in last and "Ship it." in last


def test_long_plan_leaves_room_for_what_was_found(open_memory: Open, stub: StubOpenAI, vault: Path) -> None:
    """B06: what a model rewrites at length does not push out of the context what only grows."""
    plan = "Do this, then that. " * 900
    entries = "\n".join(f"- Finding {n}" for n in range(30))
    content = f"## Objective\nShip it.\n\n## Plan\n{plan}\n\n## Findings\n{entries}\n\n## Next\n- [ ] Go on\n"
    memory = open_memory("the task", model=stub.model())
    memory.record([{"role": "user", "content": "Ship it.", "id": "u0"}])
    path = note_of(vault)[0].relative_to(vault).as_posix()
    stub.script(_write(path, content, overwrite=True), f"updated {path} (+0 materials)")
    shown = memory.context([{"role": "user", "content": "Ship it."}])
    assert len(shown) <= 8_000 and "- [ ] Go on" in shown
    check_entries(shown, [f"Finding {n}" for n in range(30)], "Findings")


def test_a_note_does_not_fill_the_context_it_is_for(open_memory: Open, stub: StubOpenAI, vault: Path) -> None:
    """However much is noted, the next compaction is due only after more has been said."""
    keeper = Keeper(40)
    memory = open_memory("the task", model=stub.always(keeper).model())
    model = says()
    agent = agent_of(model, compacting(memory, compact_at=("tokens", 1_000)))
    for number in range(12):
        agent.invoke({"messages": [HumanMessage(f"Question {number}? " + "So much to say. " * 20)]}, thread())
    assert 1 <= keeper.runs <= 3 and len(turns(vault)) == 12
    assert all(len(shown) <= 2_000 and "older entries" in shown for shown in notes_in(model))


# The user's stream


WORDS = "Hello there, friend."


def either(keeper: Keeper) -> Callable[[Request], Any]:
    """One model for both: the agent's own requests are those without the synchronizer's tools."""

    def answer(request: Request) -> Any:
        names = {tool["function"]["name"] for tool in request.body.get("tools") or ()}
        return WORDS if names <= {"look"} and request.mode in {"text", "tools"} else keeper(request)

    return answer


@pytest.fixture(params=["tools", "patch"])
def streamed(request: Any, open_memory: Open, stub: StubOpenAI) -> Any:
    keeper = Keeper()
    model = stub.always(either(keeper)).model(streaming=True)
    memory = open_memory("the task", model=model)
    agent = agent_of(
        model,
        compacting(memory, compact_at=("messages", 3), keep=("messages", 1), compact_strategy=request.param),
    )
    agent.invoke({"messages": [person(1)]}, thread())
    agent.keeper = keeper
    return agent


def test_the_notes_tokens_are_not_streamed(streamed: Any, vault: Path) -> None:
    """B21: nothing that the memory's model says is shown as the agent's words."""
    parts = list(streamed.stream({"messages": [person(2)]}, thread(), stream_mode="messages"))
    assert "".join(c.text for c, _ in parts if isinstance(c, AIMessage)) == WORDS
    assert "Findings" not in str([c for c, _ in parts if isinstance(c, AIMessage)])
    assert streamed.keeper.runs == 1 and said(vault)[-1] == ["Question 2?", WORDS]


async def test_the_notes_tokens_are_not_streamed_async(streamed: Any, vault: Path) -> None:
    value = {"messages": [person(2)]}
    parts = [p async for _, p in streamed.astream(value, thread(), stream_mode="messages", subgraphs=True)]
    assert "".join(c.text for c, _ in parts if isinstance(c, AIMessage)) == WORDS
    assert streamed.keeper.runs == 1 and said(vault)[-1] == ["Question 2?", WORDS]


async def test_writing_the_note_is_no_event_of_the_agent(streamed: Any) -> None:
    """B21: neither its tokens nor its tools nor its runs."""
    value = {"messages": [person(2)]}
    events = [event async for event in streamed.astream_events(value, thread(), version="v2")]
    models = {event["run_id"] for event in events if event["event"].startswith("on_chat_model")}
    assert streamed.keeper.runs == 1 and len(models) == 1
    assert not [event for event in events if event["event"].startswith("on_tool")]
    spoken = [e["data"]["chunk"].text for e in events if e["event"] == "on_chat_model_stream"]
    assert "".join(spoken) == WORDS


# A model that fails


FAILURES = {
    "error": Reply(status=500, error={"message": "overloaded"}),
    "refusal": Reply(content=None, extra={"refusal": "I cannot help with that."}),
    "silence": Reply(content="late", wait_s=60),
    "cut off": Reply(content="## Obj", finish_reason="length"),
    "chatter": Reply(content="Sure, I have updated everything!"),
    "skip": Reply(content="[SKIP]"),
}


@pytest.mark.parametrize("kind", FAILURES)
@pytest.mark.parametrize(("strategy", "way"), [("tools", "ainvoke"), ("patch", "invoke")])
def test_agent_goes_on_with_what_is_known(
    open_memory: Open, stub: StubOpenAI, vault: Path, kind: str, strategy: Any, way: str
) -> None:
    """B79: the context is compacted all the same, to the note as it was and what its turns added since."""
    keeper = Keeper()
    memory = open_memory("the task", None, None, model=stub.always(keeper).model())
    memory.record([{"role": "user", "content": "Ship it.", "id": "u0"}], thread_id="t1")
    memory.synchronize([{"role": "user", "content": "Ship it."}], thread_id="t1")
    stub.always(FAILURES[kind])
    model = says()
    mine = compacting(memory, compact_at=("messages", 5), compact_strategy=strategy, compact_timeout_s=3)
    agent = agent_of(model, mine)
    for number in range(1, 4):
        WAYS[way](agent, {"messages": [person(number)]}, thread())
    assert len(turns(vault)) == 4
    [shown] = notes_in(model)
    assert "Findings 1 of run 1" in shown and "On the same." in shown
    assert [m.text for m in model.seen[-1][1:]] == ["Question 2?", "Answer 2.", "Question 3?"]


def test_known_is_what_was_said_where_nothing_is_noted(
    open_memory: Open, stub: StubOpenAI, vault: Path
) -> None:
    """In its first turn a thread has no event yet; that of another thread does not stand for it."""
    memory = open_memory("another task", model=stub.always(FAILURES["error"]).model())
    memory.record([{"role": "user", "content": "Another task.", "id": "u0"}], thread_id="other")
    steps = [calls("look", first=n) for n in range(6)]
    model = says(*steps, "Done.")
    agent = agent_of(model, compacting(memory, compact_at=("messages", 6), keep=("messages", 2)))
    agent.invoke({"messages": [HumanMessage("Look six times.")]}, thread())
    for shown in notes_in(model):
        assert "Look six times." in shown and "Found look." in shown and "nother task" not in shown


def test_steps_of_the_turn_under_way_are_known_too(open_memory: Open, stub: StubOpenAI, vault: Path) -> None:
    """They are in no note before the turn is over."""
    memory = open_memory("the task", model=stub.always(FAILURES["error"]).model())
    model = says(
        "Ready.", calls("look", text="Looking into auth.py"), *[calls("look", first=n) for n in range(2, 5)]
    )
    agent = agent_of(model, compacting(memory, compact_at=("messages", 8), keep=("messages", 2)))
    agent.invoke({"messages": [HumanMessage("Hello?")]}, thread())
    agent.invoke({"messages": [HumanMessage("Look four times.")]}, thread())
    shown = notes_in(model)[-1]
    assert "On the task." in shown and "Looking into auth.py" in shown and "Found look." in shown


# At the same time


def test_recording_and_noting_at_the_same_time_lose_nothing(
    open_memory: Open, stub: StubOpenAI, turn: MakeTurn, vault: Path
) -> None:
    """4.4: one memory, so one opened vault, from several threads."""
    keeper = Keeper()
    answer, busy = keeper, threading.Lock()

    def one_at_a_time(request: Request) -> Any:
        with busy:
            return answer(request)

    memory = open_memory("the task", model=stub.always(one_at_a_time).model())
    memory.record(turn(0))
    errors: list[BaseException] = []

    def run(work: Callable[[int], object], numbers: Sequence[int]) -> None:
        try:
            for number in numbers:
                work(number)
        except BaseException as error:
            errors.append(error)

    def record(number: int) -> None:
        assert memory.record(turn(number)).outcome == "recorded"

    def note(number: int) -> None:
        result = memory.synchronize(turn(number))
        assert result.success, result.failed

    jobs = [(record, range(1, 31)), (note, range(5)), (record, range(31, 60))]
    threads = [threading.Thread(target=run, args=job) for job in jobs]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not errors
    path, text = note_of(vault)
    asked = [row[0] for row in said(vault)]
    assert sorted(asked) == sorted(f"Question {n}?" for n in range(60))
    assert asked.index("Question 1?") < asked.index("Question 30?")
    there = parse(text)
    assert [len(there[name].split("\n")) for name in GROWING] == [len(keeper.entries[n]) for n in GROWING]
    assert {p.name for p in path.parent.iterdir()} == {path.name, *keeper.materials}
    assert [head.path for head in Reader(vault).events()] == [path.relative_to(vault).as_posix()]


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
def test_two_agents_on_one_vault_keep_their_own_notes(
    open_memory: Open, stub: StubOpenAI, vault: Path, way: str
) -> None:
    """In parallel, each with its own memory: no entry, turn or material gets to the other."""
    keepers = {name: Keeper() for name in ("ann", "bob")}

    def answer(request: Request) -> Any:
        return keepers["ann" if "/ann_" in request.text else "bob"](request)

    model = stub.always(answer).model()
    memories = {n: open_memory("the task", model=model, agent_id=n) for n in keepers}
    talkers = {name: says() for name in keepers}

    def run(name: str) -> None:
        agent = agent_of(talkers[name], compacting(memories[name], compact_at=("messages", 9)))
        for number in range(12):
            WAYS[way](agent, {"messages": [HumanMessage(f"{name} asks {number}?")]}, thread())

    threads = [threading.Thread(target=run, args=(name,)) for name in keepers]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    for name, keeper in keepers.items():
        [head] = Reader(vault).events(agent=name)
        event = Reader(vault).event(head.path)
        assert [t.steps[0].text for t in event.turns] == [f"{name} asks {n}?" for n in range(12)]
        for section, wanted in keeper.entries.items():
            lines = parse(event.body)[section].split("\n")
            assert all(want in line for want, line in zip(wanted, lines, strict=True))
        assert keeper.runs > 1 and len(notes_in(talkers[name])) == keeper.runs


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
def test_each_users_note_is_kept_in_their_vault(
    open_memory: Open, stub: StubOpenAI, tmp_path: Path, way: str
) -> None:
    """One memory and one agent for `vaults/{user_id}`; the same thread id with both users."""
    keeper = Keeper()
    memory = open_memory(
        "the task", "the task", model=stub.always(keeper).model(), vault=tmp_path / "v" / "{user_id}"
    )
    model = says()
    mine = compacting(memory, compact_at=("messages", 5))
    agents = {user: agent_of(model, mine, context_schema=dict) for user in ("ann", "bob")}
    for number in range(6):
        for user, agent in agents.items():
            value = {"messages": [HumanMessage(f"{user} asks {number}?")]}
            WAYS[way](agent, value, thread(), context={"user_id": user})
    for user in agents:
        path, text = note_of(tmp_path / "v" / user)
        assert [row[0] for row in said(tmp_path / "v" / user)] == [f"{user} asks {n}?" for n in range(6)]
        assert "Findings 0 of run" in text and (path.parent / "trace-1.md").exists() is (user == "ann")


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
def test_note_behind_the_agents_back(open_memory: Open, stub: StubOpenAI, vault: Path, way: str) -> None:
    """With `background` the note is that of the event which the turns before it went to."""
    keeper = Keeper()
    memory = open_memory("the task", model=stub.always(keeper).model(), background=True)
    model = says()
    agent = agent_of(model, compacting(memory, compact_at=("messages", 9)))
    for number in range(12):
        WAYS[way](agent, {"messages": [HumanMessage(f"Question {number}?")]}, thread())
    memory.flush()
    _, text = note_of(vault)
    assert [row[0] for row in said(vault)] == [f"Question {n}?" for n in range(12)]
    assert keeper.runs == len(notes_in(model)) == 3 and "memory_note" not in text
    assert all(f"Findings 1 of run {n}" in text for n in (1, 2, 3))


@pytest.mark.parametrize("strategy", ["tools", "patch"])
async def test_compaction_does_not_block_the_event_loop(
    open_memory: Open, stub: StubOpenAI, vault: Path, strategy: Any
) -> None:
    """B22: neither where the model is set up nor where the note is written and read."""
    memory = open_memory("the task", model=stub.always(Keeper()).model())
    model = says()
    agent = agent_of(model, compacting(memory, compact_at=("messages", 5), compact_strategy=strategy))
    with blockbuster_ctx():
        for number in range(5):
            await agent.ainvoke({"messages": [person(number)]}, thread())
        summary = await memory.summarizer(strategy=strategy).ainvoke(
            [person(9)], cast(RunnableConfig, thread())
        )
        await memory.aflush()
    assert notes_in(model) and "Findings 0 of run 1" in summary and len(turns(vault)) == 5

"""Several agents on one vault, and tasks over many days: nobody goes on with what is not its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from automemory.boundary import BoundaryDecision
from automemory.decision import NotifyCandidate, Verdict
from automemory.memory import AutoMemory
from automemory.vault.note import blocks
from automemory.vault.reader import Reader

Open = Callable[..., AutoMemory]
MakeTurn = Callable[..., list[dict[str, Any]]]
NOON = datetime(2026, 5, 27, 12, 0, tzinfo=UTC)
AGENTS = ("ada", "bob", None)
SCHEMAS = pytest.mark.parametrize("schema", ["append", "notes"])


def on(day: int, minute: int = 0) -> datetime:
    """A time on a day after the first."""
    return NOON + timedelta(days=day, minutes=minute)


def titled(slug: str, title: str) -> Verdict:
    return Verdict(BoundaryDecision(continue_=False, new_event_slug=slug), "llm", title=title)


@SCHEMAS
async def test_agents_at_once_keep_to_their_own(
    open_memory: Open, turn: MakeTurn, vault: Path, schema: str
) -> None:
    """The same slugs, threads and message ids at the same time: each agent has its own folders, turns and
    active event, all turns are there once and in order, and each event has one line in the day's index."""
    answers = ("deploy", None, "offsite", None, "deploy", None)
    memories = [open_memory(*answers, agent_id=agent, note_schema=schema) for agent in AGENTS]

    async def work(memory: AutoMemory) -> list[str]:
        results = [await memory.arecord(turn(number)) for number in range(6)]
        return [result.event.path for result in results if result.event]

    places = await asyncio.gather(*map(work, memories))
    for agent, paths in zip(AGENTS, places, strict=True):
        prefix = f"{agent}_" if agent else ""
        folders = [f"{prefix}{slug}" for slug in ("deploy", "offsite", "deploy") for _ in range(2)]
        assert paths == [f"daily/2026-05-27/{name}/{name}.md" for name in folders]
        for head in Reader(vault).events(agent=agent or ""):
            said = [t.steps[0].text for t in Reader(vault).event(head.path).turns]
            assert said == sorted(said) and len(said) in {2, 4}
    assert sum(len(Reader(vault).event(h.path).turns) for h in Reader(vault).events()) == 18
    index = (vault / "daily/2026-05-27.md").read_text("utf-8")
    assert sum(line.startswith("- [[") for line in index.split("\n")) == 6
    active = [memory.status().active for memory in memories]
    assert [list(streams) for streams in active] == [["ada/main"], ["bob/main"], ["/main"]]


def test_an_agent_is_shown_its_own_events_only(
    open_memory: Open, turn: MakeTurn, scripted: Any, vault: Path
) -> None:
    """What a turn may go back to, what was offered and what is injected are the agent's own."""
    ada = open_memory("deploy", "offsite", agent_id="ada")
    ada.record(turn(1), notify=[NotifyCandidate("resource/a.md")])
    ada.record(turn(2))
    decider = scripted("deploy", "offsite")
    bob = open_memory(decider=decider, agent_id="bob", clock=lambda: NOON)
    assert bob.reference() == ""
    first, second = bob.record(turn(3)), bob.record(turn(4))
    assert [r.event.how for r in (first, second) if r.event] == ["opened", "opened"]
    assert [[e.slug for e in context.recent] for context in decider.contexts] == [[], []]
    assert [context.notify for context in decider.contexts] == [(), ()]
    assert all("bob_" in r.event.path for r in (first, second) if r.event)


@pytest.mark.parametrize("event", ["deploy", "ada_deploy"])
def test_an_agent_cannot_be_told_into_anothers_event(
    open_memory: Open, turn: MakeTurn, vault: Path, event: str
) -> None:
    """1.1: also where the host names it, by its slug or by its folder."""
    open_memory("deploy", agent_id="ada").record(turn(1))
    before = (vault / "daily/2026-05-27/ada_deploy/ada_deploy.md").read_bytes()
    result = open_memory("x", agent_id="bob").record(turn(2), event=event)
    assert result.event and result.event.how == "opened" and "/bob_" in result.event.path
    assert (vault / "daily/2026-05-27/ada_deploy/ada_deploy.md").read_bytes() == before


def test_an_agent_whose_name_begins_as_anothers(open_memory: Open, turn: MakeTurn, vault: Path) -> None:
    """`a` and `a-b`, and a slug that looks like another agent's folder: each stays its own."""
    short, long = open_memory("b_task", agent_id="a"), open_memory("task", agent_id="a-b")
    paths = [memory.record(turn(1)).event for memory in (short, long)]
    assert [ref.path.rpartition("/")[2] for ref in paths if ref] == ["a_b-task.md", "a-b_task.md"]
    assert short.close_event() and not short.close_event() and long.close_event()
    assert [len(Reader(vault).events(agent=agent)) for agent in ("a", "a-b")] == [1, 1]


def test_recent_scope_keeps_threads_apart(open_memory: Open, turn: MakeTurn, scripted: Any) -> None:
    """With `stream`, a thread goes back to its own events only; by default to all of the agent's."""
    for scope, expected in (("agent", ["deploy"]), ("stream", [])):
        memory = open_memory("deploy", agent_id=f"agent-{scope}", recent_scope=scope)
        memory.record(turn(1), thread_id="one")
        decider = scripted("x")
        other = open_memory(decider=decider, agent_id=f"agent-{scope}", recent_scope=scope)
        other.record(turn(2), thread_id="two")
        assert [event.slug for event in decider.contexts[0].recent] == expected


# Over days


@SCHEMAS
def test_a_task_of_a_week_is_one_chain(open_memory: Open, turn: MakeTurn, vault: Path, schema: str) -> None:
    """2.5: a folder a day, each going on with that of the day before, none changed but for its end; the chain
    reads as one from any of its days."""
    memory = open_memory("the report", *[None] * 20, note_schema=schema)
    for day in range(7):
        for minute in (0, 1):
            memory.record(turn(10 * day + minute, on(day, minute)))
    memory.close_event(closed_by="end")
    heads = Reader(vault).events()
    days = [str((NOON + timedelta(days=day)).date()) for day in range(7)]
    assert [(head.date, head.slug) for head in heads] == [(day, "the-report") for day in days]
    assert [head.closed_by for head in heads] == ["day-end"] * 6 + ["end"]
    for head in heads:
        assert [h.path for h in Reader(vault).chain(head.path)] == [h.path for h in heads]
        assert len(Reader(vault).event(head.path).turns) == 2
        assert all(t.at and str(t.at.date()) == head.date for t in Reader(vault).event(head.path).turns)
    assert [head.inherits for head in heads] == ["", *(head.path for head in heads[:-1])]


@SCHEMAS
def test_a_task_that_rests_is_taken_up_within_the_window(
    open_memory: Open, turn: MakeTurn, vault: Path, schema: str
) -> None:
    """2.5: on the last day of the window it is inherited, a day later it is a new event of that name."""
    for days, how in ((7, "inherited"), (8, "opened")):
        memory = open_memory("tax", "other", "tax", agent_id=f"after-{days}", note_schema=schema)
        memory.record(turn(1))
        memory.record(turn(2))
        result = memory.record(turn(3, on(days)))
        assert result.event and result.event.how == how
        links = Reader(vault).event(result.event.path).head.inherits
        assert bool(links) == (how == "inherited")


def test_the_same_title_under_another_slug_goes_on(open_memory: Open, turn: MakeTurn, vault: Path) -> None:
    """2.5: a model that names the same task otherwise is understood by its title; the slug stays the old one,
    whatever case and Unicode form the title comes in."""
    answers = [titled("fix-café-till", "Fix the Café till"), titled("offsite", "Offsite")]
    memory = open_memory(*answers, titled("repair-register", "FIX THE CAFE\u0301 TILL"))
    for number, day in ((1, 0), (2, 0), (3, 1)):
        memory.record(turn(number, on(day, number)))
    assert [(h.date, h.slug) for h in Reader(vault).chain("daily/2026-05-28/fix-café-till")] == [
        ("2026-05-27", "fix-café-till"),
        ("2026-05-28", "fix-café-till"),
    ]


def test_another_agents_task_of_the_same_title_is_not_taken_up(
    open_memory: Open, turn: MakeTurn, vault: Path
) -> None:
    """Neither by title nor by slug, within a day or over days."""
    ada = open_memory(titled("till", "Fix the till"), agent_id="ada")
    ada.record(turn(1))
    bob = open_memory(*[titled("till", "Fix the till")] * 2, agent_id="bob")
    for number, day in ((2, 0), (3, 1)):
        result = bob.record(turn(number, on(day, number)))
        assert result.event and "/bob_till/" in result.event.path
    assert [h.agent for h in Reader(vault).chain("daily/2026-05-28/bob_till")] == [
        "bob",
        "bob",
    ]
    assert not Reader(vault).event("ada_till").head.closed


def test_a_finished_task_is_not_gone_on_with_by_name(open_memory: Open, turn: MakeTurn, vault: Path) -> None:
    """`status: completed` ends it: the same name on another day is another event."""
    memory = open_memory("till", "other", "till")
    for number, day in ((1, 0), (2, 0)):
        memory.record(turn(number, on(day, number)))
    note = vault / "daily/2026-05-27/till/till.md"
    note.write_text(note.read_text("utf-8").replace("status: active", "status: completed"), "utf-8")
    result = memory.record(turn(3, on(1)))
    assert result.event and result.event.how == "opened"
    assert Reader(vault).event(result.event.path).head.inherits == ""


@SCHEMAS
def test_a_turn_at_midnight_is_of_its_own_day(
    open_memory: Open, turn: MakeTurn, vault: Path, schema: str
) -> None:
    """B34: the date is the turn's, in the vault's zone, for folder, blocks, views and index alike."""
    memory = open_memory("night", None, timezone="Asia/Shanghai", note_schema=schema)
    memory.record(turn(1, datetime(2026, 5, 27, 15, 59, 59, tzinfo=UTC)))
    memory.record(turn(2, datetime(2026, 5, 27, 16, 0, 1, tzinfo=UTC)))
    for day, clock in (("2026-05-27", "23:59:59"), ("2026-05-28", "00:00:01")):
        event = Reader(vault).event(f"daily/{day}/night")
        [block] = blocks((vault / event.head.record).read_text("utf-8"))
        assert block.at and block.at.isoformat() == f"{day}T{clock}+08:00"
        assert [line.event for line in Reader(vault).day(day).lines if line.event] == [event.head.path]


def test_a_new_event_of_the_active_ones_name_on_a_later_day_goes_on_with_it(
    open_memory: Open, turn: MakeTurn, vault: Path
) -> None:
    """2.5: the active event is shown to the decider as well; where it is named again, the chain does not
    break. On the same day it is another event beside it."""
    memory = open_memory("till", "till", "till")
    results = [memory.record(turn(number, on(day, number))) for number, day in ((1, 0), (2, 0), (3, 1))]
    assert [r.event.how for r in results if r.event] == ["opened", "opened", "inherited"]
    assert [h.path for h in Reader(vault).chain("daily/2026-05-28/till-2")] == [
        "daily/2026-05-27/till-2/till-2.md",
        "daily/2026-05-28/till-2/till-2.md",
    ]

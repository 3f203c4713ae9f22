"""The front door: what `AutoMemory` promises to those who call it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from automemory.boundary import BoundaryDecision
from automemory.decision import DecisionContext, EventSummary, EventView, Exchange, Verdict
from automemory.errors import ConfigError, Unwritable
from automemory.memory import AutoMemory
from automemory.turn import Message, ToolCall, Turn
from automemory.vault.reader import Reader

Open = Callable[..., AutoMemory]
MakeTurn = Callable[..., list[dict[str, Any]]]
Files = Callable[[], dict[str, str]]


def ids(vault: Path) -> list[str]:
    """The ids of all turns in the vault, event by event."""
    reader = Reader(vault)
    return [turn.id for head in reader.events() for turn in reader.event(head.path).turns]


# Turns


def test_tools_of_a_turn_are_never_a_boundary(open_memory: Open, scripted: Any, vault: Path) -> None:
    """B01: a question with three tool calls and its follow-up are two turns of one event and two
    decisions.
    """
    decider = scripted("weather")
    memory = open_memory(decider=decider)
    calls = [{"id": f"c{n}", "name": "forecast", "args": {"day": n}} for n in range(3)]
    question = [
        {"role": "user", "content": "How will the weather be?", "id": "u1"},
        *({"role": "assistant", "content": "", "tool_calls": [call], "id": call["id"]} for call in calls),
        *({"role": "tool", "content": "sunny", "tool_call_id": call["id"]} for call in calls),
        {"role": "assistant", "content": "Sunny.", "id": "a1"},
    ]
    memory.record(question)
    memory.record(
        [{"role": "user", "content": "why?", "id": "u2"}, {"role": "assistant", "content": "High."}]
    )
    assert len(decider.contexts) == 2
    [head] = Reader(vault).events()
    assert [len(turn.steps) for turn in Reader(vault).event(head.path).turns] == [5, 2]


def test_result_names_what_is_on_disk(open_memory: Open, turn: MakeTurn, files: Files) -> None:
    """`files` are the files that changed and no others; the event and the closed one are those of the
    notes.
    """
    memory = open_memory("one", "two", None)
    before: dict[str, str] = {}
    for number, (opened, closed) in enumerate([("one", None), ("two", "one"), ("two", None)]):
        result = memory.record(turn(number))
        after = files()
        assert set(result.files) == {path for path in after if after[path] != before.get(path)}
        assert result.event and result.event.slug == opened and result.event.path in after
        assert (result.closed.slug if result.closed else None) == closed
        before = after


def test_turn_without_a_time_is_timed_once_by_the_clock(open_memory: Open, files: Files) -> None:
    """B34: the clock is read once, at acceptance; a decision that ends after midnight does not move the
    turn.
    """
    reads = iter([datetime(2026, 5, 27, 23, 59, 59, tzinfo=UTC), datetime(2026, 5, 28, 0, 0, 1, tzinfo=UTC)])
    memory = open_memory("late", clock=lambda: next(reads))
    result = memory.record([{"role": "user", "content": "Late?"}])
    assert result.event and result.event.path == "daily/2026-05-27/late/late.md"
    assert set(files()) == {"daily/2026-05-27.md", "daily/2026-05-27/late/late.md"}
    assert "### 23:59:59" in files()["daily/2026-05-27/late/late.md"]


@pytest.mark.parametrize("nothing", ["null", "None", "N/A", "", "  ", "undefined"])
def test_words_for_nothing_name_no_folder(open_memory: Open, turn: MakeTurn, nothing: str) -> None:
    """B12: a null in any spelling is no slug and no patch; the turn's own words name the event."""
    decision = BoundaryDecision.model_validate(
        {"continue": False, "new_event_slug": nothing, "summary_patch": nothing}
    )
    result = open_memory(Verdict(decision, "llm")).record(turn(1))
    assert result.event and result.event.slug == "question-1"


@pytest.mark.parametrize(
    "slug",
    ["Request timed out.", "I'm sorry, I can't do that", '{"new_event_slug": "x"}', "x" * 400, "../../etc"],
)
def test_failure_text_names_no_folder(open_memory: Open, turn: MakeTurn, files: Files, slug: str) -> None:
    """B04: an error, an apology, JSON or a flood becomes no folder; the turn is saved and the decision
    failed.
    """
    result = open_memory(slug).record(turn(1))
    expected = "etc" if "etc" in slug else "question-1"
    assert set(files()) == {"daily/2026-05-27.md", f"daily/2026-05-27/{expected}/{expected}.md"}
    assert result.verdict and result.verdict.by == ("local" if "etc" in slug else "fallback")


async def test_decider_that_hangs_is_left_after_its_time(
    open_memory: Open, turn: MakeTurn, vault: Path
) -> None:
    """The local decider stands in when the budget is spent, and the turn is filed all the same."""

    class Hanging:
        async def decide(self, context: DecisionContext) -> Verdict:
            await asyncio.Event().wait()
            raise AssertionError

    memory = open_memory(decider=Hanging(), decide_timeout_s=0.01)
    result = await memory.arecord(turn(1))
    assert result.outcome == "recorded" and result.verdict and result.verdict.by == "fallback"
    assert "TimeoutError" in result.verdict.error
    assert (await memory.astatus()).counters["fallback"] >= 1


# Sync and async, threads and loops


async def test_sync_and_async_leave_the_same_vault(
    open_memory: Open, turn: MakeTurn, files: Files, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"clock": lambda: datetime(2026, 5, 27, 13, tzinfo=UTC)}
    other = open_memory("one", None, "two", vault=tmp_path / "other", **options)
    async with open_memory("one", None, "two", **options) as memory:
        for number in range(3):
            await memory.arecord(turn(number))
            await asyncio.to_thread(other.record, turn(number))
        await memory.aclose_event()
        await asyncio.to_thread(other.close_event)
    assert files() == {
        path.relative_to(tmp_path / "other").as_posix(): path.read_text(encoding="utf-8")
        for path in (tmp_path / "other" / "daily").rglob("*.md")
    }


async def test_sync_call_inside_a_running_loop_does_not_deadlock(open_memory: Open, turn: MakeTurn) -> None:
    memory = open_memory("one")
    assert memory.record(turn(1)).outcome == "recorded"
    assert (await memory.arecord(turn(2))).outcome == "recorded"


async def test_concurrent_turns_of_a_stream_queue_in_order(
    open_memory: Open, turn: MakeTurn, vault: Path
) -> None:
    memory = open_memory("one")
    results = await asyncio.gather(*(memory.arecord(turn(number)) for number in range(12)))
    assert ids(vault) == [result.turn_id for result in results]


def test_threads_on_one_memory_lose_nothing(open_memory: Open, turn: MakeTurn, vault: Path) -> None:
    """Eight threads, four conversations, some of them shared: every turn stands there exactly once."""
    memory = open_memory(*["one"] * 4)

    def talk(number: int) -> list[str]:
        turns = (turn(100 * number + i) for i in range(5))
        return [memory.record(said, thread_id=f"t{number % 4}").turn_id for said in turns]

    with ThreadPoolExecutor(8) as pool:
        recorded = [id for found in pool.map(talk, range(8)) for id in found]
    assert sorted(ids(vault)) == sorted(recorded) and len(set(recorded)) == 40


def test_cancelled_caller_does_not_cancel_the_turn(open_memory: Open, turn: MakeTurn, vault: Path) -> None:
    """What was handed in is filed, whoever stopped waiting for it."""
    deciding, go_on = threading.Event(), threading.Event()

    class Slow:
        async def decide(self, context: DecisionContext) -> Verdict:
            deciding.set()
            await asyncio.to_thread(go_on.wait)
            return Verdict(BoundaryDecision(continue_=False, new_event_slug="slow"), "local")

    memory = open_memory(decider=Slow())

    async def give_up() -> None:
        task = asyncio.create_task(memory.arecord(turn(1)))
        await asyncio.to_thread(deciding.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(give_up())
    go_on.set()
    assert memory.record(turn(1)).outcome == "duplicate"
    assert len(ids(vault)) == 1


@pytest.mark.parametrize("sync", [False, True])
def test_decider_cannot_record_to_its_own_stream(open_memory: Open, turn: MakeTurn, sync: bool) -> None:
    """It is refused at once instead of waiting for itself; another stream's turn is taken."""
    refused: list[str] = []

    class Meddling:
        memory: AutoMemory

        async def decide(self, context: DecisionContext) -> Verdict:
            if "1" in context.turn.user:
                await self.meddle()
            return Verdict(BoundaryDecision(continue_=False, new_event_slug="meddled"), "local")

        async def meddle(self) -> None:
            try:
                if sync:
                    self.memory.record(turn(2))
                else:
                    await self.memory.arecord(turn(2))
            except ConfigError as error:
                refused.append(str(error))
            if not sync:
                await self.memory.arecord(turn(3), thread_id="other")

    decider = Meddling()
    decider.memory = memory = open_memory(decider=decider)
    assert memory.record(turn(1)).outcome == "recorded"
    assert len(refused) == 1
    assert len(memory.recorded_ids("other")) == (0 if sync else 1)


NONSENSE = {
    "nothing": None,
    "text": "continue",
    "bare decision": BoundaryDecision(continue_=True),
    "no decision": Verdict(None, "local"),  # type: ignore[arg-type]
    "forged marker": Verdict(BoundaryDecision(continue_=True), "x -->\n## Turns"),  # type: ignore[arg-type]
    "no probability": Verdict(BoundaryDecision(continue_=True), "local", float("nan")),
    "no title": Verdict(BoundaryDecision(continue_=True), "local", title=None),  # type: ignore[arg-type]
    "no count": Verdict(BoundaryDecision(continue_=True), "local", calls="x"),  # type: ignore[arg-type]
    "exit": SystemExit(1),
    "interrupt": KeyboardInterrupt(),
    "cancellation": asyncio.CancelledError(),
}


@pytest.mark.parametrize("answer", NONSENSE.values(), ids=NONSENSE)
def test_nonsense_of_a_decider_or_summarizer_holds_up_no_turn(
    open_memory: Open, turn: MakeTurn, vault: Path, answer: Any
) -> None:
    """Whatever they answer or raise: the turn is filed by the fallback, the event closed, and all is read."""

    class Senseless:
        async def decide(self, context: DecisionContext) -> Verdict:
            if isinstance(answer, BaseException):
                raise answer
            return answer  # type: ignore[no-any-return]

        async def summarize(self, event: EventView, turns: list[Exchange]) -> EventSummary:
            return await self.decide(DecisionContext(turns[0]))  # type: ignore[return-value]

    memory = open_memory(decider=Senseless())
    results = [memory.record(turn(number, reply="long " * 200)) for number in range(2)]
    assert [result.outcome for result in results] == ["recorded"] * 2
    assert {result.verdict.by for result in results if result.verdict} == {"fallback"}
    assert memory.close_event() is not None
    assert sorted(ids(vault)) == sorted(memory.recorded_ids())
    assert {head.summary_by for head in Reader(vault).events()} <= {"pending", "extract"}


def test_half_a_surrogate_pair_in_a_summary_closes_the_event(
    open_memory: Open, turn: MakeTurn, scripted: Any, vault: Path
) -> None:
    """B52: a model's `\\ud800` cannot be stored; it is replaced, and the stream goes on."""

    class Broken(scripted):  # type: ignore[misc]
        async def summarize(self, event: EventView, turns: list[Exchange]) -> EventSummary:
            return EventSummary("half \ud800", title="\udfff")

    memory = open_memory(decider=Broken("one", "two"))
    memory.record(turn(0, reply="long " * 200))
    assert memory.record(turn(1)).outcome == "recorded"
    assert Reader(vault).event("one").head.description == "half \ufffd"


@pytest.mark.parametrize(
    "wrong",
    [
        {"thread_id": 5},
        {"thread_id": None},
        {"thread_id": ""},
        {"thread_id": b"x"},
        {"event": 5},
        {"event": b"x"},
        {"notify": ["x"]},
        {"notify": None},
        {"turn_id": "x -->"},
        {"turn_id": 5},
    ],
    ids=str,
)
def test_argument_of_a_wrong_type_is_refused_and_blocks_nothing(
    open_memory: Open, turn: MakeTurn, wrong: dict[str, Any]
) -> None:
    """Before anything is stored: what could not be read back would block its stream for ever."""
    memory = open_memory("one")
    [name] = wrong
    with pytest.raises(ConfigError, match=name):
        memory.record(turn(1), **wrong)
    assert memory.record(turn(2)).outcome == "recorded"
    assert memory.status().waiting == 0


def test_half_a_surrogate_pair_in_a_thread_or_an_event_is_replaced(
    open_memory: Open, turn: MakeTurn, vault: Path
) -> None:
    """B52: also where it is not said but named, and the thread stays one stream."""
    memory = open_memory()
    memory.record(turn(1), thread_id="a\ud800", event="b\ud800")
    memory.record(turn(2), thread_id="a\ud800")
    [head] = Reader(vault).events()
    assert head.thread == "a\ufffd" and len(memory.recorded_ids("a\ud800")) == 2


@pytest.mark.parametrize(
    "messages",
    [None, (), ({"role": "user"}, 5), (Message("user", None),), (Message("user", "x", tool_calls=None),)],  # type: ignore[arg-type]
    ids=str,
)
def test_turn_of_something_else_is_refused(open_memory: Open, messages: Any) -> None:
    """A `Turn` that a caller made of anything is read as a list of messages is."""
    with pytest.raises(ConfigError):
        open_memory().record(Turn(messages))


def test_turn_made_by_hand_is_cleaned(open_memory: Open, vault: Path) -> None:
    """Line ends, NUL, half surrogate pairs in every field, times that make no sense, instructions."""
    dirty = "a\r\nb\0\ud800"
    call = ToolCall(dirty, dirty, dirty)
    said = (
        Message("system", "hidden"),
        Message("user", dirty, id=dirty, at=datetime(1, 1, 1, tzinfo=UTC)),
        Message("assistant", "", tool_calls=(call,)),
        Message("tool", dirty, tool_call_id=dirty, name=dirty),
    )
    memory = open_memory("one")
    assert memory.record(Turn(said)).outcome == "recorded"
    [recorded] = Reader(vault).event("one").turns
    assert [step.text for step in recorded.steps] == ["a\nb\ufffd\ufffd"] * 2


# What is never recorded


def test_paused_turns_never_come_back(open_memory: Open, turn: MakeTurn, vault: Path, files: Files) -> None:
    """Not by resending, not after a restart, not after `state.db` is deleted; nor is their text anywhere."""
    memory = open_memory("one")
    memory.record(turn(1))
    with memory.paused():
        assert memory.record(turn(2, reply="a secret")).outcome == "excluded"
    assert memory.record(turn(2, reply="a secret")).outcome == "excluded"
    assert memory.record(turn(3)).outcome == "recorded"
    memory.close()
    assert "a secret" not in "".join(files().values())
    for path in (vault / ".automemory").iterdir():
        assert b"a secret" not in path.read_bytes()
        if path.name.startswith("state.db"):
            path.unlink()
    again = open_memory()
    assert [again.record(turn(n)).outcome for n in (1, 2, 3)] == ["duplicate", "excluded", "duplicate"]


def test_pause_holds_for_the_rest_of_a_draft(open_memory: Open, turn: MakeTurn, files: Files) -> None:
    """What is added to a known turn while memory is paused is not recorded."""
    memory = open_memory("one")
    said = turn(1, reply="a secret")
    memory.record(Turn.of(said[:1], complete=False))
    with memory.paused():
        memory.record(said)
    memory.flush()
    assert "a secret" not in "".join(files().values())


def test_excluded_tools_and_messages_stay_out(open_memory: Open, files: Files) -> None:
    said = [
        {"role": "user", "content": "Look it up.", "id": "u1"},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "name": "vault", "args": {}}]},
        {"role": "tool", "content": "private", "tool_call_id": "c1"},
        {"role": "assistant", "content": "There.", "id": "a1"},
    ]
    open_memory("one", exclude=["vault"]).record(said)
    assert "private" not in str(files()) and "There." in str(files())


def test_turn_of_excluded_messages_only_is_excluded(open_memory: Open, turn: MakeTurn, files: Files) -> None:
    memory = open_memory(exclude=lambda message: True)
    assert memory.record(turn(1)).outcome == "excluded"
    assert files() == {}


# Events, drafts, opening and closing


def test_closed_event_is_followed_by_a_new_one(open_memory: Open, turn: MakeTurn, vault: Path) -> None:
    memory = open_memory("one", "two")
    memory.record(turn(1))
    closed = memory.close_event()
    assert closed and closed.slug == "one" and closed.how == "closed"
    assert memory.close_event() is None
    result = memory.record(turn(2))
    assert result.event and (result.event.slug, result.event.how, result.closed) == ("two", "opened", None)


def test_draft_is_filed_when_its_event_is_closed(open_memory: Open, turn: MakeTurn, vault: Path) -> None:
    """`close_event`, `flush` and `close` supersede a draft; until then only `state.db` has it."""
    memory = open_memory("one")
    draft = Turn.of(turn(1)[:1], complete=False)
    assert memory.record(draft).outcome == "accepted"
    assert memory.status().waiting == 1 and ids(vault) == []
    closed = memory.close_event()
    assert closed and closed.slug == "one"
    memory.record(Turn.of(turn(2)[:1], complete=False))
    memory.flush()
    memory.record(Turn.of(turn(3)[:1], complete=False))
    memory.close()
    turns = [t for h in Reader(vault).events() for t in Reader(vault).event(h.path).turns]
    assert [turn.incomplete for turn in turns] == [True, True, True]


def test_completed_draft_is_one_whole_turn(open_memory: Open, turn: MakeTurn, vault: Path) -> None:
    memory = open_memory("one")
    memory.record(Turn.of(turn(1)[:1], complete=False))
    assert memory.record(turn(1)).outcome == "recorded"
    [head] = Reader(vault).events()
    [recorded] = Reader(vault).event(head.path).turns
    assert not recorded.incomplete and recorded.part == 1 and recorded.n == 2


def test_open_event_stays_open_over_a_restart(open_memory: Open, turn: MakeTurn, vault: Path) -> None:
    with open_memory("one") as memory:
        memory.record(turn(1))
    memory.close()
    result = open_memory().record(turn(2))
    assert result.event and (result.event.slug, result.event.how) == ("one", "continued")


@pytest.mark.parametrize("first", [True, False], ids=["opened", "not opened yet"])
def test_relative_vault_stays_where_it_was_meant(
    open_memory: Open, turn: MakeTurn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: bool
) -> None:
    """A program that goes on in another folder still records into its vault, and makes none there."""
    (there := tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path)
    memory, filled = open_memory("one", vault="own"), open_memory("one", vault="{user}/own")
    if first:
        memory.record(turn(0))
    monkeypatch.chdir(there)
    memory.record(turn(1))
    with filled.filled({"user": "anna"}) as of_one:
        of_one.record(turn(1))
    assert len(ids(tmp_path / "own")) == 1 + first
    assert len(ids(tmp_path / "anna" / "own")) == 1
    assert list(there.iterdir()) == []


@pytest.mark.parametrize("vault", ["", "a\0b"])
def test_vault_that_no_folder_can_be_is_refused(vault: str) -> None:
    """An empty name is that of a setting that is missing: it is not taken for the working folder."""
    with pytest.raises(ConfigError, match="is no place"):
        AutoMemory(vault)


def test_vault_whose_name_is_too_long_is_told_as_such(
    open_memory: Open, turn: MakeTurn, tmp_path: Path
) -> None:
    """The system refuses to look for it; the turn waits in memory, as where a disk refuses."""
    memory = AutoMemory(tmp_path / ("x" * 300))
    result = memory.record(turn(0))
    assert result.outcome == "deferred" and "too long" in result.error
    with pytest.raises(Unwritable, match="too long"):
        memory.close()


@pytest.mark.parametrize("vault", ["own", "{user}", "~nobody-of-this-name/own"])
def test_vault_that_no_folder_can_be_told_for_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, vault: str
) -> None:
    """A relative path means nothing in a folder that was removed, nor does a home that nobody has."""
    (gone := tmp_path / "gone").mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(ConfigError, match="give its whole path"):
        AutoMemory(vault)


def test_damaged_state_is_set_aside(open_memory: Open, turn: MakeTurn, vault: Path) -> None:
    """B75: an unreadable `state.db` is neither fatal nor taken for empty: it is kept, the notes are read
    again.
    """
    memory = open_memory("one")
    memory.record(turn(1))
    memory.close()
    state = vault / ".automemory" / "state.db"
    state.write_bytes(b"this is no database at all" * 100)
    again = open_memory()
    assert again.record(turn(1)).outcome == "duplicate"
    assert again.record(turn(2)).outcome == "recorded"
    assert (vault / ".automemory" / "state.db.broken-1").read_bytes().startswith(b"this is no")


def test_status_tells_how_things_are(open_memory: Open, turn: MakeTurn, vault: Path) -> None:
    memory = open_memory("one", RuntimeError("no model"), "two")
    for number in range(3):
        memory.record(turn(number))
    memory.record(turn(2))
    status = memory.status()
    assert status.vault == str(vault) and status.decider == "ScriptedDecider"
    assert {key: status.counters[key] for key in ("recorded", "duplicate", "events", "fallback")} == {
        "recorded": 3,
        "duplicate": 1,
        "events": 2,
        "fallback": 1,
    }
    assert status.active == {"/main": "daily/2026-05-27/two/two.md"} and status.waiting == 0


def test_single_stream_joins_all_threads(open_memory: Open, turn: MakeTurn, vault: Path) -> None:
    memory = open_memory("one", single_stream=True)
    memory.record(turn(1), thread_id="a")
    result = memory.record(turn(2), thread_id="b")
    assert result.event and result.event.how == "continued"
    assert memory.record(turn(1), thread_id="c").outcome == "duplicate"


@pytest.mark.parametrize("scope", ["agent", "stream"])
def test_recent_scope_says_whose_events_are_shown(
    open_memory: Open, turn: MakeTurn, scripted: Any, scope: str
) -> None:
    decider = scripted("one", "two")
    memory = open_memory(decider=decider, recent_scope=scope)
    memory.record(turn(1), thread_id="a")
    memory.close_event(thread_id="a")
    memory.record(turn(2), thread_id="b")
    assert [event.slug for event in decider.contexts[1].recent] == (["one"] if scope == "agent" else [])


def test_recent_events_shown_are_bounded(
    open_memory: Open, turn: MakeTurn, scripted: Any, vault: Path
) -> None:
    """Ten at most; the name of one that was not shown is a coincidence, so it is numbered and linked."""
    decider = scripted(*[f"event-{n}" for n in range(14)], "event-0")
    memory = open_memory(decider=decider)
    for number in range(15):
        result = memory.record(turn(number))
    assert [len(context.recent) for context in decider.contexts[-3:]] == [10, 10, 10]
    assert result.event and (result.event.slug, result.event.how) == ("event-0-2", "opened")
    assert (
        Reader(vault).event("event-0-2").body == "See also [[daily/2026-05-27/event-0/event-0.md|event-0]]."
    )


def test_events_older_than_the_window_are_not_gone_on_with(open_memory: Open, turn: MakeTurn) -> None:
    memory = open_memory("one", "one", inherit_window_days=2)
    start = datetime(2026, 5, 1, 12, tzinfo=UTC)
    memory.record(turn(1, start))
    result = memory.record(turn(2, start + timedelta(days=3)))
    assert result.event and result.event.how == "opened"


def test_agents_of_one_process_leave_each_others_drafts(
    open_memory: Open, turn: MakeTurn, vault: Path
) -> None:
    """An agent files its own turns only: what another agent has under way is not its to file."""
    ada, bob = open_memory("one", agent_id="ada"), open_memory("one", agent_id="bob")
    ada.record(Turn.of(turn(1)[:1], complete=False))
    bob.record(turn(2))
    bob.flush()
    assert [head.agent for head in Reader(vault).events()] == ["bob"]
    ada.record(turn(1))
    assert sorted(head.name for head in Reader(vault).events()) == ["ada_one", "bob_one"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"granularity": "finest"},
        {"durability": "none"},
        {"recent_scope": "all"},
        {"decider": "best"},
        {"timezone": "Mars/Olympus"},
        {"agent_id": "a/b"},
        {"agent_id": "a_b"},
        {"max_turns_per_event": 0},
        {"decide_timeout_s": -1},
        {"vault": "vaults/{user_id!r}"},
    ],
)
def test_wrong_argument_is_named(open_memory: Open, wrong: dict[str, Any]) -> None:
    """The message names the value and says what to do; nothing is made on disk."""
    with pytest.raises(ConfigError, match=r"'?(a/b|a_b|finest|none|all|best|Mars|0|-1|user_id)"):
        open_memory(**wrong)


@pytest.mark.parametrize(
    "said", [[], "hello", None, 7, [{"content": "no role"}], [{"role": "system", "content": "x"}]]
)
def test_what_is_no_turn_is_refused(open_memory: Open, files: Files, said: Any) -> None:
    memory = open_memory()
    with pytest.raises(ConfigError):
        memory.record(said)
    assert files() == {}


def test_history_of_months_lies_on_its_own_days(open_memory: Open, vault: Path, files: Files) -> None:
    """B37: folders follow the messages' times, not the day of the import; handed in again, nothing moves."""
    start = datetime(2026, 2, 27, 23, 50, tzinfo=UTC)
    history: list[dict[str, Any]] = []
    for number in range(30):
        at = start + timedelta(days=3 * (number // 2), minutes=20 * (number % 2))
        history.append(
            {
                "role": "user",
                "content": f"Question {number}?",
                "id": f"u{number}",
                "timestamp": at.timestamp(),
            }
        )
        history.append({"role": "assistant", "content": "Yes.", "id": f"a{number}"})
    now = datetime(2026, 11, 30, tzinfo=UTC)
    memory = open_memory("work", clock=lambda: now)
    memory.record_messages(history)
    before = files()
    days = sorted({head.date for head in Reader(vault).events()})
    assert (
        days[:3] == ["2026-02-27", "2026-02-28", "2026-03-02"]
        and days[-1] == "2026-04-11"
        and len(days) == 30
    )
    assert not [path for path in before if "2026-11" in path]
    assert {result.outcome for result in memory.record_messages(history)} == {"duplicate"}
    assert files() == before

"""The model decides: what its answers mean, when it is asked twice or not at all, and what it may cost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from conversations import LOGIN, context, event, recent
from stub_openai import Reply, Request, StubOpenAI

from automemory.boundary import BoundaryDecision
from automemory.deciders.breaker import Breaker
from automemory.deciders.endpoint import AskError
from automemory.deciders.llm import LLMDecider
from automemory.deciders.local import LocalDecider
from automemory.decision import DecisionContext, EventSummary, Exchange, Verdict
from automemory.errors import ConfigError

Make = Callable[..., LLMDecider]
NEXT = context("Now plan the offsite in May", *LOGIN)
TURNS = [Exchange(said, answered) for said, answered in LOGIN]


def answer(**changes: Any) -> dict[str, Any]:
    """A sure cut, or what is changed of it."""
    cut = {"intent": "new", "continue": False, "new_event_slug": "plan-offsite", "summary_patch": "A plan."}
    return cut | {"confidence": 0.9} | changes


def is_second(request: Request) -> bool:
    """Whether this is the second look at a cut."""
    return "You check one cut" in request.text


@pytest.fixture
def make(stub: StubOpenAI, decider: LocalDecider) -> Make:
    """Makes deciders that ask the stub."""
    return lambda **options: LLMDecider(stub.model(), local=decider, **options)


async def failure(decider: LLMDecider, asked: DecisionContext = NEXT) -> AskError:
    with pytest.raises(AskError) as caught:
        await decider.decide(asked)
    return caught.value


# What an answer means


async def test_one_call_decides(stub: StubOpenAI, make: Make) -> None:
    """The three fields, p(boundary) and the cost; the request is bounded and repeatable."""
    stub.script(answer())
    verdict = await make().decide(NEXT)
    decision = BoundaryDecision(continue_=False, new_event_slug="plan-offsite", summary_patch="A plan.")
    assert verdict == Verdict(decision, "llm", p=0.9, calls=1, prompt_tokens=100, completion_tokens=20)
    [request] = stub.requests
    assert (request.body["temperature"], request.body["max_tokens"]) == (0.0, 400)
    assert [message["role"] for message in request.body["messages"]] == ["system", "user"]


@pytest.mark.parametrize(
    ("intent", "goes_on", "cut"),
    [
        ("new", False, True),
        ("return", False, True),
        ("", False, True),
        ("something else", False, True),
        *[(intent, False, False) for intent in ("answer", "develop", "side-task", "correct", "acknowledge")],
        (" Develop ", False, False),
        (None, False, True),
        (["new"], False, True),
        ("new", True, False),
        ("return", True, False),
        ("answer", True, False),
    ],
)
async def test_an_intent_that_continues_wins(
    stub: StubOpenAI, make: Make, intent: Any, goes_on: bool, cut: bool
) -> None:
    """Where intent and decision contradict each other nothing is cut; a continued event gets no name."""
    stub.script(answer(intent=intent, **{"continue": goes_on}))
    decision = (await make().decide(NEXT)).decision
    assert (not decision.continue_, decision.new_event_slug) == (cut, "plan-offsite" if cut else "")
    assert decision.summary_patch == "A plan."


async def test_going_back_to_the_open_event_continues_it(stub: StubOpenAI, make: Make) -> None:
    """A "return" to the event that is open is none; to a listed one it is a cut with exactly its slug."""
    stub.script(
        answer(intent="return", new_event_slug="event"), answer(intent="return", new_event_slug="old")
    )
    assert (await make().decide(NEXT)).decision.continue_
    asked = context("Back to the tax return", *LOGIN, recent=(recent("old", "Tax return", ""),))
    assert (await make().decide(asked)).decision.new_event_slug == "old"


@pytest.mark.parametrize("goes_on", [True, False])
async def test_without_an_open_event_the_model_only_names(
    stub: StubOpenAI, make: Make, goes_on: bool
) -> None:
    """Whatever it says of continuing, and however unsure it is: one call, and an event with that name."""
    stub.script(answer(intent="develop", confidence=0.1, **{"continue": goes_on}))
    verdict = await make().decide(context("ok"))
    assert verdict.decision.new_event_slug == "plan-offsite" and not verdict.decision.continue_
    assert (verdict.calls, verdict.p) == (1, None)


@pytest.mark.parametrize("nothing", [None, "", "null", "None", "N/A", "  "])
async def test_a_cut_without_a_name_is_named_by_the_turn(
    stub: StubOpenAI, make: Make, nothing: str | None
) -> None:
    """B12: no word for nothing is a name; what the person asked for is, in the words of the turn."""
    stub.script(answer(new_event_slug=nothing, summary_patch=nothing))
    verdict = await make().decide(NEXT)
    assert (
        verdict.decision.new_event_slug == "plan-offsite-in-may"
        or "offsite" in verdict.decision.new_event_slug
    )
    assert "offsite" in verdict.title and verdict.decision.summary_patch == ""


BARE = '{"continue": false, "new_event_slug": "plan-offsite"}'
SHAPES: dict[str, Any] = {
    "a fence": f"```json\n{BARE}\n```",
    "a thought before it": '<think>{"continue": true}</think>' + BARE,
    "prose around it": f"Sure: {BARE} There you are.",
    "booleans as words": answer(**{"continue": "false"}),
    "a confidence in words": answer(confidence="very"),
    "a confidence above one": answer(confidence=95),
    "no confidence": {"continue": False, "new_event_slug": "plan-offsite"},
    "a list of one": [answer()],
    "more keys": answer(reasoning="It is another thing.", boundary=True),
}


@pytest.mark.parametrize("shape", SHAPES)
async def test_answers_of_any_shape_are_understood(stub: StubOpenAI, make: Make, shape: str) -> None:
    """B09, B12: the same decision with a single call; an answer that gives no confidence is taken as sure."""
    shown = SHAPES[shape]
    stub.script(shown if isinstance(shown, str) else Reply(value=shown))
    verdict = await make().decide(NEXT)
    assert (verdict.decision.new_event_slug, verdict.calls) == ("plan-offsite", 1)


@pytest.mark.parametrize(
    "bad",
    [
        Reply(content=None),
        Reply(content=""),
        Reply(content=" \n" * 200, finish_reason="length"),
        Reply(content='{"continue": false, "new_event_slug": "pla', finish_reason="length"),
        Reply(content=None, extra={"refusal": "I cannot help with that."}),
        Reply(content=None, extra={"reasoning_content": '{"continue": false}'}),
        Reply(content="I am sorry, I cannot do that."),
        Reply(value=answer(**{"continue": None})),
        Reply(value=answer(**{"continue": "perhaps"})),
    ],
)
async def test_no_usable_answer_is_a_failure_after_one_repair(
    stub: StubOpenAI, make: Make, bad: Reply
) -> None:
    """B13: refusals, emptiness, halves and floods are no decision; both calls are in the error's cost."""
    decider = make(confirm_below=0)
    stub.script(answer())
    await decider.decide(NEXT)
    stub.requests.clear()
    stub.always(replace(bad, usage=(70, 7)))
    error = await failure(decider)
    assert (error.calls, error.prompt_tokens, error.completion_tokens) == (2, 140, 14)
    assert len(stub.requests) == 2 and error.__class__ is AskError


# When it is asked


@pytest.mark.parametrize("thanks", ["Thanks!", "ok", "Great, go on", "好的，谢谢", "继续"])
async def test_acknowledgements_are_not_asked_about(stub: StubOpenAI, make: Make, thanks: str) -> None:
    """They go on with the event, without a call."""
    verdict = await make().decide(context(thanks, *LOGIN))
    assert verdict.decision.continue_ and verdict.by == "local"
    assert not stub.requests


@pytest.mark.parametrize(
    ("confidence", "calls"), [(0.0, 2), (0.59, 2), ("0.5", 2), (0.6, 1), (0.61, 1), (None, 1)]
)
async def test_only_a_doubtful_cut_is_looked_at_again(
    stub: StubOpenAI, make: Make, confidence: Any, calls: int
) -> None:
    """Below `confirm_below` a second, shorter question on the same data decides; both calls count."""
    stub.script(answer(confidence=confidence), {"leaves_event": True})
    verdict = await make().decide(NEXT)
    assert not verdict.decision.continue_
    assert (verdict.calls, verdict.prompt_tokens, verdict.completion_tokens) == (
        calls,
        100 * calls,
        20 * calls,
    )
    assert [is_second(request) for request in stub.requests] == [False, True][:calls]
    datas = {request.body["messages"][1]["content"] for request in stub.requests}
    assert len(datas) == 1
    assert len({len(request.raw) for request in stub.requests}) == calls


async def test_a_cut_that_is_not_confirmed_is_not_made(stub: StubOpenAI, make: Make) -> None:
    """The turn continues, without a name; p stays the first answer's."""
    stub.script(answer(confidence=0.3), {"leaves_event": False})
    verdict = await make().decide(NEXT)
    assert verdict.decision == BoundaryDecision(continue_=True, summary_patch="A plan.")
    assert (verdict.p, verdict.calls) == (0.3, 2)


async def test_a_doubtful_continuation_is_not_looked_at_again(stub: StubOpenAI, make: Make) -> None:
    """Only cuts are confirmed: a missed boundary costs less than a wrong one."""
    stub.script(answer(intent="develop", confidence=0.1, **{"continue": True}))
    verdict = await make().decide(NEXT)
    assert (verdict.decision.continue_, verdict.calls, verdict.p) == (True, 1, 0.9)


async def test_the_cost_of_both_looks_is_counted_where_the_second_fails(stub: StubOpenAI, make: Make) -> None:
    """No decision, so that somebody else decides; what the first call cost is spent all the same."""
    stub.script(answer(confidence=0.3), Reply(status=503, error={"message": "down"}))
    error = await failure(make())
    assert (error.calls, error.prompt_tokens, error.completion_tokens) == (2, 100, 20)


async def test_both_looks_have_one_budget_of_time(stub: StubOpenAI, make: Make) -> None:
    """B16: the second look gets what the first one left."""
    stub.script(answer(confidence=0.3), Reply(value={"leaves_event": True}, wait_s=60))
    error = await failure(make(timeout_s=0.5))
    assert error.calls == 2 and "no answer within 0." in str(error)


async def test_several_turns_are_shown_to_both_looks(stub: StubOpenAI, make: Make) -> None:
    stub.script(answer(confidence=0.3), {"leaves_event": True})
    await make().decide(NEXT, shown=2)
    for request in stub.requests:
        assert all(f"person: {said}" in request.text for said, _ in LOGIN)


# What it may cost


async def test_a_days_calls_are_a_budget(stub: StubOpenAI, make: Make) -> None:
    """Past it the local decider decides and sums up, without a call; the next day the model is back."""
    days = [date(2026, 5, 27)]
    decider = make(max_calls_per_day=2, today=lambda: days[-1])
    stub.always(answer())
    found = [(await decider.decide(NEXT)).by for _ in range(4)]
    assert found == ["llm", "llm", "local", "local"] and len(stub.requests) == 2
    assert (await decider.summarize(event(*TURNS), TURNS)).by == "extract"
    days.append(date(2026, 5, 28))
    assert (await decider.decide(NEXT)).by == "llm"


async def test_every_request_counts_against_the_budget(stub: StubOpenAI, make: Make) -> None:
    """Second looks, summaries, failures; a doubtful cut that cannot be looked at again is made."""
    stub.script(answer(confidence=0.3), {"leaves_event": True}, Reply(status=500), {"summary": "Done."})
    decider = make(max_calls_per_day=5)
    await decider.decide(NEXT)
    await failure(decider)
    await decider.summarize(event(*TURNS), TURNS)
    stub.script(answer(confidence=0.3))
    assert (await decider.decide(NEXT)).calls == 1
    assert (await decider.decide(NEXT)).by == "local"
    assert len(stub.requests) == 5


async def test_parallel_turns_do_not_overdraw_the_budget(stub: StubOpenAI, make: Make) -> None:
    """What is under way is spent: of ten streams at once two are asked about."""
    stub.always(answer())
    decider = make(max_calls_per_day=2)
    verdicts = await asyncio.gather(*(decider.decide(NEXT) for _ in range(10)))
    assert [verdict.by for verdict in verdicts].count("llm") == len(stub.requests) == 2


async def test_what_was_never_sent_is_not_spent(stub: StubOpenAI, make: Make) -> None:
    """A model that is left alone after failures takes nothing of the day's calls."""
    decider = make(max_calls_per_day=2)
    decider.endpoint.breaker = Breaker(failures=1, pause_s=3600)
    for _ in range(5):
        await failure(decider)
    assert len(stub.requests) == 1 and not decider.budget_spent


def test_what_makes_no_sense_is_told_at_once(stub: StubOpenAI, tmp_path: Path) -> None:
    """A prompt that cannot be read, a folder that is none, something that is no model."""
    with pytest.raises(ConfigError, match="no folder"):
        LLMDecider(stub.model(), prompts_dir=tmp_path / "prompts")
    with pytest.raises(ConfigError, match="no chat model"):
        LLMDecider(object())  # type: ignore[arg-type]


async def test_own_prompts_are_sent(stub: StubOpenAI, make: Make, tmp_path: Path) -> None:
    """One file replaced, the others as they ship."""
    (tmp_path / "boundary.md").write_text("---\nversion: 1\n---\nOur rules: never cut.", encoding="utf-8")
    stub.script(answer(confidence=0.3), {"leaves_event": True})
    await make(prompts_dir=tmp_path).decide(NEXT)
    first, second = (request.body["messages"][0]["content"] for request in stub.requests)
    assert first == "Our rules: never cut." and "You check one cut" in second


# Summaries


async def test_a_summary_is_one_call(stub: StubOpenAI, make: Make) -> None:
    """Text, title, whether the task is done, and the cost, from the turns."""
    stub.script({"title": "Fix the login", "summary": "Empty passwords are refused.", "completed": True})
    found = await make().summarize(event(*TURNS), TURNS)
    assert found == EventSummary("Empty passwords are refused.", "Fix the login", True, "model", 1, 100, 20)
    assert all(said in stub.requests[0].text for said, _ in LOGIN)


@pytest.mark.parametrize(
    ("reply", "title", "completed"),
    [
        ({"summary": "S."}, "", False),
        ({"title": None, "summary": "S.", "completed": None}, "", False),
        ({"title": "null", "summary": "S.", "completed": "true"}, "", True),
        ({"title": ["T"], "summary": "S.", "completed": "no"}, "", False),
    ],
)
async def test_only_the_text_of_a_summary_is_needed(
    stub: StubOpenAI, make: Make, reply: dict[str, Any], title: str, completed: bool
) -> None:
    """B12: title and state may be missing or nothing; a task is done only if that is said."""
    stub.script(reply)
    found = await make().summarize(event(*TURNS), TURNS)
    assert (found.description, found.title, found.completed) == ("S.", title, completed)


@pytest.mark.parametrize("nothing", [{"summary": ""}, {"summary": None}, {"summary": "null"}, {"title": "T"}])
async def test_no_summary_is_a_failure(stub: StubOpenAI, make: Make, nothing: dict[str, Any]) -> None:
    """B05: an empty one is none, so that the earlier description stays."""
    stub.always(nothing)
    with pytest.raises(AskError):
        await make().summarize(event(*TURNS), TURNS)


@pytest.mark.parametrize("mode", ["json_schema", "tools", "json_object", "text"])
async def test_every_question_is_taken_by_strict_servers(stub: StubOpenAI, make: Make, mode: str) -> None:
    """B08, B14: decision, second look and summary, with a server that checks the schema, in every mode."""
    order = ["json_schema", "tools", "json_object", "text"]
    stub.refuse = set(order[: order.index(mode)])
    stub.always(
        lambda request: (
            {"leaves_event": True}
            if is_second(request)
            else {"summary": "S."}
            if "<turns>" in request.text
            else answer(confidence=0.3)
        )
    )
    decider = make()
    assert (await decider.decide(NEXT)).decision.new_event_slug == "plan-offsite"
    stub.requests.clear()
    await decider.decide(NEXT)
    await decider.summarize(event(*TURNS), TURNS)
    assert stub.modes == [mode] * 3


async def test_the_budget_of_calls_is_hard(stub: StubOpenAI) -> None:
    """Probing a server's modes and repairing a reply count too: no request goes out past the budget."""
    stub.refuse = {"json_schema", "tools", "named_tool_choice", "required_tool_choice"}
    stub.always(lambda request: "no object in this")
    decider = LLMDecider(stub.model(), max_calls_per_day=3)
    with pytest.raises(AskError):
        await decider.decide(DecisionContext(Exchange("Fix the login", "Done.")))
    assert len(stub.requests) == 3
    assert (await decider.decide(DecisionContext(Exchange("Fix the login", "Done.")))).by == "local"
    assert len(stub.requests) == 3

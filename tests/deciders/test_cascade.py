"""Local first, the model where it matters: which turns are asked about, and with what before them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from conversations import DEPLOY_ZH, LOGIN, context
from stub_openai import Reply, Request, StubOpenAI

from automemory.deciders.cascade import CascadeDecider
from automemory.deciders.llm import LLMDecider
from automemory.deciders.local import LocalDecider
from automemory.decision import DecisionContext, EventView, Exchange, Verdict
from automemory.errors import ConfigError, DecisionError

Make = Callable[..., CascadeDecider]
CONTINUE = {"intent": "develop", "continue": True, "summary_patch": "More of it.", "confidence": 0.9}
CUT = {"intent": "new", "continue": False, "new_event_slug": "from-the-model", "confidence": 0.9}
OTHER = context("Let us plan the summer holiday in Norway: which fjords are worth a visit?", *LOGIN)
SAME = context("Does login.py also check the length of the password?", *LOGIN)


@pytest.fixture
def make(stub: StubOpenAI, decider: LocalDecider) -> Make:
    """Makes cascades that ask the stub."""

    def one(max_calls_per_day: int | None = None, **options: Any) -> CascadeDecider:
        llm = LLMDecider(stub.model(), local=decider, max_calls_per_day=max_calls_per_day)
        return CascadeDecider(llm, decider, **options)

    return one


async def talk(cascade: CascadeDecider, *said: str) -> list[Verdict]:
    """The verdicts on turns of one stream, each of which goes where it says."""
    verdicts: list[Verdict] = []
    active: EventView | None = None
    for words in said:
        turn = Exchange(words, "Done.")
        verdicts.append(await cascade.decide(DecisionContext(turn, active)))
        decision = verdicts[-1].decision
        if active is None or not decision.continue_:
            active = EventView(decision.new_event_slug, words, "", turn, (turn,), 1, 100)
        else:
            active = active.with_turn(turn, 100)
    return verdicts


async def test_a_turn_that_surely_continues_costs_no_call(
    stub: StubOpenAI, make: Make, decider: LocalDecider
) -> None:
    """Below `low` the local decider's patch and p stand, and there is no name."""
    p = decider.probability(SAME)
    verdict = await make(low=p + 0.0001).decide(SAME)
    assert not stub.requests and verdict.calls == 0
    assert (verdict.by, verdict.p, verdict.decision.continue_) == ("local", p, True)
    assert verdict.decision.new_event_slug == verdict.title == "" and verdict.decision.summary_patch


async def test_below_low_nothing_is_cut(stub: StubOpenAI, make: Make, decider: LocalDecider) -> None:
    """Also not where the local decider alone would cut: the line is `low`, not its threshold."""
    assert not (await decider.decide(OTHER)).decision.continue_
    verdict = await make(low=1.0).decide(OTHER)
    assert verdict.decision.continue_ and not stub.requests
    assert verdict.decision.new_event_slug == verdict.title == ""


@pytest.mark.parametrize("reply", [CONTINUE, CUT])
async def test_from_low_on_the_model_decides(
    stub: StubOpenAI, make: Make, decider: LocalDecider, reply: dict[str, Any]
) -> None:
    """Either way: the local probability only says that it is worth a call, and is what stays as p."""
    stub.script(reply)
    p = decider.probability(OTHER)
    verdict = await make(low=p).decide(OTHER)
    assert (verdict.by, verdict.p, verdict.calls, len(stub.requests)) == ("llm", p, 1, 1)
    assert verdict.decision.continue_ is reply["continue"]


async def test_the_default_line_asks_about_a_change_of_topic(stub: StubOpenAI, make: Make) -> None:
    stub.script(CUT)
    assert (await make().decide(OTHER)).decision.new_event_slug == "from-the-model"


async def test_without_an_open_event_the_model_names(stub: StubOpenAI, make: Make) -> None:
    """A real boundary needs a name anyway, however sure the local decider would be."""
    stub.script(CUT)
    verdict = await make(low=1.0).decide(context("Fix the login"))
    assert verdict.decision.new_event_slug == "from-the-model"


@pytest.mark.parametrize(
    "asked",
    [
        context("Thanks, go on", *LOGIN),
        context("好的，谢谢", *DEPLOY_ZH),
        context("", *LOGIN, reply="Still running.", actions=("run make",)),
    ],
)
@pytest.mark.parametrize("options", [{"low": 0.0}, {"batch_turns": 2}])
async def test_acknowledgements_and_tool_turns_are_never_asked_about(
    stub: StubOpenAI, make: Make, asked: DecisionContext, options: dict[str, Any]
) -> None:
    verdict = await make(**options).decide(asked)
    assert verdict.decision.continue_ and not stub.requests


async def test_a_failing_model_is_told(stub: StubOpenAI, make: Make) -> None:
    """The failure goes to the caller, who knows who stands in."""
    stub.always(Reply(status=503))
    with pytest.raises(DecisionError):
        await make(low=0.0).decide(OTHER)


async def test_past_the_days_calls_the_local_decider_cuts(stub: StubOpenAI, make: Make) -> None:
    """`max_calls_per_day` is a budget, not an end of boundaries."""
    cascade = make(max_calls_per_day=0)
    verdict = await cascade.decide(OTHER)
    assert (verdict.by, verdict.decision.continue_) == ("local", False) and not stub.requests
    [turn] = [Exchange("Fix it", "Fixed.")]
    assert (await cascade.summarize(EventView("s", "S", "", turn, (turn,), 1, 9), [turn])).by == "extract"


# One call in n turns


def shown_of(request: Request) -> list[str]:
    """What the person said in the turns that a request shows before this one, and in this one."""
    data = request.body["messages"][1]["content"]
    _, _, tail = data.partition("<previous>")
    return [line.removeprefix("person: ") for line in tail.split("\n") if line.startswith("person: ")]


@pytest.mark.parametrize("n", [2, 3, 5, 9])
async def test_the_model_is_asked_once_in_n_turns_and_shown_all_n(
    stub: StubOpenAI, make: Make, n: int
) -> None:
    """Every n-th turn after the one that opened the event, whatever the local probability."""
    stub.script(CUT).always(CONTINUE)
    said = [f"Step {number} of the very same thing, please." for number in range(3 * n + 1)]
    verdicts = await talk(make(batch_turns=n, low=1.0), *said)
    assert [i for i, verdict in enumerate(verdicts) if verdict.calls] == [0, n, 2 * n, 3 * n]
    for number, request in enumerate(stub.requests[1:], 1):
        now = number * n
        assert shown_of(request)[-n:] == said[now - n + 1 : now + 1]


async def test_after_a_boundary_the_count_begins_anew(stub: StubOpenAI, make: Make) -> None:
    """One call in n turns also where every call cuts."""
    stub.always(CUT)
    verdicts = await talk(make(batch_turns=3), *[f"Task number {n} of many." for n in range(10)])
    assert [bool(verdict.calls) for verdict in verdicts] == [True, False, False] * 3 + [True]


async def test_an_acknowledgement_only_puts_the_question_off(stub: StubOpenAI, make: Make) -> None:
    """Where the n-th turn has nothing to ask about the next one that has is asked about, not the 2n-th."""
    stub.script(CUT).always(CONTINUE)
    verdicts = await talk(make(batch_turns=2), "Do a.", "Do b.", "ok", "Do c.", "Do d.", "Do e.", "Do f.")
    assert [i for i, verdict in enumerate(verdicts) if verdict.calls] == [0, 3, 4, 6]


@pytest.mark.parametrize("n", [0, -1, 10])
def test_more_turns_than_are_known_cannot_be_shown(make: Make, n: int) -> None:
    with pytest.raises(ConfigError, match="batch_turns"):
        make(batch_turns=n)

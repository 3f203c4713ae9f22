"""A real OpenAI-compatible server with a real model: the protocol is asserted, not how clever the model is.

`AUTOMEMORY_TEST_LLM` is the server's base URL; `AUTOMEMORY_TEST_LLM_MODEL` names the model (by default the
first one the server lists), and `OPENAI_API_KEY` is sent if it is set. On a slow machine it takes minutes.
"""

from __future__ import annotations

import json
import os
import urllib.request
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from langchain_openai import ChatOpenAI

from automemory.deciders.endpoint import AskError, Endpoint
from automemory.deciders.llm import ConfirmReply, LLMDecider, SummaryReply
from automemory.decision import DecisionContext, EventView, Exchange
from automemory.memory import AutoMemory
from automemory.vault.reader import Reader

URL = os.environ.get("AUTOMEMORY_TEST_LLM", "").rstrip("/")
KEY = os.environ.get("OPENAI_API_KEY", "none")
PATIENCE_S = 300.0
NOON = datetime(2026, 5, 27, 12, 0, tzinfo=UTC)
TALK = [
    ("Please fix the login form, it takes an empty password.", "I added a check in login.py. " * 20),
    ("Does it refuse passwords of spaces only, too?", "Yes, they are stripped before the check. " * 20),
    ("Thanks!", "You are welcome."),
    ("Something else: plan a weekend in Lisbon for two people.", "Fly on Friday; stay in Alfama. " * 20),
    ("那里五月的天气怎么样？", "五月的里斯本天气温暖，少雨。"),
]
QUESTION = [
    ("system", 'Does <turn> leave the event? Answer with one JSON object: {"leaves_event": true or false}'),
    ("user", "<event>fix the login form</event>\n<turn>person: Book me a flight to Oslo.</turn>"),
]

pytestmark = [
    pytest.mark.llm,
    pytest.mark.skipif(not URL, reason="AUTOMEMORY_TEST_LLM is not set"),
]


@pytest.fixture(scope="module")
def name() -> str:
    """The model to ask for."""
    if given := os.environ.get("AUTOMEMORY_TEST_LLM_MODEL"):
        return given
    request = urllib.request.Request(f"{URL}/models", headers={"Authorization": f"Bearer {KEY}"})
    with urllib.request.urlopen(request, timeout=30) as reply:
        return str(json.load(reply)["data"][0]["id"])


@pytest.fixture
def model(name: str) -> ChatOpenAI:
    return ChatOpenAI(model=name, base_url=URL, api_key=KEY)


async def test_a_structured_answer(model: ChatOpenAI) -> None:
    """The way of asking is found, and used with a single request from then on; tokens are counted."""
    endpoint = Endpoint(model)
    first = await endpoint.ask(QUESTION, ConfirmReply, PATIENCE_S)
    again = await endpoint.ask(QUESTION, ConfirmReply, PATIENCE_S)
    for answer in (first, again):
        assert isinstance(answer.value, ConfirmReply)
        assert answer.prompt_tokens > 20 * answer.calls and answer.completion_tokens >= 3
    assert first.calls <= 6 and again.calls == 1


async def test_every_kind_of_question_is_taken(model: ChatOpenAI) -> None:
    """A decision and a summary are valid, or fail with a sentence and a cost: nothing else comes out."""
    decider = LLMDecider(model, timeout_s=PATIENCE_S)
    turns = [Exchange(said, replied) for said, replied in TALK[:2]]
    view = EventView("fix-login", "Fix login", "", turns[0], (turns[0],), 1, 99).with_turn(turns[1], 99)
    try:
        verdict = await decider.decide(DecisionContext(Exchange(*TALK[3]), view))
        assert verdict.by == "llm" and verdict.calls and verdict.prompt_tokens and verdict.completion_tokens
        assert verdict.decision.continue_ or verdict.decision.new_event_slug
    except AskError as error:
        assert error.calls and error.prompt_tokens and "no usable answer" in str(error)
    try:
        summary = await decider.summarize(view, turns)
        assert summary.by == "model" and summary.description and summary.completion_tokens
    except AskError as error:
        assert error.calls and error.prompt_tokens and "no usable answer" in str(error)


async def test_errors_of_a_real_server_are_sentences(model: ChatOpenAI, name: str) -> None:
    """A wrong address and too little time are told in one line; after that the server still answers."""
    astray = ChatOpenAI(model=name, base_url=f"{URL}/nowhere", api_key=KEY)
    with pytest.raises(AskError, match=r"404|failed|refused") as caught:
        await Endpoint(astray).ask(QUESTION, ConfirmReply, PATIENCE_S)
    assert caught.value.calls == 1 and "\n" not in str(caught.value)
    endpoint = Endpoint(model)
    with pytest.raises(AskError, match=r"no answer within 0\.001 s"):
        await endpoint.ask(QUESTION, SummaryReply, 0.001)
    assert (await endpoint.ask(QUESTION, ConfirmReply, PATIENCE_S)).calls


def test_a_conversation(model: ChatOpenAI, vault: Path, open_memory: Callable[..., AutoMemory]) -> None:
    """Every turn is filed once, whatever the model says; the counters are the sum of what was spent, and
    thanks cost nothing; an event that was closed has a summary, or owes one.
    """
    memory = open_memory(model=model, decider="llm", decide_timeout_s=PATIENCE_S)
    results = []
    for number, (said, replied) in enumerate(TALK):
        at = (NOON + timedelta(minutes=number)).isoformat()
        turn: list[dict[str, Any]] = [
            {"role": "user", "content": said, "timestamp": at},
            {"role": "assistant", "content": replied},
        ]
        results.append(memory.record(turn))
    memory.close_event()
    reader = Reader(vault)
    events = [reader.event(head.path) for head in reader.events()]
    turns = sorted((turn for event in events for turn in event.turns), key=lambda turn: str(turn.at))
    assert [turn.steps[0].text for turn in turns] == [said for said, _ in TALK]
    verdicts = [result.verdict for result in results if result.verdict]
    assert {verdict.by for verdict in verdicts} <= {"llm", "fallback", "local"}
    assert (verdicts[2].calls, verdicts[2].by) == (0, "local")
    assert any(verdict.by == "llm" for verdict in verdicts), memory.status().last_error
    assert all(event.head.closed and event.head.summary_by for event in events)
    counters = memory.status().counters
    assert counters["calls"] >= sum(verdict.calls for verdict in verdicts) >= 1
    assert counters["prompt_tokens"] >= sum(verdict.prompt_tokens for verdict in verdicts) > 0

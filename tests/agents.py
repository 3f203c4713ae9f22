"""What the tests of the integrations run: agents over a scripted model, and what the vault then says."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.tools import tool
from pydantic import Field

from automemory.vault.event import RecordedTurn
from automemory.vault.reader import Reader


class FakeModel(GenericFakeChatModel):
    """Says what it is given, one after the other; takes any tools; streams word by word."""

    seen: list[list[BaseMessage]] = Field(default_factory=list)

    def bind_tools(self, tools: Any, **options: Any) -> FakeModel:
        return self

    def _stream(
        self, messages: list[BaseMessage], *args: Any, **options: Any
    ) -> Iterator[ChatGenerationChunk]:
        message = self._generate(messages).generations[0].message
        assert isinstance(message, AIMessage)
        for part in re.split(r"(\s)", message.text):
            yield ChatGenerationChunk(message=AIMessageChunk(part))
        for number, call in enumerate(message.tool_calls):
            made = {**call, "args": json.dumps(call["args"]), "index": number}
            yield ChatGenerationChunk(message=AIMessageChunk("", tool_call_chunks=[made]))

    def _generate(self, messages: list[BaseMessage], *args: Any, **options: Any) -> Any:
        self.seen.append(list(messages))
        return super()._generate(messages, *args, **options)


def says(*answers: str | AIMessage | Exception) -> FakeModel:
    """A model with these answers; past them it says `Answer <n>.`; an exception is raised."""

    def replies() -> Iterator[AIMessage]:
        number = 0
        for answer in answers:
            number += 1
            if isinstance(answer, Exception):
                raise answer
            yield AIMessage(answer) if isinstance(answer, str) else answer
        while True:
            number += 1
            yield AIMessage(f"Answer {number}.")

    return FakeModel(messages=replies(), seen=[])


class Raising(Exception):
    """What a tool of the tests fails with."""


def calls(*names: str, text: str = "", first: int = 1) -> AIMessage:
    """A step of the agent that calls these tools."""
    made = [
        {"name": name, "args": {"word": name}, "id": f"{name}-{first + i}"} for i, name in enumerate(names)
    ]
    return AIMessage(text, tool_calls=made)


@tool
def look(word: str) -> str:
    """Looks something up."""
    return f"Found {word}."


@tool
def fail(word: str) -> str:
    """Fails."""
    raise Raising(word)


def person(number: int, text: str = "", **extra: Any) -> HumanMessage:
    """The person's message of a turn, `number` minutes past noon."""
    at = f"2026-05-27T12:{number:02}:00+00:00"
    return HumanMessage(
        text or f"Question {number}?", id=f"u{number}", additional_kwargs={"timestamp": at, **extra}
    )


def thread(name: str = "t1", **more: Any) -> dict[str, Any]:
    return {"configurable": {"thread_id": name, **more}}


def turns(vault: Path, thread: str | None = None) -> list[RecordedTurn]:
    """The turns in the vault, in order."""
    reader = Reader(vault)
    return [turn for head in reader.events(thread=thread) for turn in reader.event(head.path).turns]


def said(vault: Path, thread: str | None = None) -> list[list[str]]:
    """What each turn says: texts and, for tools, `name: output`; `…` at the end if it did not finish."""
    return [
        [
            *(f"{s.tool}: {s.text}" if s.tool else s.text for s in turn.steps),
            *(["…"] if turn.incomplete else []),
        ]
        for turn in turns(vault, thread)
    ]


Invoke = Callable[..., Any]


def invoke(agent: Any, value: Any, config: Any = None, **options: Any) -> Any:
    return agent.invoke(value, config, **options)


def ainvoke(agent: Any, value: Any, config: Any = None, **options: Any) -> Any:
    return asyncio.run(agent.ainvoke(value, config, **options))


def stream(agent: Any, value: Any, config: Any = None, **options: Any) -> Any:
    return list(agent.stream(value, config, stream_mode="values", **options))[-1]


def astream(agent: Any, value: Any, config: Any = None, **options: Any) -> Any:
    async def run() -> Any:
        return [state async for state in agent.astream(value, config, stream_mode="values", **options)][-1]

    return asyncio.run(run())


def astream_events(agent: Any, value: Any, config: Any = None, **options: Any) -> Any:
    async def run() -> Any:
        found = [event async for event in agent.astream_events(value, config, version="v2", **options)]
        return found[-1]["data"]["output"]

    return asyncio.run(run())


WAYS: dict[str, Invoke] = {way.__name__: way for way in (invoke, ainvoke, stream, astream, astream_events)}

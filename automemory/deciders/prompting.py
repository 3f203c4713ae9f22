"""The messages a model is asked with: a fixed part, the same in every call, and bounded, delimited data.

Whatever the length of a message, an event or a day, the data of a decision stays within `DATA_CHARS`
characters.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from automemory._prompts import load_prompt
from automemory.decision import (
    DecisionContext,
    EventView,
    Exchange,
    Granularity,
    KeptSection,
    NotifyCandidate,
    ViewContext,
    cut_middle,
)
from automemory.errors import ConfigError

DATA_CHARS = 3000
SUMMARY_CHARS = 6000
VIEW_CHARS = 3000
_LABELS = len("person: \ntools: \nagent: \n\n")
_TAGS = ("event", "previous", "earlier", "offers", "turn", "turns", "notes")
_FORGED = re.compile(rf"<(?=\s*/?\s*(?:{'|'.join(_TAGS)})\b)", re.IGNORECASE)

Messages = list[tuple[str, str]]


def check_prompts(prompts: Path | None) -> None:
    """Find out now, rather than turn by turn, whether the prompts can be read.

    Raises:
        ConfigError: if one cannot, lacks a granularity, or the folder is none.
    """
    if prompts is not None and not prompts.is_dir():
        raise ConfigError(f"prompts_dir={str(prompts)!r} is no folder: give one with prompt files, or None")
    for name in ("boundary", "confirm"):
        for granularity in get_args(Granularity):
            load_prompt(name, prompts).filled(granularity=granularity)
    for name in ("summary", "views"):
        load_prompt(name, prompts)


def boundary_messages(context: DecisionContext, prompts: Path | None = None, *, shown: int = 1) -> Messages:
    """System and user message of the question whether a turn goes on with the active event.

    Args:
        context: What is known of the turn.
        prompts: A folder whose prompt files replace those that ship.
        shown: How many turns before it are shown.
    """
    prompt = load_prompt("boundary", prompts)
    told = " ".join(str(prompt.fields.get("offers") or "").split())
    return [
        ("system", prompt.filled(granularity=context.granularity)),
        ("user", _data(context, shown, told)),
    ]


def confirm_messages(context: DecisionContext, prompts: Path | None = None, *, shown: int = 1) -> Messages:
    """System and user message of the second look at a cut; see `boundary_messages`."""
    fixed = load_prompt("confirm", prompts).filled(granularity=context.granularity)
    return [("system", fixed), ("user", _data(context, shown))]


def summary_messages(event: EventView, turns: Sequence[Exchange], prompts: Path | None = None) -> Messages:
    """System and user message of an event's final summary, from its own turns."""
    shown = _spread(turns or event.recent, 24)
    share = SUMMARY_CHARS // max(1, len(shown)) - _LABELS
    lines = [_exchange(turn, share // 2, share // 3, share // 6) for turn in shown]
    return [("system", load_prompt("summary", prompts).text), ("user", _block("turns", "\n\n".join(lines)))]


def view_messages(context: ViewContext, prompts: Path | None = None) -> Messages:
    """System and user message of the question what a turn adds to an event's sections."""
    told = "\n".join(f'- "{section.key}" ({_kind(section)}): {section.about}' for section in context.sections)
    share = VIEW_CHARS // max(1, len(context.sections))
    notes = [
        f"{section.key}:\n{_newest(context.current[section.name], share, grows=section.grows)}"
        for section in context.sections
        if section.name in context.current
    ]
    event = f"{_line(context.event.title, 80)}\n{_line(context.event.description, 300)}".strip()
    blocks = (
        _block("event", event),
        _block("notes", "\n\n".join(notes)),
        _block("turn", _exchange(context.turn, 1000, 600, 200)),
    )
    fixed = load_prompt("views", prompts).filled(sections=told)
    return [("system", fixed), ("user", "\n".join(filter(None, blocks)))]


def _kind(section: KeptSection) -> str:
    if section.grows:
        return "list of new entries"
    return "list, rewritten" if section.items else "text, rewritten"


def _newest(text: str, room: int, *, grows: bool) -> str:
    """A section's text, cut in the middle; of a list that grows, as many of its last entries as fit."""
    if not grows:
        return cut_middle(text, room)
    kept: list[str] = []
    for line in reversed(text.split("\n")):
        shown = cut_middle(line, 160)
        room -= len(shown) + 1
        if room < 0:
            break
        kept.insert(0, shown)
    return "\n".join(kept)


def _data(context: DecisionContext, shown: int, told: str = "") -> str:
    """What a decider may know, within `DATA_CHARS`: what matters least is cut first.

    Where there are offers, it is `told` what to do with them: most turns have none.
    """
    turn = _block("turn", _exchange(context.turn, 1000, 300, 200))
    event = _event(context.active)
    left = DATA_CHARS - len(event) - len(turn) - 2
    previous = _previous(context.active, shown, left - 300)
    left -= len(previous)
    events = [f"{_line(e.slug, 80)}: {_line(e.title, 60)}" for e in context.recent[:10]]
    earlier = _listed("earlier", events, left)
    offers = _listed("offers", [_offer(n) for n in context.notify], left - len(earlier) - len(told) - 2)
    blocks = (earlier, offers, told if offers else "", event, previous, turn)
    return "\n".join(block for block in blocks if block)


def _offer(offered: NotifyCandidate) -> str:
    """An offer in a line; its path is whole, since only then it can be linked."""
    about = " – ".join(filter(None, (_line(offered.title, 60), _line(offered.reason, 80))))
    return f"[[{' '.join(offered.path.split())}]] {about}".strip()


def _event(active: EventView | None) -> str:
    if active is None:
        return "<event>none: this turn starts one</event>"
    lines = [f"{_line(active.slug, 80)}: {_line(active.title, 80)}"]
    if active.description and not _repeats(active.description, active.title):
        lines.append(_line(active.description, 200))
    if active.turns > 1:
        lines.append("opened with: " + _line(active.opening.user, 220))
    patches = [
        turn.patch
        for turn in active.recent[:-1]
        if turn.patch and not _repeats(turn.patch, active.description)
    ]
    lines += [f"then: {_line(patch, 110)}" for patch in patches[-2:]]
    return _block("event", "\n".join(lines))


def _repeats(text: str, said: str) -> bool:
    start = said.rstrip("….").casefold()[:60]
    return bool(start) and text.casefold().startswith(start)


def _previous(active: EventView | None, shown: int, room: int) -> str:
    """The turns before; what there is room for in that many characters, or a little more."""
    if active is None or not active.recent:
        return ""
    turns = active.recent[-shown:]
    limits = (240, 260, 120) if len(turns) == 1 else (140, 80, 40)
    share = min(1.0, room / (len(turns) * (sum(limits) + _LABELS)))
    user, reply, tools = (int(limit * share) for limit in limits)
    return _block("previous", "\n".join(_exchange(turn, user, reply, tools) for turn in turns))


def _listed(tag: str, lines: Sequence[str], room: int) -> str:
    """A block of the first lines, as many as there is room for, its line break included."""
    room -= 2 * len(tag) + len("<>\n\n</>")
    kept = []
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    return _block(tag, "\n".join(kept))


def _exchange(turn: Exchange, user: int, reply: int, tools: int) -> str:
    """A turn's words and tools, each cut to its number of characters."""
    lines = [f"person: {cut_middle(turn.user.strip(), user)}" if turn.user.strip() else "person: (nothing)"]
    if turn.actions:
        names = Counter(action.split(" ", 1)[0] for action in turn.actions)
        counted = ", ".join(name if n == 1 else f"{name} x{n}" for name, n in names.items())
        lines.append(f"tools: {_line(counted + ' | ' + turn.actions[-1], tools)}")
    if turn.reply.strip():
        lines.append(f"agent: {_line(turn.reply, reply)}")
    return "\n".join(lines)


def _line(text: str, limit: int) -> str:
    return cut_middle(" ".join(text.split()), limit)


def _block(tag: str, text: str) -> str:
    """A delimited block of data, in which no delimiter can be forged; empty if there is nothing in it."""
    return f"<{tag}>\n{_FORGED.sub('‹', text)}\n</{tag}>" if text else ""


def _spread(turns: Sequence[Exchange], limit: int) -> list[Exchange]:
    """At most `limit` of the turns: the first, the last, and between them evenly."""
    if len(turns) <= limit:
        return list(turns)
    step = (len(turns) - 1) / (limit - 1)
    return [turns[round(i * step)] for i in range(limit)]

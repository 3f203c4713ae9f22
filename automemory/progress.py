"""Which messages of an agent's state are its turn under way, told by their ids.

What was seen of a turn is noted down in private state, since a summarization may take the question away
before the turn is over. Nothing is told by position or by counting.
"""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AnyMessage, BaseMessage
from typing_extensions import TypedDict


class Progress(TypedDict):
    """How far an agent's turn is.

    Attributes:
        messages: Those of the turn under way that were seen so far; none if no turn is under way.
        after: The id of the last message before it; of the last one of all if none is under way.
        turn_id: The id under which the turn is recorded, if that is known; else empty.
    """

    messages: list[AnyMessage]
    after: str
    turn_id: str


NOTHING = Progress(messages=[], after="", turn_id="")


def merge(old: dict[str, Progress] | None, new: dict[str, Progress] | None) -> dict[str, Progress]:
    """Progress of several middlewares by their names: the newest of each holds, in whatever step."""
    return {**(old or {}), **(new or {})}


def spoken(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """What somebody said: no instructions, and no summary that stands for older messages."""
    return [m for m in messages if m.type != "system" and not m.additional_kwargs.get("lc_source")]


def asked(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The person's messages that these end with."""
    at = len(messages)
    while at and messages[at - 1].type == "human":
        at -= 1
    return list(messages[at:])


def last_turn(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """From the person's last messages to the end; everything if there are none."""
    end = max((i + 1 for i, message in enumerate(messages) if message.type == "human"), default=0)
    return [*asked(messages[:end]), *messages[end:]]


def begin(known: Progress, history: Sequence[BaseMessage]) -> tuple[list[BaseMessage], Progress]:
    """What there is of an earlier turn that never ended, and the turn that begins now.

    Without a new message of the person, as when the same input comes again, a turn that did not end goes on.
    """
    seen = {known["after"], *(message.id for message in known["messages"])}
    new = [message for message in asked(history) if message.id not in seen]
    if not new:
        return [], known if known["messages"] else ended(history)
    before = history[: len(history) - len(new)]
    left = gather(known, before) if known["messages"] else []
    return left, _progress(new, before)


def gather(known: Progress, history: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The turn under way: what was noted down of it, as it reads now, and what followed."""
    noted = known["messages"]
    places = {message.id: i for i, message in enumerate(history)}
    found = [places[message.id] for message in noted if message.id in places]
    if found:
        rest = history[min(found) :]
    elif known["after"] in places:
        rest = history[places[known["after"]] + 1 :]
    else:
        rest = history if noted else last_turn(history)
    current = {message.id: message for message in rest}
    ids = {message.id for message in noted}
    return [*(current.get(m.id, m) for m in noted), *(m for m in rest if m.id not in ids)]


def ended(history: Sequence[BaseMessage]) -> Progress:
    """No turn is under way after this history."""
    return _progress([], history)


def _progress(messages: list[BaseMessage], before: Sequence[BaseMessage]) -> Progress:
    return Progress(messages=messages, after=(before[-1].id or "") if before else "", turn_id="")  # type: ignore[typeddict-item]

"""The exact questions a model would be asked for a conversation, and what given answers would have decided.

So that a prompt can be judged with any model, or by a person, without an endpoint: conversations are
recorded into a scratch vault by a decider that writes down each question and answers from a file, from the
labels, or locally.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from automemory.boundary import BoundaryDecision
from automemory.deciders.llm import BoundaryReply, is_asked, leaves_event
from automemory.deciders.local import LocalDecider
from automemory.deciders.prompting import boundary_messages, check_prompts
from automemory.deciders.replies import read_object
from automemory.decision import DecisionContext, Granularity, Verdict
from automemory.errors import ImportFailed
from automemory.evaluate import Labelled, Score, is_labelled, read_labelled, score
from automemory.memory import AutoMemory
from automemory.redact import redact
from automemory.replay.importers.conversation import Conversation
from automemory.replay.importers.registry import importer_for
from automemory.turn import split_turns

Key = tuple[str, int]
_KEYS = frozenset({"continue"})


@dataclass(frozen=True, slots=True)
class Question:
    """What a model would be asked about one turn: conversation's id, number of the turn, and messages."""

    id: str
    turn: int
    messages: list[tuple[str, str]]

    def as_json(self) -> str:
        messages = [{"role": role, "content": text} for role, text in self.messages]
        return json.dumps({"id": self.id, "turn": self.turn, "messages": messages}, ensure_ascii=False)


class _Asker:
    """A decider that writes down the question and answers as it is told."""

    def __init__(
        self, write: Callable[[Question], None], replies: Mapping[Key, str], gold: bool, prompts: Path | None
    ) -> None:
        check_prompts(prompts)
        self._write = write
        self._replies = replies
        self._gold = gold
        self._prompts = prompts
        self._local = LocalDecider()
        self.key: Key = ("", 0)
        self.label: bool | None = None
        self.found: list[tuple[bool, bool | None]] = []
        self.unanswered = False

    async def decide(self, context: DecisionContext) -> Verdict:
        asked = is_asked(context)
        if asked:
            self._write(Question(*self.key, boundary_messages(context, self._prompts)))
        reply = self._reply() if asked else None
        if reply and context.active is not None:
            self.found.append((leaves_event(reply, context.active), self.label))
        cut = self._cut(context, reply)
        if cut is None:
            self.unanswered = asked and bool(self._replies)
            return await self._local.decide(context)
        local = await self._local.decide(_opening(context))
        slug = (reply.new_event_slug if reply else "") or local.decision.new_event_slug
        patch = reply.summary_patch if reply else local.decision.summary_patch
        decision = BoundaryDecision(
            continue_=not cut, new_event_slug=slug if cut else "", summary_patch=patch
        )
        return Verdict(decision, "llm", title=local.title if cut and not reply else "")

    def _cut(self, context: DecisionContext, reply: BoundaryReply | None) -> bool | None:
        """Whether the turn begins an event; None where nothing that was given says so."""
        if context.active is None:
            return True
        if self._gold:
            return self.label is True
        return leaves_event(reply, context.active) if reply else None

    def _reply(self) -> BoundaryReply | None:
        text = self._replies.get(self.key)
        data = read_object(text, _KEYS) if text else None
        try:
            return BoundaryReply.model_validate(data) if data else None
        except ValidationError:
            return None


def ask(
    conversations: Iterable[Labelled],
    vault: Path,
    write: Callable[[Question], None],
    *,
    replies: Mapping[Key, str] | None = None,
    gold: bool = False,
    granularity: Granularity = "default",
    prompts: Path | None = None,
) -> Score:
    """Write down the questions of conversations, and score given answers.

    Args:
        conversations: Labelled, or without labels.
        vault: A scratch vault, where what the answers decide is recorded.
        write: Gets each question.
        replies: Answers by conversation and turn, as a model wrote them. A conversation stops at the first
            turn that has none; without any answers the local decider stands in.
        gold: Whether the past is cut at the labels instead of where the answers cut it.
        granularity: As of `AutoMemory`.
        prompts: A folder whose prompt files replace those that ship.

    Returns:
        The score of the answers against the labels.

    Raises:
        ConfigError: if a prompt cannot be read.
    """
    asker = _Asker(write, replies or {}, gold, prompts)
    with AutoMemory(
        vault, decider=asker, granularity=granularity, durability="os", recent_scope="stream"
    ) as memory:
        for conversation in conversations:
            asker.unanswered = False
            for number, (turn, label) in enumerate(zip(conversation.turns, conversation.labels, strict=True)):
                asker.key, asker.label = (redact(conversation.id), number), label
                memory.record(turn, thread_id=conversation.id)
                if asker.unanswered:
                    break
    return score(asker.found)


def conversations_of(path: Path) -> Iterator[Labelled]:
    """The conversations of a labelled file, or of a saved one, whose turns have no label.

    Raises:
        ImportFailed: if it is neither.
    """
    if is_labelled(path):
        yield from read_labelled(path)
        return
    with path.open("rb") as file:
        for found in importer_for(file).read(file):
            if isinstance(found, Conversation):
                turns = tuple(split_turns(found.messages))
                yield Labelled(found.id, turns, (None,) * len(turns))


def read_replies(path: Path) -> dict[Key, str]:
    """Answers from a JSONL file of `{"id", "turn", "reply"}`, the reply as text or as an object.

    Raises:
        ImportFailed: if a line is none; the message says which.
    """
    found: dict[Key, str] = {}
    for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
        if line.strip():
            try:
                data: dict[str, Any] = json.loads(line)
                reply = data["reply"]
                found[data["id"], int(data["turn"])] = reply if isinstance(reply, str) else json.dumps(reply)
            except (ValueError, KeyError, TypeError) as error:
                raise ImportFailed(
                    f"{path}: line {number} is no answer ({type(error).__name__}): give id, turn and reply"
                ) from error
    return found


def _opening(context: DecisionContext) -> DecisionContext:
    return DecisionContext(turn=context.turn, granularity=context.granularity)

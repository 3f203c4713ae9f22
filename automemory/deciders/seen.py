"""An exchange as it is compared with others: what both sides said, read and as vectors, and what was done."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from automemory.deciders import cues
from automemory.deciders.encoder import Encoder, Vectors
from automemory.deciders.extract import prose
from automemory.deciders.text import Text, identifiers, read, words
from automemory.decision import Exchange

DIMENSIONS = 512
_SENTENCES = re.compile(r"[.!?。！？\n]+")


@dataclass(frozen=True, slots=True)
class Manner:
    """How a message is put, whatever it is about.

    Attributes:
        ways: Which of `cues.MANNERS` its first words match, thanks left out.
        prose: The part of it that is words, not code, logs or dumps.
        pasted: Whether more than 200 characters of it are no prose.
        sentences: How many sentences it has.
        thanks: Characters of thanks and assent before it comes to the point.
        lower: Whether it begins with a small letter.
    """

    ways: frozenset[str]
    prose: float
    pasted: bool
    sentences: int
    thanks: int
    lower: bool


@dataclass(frozen=True, slots=True)
class Seen:
    """An exchange as it is compared.

    Attributes:
        user, reply: What both sides said.
        manner: How the person put it.
        reply_opens, reply_ends: Which of `cues.OPENINGS` and `cues.ENDINGS` the reply matches.
        tools, targets, done: The tools called; what they were called on, as identifiers and as words.
        actions: How many calls there were.
        kinds: Which part of the calls is of each of `cues.ACTIONS`.
        first_looks: Whether the first call only looks.
        saves: Whether work was committed, pushed or merged.
        user_vector, reply_vector, whole: Vectors of both sides, and of both together.
    """

    user: Text
    reply: Text
    manner: Manner
    reply_opens: frozenset[str]
    reply_ends: frozenset[str]
    tools: frozenset[str]
    targets: frozenset[str]
    done: frozenset[str]
    actions: int
    kinds: tuple[tuple[str, float], ...]
    first_looks: bool
    saves: bool
    user_vector: Vectors
    reply_vector: Vectors
    whole: Vectors

    @property
    def words(self) -> frozenset[str]:
        """Every word of the exchange."""
        return self.user.words | self.reply.words | self.done

    @property
    def files(self) -> frozenset[str]:
        """Everything named in it or worked on."""
        return self.user.identifiers | self.reply.identifiers | self.targets


def see(exchange: Exchange, encoder: Encoder) -> Seen:
    user_vector, reply_vector = _vectors(exchange, encoder)
    called = "\n".join(exchange.actions)
    return Seen(
        user=read(exchange.user),
        reply=read(exchange.reply, reply=True),
        manner=_manner(exchange.user),
        reply_opens=_matching(cues.OPENINGS, exchange.reply[:160]),
        reply_ends=_matching(cues.ENDINGS, exchange.reply[-250:]),
        tools=frozenset(action.split(" ", 1)[0] for action in exchange.actions),
        targets=_targets(exchange.actions),
        done=words(called),
        actions=len(exchange.actions),
        kinds=_kinds(exchange.actions),
        first_looks=bool(exchange.actions and cues.ACTIONS["look"].search(exchange.actions[0])),
        saves=bool(cues.SAVING.search(called)),
        user_vector=user_vector,
        reply_vector=reply_vector,
        whole=unit(user_vector + 0.5 * reply_vector),
    )


def unit(vector: Vectors) -> Vectors:
    norm = float(np.linalg.norm(vector))
    return vector / np.float32(norm) if norm else vector


def spoken(exchange: Exchange) -> tuple[str, str]:
    """What is encoded of both sides: their prose, or what they said itself where it has none."""
    user, reply = exchange.user, exchange.reply
    return prose(user) or user.strip(), prose(reply) or reply.strip()


def _vectors(exchange: Exchange, encoder: Encoder) -> tuple[Vectors, Vectors]:
    """Of what the person said and of the reply; zeros where nothing was said."""
    user, reply = spoken(exchange)
    texts = [text for text in (user, reply) if text]
    vectors = iter(encoder.encode(texts)) if texts else iter(())
    nothing = np.zeros(DIMENSIONS, dtype=np.float32)
    return next(vectors) if user else nothing, next(vectors, nothing) if reply else nothing


@lru_cache(maxsize=2048)
def _manner(text: str) -> Manner:
    worded = prose(text)
    point = cues.strip_acknowledgement(worded or text)
    return Manner(
        ways=_matching(cues.MANNERS, point[:300]),
        prose=len(worded) / max(len(text), 1),
        pasted=len(text) - len(worded) > 200,
        sentences=len(_SENTENCES.findall(worded)) + 1,
        thanks=len(worded or text) - len(point),
        lower=text[:1].islower(),
    )


def _matching(named: dict[str, re.Pattern[str]], text: str) -> frozenset[str]:
    return frozenset(name for name, pattern in named.items() if pattern.search(text))


@lru_cache(maxsize=2048)
def _targets(actions: tuple[str, ...]) -> frozenset[str]:
    return frozenset().union(*(identifiers(action) for action in actions))


@lru_cache(maxsize=2048)
def _kinds(actions: tuple[str, ...]) -> tuple[tuple[str, float], ...]:
    return tuple(
        (kind, sum(bool(cue.search(action)) for action in actions) / max(len(actions), 1))
        for kind, cue in cues.ACTIONS.items()
    )

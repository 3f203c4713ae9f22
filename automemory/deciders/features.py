"""The numbers behind a boundary score: how a turn relates to the active event, from the context alone.

Everything here is a pure function of the turn, the event's opening and its last turns; the cost does not
grow with the event.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from automemory.deciders.cues import ACTIONS, KINDS
from automemory.deciders.encoder import Encoder, Vectors
from automemory.deciders.extract import prose
from automemory.deciders.text import Text, identifiers, read
from automemory.decision import Exchange

Row = npt.NDArray[np.float32]
KEPT = 512


@dataclass(frozen=True, slots=True)
class Seen:
    """An exchange as it is compared: what both sides said, read and as vectors, and what was done."""

    user: Text
    reply: Text
    tools: frozenset[str]
    targets: frozenset[str]
    actions: int
    kinds: tuple[tuple[str, float], ...]
    first_looks: bool
    user_vector: Vectors
    reply_vector: Vectors
    whole: Vectors


class Look:
    """Reads exchanges and keeps the last `KEPT`, so that of a live conversation only the new turn is read."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder
        self._lock = threading.Lock()
        self._seen: OrderedDict[tuple[str, str, tuple[str, ...]], Seen] = OrderedDict()

    def __call__(self, exchange: Exchange) -> Seen:
        key = (exchange.user, exchange.reply, exchange.actions)
        with self._lock:
            found = self._seen.get(key)
            if found is not None:
                self._seen.move_to_end(key)
                return found
        found = _look(exchange, self.encoder)
        with self._lock:
            self._seen[key] = found
            if len(self._seen) > KEPT:
                self._seen.popitem(last=False)
        return found


def _look(exchange: Exchange, encoder: Encoder) -> Seen:
    user, reply = _spoken(exchange.user), _spoken(exchange.reply)
    texts = [text for text in (user, reply) if text]
    vectors = iter(encoder.encode(texts)) if texts else iter(())
    nothing = np.zeros(512, dtype=np.float32)
    user_vector = next(vectors) if user else nothing
    reply_vector = next(vectors, nothing) if reply else nothing
    tools, targets = _actions(exchange.actions)
    return Seen(
        read(exchange.user), read(exchange.reply),
        tools, targets, len(exchange.actions), _kinds(exchange.actions),
        bool(exchange.actions and ACTIONS["look"].search(exchange.actions[0])),
        user_vector, reply_vector, _unit(user_vector + 0.5 * reply_vector),
    )  # fmt: skip


def features(
    turn: Seen, recent: Sequence[Seen], opening: Seen, turns: int, *, fine: bool = False
) -> dict[str, float]:
    """Named features of a turn, in a fixed order.

    Args:
        turn: The turn to decide.
        recent: The active event's last turns, oldest first, at least one.
        opening: The active event's first turn.
        turns: How many turns the active event has.
        fine: Whether the finest granularity is asked for.
    """
    found: dict[str, float] = {"fine": float(fine)}
    found.update(_similarities(turn, recent, opening))
    found.update(_overlaps(turn, recent, opening))
    found.update(_tools(turn, recent))
    found.update(_own(turn))
    found.update(_before(recent[-1]))
    found["turns"] = math.log1p(turns)
    return found


def probe(turn: Seen, previous: Seen) -> Row:
    """What the linear heads read: the turn's user vector, its agreement with the turn before, and that
    turn's reply.
    """
    before = _unit(previous.user_vector + previous.reply_vector)
    return np.concatenate(
        [turn.user_vector, turn.user_vector * before * 20, previous.reply_vector, turn.reply_vector]
    )


def row(named: Mapping[str, float]) -> Row:
    return np.fromiter(named.values(), dtype=np.float32, count=len(named))


def _spoken(text: str) -> str:
    """What is encoded of a message: its prose, or the message itself where it has none."""
    return prose(text) or text.strip()


@lru_cache(maxsize=2048)
def _actions(actions: tuple[str, ...]) -> tuple[frozenset[str], frozenset[str]]:
    tools = frozenset(action.split(" ", 1)[0] for action in actions)
    return tools, frozenset().union(*(identifiers(action) for action in actions))


@lru_cache(maxsize=2048)
def _kinds(actions: tuple[str, ...]) -> tuple[tuple[str, float], ...]:
    """Which part of the actions is of each kind."""
    return tuple(
        (kind, sum(bool(cue.search(action)) for action in actions) / max(len(actions), 1))
        for kind, cue in ACTIONS.items()
    )


def _unit(vector: Vectors) -> Vectors:
    norm = float(np.linalg.norm(vector))
    return vector / np.float32(norm) if norm else vector


def _dot(a: Vectors, b: Vectors) -> float:
    return float(a @ b)


def _similarities(turn: Seen, recent: Sequence[Seen], opening: Seen) -> dict[str, float]:
    previous = recent[-1]
    users, replies, wholes = (
        np.stack([getattr(seen, name) for seen in recent])
        for name in ("user_vector", "reply_vector", "whole")
    )
    to_users, to_replies, to_wholes = (
        users @ turn.user_vector,
        replies @ turn.user_vector,
        wholes @ turn.whole,
    )
    centroid, cohesion = _unit(wholes.mean(0)), _cohesion(wholes)
    return {
        "user_user": float(to_users[-1]),
        "user_reply": float(to_replies[-1]),
        "reply_reply": _dot(turn.reply_vector, previous.reply_vector),
        "reply_user": _dot(turn.reply_vector, previous.user_vector),
        "whole_whole": float(to_wholes[-1]),
        "user_user_max3": float(to_users[-3:].max()),
        "user_reply_max3": float(to_replies[-3:].max()),
        "user_any_max": float(max(to_users.max(), to_replies.max())),
        "user_users_max": float(to_users.max()),
        "user_users_mean": float(to_users.mean()),
        "whole_min": float(to_wholes.min()),
        "whole_max": float(to_wholes.max()),
        "whole_mean": float(to_wholes.mean()),
        "user_centroid": _dot(turn.user_vector, _unit(users.mean(0))),
        "user_whole_centroid": _dot(turn.user_vector, centroid),
        "reply_centroid": _dot(turn.reply_vector, _unit(replies.mean(0))),
        "whole_centroid": _dot(turn.whole, centroid),
        "user_opening": _dot(turn.user_vector, opening.user_vector),
        "whole_opening": _dot(turn.whole, opening.whole),
        "user_own_reply": _dot(turn.user_vector, turn.reply_vector),
        "previous_user_reply": _dot(previous.user_vector, previous.reply_vector),
        "cohesion": cohesion,
        "below_cohesion": cohesion - float(to_wholes[-1]),
    }


def _cohesion(wholes: Vectors) -> float:
    """Mean similarity of neighbouring turns so far; a typical value where there is only one."""
    if len(wholes) < 2:
        return 0.5
    return float(np.einsum("ij,ij->i", wholes[1:], wholes[:-1]).mean())


def _share(part: frozenset[str], whole: frozenset[str]) -> float:
    return len(part & whole) / len(part) if part else -1.0


def _overlaps(turn: Seen, recent: Sequence[Seen], opening: Seen) -> dict[str, float]:
    previous = recent[-1]
    words = frozenset().union(*(s.user.words | s.reply.words for s in recent))
    grams_before = previous.user.grams | previous.reply.grams
    ids = frozenset().union(*(s.user.identifiers | s.reply.identifiers | s.targets for s in recent))
    ids_before = previous.user.identifiers | previous.reply.identifiers | previous.targets
    ids_turn = turn.user.identifiers | turn.targets
    return {
        "words_previous_user": _share(turn.user.words, previous.user.words),
        "words_previous_reply": _share(turn.user.words, previous.reply.words),
        "words_recent": _share(turn.user.words, words),
        "words_new": float(min(len(turn.user.words - words), 30)),
        "words_shared": float(min(len(turn.user.words & words), 30)),
        "words_opening": _share(turn.user.words, opening.user.words),
        "reply_words_recent": _share(turn.reply.words, words),
        "reply_words_previous": _share(turn.reply.words, previous.reply.words | previous.user.words),
        "grams_previous": _share(turn.user.grams, grams_before),
        "grams_opening": _share(turn.user.grams, opening.user.grams | opening.reply.grams),
        "reply_grams_previous": _share(turn.reply.grams, grams_before),
        "ids": float(min(len(turn.user.identifiers), 10)),
        "ids_recent": _share(turn.user.identifiers, ids),
        "ids_shared": float(min(len(turn.user.identifiers & ids), 10)),
        "ids_turn_previous": _share(ids_turn, ids_before),
        "ids_turn_recent": _share(ids_turn | turn.reply.identifiers, ids),
        "ids_turn_new": float(min(len(ids_turn - ids), 20)),
        "kinds_previous": _share(turn.user.kinds, previous.user.kinds),
        "kinds_recent": _share(turn.user.kinds, frozenset().union(*(s.user.kinds for s in recent))),
        "targets_opening": _share(
            turn.targets | turn.user.identifiers, opening.targets | opening.user.identifiers
        ),
        "beginnings": _share(turn.user.beginning, frozenset().union(*(s.user.beginning for s in recent))),
    }


def _tools(turn: Seen, recent: Sequence[Seen]) -> dict[str, float]:
    tools = frozenset().union(*(s.tools for s in recent))
    targets = frozenset().union(*(s.targets for s in recent))
    return {
        "tools_previous": _share(turn.tools, recent[-1].tools),
        "tools_recent": _share(turn.tools, tools),
        "targets_recent": _share(turn.targets, targets),
        "actions": math.log1p(turn.actions),
        "actions_previous": math.log1p(recent[-1].actions),
        "actions_recent": sum(math.log1p(s.actions) for s in recent) / len(recent),
        **{f"actions_{kind}": share for kind, share in turn.kinds},
        **{f"previous_{kind}": share for kind, share in recent[-1].kinds},
        "first_looks": float(turn.first_looks),
    }


def _own(turn: Seen) -> dict[str, float]:
    user, reply = turn.user, turn.reply
    return {
        "user_size": math.log1p(user.size),
        "reply_size": math.log1p(reply.size),
        "user_words": float(min(len(user.words), 40)),
        "questions": float(min(user.questions, 4)),
        "ends_asking": float(user.ends_asking),
        "wh": float(user.wh),
        "new_topic": float(min(user.new_topic, 3)),
        "still": float(min(user.still, 4)),
        "anaphors": float(min(user.anaphors, 5)),
        "requests": float(min(user.requests, 4)),
        "greeting": float(user.greeting),
        "back": float(user.back),
        "user_closing": float(user.closing),
        "code": float(user.code),
        "trace": float(user.trace),
        "cjk": float(user.cjk),
        "mention": float(user.mention),
        "command": float(user.command),
        "settled": float(user.settled),
        "praise": float(user.praise),
        "user_lines": math.log1p(user.lines),
        "user_done": float(min(user.done, 4)),
        **{f"kind_{kind}": float(kind in user.kinds) for kind in KINDS},
        "reply_asks": float(reply.ends_asking),
        "reply_closing": float(reply.closing),
        "reply_done": float(min(reply.done, 5)),
        "reply_code": float(reply.code),
        "reply_concedes": float(reply.concedes),
    }


def _before(previous: Seen) -> dict[str, float]:
    return {
        "previous_asks": float(previous.reply.ends_asking),
        "previous_closing": float(previous.reply.closing),
        "previous_done": float(min(previous.reply.done, 5)),
        "previous_user_size": math.log1p(previous.user.size),
        "previous_reply_size": math.log1p(previous.reply.size),
        "previous_user_closing": float(previous.user.closing),
        "previous_user_asks": float(previous.user.ends_asking),
        "previous_trace": float(previous.user.trace),
        "previous_greeting": float(previous.user.greeting),
        "previous_acknowledges": float(previous.user.acknowledges),
        "previous_still": float(min(previous.user.still, 4)),
        "previous_new_topic": float(min(previous.user.new_topic, 3)),
        "previous_requests": float(min(previous.user.requests, 4)),
    }

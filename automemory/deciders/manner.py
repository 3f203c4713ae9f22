"""How a turn is put and what came before it: questions, thanks, complaints, endings, sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from automemory.deciders.cues import ENDINGS, KINDS, MANNERS, OPENINGS
from automemory.deciders.seen import Seen

_WAYS_BEFORE = ("repair", "make", "order")


def own(turn: Seen) -> dict[str, float]:
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


def before(previous: Seen) -> dict[str, float]:
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


def ways(turn: Seen, recent: Sequence[Seen]) -> dict[str, float]:
    """How the turn is put and answered, and how the reply before it ended."""
    manner, previous = turn.manner, recent[-1]
    sizes = [math.log1p(s.user.size) for s in recent]
    return {
        **{f"way_{name}": float(name in manner.ways) for name in MANNERS},
        **{f"opens_{name}": float(name in turn.reply_opens) for name in OPENINGS},
        **{f"ended_{name}": float(name in previous.reply_ends) for name in ENDINGS},
        **{
            f"previous_way_{name}": float(name in previous.manner.ways)
            for name in ("repair", "make", "order")
        },
        "prose": manner.prose,
        "pasted": float(manner.pasted),
        "sentences": float(min(manner.sentences, 12)),
        "thanks": float(manner.thanks),
        "lower": float(manner.lower),
        "saves": float(turn.saves),
        "previous_saves": float(previous.saves),
        "repairs": float(sum("repair" in s.manner.ways for s in recent[-3:])),
        "usual_size": sum(sizes) / len(sizes),
        "unusual_size": math.log1p(turn.user.size) - sum(sizes) / len(sizes),
    }

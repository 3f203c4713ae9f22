"""How alike a turn and the active event are, by their vectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from automemory.deciders.encoder import Vectors
from automemory.deciders.seen import Seen, unit

AGREEMENT = 20.0
"""What a product of two vectors is multiplied by, to be of a vector's size."""


def probe(turn: Seen, previous: Seen) -> Vectors:
    """What the linear heads read: the turn's vector, where it agrees with the turn before, and the replies of
    both.
    """
    both = unit(turn.user_vector + turn.reply_vector)
    before = unit(previous.user_vector + previous.reply_vector)
    agreement = both * before * np.float32(AGREEMENT)
    return np.concatenate([turn.whole, agreement, previous.reply_vector, turn.reply_vector])


def similarities(turn: Seen, recent: Sequence[Seen], opening: Seen) -> dict[str, float]:
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
    centroid, cohesion = unit(wholes.mean(0)), _cohesion(wholes)
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
        "user_centroid": _dot(turn.user_vector, unit(users.mean(0))),
        "user_whole_centroid": _dot(turn.user_vector, centroid),
        "reply_centroid": _dot(turn.reply_vector, unit(replies.mean(0))),
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


def _dot(a: Vectors, b: Vectors) -> float:
    return float(a @ b)

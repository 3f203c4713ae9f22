"""What a turn and the active event share in words, names and tools, and what a turn brings in."""

from __future__ import annotations

import math
from collections.abc import Sequence

from automemory.deciders.rarity import rarity, total
from automemory.deciders.seen import Seen


def overlaps(turn: Seen, recent: Sequence[Seen], opening: Seen) -> dict[str, float]:
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


def tool_use(turn: Seen, recent: Sequence[Seen]) -> dict[str, float]:
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


def rare_words(turn: Seen, recent: Sequence[Seen], opening: Seen) -> dict[str, float]:
    """As `overlaps`, each word counting by how rare it is."""
    previous, said = recent[-1], turn.user.words
    asked = frozenset().union(opening.user.words, *(s.user.words for s in recent))
    known = asked.union(opening.reply.words, *(s.words for s in recent))
    reply, new = turn.reply.words | turn.done, said - known
    rarest = sorted(map(rarity, new), reverse=True)
    return {
        "rare_new": _part(new, said),
        "rare_new_sum": min(total(new), 120.0),
        "rare_new_most": rarest[0] if rarest else 0.0,
        "rare_new_top": sum(rarest[:3]),
        "rare_shared_most": max(map(rarity, said & known), default=0.0),
        "rare_asked": _part(said & asked, said),
        "rare_asked_most": max(map(rarity, said & asked), default=0.0),
        "rare_previous": _part(said & previous.words, said),
        "rare_previous_user": _part(said & previous.user.words, said),
        "rare_previous_reply": _part(said & previous.reply.words, said),
        "rare_opening": _part(said & (opening.user.words | opening.reply.words), said),
        "rare_own_reply": _part(said & reply, said) if reply else -1.0,
        "rare_reply_new": _part(reply - known, reply),
        "rare_reply_previous": _part(reply & previous.words, reply),
        "rare_done": _part(turn.done & known, turn.done),
    }


def names(turn: Seen, recent: Sequence[Seen], opening: Seen) -> dict[str, float]:
    """Names that a person brings in, and how far the tools work on what the event is about."""
    asked = frozenset().union(opening.user.identifiers, *(s.user.identifiers for s in recent))
    known = asked.union(opening.files, *(s.files for s in recent))
    worked = turn.targets | turn.reply.identifiers
    return {
        "names_new": float(min(len(turn.user.identifiers - known), 5)),
        "names_asked": float(min(len(turn.user.identifiers & asked), 5)),
        "worked_new": len(worked - known) / len(worked) if worked else -1.0,
        "worked_previous": _share(worked, recent[-1].files),
    }


def _part(part: frozenset[str], whole: frozenset[str]) -> float:
    return total(part) / (total(whole) + 1e-6) if whole else -1.0


def _share(part: frozenset[str], whole: frozenset[str]) -> float:
    return len(part & whole) / len(part) if part else -1.0

"""Whether a turn goes back to a recent event.

Only when sure: a wrong return spoils two events, a missed one none.
"""

# ruff: noqa: E501  (patterns of wordings)

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date as Date
from datetime import timedelta

import numpy as np

from automemory.deciders.cues import BACK
from automemory.deciders.encoder import Encoder, Vectors
from automemory.deciders.extract import prose
from automemory.deciders.text import identifiers, words
from automemory.decision import DecisionContext, Exchange, RecentEvent

_EXPLICIT = re.compile(
    r"^(?:\W*(?:ok(?:ay)?|now|so|right|great|good|thanks|thank you|hi|hello|hey|(?:good )?(?:morning|afternoon|evening)|alright|well|and|then|yes"
    r"|let'?s|let us|can we|could we|we can|i(?:'d like| want) to|time to)\b)*\W*"
    r"(?:(?:(?:go|com|gett?|jump|switch|circl|turn)(?:e|ing)? )?back to|return(?:ing)? to|(?:continu(?:e|ing)|carry(?:ing)? on) (?:with|on)|pick(?:ing)? up(?: again)?(?: with| on)?|resum(?:e|ing))\s+"
    r"(?P<thing>(?:[^.,:;!?\n]|\.(?=\w)){2,120})"
    r"|^(?:\W*(?:好的?|早上?好?|那么?|嗯|行|现在|我们|咱们|我想|来|下午好|晚上好))*\W*(?:回到|说回|回过头来?看?|接着|继续)(?P<topic>[^。：:；！？，\n]{2,80})",
    re.IGNORECASE,
)
"""A turn that begins by naming what it goes back to."""
_DAYS = (
    ("今天|刚才|earlier today|this morning", 0),
    ("昨[天晚]|yesterday|last night", 1),
    ("前天|day before yesterday", 2),
)
_WEEKDAY = re.compile(
    r"\b(mon|tue|wed|thu|fri|sat|sun)(?:s|nes|rs|ur)?day\b|(?:周|星期|礼拜)([一二三四五六日天])",
    re.IGNORECASE,
)
_NO_TOPIC = words(
    "question task thing problem issue topic earlier matter work yesterday morning monday tuesday wednesday thursday friday saturday sunday 昨天 前天 今天 刚才 之前 上次 问题 事情 任务"
)
_ONLY_ON = re.compile(
    r"(?:continu|carry|pick|resum)(?!.*(?:yesterday|earlier|before|last|where))|(?:接着|继续)(?!.*(?:[昨前]天|之前|刚才|上次|上周|早上))",
    re.IGNORECASE | re.DOTALL,
)
"""Wording that may as well mean the next step of what is being done."""
NAMED, MAYBE_NAMED, ABOUT_EQUAL, DATED, LEAD = 0.3, 0.6, 0.8, 0.2, 0.1
MOST_NAMED = 6

WORDED_SIMILARITY, SILENT_SIMILARITY, SILENT_LEAD = 0.35, 0.6, 0.1


@dataclass(frozen=True, slots=True)
class Shared:
    """What a turn shares with one recent event.

    Attributes:
        identifiers, words: How many, of those that no other event in sight has.
        share: Which part of the turn's content words the event has.
    """

    identifiers: int
    words: int
    share: float

    def enough(self, *, worded: bool) -> bool:
        """Something where the user says that something earlier is meant; else much, by name or in words."""
        if worded:
            return 2 * self.identifiers + self.words >= 2
        named = self.identifiers >= 2 and self.share >= 0.25
        return named or (self.words >= 4 and self.share >= 0.45)


def going_back(context: DecisionContext, encoder: Encoder) -> RecentEvent | None:
    """The recent event a turn goes back to, or None in doubt."""
    if not context.recent:
        return None
    named = _named(context, encoder)
    if named is not None:
        return named
    worded = bool(BACK.search(context.turn.user[:400]))
    shared = _shared(context)
    if not any(s.enough(worded=worded) for s in shared):
        return None
    similar, lead = _similarities(context, encoder)
    least, ahead = (WORDED_SIMILARITY, 0.0) if worded else (SILENT_SIMILARITY, SILENT_LEAD)
    sure = [
        i for i, s in enumerate(shared) if s.enough(worded=worded) and similar[i] >= least and lead[i] > ahead
    ]
    return context.recent[max(sure, key=lambda i: float(similar[i]))] if sure else None


def _named(context: DecisionContext, encoder: Encoder) -> RecentEvent | None:
    """The event that fits what an explicit "back to …" names better than all others, the active one too.

    Of events that fit about equally, as when a topic was split, the one most alike is meant, else the newest.
    """
    found = _EXPLICIT.match(context.turn.user[:400])
    wanted = _tokens((found["thing"] or found["topic"]) if found else "")
    if not found or not wanted:
        return None
    day = _day(found[0], context)
    fits = [_fit(wanted, _event_text(e)) for e in context.recent]
    active = context.active
    here = _fit(wanted, f"{active.title}\n{active.description}\n{active.opening.user}") if active else 0.0
    scores = [f + (DATED if f and day == e.date else 0.0) for f, e in zip(fits, context.recent, strict=True)]
    best = max(scores, default=0.0)
    if best < (MAYBE_NAMED if _ONLY_ON.search(found[0]) else NAMED) or here >= best:
        return None
    close = [i for i, score in enumerate(scores) if score >= best * ABOUT_EQUAL]
    close = [i for i in close if context.recent[i].date == day] or close
    newest = max(close, key=lambda i: (context.recent[i].date, -i))
    if len(close) > 1:
        similar, _ = _similarities(context, encoder)
        most = max(close, key=lambda i: float(similar[i]))
        newest = most if similar[most] - similar[newest] > LEAD else newest
    return context.recent[newest]


def _tokens(text: str) -> frozenset[str]:
    return (words(text) | identifiers(text)) - _NO_TOPIC


def _fit(wanted: frozenset[str], text: str) -> float:
    """Which part of the named words a text has; of many words `MOST_NAMED` are all."""
    return min(len(wanted & _tokens(text)) / min(len(wanted), MOST_NAMED), 1.0)


def _event_text(event: RecentEvent) -> str:
    return f"{event.title}\n{event.description}\n{event.slug.replace('-', ' ')}"


def _day(wording: str, context: DecisionContext) -> str:
    """The day a wording names, `YYYY-MM-DD`, counted back from the turn's own; empty if none."""
    if context.turn.at is None:
        return ""
    today: Date = context.turn.at.date()
    back = next((n for words, n in reversed(_DAYS) if re.search(words, wording, re.IGNORECASE)), None)
    if back is None and (match := _WEEKDAY.search(wording)):
        names = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
        weekday = (
            names.index(match[1].lower())
            if match[1]
            else "一二三四五六日".index(match[2].replace("天", "日"))
        )
        back = (today.weekday() - weekday) % 7
    return "" if back is None else str(today - timedelta(days=back))


def _shared(context: DecisionContext) -> list[Shared]:
    """For each recent event, in the context's order."""
    texts = [_event_text(e) for e in context.recent]
    said, names = [words(text) for text in texts], [identifiers(text) for text in texts]
    words_now, names_now = _of_active(context)
    mine, own = words(context.turn.user), identifiers(context.turn.user) | _targets(context.turn)
    found = []
    for i in range(len(texts)):
        others = frozenset().union(words_now, *said[:i], *said[i + 1 :])
        other_names = frozenset().union(names_now, *names[:i], *names[i + 1 :])
        share = len(mine & said[i]) / max(len(mine), 1)
        found.append(Shared(len((own & names[i]) - other_names), len((mine & said[i]) - others), share))
    return found


def _similarities(context: DecisionContext, encoder: Encoder) -> tuple[Vectors, Vectors]:
    """The user's words to each event's title or description, and the lead over any other event in sight."""
    titles = [event.title or event.slug for event in context.recent]
    descriptions = [e.description or t for e, t in zip(context.recent, titles, strict=True)]
    opening = context.active.opening.user if context.active else ""
    active = [_spoken(opening)] if opening.strip() else []
    vectors = encoder.encode([_spoken(context.turn.user), *titles, *descriptions, *active])
    n, found = len(titles), vectors[1:] @ vectors[0]
    similar = np.maximum(found[:n], found[n : 2 * n])
    everything = np.concatenate([similar, found[2 * n :]])
    lead = [similar[i] - np.delete(everything, i).max(initial=0.0) for i in range(n)]
    return similar, np.array(lead, dtype=np.float32)


def _spoken(text: str) -> str:
    return prose(text) or text.strip()


def _targets(turn: Exchange) -> frozenset[str]:
    return frozenset().union(*(identifiers(action) for action in turn.actions))


def _of_active(context: DecisionContext) -> tuple[frozenset[str], frozenset[str]]:
    """Words and identifiers of the active event: they are no sign of another one."""
    active = context.active
    if active is None:
        return frozenset(), frozenset()
    turns = (active.opening, *active.recent)
    texts = [active.title, active.description, *(t.user for t in turns), *(t.reply for t in turns)]
    names = [identifiers(text) for text in texts] + [_targets(t) for t in turns]
    return frozenset().union(*map(words, texts)), frozenset().union(*names)

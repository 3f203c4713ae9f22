"""The numbers behind a boundary score: how a turn relates to the active event, from the context alone.

Everything here is a pure function of the turn, the event's opening and its last turns; the cost does not
grow with the event. Three families: `likeness` by vectors, `wording` by what is shared, `manner` by cues.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterable, Sequence

from automemory._forks import forks
from automemory.deciders import likeness, manner, wording
from automemory.deciders.encoder import Encoder
from automemory.deciders.likeness import probe as probe
from automemory.deciders.seen import Seen, see, spoken
from automemory.decision import Exchange

KEPT = 512
_Key = tuple[str, str, tuple[str, ...]]


class Look:
    """Reads exchanges and keeps the last `KEPT`, so that of a live conversation only the new turn is read."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder
        self._lock = forks.lock()
        self._seen: OrderedDict[_Key, Seen] = OrderedDict()

    def read_ahead(self, exchanges: Iterable[Exchange]) -> None:
        """Encode what is new in exchanges all at once, which costs less than one after another."""
        with self._lock:
            new = [exchange for exchange in exchanges if _key(exchange) not in self._seen]
        if texts := [text for exchange in new for text in spoken(exchange) if text]:
            self.encoder.encode(texts)

    def __call__(self, exchange: Exchange) -> Seen:
        key = _key(exchange)
        with self._lock:
            found = self._seen.get(key)
            if found is not None:
                self._seen.move_to_end(key)
                return found
        found = see(exchange, self.encoder)
        with self._lock:
            self._seen[key] = found
            if len(self._seen) > KEPT:
                self._seen.popitem(last=False)
        return found


def _key(exchange: Exchange) -> _Key:
    return exchange.user, exchange.reply, exchange.actions


def features(turn: Seen, recent: Sequence[Seen], opening: Seen, turns: int) -> dict[str, float]:
    """Named features of a turn, in a fixed order.

    Args:
        turn: The turn to decide.
        recent: The active event's last turns, oldest first, at least one.
        opening: The active event's first turn.
        turns: How many turns the active event has.
    """
    return {
        **likeness.similarities(turn, recent, opening),
        **wording.overlaps(turn, recent, opening),
        **wording.rare_words(turn, recent, opening),
        **wording.names(turn, recent, opening),
        **wording.tool_use(turn, recent),
        **manner.own(turn),
        **manner.before(recent[-1]),
        **manner.ways(turn, recent),
        "turns": math.log1p(turns),
    }

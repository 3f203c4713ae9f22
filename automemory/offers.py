"""Resources offered to an agent: which may be, and when an offer is taken up.

An offer is a hint. It stays with a stream until a turn of it links the resource, or until it is out of date;
`state.db` remembers it meanwhile, and if that is lost the offer is simply gone. Nothing in the notes tells of
an offer that was not taken up.
"""

from __future__ import annotations

from collections.abc import Sequence
from unicodedata import normalize

from automemory.decision import NotifyCandidate
from automemory.errors import ConfigError, PathEscape
from automemory.message import shown
from automemory.vault.layout import safe_path
from automemory.vault.links import find_links

SHOWN = 10  # to a decider, the latest first
MAX_PATH_CHARS = 500


def check_offers(notify: object) -> tuple[NotifyCandidate, ...]:
    """Candidates as a caller gives them.

    Raises:
        ConfigError: if it is no list of `NotifyCandidate`, or if a path cannot be one in the vault.
    """
    if not isinstance(notify, Sequence) or not all(isinstance(n, NotifyCandidate) for n in notify):
        raise ConfigError(f"notify={shown(notify)}: give a list of NotifyCandidate")
    for candidate in notify:
        _check(candidate)
    return tuple(notify)


def taken_up(offers: Sequence[NotifyCandidate], block: str) -> list[str]:
    """The paths of the offers that a turn's block takes up by a live link."""
    linked = {_key(link.target) for link in find_links(block)} if offers else set()
    return [offer.path for offer in offers if _key(offer.path) in linked]


def _check(candidate: NotifyCandidate) -> None:
    texts = (candidate.path, candidate.title, candidate.reason)
    if not all(isinstance(text, str) for text in texts):
        raise ConfigError(f"notify={shown(candidate)}: path, title and reason are texts")
    if len(candidate.path) > MAX_PATH_CHARS:
        raise ConfigError(f"notify path {candidate.path[:80]!r}… is longer than {MAX_PATH_CHARS} characters")
    try:
        safe_path(candidate.path)
    except PathEscape as error:
        raise ConfigError(f"notify {error}") from error


def _key(path: str) -> str:
    return normalize("NFC", path).removesuffix(".md")

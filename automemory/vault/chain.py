"""The chain of an event along `inherits`.

An event knows what it goes on from; what goes on from it is found among the events of its own and later days.
"""

from __future__ import annotations

from unicodedata import normalize

from automemory.errors import VaultError
from automemory.vault.event import EventHead
from automemory.vault.heads import in_order, may_inherit, read_opening
from automemory.vault.layout import parse_event_path
from automemory.vault.places import Found, Places
from automemory.vault.resolver import Resolver


def chain(places: Places, path: str) -> list[EventHead]:
    """The events before an event, itself, and those after it, oldest first; a circle ends where it began.

    Args:
        places: The vault.
        path: Vault path of the event's note.

    Raises:
        VaultError: if the note has no readable frontmatter.
    """
    start = read_opening(places, Found(path, "")).head
    if isinstance(start, str):
        raise VaultError(f"{path!r} has no readable frontmatter ({start}): repair it first")
    resolver = Resolver(places)
    before = _before(places, resolver, start)
    return [*before, start, *_after(places, resolver, start, {_key(head.path) for head in before})]


def _before(places: Places, resolver: Resolver, head: EventHead) -> list[EventHead]:
    found, known = [head], {_key(head.path)}
    while path := _parent(resolver, found[0]):
        parent = read_opening(places, Found(path, "")).head
        if isinstance(parent, str) or _key(path) in known:
            break
        known.add(_key(path))
        found.insert(0, parent)
    return found[:-1]


def _after(places: Places, resolver: Resolver, start: EventHead, before: set[str]) -> list[EventHead]:
    found: list[EventHead] = []
    line = {_key(start.path)}
    for day in places.days(start.date):
        heirs = [read_opening(places, file) for file in places.notes(day) if may_inherit(places, file)]
        for head in in_order(heirs):
            key = _key(head.path)
            if key not in line | before and _key(_parent(resolver, head)) in line:
                line.add(key)
                found.append(head)
    return found


def _parent(resolver: Resolver, head: EventHead) -> str:
    """Vault path of the event that one goes on from; empty if there is none."""
    path = resolver.resolve(head.inherits, head.path) if head.inherits else None
    return path if path and parse_event_path(path) else ""


def _key(path: str) -> str:
    return normalize("NFC", path)

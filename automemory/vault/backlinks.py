"""Who links to a file, and which resources are acknowledged: derived from the notes, kept nowhere."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime

from automemory.errors import PathEscape
from automemory.vault.layout import DAILY, fold
from automemory.vault.links import Link, find_links, may_link, may_mention
from automemory.vault.places import Found, Places
from automemory.vault.resolver import Resolver, same_path

_DATE = re.compile(rf"{DAILY}/(\d{{4}}-\d\d-\d\d)(?:/|\.md$)")


@dataclass(frozen=True, slots=True)
class Backlink:
    """A place that links to a file.

    Attributes:
        path: Vault path of the note.
        line: The number of the line in it, from 1.
        text: That line.
        date: The day that the note belongs to, `YYYY-MM-DD`; empty if its path names none.
        at: When the turn happened, if the link stands in one's own lines (its patch, its `Refs:`).
        quoted: Whether it stands in quoted text, so that nobody but the quoted says it.
    """

    path: str
    line: int
    text: str
    date: str = ""
    at: datetime | None = None
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """A resource, that is a file of the vault outside `daily/`, and the places that acknowledge it.

    Attributes:
        resource: Its vault path.
        places: The live links to it under `daily/`, by path and line; at least one.
    """

    resource: str
    places: tuple[Backlink, ...]

    @property
    def date(self) -> str:
        """The first day on which a note acknowledged it; empty if no note's path names a day."""
        return min((place.date for place in self.places if place.date), default="")


def backlinks(places: Places, target: str, *, quoted: bool = False) -> list[Backlink]:
    """The places under `daily/` that link to the file at the vault path `target`, by path and line."""
    resolver, stem = Resolver(places), target.rpartition("/")[2].removesuffix(".md")
    found: list[Backlink] = []
    for file in places.markdown():
        text = text_of(places, file)
        if not may_mention(text, stem) or not (quoted or may_link(text)):
            continue
        for link in find_links(text, quoted=quoted):
            mentioned = fold(stem) in fold(link.target)
            if mentioned and same_path(resolver.resolve(link.target, file.path) or "", target):
                found.append(_backlink(file.path, link))
    return sorted(found, key=_order)


def acknowledged(places: Places, since: str | None = None, until: str | None = None) -> list[Acknowledgement]:
    """The resources acknowledged by the notes of some days, or of all, by path."""
    links = {file.path: resource_links(places, file) for file in places.markdown(since, until)}
    return acknowledgements(links, Resolver(places))


def acknowledgements(links: dict[str, list[Link]], resolver: Resolver) -> list[Acknowledgement]:
    """What the links of some notes, given by the notes' paths, acknowledge."""
    found: dict[str, list[Backlink]] = defaultdict(list)
    for path, inside in links.items():
        for link in inside:
            resource = resolver.resolve(link.target, path)
            if resource and not resource.startswith(f"{DAILY}/"):
                found[resource].append(_backlink(path, link))
    return [
        Acknowledgement(resource, tuple(sorted(found[resource], key=_order))) for resource in sorted(found)
    ]


def resource_links(places: Places, file: Found) -> list[Link]:
    """The live links of a note that may lead out of `daily/`."""
    text = text_of(places, file)
    if not may_link(text, skip=f"{DAILY}/"):
        return []
    return [link for link in find_links(text) if not link.target.startswith(f"{DAILY}/")]


def text_of(places: Places, file: Found) -> str:
    """A note's text; empty if it cannot be read."""
    try:
        return places.read(file).decode("utf-8", "replace")
    except (OSError, PathEscape):
        return ""


def _backlink(path: str, link: Link) -> Backlink:
    dated = _DATE.match(path)
    return Backlink(path, link.line, link.text, dated[1] if dated else "", link.at, link.quoted)


def _order(place: Backlink) -> tuple[str, int]:
    return place.path, place.line

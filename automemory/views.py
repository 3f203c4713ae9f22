"""The sections that are kept besides an event's turns: from what a turn adds to edits. Pure functions.

A model gives new entries and new texts, never a file; what becomes of the old ones is up to the merge
(`vault.sections`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from automemory.decision import RECENT_TURNS, EventView, Exchange, KeptSection
from automemory.schema import NOTE, NoteSchema
from automemory.vault.edits import CreateFile, Edit, Merge
from automemory.vault.event import EventHead
from automemory.vault.layout import link
from automemory.vault.sanitize import entries, safe_entry, safe_line
from automemory.vault.sections import Section, parse, words

MOST_ENTRIES, ENTRY_CHARS, TEXT_CHARS = 10, 400, 2_000
_LINK = re.compile(r"(?<![\\\[!])\[\[([^\[\]|\n\\]+)(?:\|[^\[\]\n]*)?\]\]")
_STAMP = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d ")
_LINKS = "Links: "

Patch = Mapping[str, str | Sequence[str]]
Resolves = Callable[[str], bool]


def view_path(head: EventHead, file: str) -> str:
    """The vault path of one of a schema's files."""
    return head.path if file == NOTE else f"{head.path.rpartition('/')[0]}/{file}"


def current_sections(schema: NoteSchema, texts: Mapping[str, str]) -> dict[str, str]:
    """What an event's sections say, by name, from the texts of its files; empty ones are left out."""
    found: dict[str, str] = {}
    for file, kept in schema.files.items():
        found |= parse(texts.get(file, ""), [_section(section) for section in kept])
    return {name: text for name, text in found.items() if text}


def view_edits(
    schema: NoteSchema,
    head: EventHead,
    at: datetime,
    new: Patch,
    files: Mapping[str, str],
    resolves: Resolves,
) -> list[Edit]:
    """What a turn writes into the sections of its event.

    Args:
        schema: The event's note schema.
        head: The event.
        at: The turn's time.
        new: What a model, or extraction, says of them, by section name.
        files: What the schema's files say now, by name; others are left alone.
        resolves: Whether a wikilink's target is a file of the vault.
    """
    edits: list[Edit] = []
    current = current_sections(schema, files)
    for file, kept in schema.files.items():
        if file not in files:
            continue
        texts = {s.name: _text(s, new.get(s.name, ""), current.get(s.name, ""), at, resolves) for s in kept}
        if schema.conserve_links:
            texts = {s.name: _conserved(s, texts[s.name], current.get(s.name, "")) for s in kept}
        texts = {name: text for name, text in texts.items() if text}
        if not texts:
            continue
        path = view_path(head, file)
        if file != NOTE:
            edits.append(CreateFile(path, f"Part of {link(head.path, head.name)}.\n"))
        sections = [[s.name, s.policy, s.items] for s in kept]
        edits.append(Merge(path, texts, sections=sections))
    return edits


def linked(new: Patch) -> str:
    """All that a patch says, in which links are looked for."""
    return "\n".join(
        text for value in new.values() for text in ([value] if isinstance(value, str) else value)
    )


def extracted(
    schema: NoteSchema,
    event: EventView,
    turn: Exchange,
    current: Mapping[str, str],
    summary: Callable[[Sequence[Exchange]], str],
) -> Patch:
    """The overview without a model, unless a person or a model wrote the one that stands there.

    The lists stay as they are, since extraction cannot tell what counts.

    Args:
        schema: The event's note schema.
        event: The event before the turn.
        turn: The turn.
        current: What the sections say now.
        summary: Extracts a summary from turns.
    """
    overview = next((s for s in schema.sections if s.policy == "replace" and not s.items), None)
    if overview is None:
        return {}
    before = list(dict.fromkeys([event.opening, *event.recent])) if event.turns else []
    stands = current.get(overview.name, "")
    if stands and words(stands) != words(summary(before)):
        return {}
    later = [*event.recent, turn][-RECENT_TURNS:]  # as the next turn will see it
    return {overview.name: summary(list(dict.fromkeys([event.opening, *later])) if before else [turn])}


def _text(section: KeptSection, new: object, old: str, at: datetime, resolves: Resolves) -> str:
    """New text as it is merged: safe, bounded, and of a list only what is not there yet."""
    if isinstance(new, str) and not section.items:
        return safe_line(new[:TEXT_CHARS], resolves)
    given = entries(new) if isinstance(new, str) else list(new) if isinstance(new, Sequence) else []
    safe = [entry for text in given[:MOST_ENTRIES] if (entry := safe_entry(text[:ENTRY_CHARS], resolves))]
    stamp = f"{at:%Y-%m-%d %H:%M} " if section.dated else ""
    known = {words(_STAMP.sub("", entry, count=1)) for entry in entries(old)} if stamp else set()
    return "\n".join(f"- {stamp}{entry}" for entry in safe if words(entry) not in known)


def _conserved(section: KeptSection, new: str, old: str) -> str:
    """A text that replaces another, with a line of the links that would be lost."""
    if not new or section.policy != "replace":
        return new
    there = set(_LINK.findall(new))
    lost = [target for target in dict.fromkeys(_LINK.findall(old)) if target not in there]
    line = _LINKS + " ".join(map(link, lost))
    return f"{new}\n{'- ' if section.items else chr(10)}{line}" if lost else new


def _section(section: KeptSection) -> Section:
    return Section(section.name, section.policy, section.items)  # type: ignore[arg-type]

"""The sections before a note's turns, and how new text is merged into each.

A section is what follows `## Name` up to the next heading of level 1 or 2. Only what stands before a heading
of any other level in it is written to. Everything else between frontmatter and `## Turns` is people's and
stays byte for byte.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import unquote

from automemory.vault import frontmatter, note
from automemory.vault.outline import Part, key_of, lines_of, outline, trimmed
from automemory.vault.sanitize import entries, live, safe_entry, safe_text

SEPARATOR = " — "
Policy = Literal["set-once", "replace", "append", "union"]

_ITEM = re.compile(r"[ \t]*[-*+][ \t]|[ \t]*\d{1,9}[.)][ \t]|[ \t]+\S")
# A link that was disarmed is still the same entry.
_LINK = re.compile(r"\[\\*\[([^\[\]|\n]+)(?:\|[^\[\]\n]*)?\]\]|\[[^\[\]\n]*\]\(<?([^()<>\n]+)>?\)")


@dataclass(frozen=True, slots=True)
class Section:
    """A section's heading, what becomes of its old text when there is new, and what it holds.

    Attributes:
        name: The heading's words.
        policy: `set-once`: old text stays, but for a change of scope. `replace`: the new text stands there.
            `append`: new entries follow the old. `union`: the same, where one link target is one entry.
        items: Whether it is a list of entries, not free text.
    """

    name: str
    policy: Policy
    items: bool


SECTIONS = (
    Section("Objective", "set-once", False),
    Section("Plan", "replace", False),
    Section("Progress", "append", True),
    Section("Findings", "append", True),
    Section("Decisions", "append", True),
    Section("Next", "replace", True),
    Section("Materials", "union", True),
)


def parse(body: str, sections: Sequence[Section] = SECTIONS) -> dict[str, str]:
    """The text of each section that is there, by its name; headings in code and comments are none.

    Args:
        body: What stands between frontmatter and turns, or a model's whole note.
        sections: The sections to look for.
    """
    names = {key_of(section.name): section.name for section in sections}
    lines = lines_of(body)
    found: dict[str, list[str]] = {}
    for part in outline(lines):
        if part.name in names:
            text = "".join(lines[part.heading + 1 : part.end]).replace("\r\n", "\n").strip()
            found.setdefault(names[part.name], []).append(text)
    return {name: "\n\n".join(filter(None, texts)) for name, texts in found.items()}


def others(body: str) -> list[str]:
    """The headings of level 2 that are none of a summary note's sections."""
    names = {key_of(section.name) for section in SECTIONS}
    lines = lines_of(body)
    return [lines[p.heading][2:].strip() for p in outline(lines) if p.name and p.name not in names]


def merge(
    body: str,
    new: Mapping[str, str],
    *,
    scope_changed: bool = False,
    sections: Sequence[Section] = SECTIONS,
    newline: str = "",
) -> str:
    """A note's body with new text in its sections, each by its policy.

    To merge the same again changes nothing, nor does empty text. New text is made safe; a wikilink that
    stands live in it stays so.

    Args:
        body: What stands between frontmatter and `## Turns`.
        new: New text by section name; entries are list items.
        scope_changed: Whether `set-once` sections take the new text.
        sections: The sections in their order; others in `new` are left out.
        newline: Line ends of what is added; the body's if empty.
    """
    lines = lines_of(body)
    ends = newline or ("\r\n" if "\r\n" in body else "\n")
    for section in sections:
        offered = _offered(section, new.get(section.name, ""))
        if offered:
            _merge_section(lines, section, offered, sections, scope_changed, ends)
    return "".join(lines)


def merge_note(
    text: str,
    new: Mapping[str, str],
    *,
    scope_changed: bool = False,
    sections: Sequence[Section] = SECTIONS,
) -> str:
    """As `merge`, on a whole note: frontmatter, even a broken one, and turns stay byte for byte."""
    front = frontmatter.read(text).body
    start = front or int(text.startswith("\ufeff"))
    end = note.turns_start(text, start)
    body, ends = text[start:end], "\r\n" if "\r\n" in text else "\n"
    merged = merge(body, new, scope_changed=scope_changed, sections=sections, newline=ends)
    if merged == body:
        return text
    if not body and front:
        merged = (ends if text[start - 1] == "\n" else 2 * ends) + merged
    if end < len(text) and lines_of(merged)[-1].strip():
        merged += ends
    return text[:start] + merged + text[end:]


def link_target(entry: str) -> str:
    """What an entry's first link leads to, without `.md`, heading and alias; empty if it has no link."""
    match = _LINK.search(entry)
    if match is None:
        return ""
    target = match[1].partition("#")[0] if match[1] else unquote(match[2]).removeprefix("./")
    return unicodedata.normalize("NFC", target.replace("\\", "").strip()).removesuffix(".md")


def description(entry: str) -> str:
    """What an entry says behind its first link."""
    match = _LINK.search(entry)
    return entry[match.end() :].strip(" \t\r\n—–:-") if match else ""


def words(entry: str) -> str:
    """What makes two entries the same: their words, whatever whitespace and backslashes."""
    return " ".join(entry.replace("\\", "").split())


def _offered(section: Section, text: str) -> list[str]:
    """New text as safe lines without line ends: entries where they are added one by one."""
    resolves = live(text)
    if section.policy in {"append", "union"}:
        return [safe for entry in entries(text) if (safe := safe_entry(entry, resolves))]
    lines = [line for line in safe_text(text, resolves).split("\n") if line or not section.items]
    if section.items:
        return [line if _ITEM.match(line) else f"- {line}" for line in lines]
    return lines if any(lines) else []


def _merge_section(
    lines: list[str],
    section: Section,
    offered: list[str],
    sections: Sequence[Section],
    scope_changed: bool,
    ends: str,
) -> None:
    there = [part for part in outline(lines) if part.name == key_of(section.name)]
    if section.policy in {"append", "union"}:
        offered = _fresh(lines, there, section, offered)
    elif there and section.policy == "set-once" and not scope_changed and any(_text(lines, p) for p in there):
        return
    elif there:
        offered = _without_tail(lines, there[0], offered)
    if not offered:
        return
    if not there:
        _insert_section(lines, section, offered, sections, ends)
    elif section.policy in {"append", "union"}:
        _append(lines, there[0], offered, ends)
    elif _text(lines, there[0]) != offered:
        _put(lines, there[0].first, there[0].last, offered, ends)


def _fresh(lines: list[str], there: list[Part], section: Section, offered: list[str]) -> list[str]:
    """List items for the entries that are not there yet; an old one without description may get one."""
    old = [e for part in there for e in entries("".join(lines[part.heading + 1 : part.end]))]
    known = {_entry_key(section, entry) for entry in old}
    bare = {link_target(entry) for entry in old if section.policy == "union"}
    bare -= {link_target(entry) for entry in old if description(entry)}
    at: dict[str, int] = {}  # the line that a bare entry's link stands in
    for number in (n for part in there for n in range(part.heading + 1, part.end) if bare):
        at.setdefault(link_target(lines[number]), number)
    fresh: list[str] = []
    for entry in _fullest(offered) if section.policy == "union" else offered:
        key = _entry_key(section, entry)
        if key not in known:
            known.add(key)
            fresh.append(f"- {entry}")
        elif key in bare and description(entry):
            bare.remove(key)
            if key in at:
                lines[at[key]] = _described(lines[at[key]], description(entry))
    return fresh


def _fullest(offered: Sequence[str]) -> list[str]:
    """Of several entries for one target the first that says something, in the place of the first."""
    found: dict[str, str] = {}
    for entry in offered:
        key = link_target(entry) or words(entry)
        if key not in found or (description(entry) and not description(found[key])):
            found[key] = entry
    return list(found.values())


def _entry_key(section: Section, entry: str) -> str:
    return (section.policy == "union" and link_target(entry)) or words(entry)


def _described(line: str, text: str) -> str:
    """An old entry's line with the description that it lacked."""
    kept = line.rstrip()
    return kept + SEPARATOR + text + line[len(kept) :].lstrip(" \t")


def _without_tail(lines: list[str], part: Part, offered: list[str]) -> list[str]:
    """New text without what a person wrote below a heading in the section, which stays there anyway."""
    below = "".join(lines[part.own_end : part.end])
    kept = safe_text(below, live(below)) if below.strip() else ""
    text = "\n".join(offered)
    return text[: -len(kept)].rstrip("\n").split("\n") if kept and text.endswith(kept) else offered


def _text(lines: Sequence[str], part: Part) -> list[str]:
    return [line.rstrip("\r\n") for line in lines[part.first : part.last]]


def _append(lines: list[str], part: Part, offered: list[str], ends: str) -> None:
    """Put list items at the end of a section, in the list that stands there or in one of their own."""
    start = part.last
    while start > part.first and lines[start - 1].strip():
        start -= 1
    in_list = start < part.last and _ITEM.match(lines[start])
    gap = [] if start == part.last or in_list else [""]
    _put(lines, part.last, part.last, [*gap, *offered], ends)


def _insert_section(
    lines: list[str], section: Section, offered: list[str], sections: Sequence[Section], ends: str
) -> None:
    """Put a new section behind the nearest one that comes before it in order, else before the next one."""
    order = [key_of(known.name) for known in sections]
    rank = order.index(key_of(section.name))
    known = sorted((p for p in outline(lines) if p.name in order), key=lambda p: order.index(p.name))
    before = [part for part in known if order.index(part.name) < rank]
    limit = before[-1].end if before else known[0].heading if known else len(lines)
    at = trimmed(lines, 0, limit)[1]
    gap = [""] if at else []
    _put(lines, at or limit, at or limit, [*gap, f"## {section.name}", *offered], ends)


def _put(lines: list[str], first: int, last: int, new: Sequence[str], ends: str) -> None:
    """Replace lines, so that they end where they have to and stand clear of what follows."""
    if first and not lines[first - 1].endswith("\n"):
        lines[first - 1] += ends
    clear = first == last < len(lines) and lines[last].strip()
    lines[first:last] = [f"{line}{ends}" for line in [*new, *([""] if clear else [])]]

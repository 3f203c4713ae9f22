"""What a model offers for a summary note: a whole note as it writes one, or a patch; read leniently."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from automemory.content import clean
from automemory.errors import ToolRefused
from automemory.vault import frontmatter
from automemory.vault.event import DESCRIPTION_CHARS, TITLE_CHARS, one_line, text_field
from automemory.vault.note import turns_start
from automemory.vault.sanitize import Resolves, entries, safe_entry, safe_text
from automemory.vault.sections import SECTIONS, others, parse, words

_MOST_CHARS = 40_000
STATUSES = ("active", "completed")
_FIELDS = ("title", "description", "status")
_WRAPPED = re.compile(r"\s*(`{3,})(?:markdown|md)?[ \t]*\n(.*)\n\1[ \t]*\s*", re.DOTALL)
_FIELD = re.compile(r"^(title|description|status)[ \t]*:[ \t]*(.*)$", re.MULTILINE)
_TITLE = re.compile(r"^#[ \t]+(\S.*)$", re.MULTILINE)
_STAMP = re.compile(
    r"\[?(?P<day>\d{4}-\d\d-\d\d)?(?:[T ]+)?(?:(?P<time>\d{1,2}:\d\d)(?::\d\d)?)?(?:Z|[+-]\d\d:\d\d)?\]?"
    r"(?=[\s:—–-]|$)[\s:—–-]*"
)
_BOX = re.compile(r"(\s*)(?:([-*+]|\d{1,9}[.)])\s+)?(\[[ xX]\]\s+)?(\S.*)")


@dataclass(frozen=True, slots=True)
class SectionPatch:
    """What is new in a summary note.

    Attributes:
        title, description: New values; empty for none.
        status: `active` or `completed`; empty for no change.
        sections: New text by section name; entries are list items.
        scope_changed: Whether the task's scope changed, so that a new Objective stands.
    """

    title: str = ""
    description: str = ""
    status: str = ""
    sections: Mapping[str, str] = field(default_factory=dict)
    scope_changed: bool = False

    def checked(self, redact: Callable[[str], str]) -> SectionPatch:
        """The same with fields on one line, secrets masked.

        Raises:
            ToolRefused: if the status is none, or there is nothing in it.
        """
        status = check_status(self.status) if self.status.strip() else ""
        known = {section.name for section in SECTIONS}
        found = {n: redact(clean(text[:_MOST_CHARS])) for n, text in self.sections.items() if n in known}
        patch = SectionPatch(
            one_line(redact(clean(self.title)), TITLE_CHARS),
            one_line(redact(clean(self.description)), DESCRIPTION_CHARS),
            status,
            {name: text for name, text in found.items() if text.strip()},
            self.scope_changed,
        )
        if not (patch.sections or patch.title or patch.description or patch.status):
            names = ", ".join(f"## {section.name}" for section in SECTIONS)
            raise ToolRefused(f"there is nothing in it for a summary note: write sections ({names})")
        return patch


def read_note(content: str, scope_changed: bool) -> tuple[SectionPatch, list[str]]:
    """A model's whole note as a patch, and the headings in it that are no sections.

    Of its frontmatter count title, description and status. Turns in it are passed over.
    """
    text = clean(content).removeprefix("\ufeff")
    wrapped = _WRAPPED.fullmatch(text)
    text = (wrapped[2] if wrapped else text).lstrip("\n")
    front = frontmatter.read(text)
    fields: Mapping[str, str] = {key: text_field(front.fields, key) for key in _FIELDS}
    if front.error:  # a colon in an unquoted title, mostly
        fields = {m[1]: m[2].strip().strip("\"'") for m in _FIELD.finditer(text[: front.body or 2_000])}
    body = text[front.body : turns_start(text, front.body)]
    heading = _TITLE.search(body)
    title = fields.get("title") or (heading[1] if heading else "")
    patch = SectionPatch(
        title, fields.get("description", ""), fields.get("status", ""), parse(body), scope_changed
    )
    return patch, [name for name in others(body) if name.casefold() != "turns"]


def check_status(value: str) -> str:
    """The task's state that a model names.

    Raises:
        ToolRefused: if it is none.
    """
    status = value.strip().strip("\"'").casefold()
    if status not in STATUSES:
        raise ToolRefused(f"status {value!r:.60} is none: give 'active', or 'completed' if the task is done")
    return status


def safe_sections(
    patch: SectionPatch, known: Mapping[str, str], at: datetime, resolves: Resolves
) -> dict[str, str]:
    """The patch's sections, but for Materials, as they are to be merged: safe, progress dated, next as tasks.

    Args:
        patch: What is new.
        known: The sections that the note has: progress that is there stays as it is, whatever its time.
        at: The time of progress that comes without one.
        resolves: Whether a wikilink's target is a file of the vault.
    """
    found: dict[str, str] = {}
    for name, text in patch.sections.items():
        if name in {"Objective", "Plan"}:
            found[name] = safe_text(text, resolves)
        elif name == "Next":
            found[name] = "\n".join(_task(line) for line in safe_text(text, resolves).split("\n") if line)
        elif name != "Materials":
            new = [safe_entry(entry, resolves) for entry in entries(text)]
            dated = _dated(new, entries(known.get(name, "")), at) if name == "Progress" else new
            found[name] = "\n".join(f"- {entry}" for entry in dated if entry)
    return found


def _task(line: str) -> str:
    match = _BOX.fullmatch(line)
    return f"{match[1]}{match[2] or '-'} {match[3] or '[ ] '}{match[4]}" if match else line


def _dated(new: list[str], old: list[str], at: datetime) -> list[str]:
    """Entries of progress with day and time, those that stand there already with their old ones."""
    there = {words(_stamped(entry, at)[1]): entry for entry in old}
    dated = []
    for entry in new:
        stamp, rest, given = _stamped(entry, at)
        known = there.get(words(rest)) if not given else None
        dated.append(known or f"{stamp} {rest}")
    return dated


def _stamped(entry: str, at: datetime) -> tuple[str, str, bool]:
    """Day and time of an entry of progress, its words, and whether it came with its time."""
    match = _STAMP.match(entry)
    day, time = (match["day"], match["time"]) if match else (None, None)
    if match is None or not (day or time) or not entry[match.end() :]:
        return f"{at:%Y-%m-%d %H:%M}", entry, False
    if day and not time and day != f"{at:%Y-%m-%d}":
        return day, entry[match.end() :], True
    return f"{day or f'{at:%Y-%m-%d}'} {(time or f'{at:%H:%M}').zfill(5)}", entry[match.end() :], bool(time)

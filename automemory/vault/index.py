"""The day index `daily/<date>.md`: one line an event, kept mechanically.

    - [[daily/2026-05-28/fix-login/fix-login.md|fix-login]] — The cookie domain was wrong; fixed.

Everything else in the file belongs to people and other tools. A line is found by its link's target wherever
it stands outside frontmatter, fenced code and comments. Its tail is the library's while it is empty or holds
what the library wrote last; a line that a person deleted stays deleted.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

import regex

from automemory.content import clean
from automemory.errors import VaultError
from automemory.vault import frontmatter, outline
from automemory.vault.layout import parse_event_path
from automemory.vault.quoting import escape, unescape

MAX_TAIL = 300

_SEPARATOR = " — "
_HEADING = re.compile(r"\ufeff?##[ \t]+Events[ \t]*#*[ \t]*\r?")
_SECTION_END = re.compile(r"#{1,2}(?:[ \t\r]|$)")
_LIST_END = re.compile(r"#{1,6}(?:[ \t\r]|$)|>|<|`{3}|~{3}|([-*_])[ \t]*(?:\1[ \t]*){2,}\r?$")
_ENTRY = re.compile(r"([ \t]*[-*+][ \t]+(?:\[.\][ \t]+)?\[\[([^\[\]|\r]+)(?:\|[^\[\]\r]*)?\]\])([^\r]*)(\r?)")
_UNLINKABLE = re.compile(r"[\[\]|#^\x00-\x1f]")

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_PIPE_OR_CLOSE = re.compile(r"(?<!\\)\\*(?=\|)|(?<=\])\\*(?=\])")
_UNIT = regex.compile(r"\\.|\X")


@dataclass(frozen=True, slots=True)
class IndexLine:
    """A line of a day index.

    Attributes:
        text: The whole line, without its end.
        event: Vault path of the event's note whose line it is; empty if it is no event's.
        summary: In an event's line, the words behind ` — `; empty if there are none.
    """

    text: str
    event: str = ""
    summary: str = ""


@dataclass(frozen=True, slots=True)
class _Entry:
    line: int
    head: str
    target: str
    rest: str
    newline: str


def new_index(date: str) -> str:
    """The text of a new day index for a date `YYYY-MM-DD`."""
    return f"# {date}\n\n## Events\n"


def line(path: str) -> str:
    """The line of an event that has just opened.

    Raises:
        VaultError: The path holds a character that no wikilink can hold.
    """
    if _UNLINKABLE.search(path):
        raise VaultError(f"{path!r} cannot be linked: rename the folder without any of [ ] | # ^")
    return f"- [[{path}|{path.split('/')[-2]}]]"


def with_event(text: str, path: str) -> str:
    """The index with a line for the event whose note is at the vault path `path`; unchanged if it has one.

    The line goes to the end of the list under `## Events`; a file without that heading gets it at its end.

    Raises:
        VaultError: The path holds a character that no wikilink can hold.
    """
    lines = text.split("\n")
    hidden = _hidden(text, lines)
    if _find(text, lines, hidden, path):
        return text
    newline = "\r\n" if "\r\n" in text else "\n"
    heading = next((n for n, content in enumerate(lines) if _is_heading(content) and not hidden[n]), None)
    if heading is None:
        return f"{text}{_gap(text, newline)}## Events{newline}{line(path)}{newline}"
    at = _list_end(lines, hidden, heading)
    if at == len(lines):
        return f"{text}{newline}{line(path)}"
    offset = sum(map(len, lines[:at])) + at
    return f"{text[:offset]}{line(path)}{newline}{text[offset:]}"


def with_summary(text: str, path: str, summary: str, previous: str) -> str:
    """The index with an event's closing summary behind its link.

    Args:
        text: The index.
        path: Vault path of the event's note.
        summary: The new summary; without one the index stays as it is.
        previous: The summary that the library wrote last for this event; empty if none.

    Returns:
        The index, unchanged where the line is gone or a person wrote what stands behind the link.
    """
    new = tail(summary)
    lines = text.split("\n")
    entries = _find(text, lines, _hidden(text, lines), path)
    if not entries or not new:
        return text
    entry = min(entries, key=lambda entry: entry.head != line(path))
    if _is_ours(entry, previous):
        lines[entry.line] = f"{entry.head}{_SEPARATOR}{new}{entry.newline}"
    return "\n".join(lines)


def without_event(text: str, path: str, previous: str) -> str:
    """The index without an event's line, if nobody but the library wrote on it or right below it."""
    lines = text.split("\n")
    for entry in reversed(_find(text, lines, _hidden(text, lines), path)):
        below = lines[entry.line + 1 : entry.line + 2]
        notes = below and below[0].strip() and below[0][0] in " \t"
        if entry.head == line(path) and _is_ours(entry, previous) and not notes:
            del lines[entry.line]
            if entry.line == len(lines) and lines:
                lines[-1] = lines[-1].removesuffix("\r")
    return "\n".join(lines)


def read_lines(text: str) -> list[IndexLine]:
    """All lines of a day index in their order, people's own included."""
    lines = text.split("\n")
    hidden = _hidden(text, lines)
    read = [_read_line(content, bool(hidden[n])) for n, content in enumerate(lines)]
    return read if lines[-1] else read[:-1]


def read_tail(text: str) -> str:
    """The words that `tail` was given, but for their line breaks, runs of blanks, and what it cut off."""
    halved = _PIPE_OR_CLOSE.sub(lambda match: _halved(match[0]), text)
    return unescape(_SEPARATOR + halved).removeprefix(_SEPARATOR)


def tail(summary: str) -> str:
    """A summary as it stands behind a link: one line of at most `MAX_TAIL` characters, none of them live.

    Whatever would be live in a vault is disarmed by backslashes; plain sentences stay as they are.
    """
    folded = " ".join(_CONTROL.sub(" ", clean(summary)).split())
    # Escaped behind the separator: there, nothing is at the beginning of a line.
    escaped = escape(_SEPARATOR + folded[: 2 * MAX_TAIL]).removeprefix(_SEPARATOR)
    escaped = _PIPE_OR_CLOSE.sub(lambda match: "\\" * (2 * len(match[0]) + 1), escaped)
    if len(escaped) <= MAX_TAIL:
        return escaped
    end = 0
    for unit in _UNIT.finditer(escaped):
        if unit.end() >= MAX_TAIL:
            break
        end = unit.end()
    if escaped[end] != " ":
        edge = escaped.rfind(" ", 0, end)
        end = edge if edge > MAX_TAIL // 2 else end
    return escaped[:end].rstrip() + "…"


def _key(target: str) -> str:
    return unicodedata.normalize("NFC", target.strip()).removesuffix(".md")


def _is_heading(content: str) -> bool:
    return content[:1] in ("#", "\ufeff") and bool(_HEADING.fullmatch(content))


def _gap(text: str, newline: str) -> str:
    """What parts a new section from the text before it."""
    if text in ("", "\ufeff"):
        return ""
    *_, before, last = ["", *text.split("\n")]
    if last:
        return newline * 2
    return newline if before.strip() else ""


def _entry(number: int, content: str) -> _Entry | None:
    match = _ENTRY.fullmatch(content) if "[[" in content else None
    return _Entry(number, match[1], _key(match[2]), match[3], match[4]) if match else None


def _halved(backslashes: str) -> str:
    count = len(backslashes)
    return backslashes[: (count - 1) // 2 if count % 2 else count]


def _read_line(content: str, hidden: bool) -> IndexLine:
    text = content.removeprefix("\ufeff").removesuffix("\r")
    entry = None if hidden else _entry(0, text)
    path = f"{entry.target}.md" if entry else ""
    if entry is None or parse_event_path(path) is None:
        return IndexLine(text)
    return IndexLine(text, path, read_tail(entry.rest.strip().removeprefix(_SEPARATOR.strip()).strip()))


def _find(text: str, lines: list[str], hidden: bytearray, path: str) -> list[_Entry]:
    """The lines of one event."""
    key = _key(path)
    composed = unicodedata.normalize("NFC", text).split("\n")
    found = (_entry(n, lines[n]) for n, content in enumerate(composed) if key in content and not hidden[n])
    return [entry for entry in found if entry and entry.target == key]


def _is_ours(entry: _Entry, previous: str) -> bool:
    """Whether what stands behind the link is the library's own."""
    return entry.rest.rstrip(" \t") in ("", _SEPARATOR + tail(previous))


def _list_end(lines: list[str], hidden: bytearray, heading: int) -> int:
    """The number of the line before which the list under the heading goes on."""
    following = range(heading + 1, len(lines))
    end = next((n for n in following if not hidden[n] and _SECTION_END.match(lines[n])), len(lines))
    section = range(end - 1, heading, -1)
    last = next((n for n in section if not hidden[n] and _entry(n, lines[n])), None)
    if last is None:
        return next((n for n in section if lines[n].strip()), heading) + 1
    at = number = last + 1
    while number < end:
        content = lines[number]
        indented = content[:1] in (" ", "\t")
        if content.strip():
            blank = not lines[number - 1].strip()
            if not indented and (blank or _LIST_END.match(content)):
                break
            number = at = _region_end(hidden, number, end) if hidden[number] else number + 1
        else:
            number += 1
    return at


def _region_end(hidden: bytearray, number: int, end: int) -> int:
    return next((n for n in range(number, end) if not hidden[n]), end)


def _hidden(text: str, lines: list[str]) -> bytearray:
    """For each line whether it stands in the frontmatter, in fenced code or in an HTML comment."""
    body = frontmatter.read(text).body
    first = text.count("\n", 0, body) + (body > 0 and text[body - 1] != "\n")
    return outline.hidden(lines, first, nested=True)

r"""A model's text made safe to stand before a note's turns.

Nothing in safe text opens a heading, a quote, a fence, a comment or HTML, closes one that a person left
open, or runs; a list stays a list. What is safe already stays as it is, so that text that a model read in a
note and hands back does not gather backslashes.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable

from automemory.content import clean
from automemory.turn import Step
from automemory.vault.outline import hidden, regions
from automemory.vault.quoting import escape, inline, live_links, read_inline

Resolves = Callable[[str], bool]
_MOST_INDENT = 12
_LINE = re.compile(r"([ \t]*)(?:((?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$))(\[[ xX]\](?:[ \t]+|$))?)?(.*)", re.DOTALL)
_HEADING = re.compile(r"(#{1,6})[ \t]+(.*)")
_FILE_LINK = re.compile(r"\[([^\[\]]*)\]\(((?![/#.])[^()<>\s:]+)\)")
_QUOTE = re.compile(r"(?:>[ \t]?)+")


def safe_line(text: str, resolves: Resolves) -> str:
    """A text as one safe line; of its wikilinks those stay live that `resolves` says yes to."""
    folded = " ".join(clean(text).split())
    return inline(read_inline(folded), resolves).replace("-->", "--\\>")


def safe_entry(text: str, resolves: Resolves) -> str:
    """As `safe_line`, but a link to a file that the text begins with, `[a.png](a.png)`, stays live."""
    words = " ".join(text.split())
    match = _FILE_LINK.match(words)
    if match is None:
        return safe_line(words, resolves)
    head = f"[{safe_line(match[1], resolves)}]({match[2]})"
    rest = words[match.end() :]
    return head + " " * rest.startswith(" ") + safe_line(rest, resolves)


def safe_text(text: str, resolves: Resolves) -> str:
    """Paragraphs and lists as they are; headings become bold, and all else is disarmed line by line."""
    lines: list[str] = []
    listed = False
    for raw in clean(text).split("\n"):
        indent, mark, box, words = _parts(raw)
        _, title = _heading(words)
        line = safe_line(f"**{title}**" if title and "*" not in title else words, resolves)
        if line:
            lines.append(" " * (indent if listed else 0) + mark + box + line)
            listed = bool(mark) or (listed and indent > 0)
        elif lines and lines[-1]:
            lines.append("")
    return "\n".join(lines).rstrip("\n")


def safe_markdown(text: str, resolves: Resolves) -> str:
    """The text of a file of its own: headings, lists, quotes and code stay; what would run does not."""
    lines = clean(text).split("\n")
    # A comment hides no code: what opens it is disarmed, and its lines are text.
    uncommented = ["" if line.lstrip().startswith(("<!--", "%%")) else line for line in lines]
    shown: list[str] = []
    done = 0
    for start, end in regions(uncommented):
        shown += [_safe_block_line(line, resolves) for line in lines[done:start]]
        shown += _safe_code(lines[start:end], resolves)
        done = end
    return "\n".join([*shown, *(_safe_block_line(line, resolves) for line in lines[done:])])


def live(text: str) -> Resolves:
    """Says of a link's target whether it stands live in the text."""
    return frozenset(live_links([Step("user", clean(text))], lambda target: True)).__contains__


def entries(text: str) -> list[str]:
    """The words of each list item, continuation lines folded, and of each line that belongs to none.

    Headings are left out.
    """
    found: list[str] = []
    goes_on = under = False  # whether an unmarked line, an indented line belongs to the last entry
    for raw in textwrap.dedent(clean(text)).split("\n"):
        heading = _HEADING.fullmatch(raw)
        if heading or not raw.strip():
            goes_on, under = False, under and not heading
            continue
        indent, mark, box, words = _parts(raw)
        if under and (indent or (goes_on and not mark)):
            found[-1] = f"{found[-1]} {raw.strip()}"
        else:
            found.append(f"{box}{words}".strip())
            goes_on, under = bool(mark), True
    return [" ".join(entry.split()) for entry in found if entry.strip()]


def _parts(raw: str) -> tuple[int, str, str, str]:
    """A line's indent, its list mark, its task's box and its words."""
    match = _LINE.fullmatch(raw)
    assert match, "takes any line"
    indent = len(match[1].expandtabs(4))
    mark, box = (f"{part.strip()} " if part else "" for part in match.group(2, 3))
    return min(indent, _MOST_INDENT), mark, box, match[4].strip()


def _heading(line: str) -> tuple[str, str]:
    """A heading's marks and its words; both empty where the line is none."""
    match = _HEADING.fullmatch(line)
    if match is None:
        return "", ""
    title = match[2].rstrip("# \t")
    behind = match[2][len(title) :]
    attached = len(behind) - len(behind.lstrip("#")) if title else 0  # as in `C#`
    return match[1], title + behind[:attached]


def _safe_code(lines: list[str], resolves: Resolves) -> list[str]:
    """A fenced block at the margin, where all take it for code; its lines as text where it cannot be had."""
    indent = _indent(lines[0])
    code = escape("\n".join(line[min(indent, _indent(line)) :] for line in lines)).split("\n")
    return code if all(hidden(code)) else [_safe_block_line(line, resolves) for line in lines]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _safe_block_line(line: str, resolves: Resolves) -> str:
    if quote := _QUOTE.match(line):
        return quote[0] + _safe_block_line(line[quote.end() :], resolves)
    indent, mark, box, words = _parts(line)
    level, title = _heading(words)
    if title:
        return f"{level} {safe_line(title, resolves)}"
    text = safe_line(words, resolves)
    return " " * indent + mark + box + text if text else ""

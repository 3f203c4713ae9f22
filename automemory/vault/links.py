"""Which links stand live in a note: outside quoted text, code, comments and HTML, and not escaped.

Markdown is read by markdown-it, section by section: what stands before the first turn, each turn's own
lines, and what a person put between and behind turns. So a fence or a comment that is never closed hides no
more than its section. Links are wikilinks, embeds, Markdown links to files, and properties that are links.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from automemory.vault import frontmatter, note
from automemory.vault.layout import fold, parse_link

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

_BEGIN = re.compile(r"<!-- turn((?: \w+=\S+)+) -->\r?$")
_AT = re.compile(r" at=(\S+)")
_END = re.compile(r"<!-- /turn \S+?(?: torn)? -->\r?$")
_QUOTED = re.compile(r" {0,3}>")
_WIKILINK = re.compile(r"\[\[([^\[\]\n]+)\]\]")
_TARGET_END = re.compile(r"\\?\||#")
_ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]+:|[/#]", re.IGNORECASE)
_MARKS = ("[[", "](", "]:")  # without one of these there is no link
_PIECE = 4000  # the parser looks through all of a paragraph again and again: a long one is read in pieces
_MOST_STEPS = 200_000


@dataclass(frozen=True, slots=True)
class Link:
    """A link in a note.

    Attributes:
        target: What it leads to, as written, without alias and heading.
        line: The number of its line, from 1.
        text: That line.
        at: When the turn happened in whose lines it stands; None elsewhere.
        quoted: Whether it stands in quoted text, where it is not live.
    """

    target: str
    line: int
    text: str
    at: datetime | None = None
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class _Section:
    start: int  # number of its first line, from 0
    lines: list[str]
    is_turn: bool = False
    at: datetime | None = None


def find_links(text: str, *, quoted: bool = False) -> list[Link]:
    """The live links of a note in the order of their lines.

    Args:
        text: The note.
        quoted: Whether to give also what is written as a wikilink in quoted text, code and escapes included.
    """
    lines = text.split("\n")
    front = frontmatter.read(text)
    body = text.count("\n", 0, front.body)
    found = list(_property_links(front.fields, lines[:body]))
    for section in _sections(lines, body):
        found += _quoted_links(section) if quoted else []
        found += _live_links(section)
    return sorted(found, key=lambda link: link.line)


def may_link(text: str, skip: str = "") -> bool:
    """Whether a live link may stand in a note: quick, and true too often rather than too rarely.

    Args:
        text: The note.
        skip: Wikilinks whose target begins so are of no interest.
    """
    for mark in _MARKS:
        at = text.find(mark)
        while at >= 0:
            uninteresting = skip and text.startswith(f"[[{skip}", at)
            if not uninteresting and not _QUOTED.match(text, text.rfind("\n", 0, at) + 1):
                return True
            at = text.find(mark, at + 1)
    return False


def may_mention(text: str, stem: str) -> bool:
    """Whether a link to a file of this stem may stand anywhere in a note; as `may_link`."""
    return "[" in text and (fold(stem) in fold(text) or ("](" in text and "%" in text))


def _sections(lines: list[str], first: int) -> Iterator[_Section]:
    start, is_turn, at = first, False, None
    for number in range(first, len(lines)):
        line = lines[number]
        if not line.startswith("<!-- "):
            continue
        begin = _BEGIN.match(line)
        if begin or (is_turn and _END.match(line)):
            yield _Section(start, lines[start:number], is_turn, at)
            when = _AT.search(begin[1]) if begin else None
            start, is_turn, at = number + 1, bool(begin), note.read_time(when[1]) if when else None
    yield _Section(start, lines[start:], is_turn, at)


def _quotes(section: _Section) -> list[bool]:
    """For each line whether it is quoted. In a turn, a line that merely lost its `>` still is."""
    found, inside = [], False
    for line in section.lines:
        if _QUOTED.match(line):
            inside = True
        elif not section.is_turn or not line.strip() or line.startswith(("#", "<!--")):
            inside = False
        found.append(inside)
    return found


def _property_links(fields: dict[str, Any], lines: list[str]) -> Iterator[Link]:
    for key, value in fields.items():
        for text in _texts(value):
            linked = key == "inherits" or _WIKILINK.fullmatch(text.strip())
            target = _target(parse_link(text) or "") if linked else ""
            if target:
                stem = target.removesuffix(".md")
                number = next((n for n, line in enumerate(lines) if stem in line), 0)
                yield Link(target, number + 1, lines[number].rstrip("\r"))


def _texts(value: Any) -> Iterator[str]:
    """The texts in a property; an unquoted `[[a, b]]`, a list in a list, is put together again."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        inner = value[0] if len(value) == 1 else None
        if isinstance(inner, list) and all(isinstance(item, str) for item in inner):
            yield f"[[{', '.join(inner)}]]"
        else:
            for item in value:
                yield from _texts(item)


def _quoted_links(section: _Section) -> Iterator[Link]:
    for number, (line, quoted) in enumerate(zip(section.lines, _quotes(section), strict=True)):
        for match in _WIKILINK.finditer(line.replace("\\", "")) if quoted else ():
            if target := _target(match[1]):
                yield Link(target, section.start + number + 1, line.rstrip("\r"), section.at, quoted=True)


def _live_links(section: _Section) -> Iterator[Link]:
    lines = section.lines
    if section.is_turn:
        lines = ["" if quoted else line for line, quoted in zip(lines, _quotes(section), strict=True)]
    markdown = "\n".join(lines).rstrip()
    for number, target in _live_targets(markdown) if "[" in markdown else ():
        yield Link(target, section.start + number + 1, section.lines[number].rstrip("\r"), section.at)


def _live_targets(markdown: str) -> Iterator[tuple[int, str]]:
    """Line (from 0) and target of each link that is neither in a quote nor between two `%%`."""
    depth, commented = 0, False
    read: dict[str, Any] = {"steps": 0}
    for block in _parser().parse(markdown, read):
        depth += {"blockquote_open": 1, "blockquote_close": -1}.get(block.type, 0)
        for line, token in _inline(block, read) if block.type == "inline" and not depth else ():
            if token.type == "comment":
                commented = not commented
            elif not commented and (target := _target_of(token)):
                yield line + token.meta["line"], target


def _inline(block: Token, read: dict[str, Any]) -> Iterator[tuple[int, Token]]:
    """The tokens of a paragraph, each with the line its piece begins on."""
    line, rest = (block.map or [0])[0], block.content
    while rest:
        end = len(rest)
        if end > _PIECE:
            end = rest.rfind("\n", 0, _PIECE) + 1 or rest.rfind(" ", 0, _PIECE) + 1 or _PIECE
        tokens: list[Token] = []
        _parser().inline.parse(rest[:end], _parser(), read, tokens)
        yield from ((line, token) for token in tokens)
        line, rest = line + rest.count("\n", 0, end), rest[end:]


def _target_of(token: Token) -> str:
    if token.type == "wikilink":
        return _target(token.content)
    href = token.attrGet("href") or token.attrGet("src") or ""
    return "" if _ELSEWHERE.match(str(href)) else _target(unquote(str(href)))


def _target(text: str) -> str:
    return _TARGET_END.split(text, maxsplit=1)[0].strip()


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import image, link

    parser = MarkdownIt("commonmark").disable("inline")  # `_inline` does that
    parser.inline.ruler.before("link", "wikilink", _read_wikilink)
    parser.inline.ruler.before("link", "comment", _read_comment)
    for rule in (link, image):
        parser.inline.ruler.at(rule.__name__, _located(rule))
    skip = parser.inline.skipToken

    def counted(state: StateInline) -> None:
        state.env["steps"] += 1
        skip(state)

    parser.inline.skipToken = counted  # type: ignore[method-assign]
    return parser


def _read_wikilink(state: StateInline, silent: bool) -> bool:
    match = _WIKILINK.match(state.src, state.pos)
    if match and not silent:
        token = state.push("wikilink", "", 0)
        token.content, token.meta = match[1], {"line": state.src.count("\n", 0, state.pos)}
    if match:
        state.pos = match.end()
    return bool(match)


def _read_comment(state: StateInline, silent: bool) -> bool:
    if not state.src.startswith("%%", state.pos):
        return False
    if not silent:
        state.push("comment", "", 0)
    state.pos += 2
    return True


def _located(rule: Callable[[StateInline, bool], bool]) -> Callable[[StateInline, bool], bool]:
    """The rule, which notes in its token on which line of the piece the link begins.

    From each `[` it looks for its `]`, so that in a text of thousands of `[` it is asked no more.
    """

    def located(state: StateInline, silent: bool) -> bool:
        if state.env["steps"] > _MOST_STEPS:
            return False
        line, known = state.src.count("\n", 0, state.pos), len(state.tokens)
        done = rule(state, silent)
        for token in state.tokens[known:]:
            if token.type in {"link_open", "image"}:
                token.meta.setdefault("line", line)
        return done

    return located

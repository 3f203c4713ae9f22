r"""Text of people, models and tools in a note: quoted so that nothing in it is live, and read back exactly.

Outside fenced code, backslashes disarm *places*. A place is found on the text without its backslashes, and n
backslashes before it become 2n + 1; so both directions find the same places, and the reader gets n back from
any odd number. What has two characters is split (`[\[`, `:\:`), since some readers look for the pair whatever
stands before it.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from urllib.parse import quote, unquote

import regex

from automemory.content import clean
from automemory.turn import Step

# A tag is taken for one wherever `#` does not follow a word, `/` or `&`; `#12` is none.
_PLACE = re.compile(
    r"""
      (?<=[\[!^])\[                                  # [[link]]  ![image]  ^[footnote]
    | (?<=:):                                        # key:: value
    | (?<=[%<])%                                     # %% comment, <% template
    | <(?=[^\W\d_]|[!/?])                            # html
    | &(?=\#)                                        # &#35;tag
    | (?<![\w/&\#])\#(?=\S)(?!\d+(?:[\s!-,.:-@\[-^`{-~]|$))
    | \](?=\((?!<?(?:https?://|mailto:)))            # [text](note.md)
    | `(?=\s*\$?=)                                   # `= query`
    | (?<!\S)\^(?=[\w-]+\s*$)                        # ^block-id
    """,
    re.VERBOSE,
)
_CONTAINERS = r"(?:\s*+(?:>|(?:[-*+]|\d{1,9}[.)])(?=\s+\S)))*+\s*+"
_LINE_PLACE = re.compile(
    _CONTAINERS
    + r"""(?:
      (?P<heading>\#)\#*(?:\s|$)
    | (?P<fence>```|~~~)
    | (?P<rule>-+|=+)\s*$                         # makes a heading of the line above
    | (?P<bracket>\[)(?![^\[\]]+\]\(https?://(?!.*\]:))   # task, callout, definition of a footnote or link
    )""",
    re.VERBOSE,
)
# Where a paragraph begins, what would make it a list, a quote, a rule or a table.
_BLOCK_PLACE = re.compile(r"\d{0,9}(?P<mark>[-+*](?=\s|$)|(?<=\d)[.)](?=\s|$)|>|[-*_](?=[ *_-]*$)|\|)")
_OPENER = re.compile(r"(`{3,})[^`]*$|(~{3,})")
_CLOSER = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*$")
# Fences that a plugin would run; an entity in the word may hide one.
_RUNS = re.compile(
    r"(?:`+|~+)[ \t]*(?P<word>(?:dataview|query|tasks|base\b|button|meta-bind|js-engine|\S*&)\S*)", re.I
)
_TEMPLATE = re.compile(r"(?<=<)%")
_LINK = re.compile(r"(?<![\\\[])(?P<open>!?\[*)\[\[(?P<target>[^\[\]|\\]+)(?:\|[^\[\]\\]*)?\]\]")
_CODE_SPAN = re.compile(r"`[^`]*`")

_HEADER = re.compile(r"\[!(user|assistant|tool|other)\][+-]?[ \t]*(.*)", re.I | re.S)
_QUOTED = re.compile(r" {0,3}> ?(.*)", re.S)
_TOOL_FENCE = re.compile(r"(`{3,})\w*[ \t]*$")
_UNSAFE_IN_TITLE = regex.compile(r"[^\w\p{M}./@ -]|^ | (?=[ ]|$)")
_STATUSES = ("error", "no result")


def quote_steps(steps: Sequence[Step]) -> str:
    """Steps as Obsidian callouts, a blank line between them; `read_steps` is the inverse.

    Texts are cleaned as `content.clean` does. A tool without result (`no result`) has no text.
    """
    return "\n\n".join("\n".join(_quote_step(step)) for step in steps)


def read_steps(text: str) -> list[Step]:
    """The steps quoted in `text`; all else is skipped. Never fails, whatever a person made of it."""
    return [_read_step(kind, title, body) for kind, title, body in _callouts(text)]


def escape(text: str) -> str:
    """Text with everything disarmed that would be live in a vault, outside fenced code; see `unescape`."""
    return _rewrite(text, lambda n: 2 * n + 1)


def unescape(text: str) -> str:
    """The inverse of `escape`. A place that somebody armed by hand stays as it is."""
    return _rewrite(text, _halve)


def inline(text: str, resolves: Callable[[str], bool]) -> str:
    """A model's text as one line that may stand as a paragraph or as a list item.

    Args:
        text: The model's words; line breaks and runs of blanks become one blank.
        resolves: Whether a wikilink's target (without heading and alias) is a file of the vault. Such links
            stay live, all others and everything else are disarmed.
    """
    line = " ".join(clean(text).split())
    bare = line.replace("\\", "")
    places = _text_places(bare) | _block_places(bare)
    for span in _live_spans(line, places, resolves):
        places -= span
    return _with_backslashes(line, places, lambda n: 2 * n + 1)


def read_inline(text: str) -> str:
    """The words `inline` was given, but for their line breaks and runs of blanks."""
    bare = text.replace("\\", "")
    return _with_backslashes(text, _text_places(bare) | _block_places(bare), _halve)


def live_links(steps: Sequence[Step], resolves: Callable[[str], bool]) -> list[str]:
    """Targets of the wikilinks that people and assistants wrote outside code and that resolve, each once."""
    found: dict[str, None] = {}
    for step in steps:
        if step.role not in {"user", "assistant"} or "[" not in step.text:
            continue
        for line, kind in _lines(step.text):
            if kind == "text":
                targets = (_target(match) for match in _LINK.finditer(_CODE_SPAN.sub("", line)))
                found.update((target, None) for target in targets if target and resolves(target))
    return list(found)


def _quote_step(step: Step) -> Iterator[str]:
    if step.role != "tool":
        known = step.role in {"user", "assistant"}
        yield f"> [!{step.role}]" if known else f"> [!other] {_encode_title(step.role)}".rstrip()
        yield from _quoted(escape(clean(step.text)))
        return
    status = f" ({step.status})" if step.status in _STATUSES else ""
    yield f"> [!tool]- {_encode_title(step.tool)}{status}".rstrip()
    if step.arguments is not None:
        yield from _fenced(step.arguments, "json" if _is_json(step.arguments) else "text")
    if step.status != "no result":
        yield from _fenced(step.text, "text")


def _quoted(text: str) -> Iterator[str]:
    if text:
        yield from (f"> {line}" if line else ">" for line in text.split("\n"))


def _fenced(text: str, info: str) -> Iterator[str]:
    body = clean(text)
    fence = "`" * max(4, 1 + max(map(len, re.findall("`+", body)), default=0))
    yield f"> {fence}{info}"
    # Templates are run wherever they stand, in code too.
    disarmed = "\n".join(_disarm(line, "code", lambda n: 2 * n + 1) for line in body.split("\n"))
    yield from _quoted(disarmed)
    yield f"> {fence}"


def _callouts(text: str) -> Iterator[tuple[str, str, list[str]]]:
    """Kind, title and body lines of each callout of a step."""
    current: tuple[str, str, list[str]] | None = None
    inside = False
    for line in (line.removesuffix("\r") for line in text.split("\n")):
        quoted = _QUOTED.match(line)
        if not quoted and (not line.strip() or line.startswith(("<!--", "#"))):
            if current:
                yield current
            current, inside = None, False
        elif inside:
            # A line that lost its `>` still belongs to the quote it stands in.
            if current:
                current[2].append(quoted[1] if quoted else line)
        elif quoted:
            inside = True
            header = _HEADER.match(quoted[1])
            current = (header[1].lower(), header[2].strip(" \t"), []) if header else None
    if current:
        yield current


def _read_step(kind: str, title: str, body: list[str]) -> Step:
    if kind != "tool":
        role = unquote(title, errors="replace") if kind == "other" else kind
        return Step(role, unescape("\n".join(body)))
    status = next((status for status in _STATUSES if title.endswith(f"({status})")), "ok")
    name = title.removesuffix(f"({status})").rstrip(" ")
    fences = ["\n".join(_disarm(line, "code", _halve) for line in lines) for lines in _read_fences(body)]
    arguments = fences[0] if len(fences) > 1 or (fences and status == "no result") else None
    text = fences[-1] if fences and status != "no result" else ""
    return Step("tool", text, unquote(name, errors="replace"), arguments, status)


def _read_fences(body: list[str]) -> list[list[str]]:
    found: list[list[str]] = []
    fence = ""
    for line in body:
        if not fence:
            opener = _TOOL_FENCE.match(line)
            if opener:
                fence = opener[1]
                found.append([])
        elif line.startswith(fence) and not line.strip("` \t"):
            fence = ""
        else:
            found[-1].append(line)
    return found


def _encode_title(text: str) -> str:
    """A name whose letters, digits and a few harmless characters stand for themselves, the rest as `%xx`."""
    return str(_UNSAFE_IN_TITLE.sub(lambda match: quote(match[0], safe=""), clean(text)))


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _rewrite(text: str, change: Callable[[int], int]) -> str:
    return "\n".join(_disarm(line, kind, change) for line, kind in _lines(text))


def _lines(text: str) -> Iterator[tuple[str, str]]:
    """Each line with its kind: `text`, `opener` of a fenced block, or `code` in it.

    Only a fence at column 0 that has a closer counts. Escaping keeps every line's kind: lines of code stay,
    and any other opener gets a backslash.
    """
    lines = text.split("\n")
    if "```" not in text and "~~~" not in text:
        yield from ((line, "text") for line in lines)
        return
    longest = _longest_closers(lines)
    fence = ""
    for index, line in enumerate(lines):
        if fence:
            closer = _CLOSER.match(line)
            if closer and closer[1].startswith(fence):
                fence = ""
            yield line, "code"
            continue
        opener = _OPENER.match(line)
        mark = (opener[1] or opener[2]) if opener else ""
        if mark and longest[mark[0]][index + 1] >= len(mark):
            fence = mark
            yield line, "opener"
        else:
            yield line, "text"


def _longest_closers(lines: list[str]) -> dict[str, list[int]]:
    """For `` ` `` and `~`, the length of the longest closer at or after each line."""
    longest = {"`": [0] * (len(lines) + 1), "~": [0] * (len(lines) + 1)}
    for index in range(len(lines) - 1, -1, -1):
        closer = _CLOSER.match(lines[index])
        for char, lengths in longest.items():
            own = len(closer[1]) if closer and closer[1][0] == char else 0
            lengths[index] = max(own, lengths[index + 1])
    return longest


def _disarm(line: str, kind: str, change: Callable[[int], int]) -> str:
    bare = line.replace("\\", "")
    if kind == "text":
        places = _text_places(bare)
    else:
        places = {match.start() for match in _TEMPLATE.finditer(bare)} if "<%" in bare else set()
        if kind == "opener" and (runs := _RUNS.match(bare)):
            places.add(runs.start("word"))
    return _with_backslashes(line, places, change)


def _text_places(bare: str) -> set[int]:
    places = {match.start() for match in _PLACE.finditer(bare)}
    special = _LINE_PLACE.match(bare)
    if special and special.lastgroup:
        places.add(special.start(special.lastgroup))
    return places


def _block_places(bare: str) -> set[int]:
    match = _BLOCK_PLACE.match(bare)
    return {match.start("mark")} if match else set()


def _with_backslashes(line: str, places: set[int], change: Callable[[int], int]) -> str:
    """The line with `change` applied to the number of backslashes before each place of its bare form."""
    if not places:
        return line
    pieces = re.findall(r"\\*[^\\]|\\+\Z", line, re.S)
    for place in places:
        piece = pieces[place]
        pieces[place] = "\\" * change(len(piece) - 1) + piece[-1]
    return "".join(pieces)


def _halve(count: int) -> int:
    return (count - 1) // 2 if count % 2 else count


def _live_spans(line: str, places: set[int], resolves: Callable[[str], bool]) -> Iterator[set[int]]:
    """Places that are the opening brackets of a link that stays live."""
    ordered = sorted(places)
    backslashes = [match.start() for match in re.finditer(r"\\", line)]
    for match in _LINK.finditer(line):
        embed = match["open"] or line.endswith("!", 0, match.start())
        if embed or not resolves(_target(match)):
            continue
        start, end = (position - bisect_left(backslashes, position) for position in match.span())
        brackets = {start, start + 1}
        if brackets.issuperset(ordered[bisect_left(ordered, start) : bisect_left(ordered, end)]):
            yield brackets


def _target(match: re.Match[str]) -> str:
    return match["target"].partition("#")[0].strip()

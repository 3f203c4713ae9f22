"""The YAML block at the head of a note: read leniently, written carefully, edited by splicing lines.

Every scalar is read as text. YAML 1.1 and 1.2 disagree on what `on`, `1:30` or `010` are, and a parsed
timestamp does not come back as it was written; text does. Scalars are written so that readers of both
versions see the text that was meant: plain where that is beyond doubt, else in double quotes. The one
exception is a date in `created`, `updated` or `closed`: it stands unquoted
(`closed: 2026-05-28T15:40:11+08:00`), so that tools that know dates see one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import yaml

from automemory.errors import VaultError

DATE_KEYS = frozenset({"created", "updated", "closed"})

_OPENING = re.compile(r"\ufeff?---[ \t]*(?:\r?\n|\Z)")
_CLOSING = re.compile(r"^---[ \t]*(?:\r?\n|\Z)", re.M)
_ISO = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})?)?"
)
_NOT_TEXT = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED = re.compile('[\x00-\x1f"\\\\\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]')
_SHORT_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """What stands at the head of a note.

    Attributes:
        fields: The keys in their order; a value is text, None, or a list or mapping of these. Empty on error.
        body: Offset in the text at which the body starts. 0 if there is no frontmatter or it is never closed.
        error: In one line what is wrong and where; empty if nothing is.
    """

    fields: dict[str, Any]
    body: int
    error: str = ""


_Splice = tuple[int, int, str]  # from, to, and what stands there instead


class _Broken(Exception):
    """The block is not a mapping that can be read."""


def read(text: str) -> Frontmatter:
    """Read the frontmatter of a note; never fails.

    Only a first line `---` (after a byte order mark, if any) opens it; the next line `---` closes it.
    """
    opening, closing = _delimiters(text)
    if opening is None:
        return Frontmatter({}, 0)
    if closing is None:
        return Frontmatter({}, 0, "line 1: the frontmatter is opened by `---` and never closed")
    try:
        root = _compose(text[opening.end() : closing.start()])
        return Frontmatter(_value(root, set()) if root else {}, closing.end())
    except _Broken as broken:
        return Frontmatter({}, closing.end(), str(broken))
    except RecursionError:
        return Frontmatter({}, closing.end(), "the values are nested too deeply")


def scalar(value: str) -> str:
    """A YAML scalar on one line that YAML 1.1 and 1.2 readers both read as `value`.

    Lone surrogates, which no file can hold, become U+FFFD.
    """
    value = _writable(value)
    return value if _is_plain(value) else _quoted(value)


def render(fields: Mapping[str, str]) -> str:
    """A whole frontmatter block, delimiters included."""
    return "---\n" + "".join(_line(key, value) + "\n" for key, value in fields.items()) + "---\n"


def edit(text: str, changes: Mapping[str, str | None]) -> str:
    """Set or (None) remove keys of a note's frontmatter; every byte that is not theirs stays.

    A comment behind a replaced value stays, a value over several lines is replaced whole, a value that is as
    wanted is left alone and a new key goes behind the last one. The result is read again and compared.

    Raises:
        VaultError: There is no frontmatter, it is broken, or a key cannot be changed without touching others.
    """
    before = read(text)
    if before.error:
        raise VaultError(f"the frontmatter is broken ({before.error}): repair it by hand first")
    if not before.body:
        raise VaultError("the note has no frontmatter: add a block between two `---` lines at its head first")
    wanted = {key: value if value is None else _writable(value) for key, value in changes.items()}
    edited = text
    for start, end, new in sorted(_splices(text, before.fields, wanted), reverse=True):
        edited = edited[:start] + new + edited[end:]
    after = read(edited)
    expected = {key: value for key, value in before.fields.items() if key not in wanted}
    expected |= {key: value for key, value in wanted.items() if value is not None}
    if after.error or after.fields != expected or edited[after.body :] != text[before.body :]:
        raise VaultError(f"cannot change {', '.join(map(repr, changes))} alone: edit the frontmatter by hand")
    return edited


def _delimiters(text: str) -> tuple[re.Match[str] | None, re.Match[str] | None]:
    opening = _OPENING.match(text)
    return opening, _CLOSING.search(text, opening.end()) if opening else None


def _splices(text: str, fields: Mapping[str, Any], wanted: Mapping[str, str | None]) -> Iterator[_Splice]:
    """What `edit` puts where, as offsets into the text."""
    opening, closing = _delimiters(text)
    assert opening and closing, "the caller has read the block"
    block = text[opening.end() : closing.start()]
    root = _compose(block)
    if root and root.flow_style:
        raise VaultError("frontmatter in braces is not edited: write one `key: value` a line first")
    entries = root.value if root else []
    splices = [
        splice
        for key, value in entries
        if key.value in wanted and (wanted[key.value] is None or wanted[key.value] != fields[key.value])
        for splice in _entry_splices(block, key, value, wanted[key.value])
    ]
    indent = " " * entries[0][0].start_mark.column if entries else ""
    newline = "\r\n" if opening[0].endswith("\r\n") else "\n"
    new_keys = [(key, value) for key, value in wanted.items() if value is not None and key not in fields]
    added = "".join(f"{indent}{_line(key, value)}{newline}" for key, value in new_keys)
    at = _line_end(block, _end(root)) if entries else len(block)
    for start, end, new in [*splices, (at, at, added)]:
        yield opening.end() + start, opening.end() + end, new


def _entry_splices(block: str, key: Any, value: Any, new: str | None) -> list[_Splice]:
    line = block.rfind("\n", 0, key.start_mark.index) + 1
    if block[line : key.start_mark.index].strip(" "):
        raise VaultError(f"cannot change {key.value!r} where it stands: give it a line of its own first")
    start, end = value.start_mark.index, len(block[: _end(value)].rstrip(" \t\r\n"))
    if new is None:
        return [(line, _line_end(block, end), "")]
    written = _quoted(new) if value.id == "scalar" and value.style == '"' else _written(key.value, new)
    line_break = len(block[: block.index("\n", key.end_mark.index)].rstrip("\r"))
    if start < end and start < line_break:
        return [(start, end, written)]
    colon = block.index(":", key.end_mark.index) + 1
    below = [(line_break, end, "")] if line_break < end else []
    return [(colon, colon, f" {written}"), *below]


def _end(node: yaml.Node) -> int:
    """Where a node's own text ends: the parser lets a block collection run on to the next token."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last)
    return int(node.end_mark.index)


def _line_end(block: str, at: int) -> int:
    """The start of the line after `at`, or `at` if a line starts there."""
    return at if block[at - 1 : at] == "\n" else block.index("\n", at) + 1


def _compose(block: str) -> Any:
    """The block's mapping as the parser's nodes; None if the block holds nothing."""
    try:
        root = yaml.compose(block, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 2}: " if mark else ""
        raise _Broken(f"{where}{error.problem or error.context or 'not YAML'}") from None
    except (yaml.YAMLError, UnicodeEncodeError) as error:
        raise _Broken(" ".join(str(error).split())) from None
    if root is not None and not isinstance(root, yaml.MappingNode):
        raise _Broken(f"line {root.start_mark.line + 2}: not a list of `key: value` lines")
    return root


def _value(node: Any, seen: set[int]) -> Any:
    # An alias is its anchor's node once more. A few lines of them can stand for gigabytes.
    if id(node) in seen:
        raise _Broken(f"line {node.start_mark.line + 2}: YAML aliases (`*name`) are not supported")
    seen.add(id(node))
    if isinstance(node, yaml.ScalarNode):
        return None if not node.style and node.value in _NULLS else node.value
    if isinstance(node, yaml.SequenceNode):
        return [_value(item, seen) for item in node.value]
    fields: dict[str, Any] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise _Broken(f"line {key.start_mark.line + 2}: a key is not text")
        if key.value in fields:
            raise _Broken(f"line {key.start_mark.line + 2}: the key {key.value!r} stands there twice")
        fields[key.value] = _value(value, seen)
    return fields


def _line(key: str, value: str) -> str:
    return f"{scalar(key)}: {_written(key, value)}"


def _written(key: str, value: str) -> str:
    return value if key in DATE_KEYS and _is_date(value) else scalar(value)


def _writable(value: str) -> str:
    return _SURROGATE.sub("\ufffd", value)


def _is_date(value: str) -> bool:
    try:
        return bool(_ISO.fullmatch(value) and datetime.fromisoformat(value))
    except ValueError:
        return False


def _is_plain(value: str) -> bool:
    return (
        value[:1].isalpha()
        and value.isprintable()
        and value[-1] not in " :"
        and ": " not in value
        and " #" not in value
        and value.casefold() not in _NOT_TEXT
    )


def _quoted(value: str) -> str:
    return f'"{_ESCAPED.sub(_escape, value)}"'


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    return _SHORT_ESCAPES.get(character) or f"\\u{ord(character):04x}"

"""Finds the one JSON object a model was asked for in what it really wrote.

Models wrap it in code fences and prose, think aloud before it, write Python for JSON, or stop half-way. One
reader for all of them. It is a pure function, linear in the length of the reply, and answers None in doubt: a
repair call is cheaper than a wrong answer.
"""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass
from typing import Any

from automemory.boundary import NOTHING
from automemory.content import clean

MAX_DEPTH = 32
_NAMES = "think|thinking|thoughts?|reasoning|reflection|analysis|scratchpad|seed:think"
_MARK = re.compile(
    rf"(?P<open><(?:{_NAMES})\b[^<>]{{0,80}}>|\[think\]|◁think▷|<\|start_thinking\|>|<\|channel\|>analysis)"
    rf"|(?P<close></(?:{_NAMES})\s{{0,9}}>|\[/think\]|◁/think▷|<\|end_thinking\|>|<\|channel\|>final)"
    r"|(?P<brace>\{(?=\s*+[\"']))",
    re.IGNORECASE,
)
_SPACE = re.compile(r"[\s\ufeff\u200b]*+")
_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"' + r"|'(?:[^'\\]++|\\.)*+'", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPE_OR_QUOTE = re.compile(r'\\(.)|"', re.DOTALL)
_WORD = re.compile(r"[^\s\"'{}\[\],:]++")
_NUMBER = re.compile(r"-?\d{1,300}(?:\.\d{1,300})?(?:[eE][+-]?\d{1,3})?")
_WORDS = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None, "NaN": None}
_FENCE = re.compile(r"```\s*+json[5c]?\b", re.IGNORECASE)
_NOT_WORDS = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class _Found:
    """An object and where it stands; `begin` is where the reply proper begins, after any reasoning."""

    value: dict[str, Any]
    begin: int
    start: int
    end: int


class _MalformedError(Exception):
    """No object after all; the text up to `at` is dealt with."""

    def __init__(self, at: int) -> None:
        self.at = at


class _CutOffError(Exception):
    """The text ends inside an object."""


def read_object(text: str, keys: frozenset[str], quoted: str = "") -> dict[str, Any] | None:
    """The last top-level object of a reply that has all `keys`; None if there is none, or if one is cut off.

    What stands in a reasoning block does not count, nor an object that is copied from `quoted`, unless it is
    all of the reply. An object in a list of one, or as the only object inside another one (a tool call
    written as text), counts. Words for nothing (`"null"`, `"N/A"`) become None; other values stay.

    Args:
        text: The reply.
        keys: What an object must have to be the answer; it may have more.
        quoted: What the model was shown of the conversation.
    """
    found = _objects(text)
    shown = _bare(html.unescape(quoted)) if quoted else ""
    alone = len(found) == 1 and _stands_alone(text, found[0])
    for item in reversed(found):
        value = _with_keys(item.value, keys)
        if value is None:
            continue
        source = text[item.start : item.end] if value is item.value else json.dumps(value, ensure_ascii=False)
        if shown and not alone and _bare(source) in shown:
            continue
        return {key: None if _is_nothing(inner) else inner for key, inner in value.items()}
    return None


def _objects(text: str) -> list[_Found]:
    found: list[_Found] = []
    at = begin = 0
    reasoning = False
    while mark := _MARK.search(text, at):
        at = mark.end()
        if mark.lastgroup == "open":
            reasoning = True
        elif mark.lastgroup == "close":  # models also close what they never opened: all before was reasoning
            reasoning, begin, found = False, at, []
        elif not reasoning:
            try:
                value, at = _object(text, mark.start(), 0)
                found.append(_Found(value, begin, mark.start(), at))
            except _MalformedError as stop:
                at = max(at, stop.at)
            except _CutOffError:
                last = _last_close(text, mark.end())
                if last is None:
                    return []
                at = last
    return found


def _last_close(text: str, start: int) -> int | None:
    """Where the last end of a reasoning block begins, so that a text is taken up again only once."""
    closes = [mark.start() for mark in _MARK.finditer(text, start) if mark.lastgroup == "close"]
    return closes[-1] if closes else None


def _stands_alone(text: str, item: _Found) -> bool:
    around = text[item.begin : item.start] + "\n" + text[item.end :]
    return not _bare(_FENCE.sub("", around))


def _bare(text: str) -> str:
    """Letters and digits only, so that escapes and line breaks do not hide a copy."""
    return _NOT_WORDS.sub("", text)


def _with_keys(value: dict[str, Any], keys: frozenset[str]) -> dict[str, Any] | None:
    if keys <= value.keys():
        return value
    inner = [v for v in value.values() if isinstance(v, dict)]
    return inner[0] if len(inner) == 1 and keys <= inner[0].keys() else None


def _is_nothing(value: Any) -> bool:
    return isinstance(value, str) and len(value) < 20 and value.strip().lower() in NOTHING


# A recursive descent over JSON that also takes a trailing comma, single quotes and Python's words. Where it
# stops, the search goes on: nothing is read twice.


def _object(text: str, at: int, depth: int) -> tuple[dict[str, Any], int]:
    found: dict[str, Any] = {}
    at = _skip(text, at + 1)
    while not text.startswith("}", at):
        if depth > MAX_DEPTH:
            raise _MalformedError(at)
        if not text.startswith(('"', "'"), at):
            raise _stop(text, at)
        key, at = _string(text, at)
        at = _skip(text, at)
        if not text.startswith(":", at):
            raise _stop(text, at)
        found[key], at = _value(text, at + 1, depth + 1)
        at = _after_item(text, at, "}")
    return found, at + 1


def _array(text: str, at: int, depth: int) -> tuple[list[Any], int]:
    found: list[Any] = []
    at = _skip(text, at + 1)
    while not text.startswith("]", at):
        if depth > MAX_DEPTH:
            raise _MalformedError(at)
        value, at = _value(text, at, depth + 1)
        found.append(value)
        at = _after_item(text, at, "]")
    return found, at + 1


def _value(text: str, at: int, depth: int) -> tuple[Any, int]:
    at = _skip(text, at)
    if text.startswith("{", at):
        return _object(text, at, depth)
    if text.startswith("[", at):
        return _array(text, at, depth)
    if text.startswith(('"', "'"), at):
        return _string(text, at)
    match = _WORD.match(text, at)
    if match is None or match.end() == len(text):
        raise _stop(text, match.end() if match else at)
    word = match[0]
    if word in _WORDS:
        return _WORDS[word], match.end()
    if _NUMBER.fullmatch(word):
        number = float(word) if not word.lstrip("-").isdecimal() else int(word)
        return None if number in (float("inf"), float("-inf")) else number, match.end()
    raise _MalformedError(at)


def _string(text: str, at: int) -> tuple[str, int]:
    match = _STRING.match(text, at)
    if match is None:
        raise _CutOffError
    try:
        return clean(json.loads(_as_json(match[0]), strict=False)), match.end()
    except ValueError:
        raise _MalformedError(match.end()) from None


def _as_json(token: str) -> str:
    if token[0] == '"':
        return _ESCAPE.sub(lambda m: m[0] if m[1] in '"\\/bfnrtu' else m[1], token)
    body = _ESCAPE_OR_QUOTE.sub(
        lambda m: '\\"' if not m[1] else m[0] if m[1] in '"\\/bfnrtu' else m[1], token[1:-1]
    )
    return f'"{body}"'


def _after_item(text: str, at: int, end: str) -> int:
    at = _skip(text, at)
    if text.startswith(",", at):
        return _skip(text, at + 1)
    if not text.startswith(end, at):
        raise _stop(text, at)
    return at


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _stop(text: str, at: int) -> Exception:
    return _CutOffError() if at >= len(text) else _MalformedError(at)

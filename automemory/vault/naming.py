"""What may name a folder of the vault: slugs of what people and models say, agents' and consumers' ids."""

from __future__ import annotations

import itertools
import json
import re
import unicodedata
from collections.abc import Callable
from datetime import datetime

import regex

from automemory.errors import ConfigError
from automemory.vault.layout import fold

MAX_SLUG_CHARS, MAX_SLUG_BYTES = 60, 120
MAX_PROPOSAL_CHARS = 120
MAX_COMPONENT_CHARS = 64

_DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(10))}
_NOTHING = {"null", "none", "nil", "undefined", "n a", "n/a", "nan", "unknown"}
# Names whose punctuation is all that tells them apart: C#, F#, C++, g++, .NET.
_SPELLED_OUT = (
    (regex.compile(r"(?<!\w)([a-z])#(?![\w#])"), r"\1-sharp"),
    (regex.compile(r"(?<=\w)\+\+(?!\w)"), "-plus-plus"),
    (regex.compile(r"(?<!\w)\.net(?!\w)"), "dot-net"),
)
_INVISIBLE_MARK = regex.compile(r"[\p{M}&&\p{DI}]+", flags=regex.V1)
# A mark belongs to the character before it, so it goes with a character that goes.
_NOT_A_NAME_CHAR = regex.compile(r"^\p{M}+|(?:[[^\p{L}\p{M}\p{Nd}]||\p{DI}]\p{M}*)+", flags=regex.V1)
_GRAPHEME = regex.compile(r"\X")
_FENCE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)", re.S | re.M)
_URL = re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://\S+|\bwww\.\S+", re.I)

# How a model, a client or a server begins when it answers with something else than a name.
_APOLOGY = (
    r"(?:oh |i ?'?m |i am |we are |we ?'?re )?(?:so |very |really )?(?:sorry|afraid)"
    r"(?:[,.!:]| i\b| but| for| we\b|$)",
    r"(?:my |i |we )?apolog(?:y|ies|i[sz]e)\b",
    r"i (?:cannot|can ?'?t|can not|am unable|am not able|do not|don ?'?t|won ?'?t)\b",
    r"i ?'?m (?:unable|not able)\b",
    r"as an? (?:ai|language model)\b|unfortunately\b",
    r"(?:sure|certainly|of course|ok|okay)[,!.] |here(?: is|'s) (?:a|the)\b",
    r"(?:很|非常|十分|真的)?(?:抱歉|对不起|不好意思)(?:[,，、。!！ ]|我|$)|好的[,，。]",
    r"作为一?[个名]?(?:ai|人工智能|语言模型)|我(?:无法|不能|没有办法|没法)|无法(?:生成|提供|回答)",
)
_FAILURE = (
    r"(?:the )?(?:llm |model |api |http )*(?:request|call|connection|operation|server|model|generation)"
    r" (?:has |have |was |is )?(?:timed out|time ?out|failed|aborted|cancell?ed|refused|reset|overloaded)",
    r"time(?:d )?out|(?:an |unknown |internal )*(?:server )?error(?: occurred)?",
    r"service unavailable|bad gateway",
    r"rate limit(?:ed)?(?: exceeded| reached)?|too many requests|no response",
    r"invalid (?:response|api key|request)",
    r"failed to (?:generate|create|produce|get) (?:an? |the )?(?:slug|title|name|summary|response|answer)",
    r"(?:http |error )*(?:4(?:01|03|29)|50[0-4])"
    r" (?:unauthorized|forbidden|too many requests|internal server error"
    r"|bad gateway|service unavailable|gateway time ?out)",
    r"(?:请求|连接|响应|生成)(?:已经?)?(?:超时|失败|被拒绝)了?|服务器?(?:暂时?)?(?:不可用|内部错误|繁忙)",
    r"(?:发生|出现|遇到)了?(?:未知|内部)?错误|错误",
)
_REPLY = re.compile(
    f"(?:{'|'.join(_APOLOGY)})"
    f"|(?:{'|'.join(_FAILURE)})(?:[.,:;!。，：；！]| (?:after|while|because|please|try)\\b|请|$)"
    r"|\w*(?:error|exception): |traceback\b"
)
_FULL_STOP = re.compile(r"[.!?。！？]\s+\S|[。！？]")


def slugify(proposal: str) -> str | None:
    """The slug of a proposed name: letters, marks, digits and `-`, at most 60 characters and 120 bytes.

    `C#`, `C++` and `.NET` are spelled out (`c-sharp`, `c-plus-plus`, `dot-net`): they are not `C` and `net`.

    Returns:
        None where nothing is left, or where it is clearly no name: too long, JSON, an error, an apology.
    """
    text = proposal.strip()
    if len(text) > MAX_PROPOSAL_CHARS or _is_json(text) or _is_reply(text):
        return None
    return _slug(text)


def slug_from_words(text: str) -> str | None:
    """The slug of a text's own opening words: its first line that has any outside fenced code and URLs."""
    prose = _URL.sub(" ", _FENCE.sub("\n", text[:4000]))
    return next((slug for line in prose.split("\n") if (slug := _slug(line))), None)


def fallback_slug(at: datetime) -> str:
    """The slug of an event that begins without words."""
    return f"event-{at:%H%M%S}"


def numbered(slug: str, taken: Callable[[str], bool]) -> str:
    """`slug`, or the first of `slug-2`, `slug-3`, … that is free; `taken` is asked with the folded name."""
    if not taken(fold(slug)):
        return slug
    for number in itertools.count(2):
        tail = f"-{number}"
        candidate = _cut(slug, MAX_SLUG_CHARS - len(tail), MAX_SLUG_BYTES - len(tail)) + tail
        if not taken(fold(candidate)):
            return candidate
    raise AssertionError("unreachable: numbers do not end")


def check_agent_id(value: str) -> str:
    """The agent's id in NFC, if it can stand before the `_` of a folder name.

    Raises:
        ConfigError: if it is no single safe path component, or holds a `_` itself.
    """
    name = safe_component(value)
    if "_" in name:
        raise ConfigError(f"agent_id {value!r} holds '_', which ends it in a folder's name: use '-'")
    if not regex.fullmatch(r"[\p{L}\p{Nd}](?:[\p{L}\p{M}\p{Nd}.-]*[\p{L}\p{M}\p{Nd}])?", name):
        raise ConfigError(f"agent_id {value!r} may hold letters, digits and, inside, '-' and '.' only")
    return name


def safe_component(value: str) -> str:
    """A value in NFC that is to be one name in a path, such as a user's id.

    Raises:
        ConfigError: if it is not one safe name on every system.
    """
    name = unicodedata.normalize("NFC", value)
    if not name or len(name) > MAX_COMPONENT_CHARS or len(name.encode("utf-8", "replace")) > MAX_SLUG_BYTES:
        raise ConfigError(f"{value!r} cannot name a folder: 1 to {MAX_COMPONENT_CHARS} characters are needed")
    unsafe = regex.search(r"""[<>:"/\\|?*%\p{C}\p{Zl}\p{Zp}]""", name)
    if unsafe or name[0] in ".~ " or name[-1] in ". " or name.split(".")[0].casefold() in _DEVICES:
        raise ConfigError(f"{value!r} cannot name a folder on every system: use letters, digits, '-' and '_'")
    return name


def _slug(text: str) -> str | None:
    name = fold(text)
    for pattern, spelled in _SPELLED_OUT:
        name = pattern.sub(spelled, name)
    name = _NOT_A_NAME_CHAR.sub("-", _INVISIBLE_MARK.sub("", name)).strip("-")
    name = _cut(unicodedata.normalize("NFC", name), MAX_SLUG_CHARS, MAX_SLUG_BYTES)
    return f"{name}-event" if name in _DEVICES else name or None


def _cut(slug: str, max_chars: int, max_bytes: int) -> str:
    """Cut between graphemes, at a word's edge unless that costs more than half."""
    end, size = 0, 0
    for grapheme in _GRAPHEME.finditer(slug):
        size += len(grapheme[0].encode())
        if grapheme.end() > max_chars or size > max_bytes:
            break
        end = grapheme.end()
    if end < len(slug) and slug[end] != "-":
        edge = slug.rfind("-", 0, end)
        end = edge if edge > end // 2 else end
    return slug[:end].strip("-")


def _is_json(text: str) -> bool:
    if text.startswith(("{", "[{", '["', "```")) or re.search(r'"\w+"\s*:', text):
        return True
    try:
        return isinstance(json.loads(text), (dict, list))
    except (ValueError, RecursionError):
        return False


def _is_reply(text: str) -> bool:
    words = re.sub(r"[\s_-]+", " ", fold(text).replace("’", "'")).strip(" .'\"*`")
    return words in _NOTHING or bool(_REPLY.match(words)) or len(_FULL_STOP.findall(words)) > 1

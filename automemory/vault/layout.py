"""Names and paths in the vault: slugs, folders, links, and the checks that keep a path inside.

All paths are vault paths: relative, with `/`, whatever the system.
"""

from __future__ import annotations

import itertools
import json
import re
import unicodedata
from collections.abc import Callable
from datetime import date, datetime
from pathlib import PurePosixPath
from urllib.parse import unquote

import regex

from automemory.errors import ConfigError, PathEscape

DAILY = "daily"
TURNS_FILE = "turns.md"
DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
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


def fold(name: str) -> str:
    """The key under which two names are the same: NFC and case-folded."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


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


def folder_name(slug: str, agent_id: str | None = None) -> str:
    """An event's folder, which is also its note's stem: `<slug>` or `<agent>_<slug>`."""
    return f"{agent_id}_{slug}" if agent_id else slug


def event_path(day: str, folder: str) -> str:
    """The vault path of an event's note; `day` is `YYYY-MM-DD`."""
    return f"{DAILY}/{day}/{folder}/{folder}.md"


def turns_path(path: str) -> str:
    """Where the turns of the event whose note lies at `path` stand, if not in the note itself."""
    return f"{path.rpartition('/')[0]}/{TURNS_FILE}"


def note_of(path: str) -> str:
    """The note of the event whose turns stand in a file: beside it, or that file itself."""
    folder, _, name = path.rpartition("/")
    return f"{folder}/{folder.rpartition('/')[2]}.md" if name == TURNS_FILE else path


def day_index_path(day: str) -> str:
    """The vault path of a day's index; `day` is `YYYY-MM-DD`."""
    return f"{DAILY}/{day}.md"


def parse_event_path(path: str) -> tuple[str, str] | None:
    """Day and folder of an event's note, the folder as `path` spells it; None if it is no such path."""
    match = re.fullmatch(rf"{DAILY}/(\d{{4}}-\d\d-\d\d)/([^/]+)/([^/]+)\.md", path)
    if match is None or fold(match[2]) != fold(match[3]) or match[2].startswith("."):
        return None
    try:
        date.fromisoformat(match[1])
    except ValueError:
        return None
    return match[1], match[2]


def link(path: str, alias: str | None = None) -> str:
    """A wikilink to a vault path. Brackets and bars of the alias, which would end it, are replaced."""
    shown = " ".join((alias or "").translate(str.maketrans("[]|", "()/")).split())
    return f"[[{path}|{shown}]]" if shown else f"[[{path}]]"


def parse_link(value: object) -> str | None:
    """The target of a link as it may stand in frontmatter, with `.md`; None if `value` is no link.

    Takes `[[path]]` with or without alias, heading, `.md` or quotes, a bare path, and the nested list that
    YAML makes of an unquoted `[[path]]`. A short form comes back short: `[[slug]]` is `slug.md`.
    """
    if isinstance(value, list) and len(value) == 1:
        inner = value[0]
        value = f"[[{', '.join(map(str, inner))}]]" if isinstance(inner, list) else inner
    if not isinstance(value, str):
        return None
    text = value.strip().strip("\"'").strip()
    match = re.fullmatch(r"\[\[((?:(?!\]\]|\[\[)[^\n])+)\]\]", text)
    if match is None and ("[[" in text or "\n" in text or not ("/" in text or text.endswith(".md"))):
        return None
    target = re.split(r"\\?\||#", match[1] if match else text, maxsplit=1)[0].strip()
    if not target:
        return None
    return target if re.search(r"\.\w{1,5}$", target) else f"{target}.md"


def safe_path(path: str) -> PurePosixPath:
    """A vault path that somebody else chose, if it stays in the vault's visible part.

    Raises:
        PathEscape: if it is empty, absolute, hidden, climbs out or could on another system.
    """
    for text in _decodings(path):
        reason = _escapes(text)
        if reason:
            raise PathEscape(
                f"path {path!r} {reason}: give a path inside the vault, such as 'daily/notes.md'"
            )
    return PurePosixPath(path)


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


def _decodings(path: str) -> list[str]:
    """The path as it stands and as it reads with its percent-escapes taken out, once and again."""
    found = [path]
    while (decoded := unquote(found[-1], errors="replace")) != found[-1] and len(found) < 4:
        found.append(decoded)
    return found


def _escapes(path: str) -> str:
    """Why a path may leave the vault; empty if it cannot."""
    if not path.strip():
        return "is empty"
    if re.search(r"[\x00-\x1f\x7f\\]", path):
        return "holds a backslash or a control character"
    if path.startswith(("/", "~")):
        return "is absolute"
    parts = [part for part in path.split("/") if part not in {"", "."}]
    if not parts:
        return "names the vault itself"
    for part in parts:
        if re.match(r"[A-Za-z]:", part):
            return "names a drive"
        # Windows drops dots and blanks at the end of a name: `.. ` and `...` climb as `..` does.
        if not part.rstrip(" ."):
            return "climbs out"
        if part.startswith(".") or part == "~":
            return "is hidden"
    return ""

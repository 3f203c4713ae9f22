"""Paths in the vault: folders, notes, links, and the checks that keep a path inside.

All paths are vault paths: relative, with `/`, whatever the system.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import date
from pathlib import PurePosixPath
from urllib.parse import unquote

from automemory.errors import PathEscape

DAILY = "daily"
TURNS_FILE = "turns.md"
DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


def fold(name: str) -> str:
    """The key under which two names are the same: NFC and case-folded."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


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

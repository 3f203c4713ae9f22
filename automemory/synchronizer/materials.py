"""The files of a workspace besides its summary note, and the lines that name them under `## Materials`."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from automemory.errors import VaultError
from automemory.vault import frontmatter
from automemory.vault.disk import Disk
from automemory.vault.layout import fold, link
from automemory.vault.revise import is_view
from automemory.vault.sanitize import entries, safe_line
from automemory.vault.sections import SEPARATOR, description, link_target

VIEWS = frozenset({"turns.md", "progress.md", "decision.md", "references.md"})
MOST = 500
_DEPTH = 3
_HEAD = 4_096
_MOST_CHARS = 160
_TEMPORARY = re.compile(
    r"^(?:\.|~\$)|~$|\.(?:tmp|temp|part|partial|crdownload|download|swp|swo|lock)$|^(?:thumbs\.db|desktop\.ini)$",
    re.IGNORECASE,
)
# How programs that sync name the other copy of a note, behind its stem.
_COPY = re.compile(
    r"\.sync-conflict-\d|.*conflicted copy|.*case conflict|-conflict-?\d| \(?\d+\)?\.md$|.*冲突"
)
_UNLINKABLE = re.compile(r"[\[\]|#^]")
_IN_URL = re.compile(r"[\s()<>\\%#?\[\]^|\"`:]")
_KINDS = {"md": "Markdown", "txt": "text", "jpg": "JPEG", "jpeg": "JPEG", "py": "Python", "yml": "YAML"}


@dataclass(frozen=True, slots=True)
class Material:
    """A file in a workspace: its name below the folder, its size in bytes, its first heading if any."""

    name: str
    size: int
    heading: str = ""

    @property
    def kind(self) -> str:
        suffix = PurePosixPath(self.name).suffix.removeprefix(".").casefold()
        return _KINDS.get(suffix, suffix.upper()) or "file"


def is_material(name: str, note: str) -> bool:
    """Whether a name is a material's: not the note's or its copy's, a schema's view's, a program's own."""
    folded, stem = fold(name), fold(note.removesuffix(".md"))
    if folded == fold(note) or folded in VIEWS or _TEMPORARY.search(name):
        return False
    return not (folded.startswith(stem) and _COPY.match(folded[len(stem) :]))


def found(disk: Disk, folder: str) -> list[Material]:
    """The materials that lie in a workspace's folder and below, at most `MOST`, by name."""
    note = f"{folder.rpartition('/')[2]}.md"
    names = [name for name in _names(disk, folder, "", _DEPTH) if is_material(name.rpartition("/")[2], note)]
    return [material for name in names[:MOST] if (material := _material(disk, folder, name))]


def line(folder: str, material: Material, words: str = "") -> str:
    """A material's entry: a wikilink for Markdown, else a link to the file, and what it is.

    Args:
        folder: The workspace's vault path.
        material: The file.
        words: What the model says it is; else its heading, type and size are named.
    """
    shown = safe_line(words or material.heading, lambda target: False)
    if not words:
        facts = f"{material.kind}, {_size(material.size)}"
        shown = f"{shown} ({facts})" if shown else facts
    return f"{_link(folder, material.name)}{SEPARATOR}{shown}"


def described(text: str) -> dict[str, str]:
    """What a model's `## Materials` says of each file, by the last part of its link."""
    words = {_last(target): description(entry) for entry in entries(text) if (target := link_target(entry))}
    return {name: what for name, what in words.items() if what}


def lines(
    folder: str, there: Iterable[Material], old: str, said: Mapping[str, str], redact: Callable[[str], str]
) -> list[str]:
    """The entries for the materials of a folder, those the note names already left out unless there is news.

    Args:
        folder: The workspace's vault path.
        there: Its materials.
        old: The text of the note's `## Materials`.
        said: What the model says of files, see `described`.
        redact: Masks secrets in what a file says of itself.
    """
    named = {link_target(entry): description(entry) for entry in entries(old)}
    made = []
    for material in there:
        words = said.get(_last(material.name), "")
        forms = {_target(folder, material.name), _plain(material.name)}
        known = [target for target in forms if target in named]
        if not known or (words and not named[known[0]] and _target(folder, material.name) in known):
            masked = Material(material.name, material.size, redact(material.heading)[:_MOST_CHARS])
            made.append(line(folder, masked, words[:_MOST_CHARS]))
    return made


def elsewhere(
    text: str, there: Iterable[Material], resolves: Callable[[str], bool]
) -> tuple[list[str], list[str]]:
    """Of a model's entries those that name no file of the folder: what may stand, and what is not there."""
    names = {_last(material.name) for material in there}
    kept: list[str] = []
    missing: list[str] = []
    for entry in entries(text):
        target = link_target(entry)
        if not target or re.match(r"https?:", target):
            kept.append(entry)
        elif _last(target) not in names:
            (kept if "[[" in entry and resolves(target) else missing).append(entry)
    return kept, missing


def heading_of(text: str) -> str:
    """A Markdown text's first heading, else its first line with words."""
    body = text[frontmatter.read(text).body :]
    match = re.search(r"^#{1,6}[ \t]+(\S.*)$", body, re.MULTILINE)
    first = next((stripped for raw in body.split("\n") if (stripped := raw.strip(" \t\r`~>#-*")).strip()), "")
    return " ".join((match[1] if match else first).split())[:_MOST_CHARS]


def _names(disk: Disk, folder: str, below: str, depth: int) -> Iterator[str]:
    inner = set(disk.names(f"{folder}/{below}"))
    for name in sorted(disk.entries(f"{folder}/{below}")):
        if name.startswith(".") or not disk.holds(f"{folder}/{below}{name}"):
            continue
        if name not in inner:
            yield f"{below}{name}"
        elif depth > 1:
            yield from _names(disk, folder, f"{below}{name}/", depth - 1)


def _material(disk: Disk, folder: str, name: str) -> Material | None:
    """What can be told of a file without reading more of it than its beginning; None for a schema's view."""
    try:
        found = disk.signature(path := f"{folder}/{name}")
        start = disk.read(path, _HEAD) if name.casefold().endswith(".md") else b""
    except VaultError:
        return Material(name, 0)
    text = (start or b"").decode("utf-8", "ignore")
    size = found.size if found else 0
    return None if is_view(text) else Material(name, size, heading_of(text) if text else "")


def _link(folder: str, name: str) -> str:
    if name.casefold().endswith(".md") and not _UNLINKABLE.search(f"{folder}/{name}"):
        return link(f"{folder}/{name}", PurePosixPath(name).stem)
    shown = safe_line(name.translate(str.maketrans("[]|", "()/")), lambda target: False)
    return f"[{shown}]({_IN_URL.sub(lambda m: ''.join(f'%{b:02X}' for b in m[0].encode()), name)})"


def _target(folder: str, name: str) -> str:
    """What `link_target` says of a material's line."""
    return link_target(_link(folder, name))


def _plain(name: str) -> str:
    return unicodedata.normalize("NFC", name).removesuffix(".md")


def _last(target: str) -> str:
    return fold(_plain(target.rpartition("/")[2]))


def _size(octets: int) -> str:
    if octets < 1000:
        return f"{octets} B"
    return f"{octets / 1000:.1f} kB" if octets < 1_000_000 else f"{octets / 1e6:.1f} MB"

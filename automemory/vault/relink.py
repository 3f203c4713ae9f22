"""Has links lead elsewhere, or nowhere: only live ones, and nothing else of a note. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote, unquote

from automemory.errors import VaultError
from automemory.vault import frontmatter
from automemory.vault.links import find_links

FORGOTTEN = "(forgotten)"
_WIKI = re.compile(
    r"!?\[\[(?P<target>[^\[\]|#\\\n]+)(?P<place>#[^\[\]|\\\n]*)?(?:\\?\|(?P<alias>[^\[\]\n]*))?\]\]"
)
_MARKDOWN = re.compile(r"!?\[(?P<text>[^\[\]\n]*)\]\(<?(?P<href>[^()<>\n]+)>?\)")
_LEAD = re.compile(r"(?:Continues|See also) \[\[[^\[\]\n]+\]\]\.\r?")
_REFS = re.compile(r"Refs:(?: \[\[[^\[\]\n]+\]\])*\r?")


def relinked(text: str, links: Mapping[str, str], own: str = "") -> str:
    """A note with its links changed.

    Args:
        text: The note.
        links: The vault path that a link is to lead to, by the target as it is written now; empty makes the
            link plain text.
        own: The note's own path: the library's line that it goes on with another note goes if that is itself.
    """
    found = [link for link in find_links(text) if link.target in links]
    if not found:
        return text
    front = frontmatter.read(text)
    lines = text.split("\n")
    body = text.count("\n", 0, front.body)
    changed = [*lines]
    for number in {link.line - 1 for link in found if link.line > body}:
        changed[number] = _line(lines[number], links)
    for number in sorted({link.line - 1 for link in found if link.line > body}, reverse=True):
        if _is_empty_lead(lines[number], changed[number], links, own):
            blank = number + 1 < len(changed) and not changed[number + 1].strip()
            del changed[number : number + 1 + blank * bool(_LEAD.fullmatch(lines[number]))]
    head = _head("\n".join(lines[:body]) + "\n", links) if body else ""
    return head + "\n".join(changed[body:])


def _head(head: str, links: Mapping[str, str]) -> str:
    """The frontmatter with its links changed; as it was if it could not be read any more then."""
    inherited = next(
        (link.target for link in find_links(head) if link.target in links and not links[link.target]), None
    )
    changed = head
    if inherited is not None and _inherits(head) == inherited:
        try:
            changed = frontmatter.edit(head, {"inherits": None})
        except VaultError:
            return head
    changed = "\n".join(_line(line, links) for line in changed.split("\n"))
    before, after = frontmatter.read(head), frontmatter.read(changed)
    return changed if after.error == before.error and after.body == len(changed) else head


def _inherits(head: str) -> str:
    value = frontmatter.read(head).fields.get("inherits")
    found = _WIKI.fullmatch(value.strip()) if isinstance(value, str) else None
    return found["target"].strip() if found else ""


def _line(line: str, links: Mapping[str, str]) -> str:
    if _REFS.fullmatch(line):
        line = _WIKI.sub(lambda m: m[0] if links.get(m["target"].strip(), "-") else "", line)
        line = re.sub(r" {2,}", " ", line).rstrip(" ")
    return _MARKDOWN.sub(lambda m: _markdown(m, links), _WIKI.sub(lambda m: _wiki(m, links), line))


def _wiki(match: re.Match[str], links: Mapping[str, str]) -> str:
    target = match["target"].strip()
    if target not in links:
        return match[0]
    path, name, alias = links[target], _stem(target), match["alias"]
    if not path:
        return alias if alias and alias != name else FORGOTTEN
    new = path if target.endswith(".md") or not path.endswith(".md") else path.removesuffix(".md")
    shown = "" if alias is None else f"|{_stem(path) if alias == name else alias}"
    return f"{'!' if match[0].startswith('!') else ''}[[{new}{match['place'] or ''}{shown}]]"


def _markdown(match: re.Match[str], links: Mapping[str, str]) -> str:
    href, place, heading = match["href"].partition("#")
    target = unquote(href).strip()
    if target not in links:
        return match[0]
    if not links[target]:
        return match["text"] if match["text"] != _stem(target) else FORGOTTEN
    return f"{match[0][: match.start('href') - match.start()]}{quote(links[target])}{place}{heading})"


def _is_empty_lead(before: str, after: str, links: Mapping[str, str], own: str) -> bool:
    """Whether a line of the library's is left without what it was there for."""
    if _REFS.fullmatch(before):
        return "[[" not in after
    lead = _WIKI.search(before) if _LEAD.fullmatch(before) else None
    return lead is not None and links.get(lead["target"].strip()) in ("", own)


def _stem(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(".md")

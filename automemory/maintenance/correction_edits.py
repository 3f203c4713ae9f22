"""What a person's corrections write: pure functions from notes to edits."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import PurePosixPath

from automemory.errors import ConfigError
from automemory.vault import frontmatter, index, note, sections
from automemory.vault.edits import Closing, CreateFile, Edit, Merge, SetFields, UpdateIndex
from automemory.vault.event import (
    DESCRIPTION_CHARS,
    TITLE_CHARS,
    EventHead,
    RecordedTurn,
    join_parts,
    one_line,
)
from automemory.vault.layout import day_index_path, link, turns_path
from automemory.vault.relink import relinked
from automemory.vault.revisions import AddText, DropTurns, MoveMaterials, Relink, RemoveEvent, TakeTurns

_LIBRARY_KEYS = (
    *("name", "title", "description", "status", "created", "updated", "inherits"),
    *("turns", "agent", "thread", "closed", "closed_by", "summary_by"),
)
_OVERVIEW = "Overview"  # of the shipped schema `notes`
_KEPT_OVERVIEW = sections.Section(_OVERVIEW, "replace", False)
_LEAD = re.compile(r"^(?:Continues|See also) \[\[([^\[\]|\n]+)[^\[\]\n]*\]\]\.\r?\n?", re.MULTILINE)
_PART = re.compile(r"^(?=#{1,2} )", re.MULTILINE)
Links = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Noted:
    """An event as its note says it.

    Attributes:
        head: Its frontmatter.
        text: The note.
        record: What its turns stand in: the note, or a file beside it.
    """

    head: EventHead
    text: str
    record: str

    @property
    def turns(self) -> tuple[RecordedTurn, ...]:
        return join_parts(note.blocks(self.record))

    @property
    def body(self) -> str:
        return self.text[frontmatter.read(self.text).body : note.turns_start(self.text)]


def merge_edits(kept: Noted, joined: Noted, links: Links) -> list[Edit]:
    """What it takes to have the turns, text and materials of `joined` in `kept`.

    Args:
        kept: The event that stays.
        joined: The event that goes; of the same day and stream.
        links: What is linked to that moves (`scan.links_to`).

    Raises:
        ConfigError: if the two cannot be one event.
    """
    _check_joinable(kept.head, joined.head)
    into, gone = kept.head, joined.head
    first = [
        Relink(path, dict(links[path])) for path in dict.fromkeys((gone.path, gone.record)) if path in links
    ]
    text = relinked(joined.text, links.get(gone.path, {}))
    fields = _joined_fields(kept, joined)
    described = fields.get("description")
    update = UpdateIndex(day_index_path(into.date), gone=[Closing(gone.path, "", gone.description)])
    if described is not None:
        update.closed.append(Closing(into.path, described, into.description))
    others = [Relink(p, dict(found)) for p, found in links.items() if p not in (gone.path, gone.record)]
    return [
        *first,
        TakeTurns(into.record, gone.record),
        *_added_text(kept, replace(joined, text=text)),
        SetFields(into.path, fields),
        MoveMaterials(gone.path, into.path, gone.turns),
        RemoveEvent(gone.path, gone.turns, into.record),
        update,
        *others,
    ]


def split_edits(whole: Noted, at: str, path: str, slug: str) -> list[Edit]:
    """What it takes to have the turns from `at` on in an event of their own, whose note will be `path`.

    Raises:
        ConfigError: if `at` is the event's first turn, or none of its turns.
    """
    turns = whole.turns
    number = next((n for n, turn in enumerate(turns) if turn.id == at), 0)
    if not number:
        raise ConfigError(f"{at!r} is no turn after the first of {whole.head.path!r}: see `automemory show`")
    first, moved, head = turns[number], [turn.id for turn in turns[number:]], whole.head
    new = replace(
        head,
        path=path,
        name=path.rpartition("/")[2].removesuffix(".md"),
        title=slug.replace("-", " "),
        description=one_line(first.patch or slug.replace("-", " "), DESCRIPTION_CHARS),
        summary_by="pending" if head.closed else "",
        turns=turns_path(path) if head.turns else "",
    )
    ended = first.at.isoformat(timespec="seconds") if first.at else head.closed or f"{head.date}T00:00:00"
    fields: dict[str, str | None] = {
        "status": "active",
        "closed": ended,
        "closed_by": "switch",
        "summary_by": "pending",
    }
    closed = [Closing(head.path, head.description, head.description)]
    closed += [Closing(path, new.description, "")] if head.closed else []
    files = {path: note.new_note(_fields(new), "", "")}
    if new.turns:
        files[new.turns] = note.new_turns(path, new.name, "")
    return [
        *[CreateFile(place, text.rstrip("\n") + "\n") for place, text in files.items()],
        TakeTurns(new.record, head.record, moved),
        DropTurns(head.record, moved, new.record),
        SetFields(head.path, fields),
        UpdateIndex(day_index_path(head.date), opened=[path], closed=closed),
    ]


def forget_turn_edits(event: Noted, ids: Collection[str], day_index: str) -> list[Edit]:
    """What it takes to have nothing of some turns left in their event, of which others stay.

    Args:
        event: The event.
        ids: The turns.
        day_index: The text of its day's index.
    """
    head = event.head
    words = head.slug.replace("-", " ")
    patches = [turn.patch for turn in event.turns if turn.id not in ids and turn.patch]
    described = one_line(patches[0] if patches else words, DESCRIPTION_CHARS)
    fields: dict[str, str | None] = {"title": one_line(words, TITLE_CHARS), "description": described}
    if head.closed:
        fields["summary_by"] = "pending"
    edits: list[Edit] = [DropTurns(head.record, list(ids)), SetFields(head.path, fields)]
    if head.turns:
        edits.append(Merge(head.path, {_OVERVIEW: described}, sections=[[_OVERVIEW, "replace", False]]))
    bare = index.without_event(day_index, head.path, "") != day_index
    if head.closed or not bare:
        closing = Closing(head.path, described, head.description)
        edits.append(UpdateIndex(day_index_path(head.date), closed=[closing]))
    return edits


def says_more(event: Noted) -> bool:
    """Whether its note says more than its turns and what `forget_turn_edits` makes anew."""
    made = [_KEPT_OVERVIEW] if event.head.turns else []
    parts = [part for part in _PART.split(event.body) if not made or not sections.parse(part, made)]
    return any(_LEAD.sub("", part).strip() for part in parts)


def forget_event_edits(event: Noted, links: Links) -> list[Edit]:
    """What it takes to have nothing of an event left but its materials."""
    head = event.head
    gone = Closing(head.path, "", head.description)
    return [
        DropTurns(head.record, [turn.id for turn in event.turns]),
        RemoveEvent(head.path, head.turns),
        UpdateIndex(day_index_path(head.date), gone=[gone]),
        *[Relink(path, dict(found)) for path, found in links.items() if path not in (head.path, head.turns)],
    ]


def free_names(names: Sequence[str], taken: Collection[str]) -> dict[str, str]:
    """What materials will be called in a folder where some names are taken."""
    used = set(taken)
    new: dict[str, str] = {}
    for name in names:
        place = PurePosixPath(name)
        numbers = (f"{place.stem}-{n}{place.suffix}" for n in count(2))
        new[name] = name if name not in used else next(c for c in numbers if c not in used)
        used.add(new[name])
    return new


def _check_joinable(kept: EventHead, joined: EventHead) -> None:
    if kept.path == joined.path:
        raise ConfigError(f"{kept.path!r} cannot be joined to itself: name two events")
    if not (kept.thread and joined.thread):
        raise ConfigError(f"{(joined if kept.thread else kept).path!r} records no turns: join it by hand")
    if kept.date != joined.date:
        raise ConfigError(f"an event is of one day: {kept.path!r} and {joined.path!r} cannot be one")
    if (kept.agent, kept.thread) != (joined.agent, joined.thread):
        raise ConfigError(
            f"turns are known by their agent and thread: {kept.path!r} and {joined.path!r} are of two"
        )


def _joined_fields(kept: Noted, joined: Noted) -> dict[str, str | None]:
    """The frontmatter of the event that stays: open if one of both is, else closed with the later one."""
    a, b = kept.head, joined.head
    fields: dict[str, str | None] = {"updated": max(a.updated, b.updated, a.date)}
    if b.inherits != a.path and a.inherits in ("", b.path):
        fields["inherits"] = link(b.inherits) if b.inherits else None
    if a.open or b.open:
        active = {"status": "active"} if a.status != "active" else {}
        return fields | {"closed": None, "closed_by": None} | active
    last = max(a, b, key=lambda head: head.closed)
    first, second = sorted((a, b), key=lambda head: _begin(kept if head is a else joined))
    described = one_line(f"{first.description} {second.description}", DESCRIPTION_CHARS)
    fields |= {"closed": last.closed, "closed_by": last.closed_by, "status": last.status}
    return fields | {"description": described, "summary_by": "pending"}


def _begin(event: Noted) -> str:
    first = next((turn.at for turn in event.turns if turn.at), None)
    return f"{first.timestamp():020.6f}" if first else ""


def _added_text(kept: Noted, joined: Noted) -> list[Edit]:
    """What of the other event's own text goes into the one that stays: sections by policy, the rest as is."""
    body = joined.body
    later = _begin(joined) > _begin(kept)
    old, new = sections.parse(kept.body), sections.parse(body)
    replaced = {section.name for section in sections.SECTIONS if section.policy == "replace"}
    merged = {name: text for name, text in new.items() if later or name not in replaced or not old.get(name)}
    derived = [_KEPT_OVERVIEW] if kept.head.turns and joined.head.turns else []
    parts = [p for p in _PART.split(body) if not sections.parse(p, [*sections.SECTIONS, *derived])]
    adopted = kept.head.inherits in ("", joined.head.path)
    rest = _LEAD.sub(lambda m: _lead(m, kept, adopted), "".join(parts)).strip("\r\n")
    text = "\n\n".join(filter(None, [rest, _own_properties(joined.text)]))
    path = kept.head.path
    return [*([Merge(path, merged)] if merged else []), *([AddText(path, text)] if text else [])]


def _lead(match: re.Match[str], kept: Noted, adopted: bool) -> str:
    """The library's line that links to an earlier event, as it is to stand in the other note."""
    if match[1] == kept.head.path or f"[[{match[1]}" in kept.body:
        return ""
    return match[0] if adopted else match[0].replace("Continues", "See also", 1)


def _own_properties(text: str) -> str:
    """A person's own part of the frontmatter, as a block of YAML; empty if there is none."""
    rest = frontmatter.edit(text, dict.fromkeys(_LIBRARY_KEYS))
    lines = rest[: frontmatter.read(rest).body].strip("\ufeff\r\n ").split("\n")[1:-1]
    own = "\n".join(line.rstrip("\r") for line in lines).strip("\n")
    return f"```yaml\n{own}\n```" if own.strip() else ""


def _fields(head: EventHead) -> dict[str, str]:
    """The frontmatter of an event that was cut off another."""
    always = {key: getattr(head, key) for key in ("name", "title", "description", "status")}
    days = {"created": head.date, "updated": head.date}
    where = {"turns": link(head.turns) if head.turns else "", "agent": head.agent, "thread": head.thread}
    ended = {"closed": head.closed, "closed_by": head.closed_by, "summary_by": head.summary_by}
    return always | days | {key: value for key, value in (where | ended).items() if value}

"""What the tools write: summary notes by merging, materials beside them, fields of a note. All through plans.

Whatever is planned on is checked again when it is committed, and planned anew if it changed meanwhile.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Literal, TypeVar

from automemory.errors import Busy, Conflict, PathEscape, ToolRefused, VaultError
from automemory.synchronizer import materials
from automemory.synchronizer.paths import Spot
from automemory.synchronizer.section_patch import SectionPatch, safe_sections
from automemory.vault import frontmatter, sections
from automemory.vault.catalog import head_of
from automemory.vault.commit import Basis
from automemory.vault.edits import CreateFile, Edit, Merge, Plan, SetFields, UpdateIndex
from automemory.vault.event import EventHead, read_head
from automemory.vault.files import Signature
from automemory.vault.layout import day_index_path, fold, link
from automemory.vault.naming import numbered
from automemory.vault.note import turns_start
from automemory.vault.sanitize import safe_markdown
from automemory.vault.store import Store
from automemory.vault.tables import stream_key

How = Literal["", "created", "inherited", "updated", "material"]
_TRIES = 20
_UNLINKABLE = re.compile(r"[\[\]|#^\x00-\x1f]")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Done:
    """What a call wrote: the file's vault path, how it came to be, and what there is to tell of it."""

    path: str
    how: How
    told: str


@dataclass(frozen=True, slots=True)
class _Note:
    """A summary note as it was found."""

    text: str
    signature: Signature
    head: EventHead
    error: str

    @property
    def sections(self) -> dict[str, str]:
        start = frontmatter.read(self.text).body
        return sections.parse(self.text[start : turns_start(self.text, start)])


class Writer:
    """Writes for a model, in places that `PathGuard.writable` allowed.

    Args:
        store: The vault.
        agent: The agent's id, or empty.
        window_days: How many days back an event can be gone on with.
        redact: Masks secrets.
    """

    def __init__(self, store: Store, agent: str, window_days: int, redact: Callable[[str], str]) -> None:
        self._store = store
        self._agent = agent
        self._window_days = window_days
        self._redact = redact
        self._said: dict[str, str] = {}  # what the model says of files, some of which come later

    def write_note(self, spot: Spot, patch: SectionPatch, overwrite: bool, now: datetime) -> Done:
        """Create a summary note, inherit it from an earlier day's, or merge into the one that is there.

        Raises:
            ToolRefused: if it is another agent's, or is there and `overwrite` is not set.
        """
        self._said |= materials.described(patch.sections.get("Materials", ""))
        return self._retried(lambda: self._write_note(spot, patch, overwrite, now), spot.note)

    def of_day(self, day: str) -> list[EventHead]:
        """This agent's events of a day."""
        self._store.catalog.refresh([day])
        rows = self._store.state.notes_of_day(day).values()
        return [head_of(row) for row in rows if row.agent == self._agent]

    def write_material(self, spot: Spot, content: str) -> Done:
        """Write a new file beside a summary note, under a free name, and name it there.

        Raises:
            ToolRefused: if there is no such note, or the name is none for a material.
        """
        if not materials.is_material(spot.name, spot.note.rpartition("/")[2]):
            raise ToolRefused(f"{spot.name!r} is a name of the library's own: take a descriptive one")
        text = safe_markdown(content, self._resolves(spot.workspace)).strip("\n") + "\n"
        if not text.strip():
            raise ToolRefused("there is no text in it: give the material's text as content")
        return self._retried(lambda: self._write_material(spot, text), spot.path)

    def set_fields(self, spot: Spot, fields: Mapping[str, str]) -> Done:
        """Set frontmatter fields of a summary note, nothing else.

        Raises:
            ToolRefused: if there is no such note, it is another agent's, or a field cannot be set.
        """
        return self._retried(lambda: self._set_fields(spot, fields), spot.note)

    def recent(self, today: date) -> list[EventHead]:
        """This agent's active events of the days before, newest first, workspaces among them."""
        days = (str(today - timedelta(days=back)) for back in range(1, self._window_days + 1))
        heads = [head for day in days for head in self.of_day(day)]
        active = [h for h in heads if h.status == "active" and not _UNLINKABLE.search(h.path)]
        return sorted(active, key=lambda h: (h.date, h.updated, h.path), reverse=True)

    def _write_note(self, spot: Spot, patch: SectionPatch, overwrite: bool, now: datetime) -> Done:
        note = self._own(spot)
        if note is not None and not overwrite:
            raise ToolRefused(
                f"{spot.note!r} is there already: read it, then write with overwrite=true, which merges; "
                "another task needs another name"
            )
        if note is not None:
            return self._update(spot, note, patch, now)
        return self._create(spot, patch, now)

    def _update(self, spot: Spot, note: _Note, patch: SectionPatch, now: datetime) -> Done:
        new, missing = self._sections(spot, note.sections, patch, now)
        edits: list[Edit] = [Merge(note.head.path, new, patch.scope_changed)]
        told = [f"merged into {note.head.path}"]
        if note.error:
            told.append(f"its frontmatter stays as it is ({note.error})")
        else:
            fields, kept = _changes(note.head, patch, now)
            edits.append(SetFields(note.head.path, fields))
            told += kept
        self._commit(edits, note.head, {note.head.path: note.signature})
        return Done(note.head.path, "updated", "; ".join([*told, *missing]))

    def _create(self, spot: Spot, patch: SectionPatch, now: datetime) -> Done:
        slug = spot.folder.removeprefix(f"{self._agent}_") if self._agent else spot.folder
        title = patch.title or slug.replace("-", " ")
        source = self._source(slug, title, now.date())
        copied = self._copied(source.path) if source else {}
        new, missing = self._sections(spot, copied, patch, now)
        text = self._new_note(spot, patch, title, source, now)
        edits: list[Edit] = [
            CreateFile(spot.note, text),
            Merge(spot.note, copied),
            Merge(spot.note, new, patch.scope_changed),  # in the note that another may have made meanwhile
        ]
        if not _UNLINKABLE.search(spot.note):
            edits.append(UpdateIndex(day_index_path(spot.day), opened=[spot.note]))
        head = EventHead(spot.note, spot.day, spot.folder, agent=self._agent)
        self._commit(edits, head, {}, (spot.note if spot.exists else spot.workspace,))
        told = f"created {spot.note}" + (f", which goes on from {source.path}" if source else "")
        return Done(spot.note, "inherited" if source else "created", "; ".join([told, *missing]))

    def _new_note(
        self, spot: Spot, patch: SectionPatch, title: str, source: EventHead | None, now: datetime
    ) -> str:
        fields = {
            "name": spot.folder,
            "title": title,
            "description": patch.description,
            "status": patch.status or "active",
            "created": spot.day,
            "updated": spot.day,
        }
        fields |= {"inherits": link(source.path)} if source else {}
        fields |= {"agent": self._agent} if self._agent else {}
        body = f"Continues {link(source.path, source.name)}.\n" if source else ""
        return frontmatter.render(fields) + ("\n" + body if body else "")

    def _source(self, slug: str, title: str, today: date) -> EventHead | None:
        """The event of an earlier day that a new note goes on from."""
        wanted = {fold(slug), fold(title)}
        return next((h for h in self.recent(today) if {fold(h.slug), fold(h.title)} & wanted), None)

    def _copied(self, path: str) -> dict[str, str]:
        event = self._store.catalog.event(path)
        found = sections.parse(event.body) if event else {}
        return {name: found[name] for name in ("Objective", "Plan") if found.get(name)}

    def _sections(
        self, spot: Spot, known: Mapping[str, str], patch: SectionPatch, now: datetime
    ) -> tuple[dict[str, str], list[str]]:
        """What is to be merged, materials of the folder included; and what of it cannot be."""
        resolves = self._resolves(spot.workspace)
        new = safe_sections(patch, known, now, resolves)
        there = materials.found(self._store.disk, spot.workspace)
        said = patch.sections.get("Materials", "")
        kept, missing = materials.elsewhere(said, there, resolves)
        own = materials.lines(spot.workspace, there, known.get("Materials", ""), self._said, self._redact)
        lines = [f"- {line}" for line in [*own, *kept]]
        told = (
            [f"left out of Materials, since there is no such file: {', '.join(missing)}"] if missing else []
        )
        return new | ({"Materials": "\n".join(lines)} if lines else {}), told

    def _write_material(self, spot: Spot, text: str) -> Done:
        note = self._own(spot)
        if note is None:
            raise ToolRefused(
                f"there is no summary note {spot.note!r} yet: write it first, then its materials"
            )
        data = text.encode("utf-8", "replace")
        names = {fold(name): name for name in self._store.disk.entries(spot.workspace)}
        same = names.get(fold(spot.name))
        if same and self._store.disk.read(f"{spot.workspace}/{same}") == data:
            return Done(f"{spot.workspace}/{same}", "material", f"{same} holds this text already")
        stem = spot.name.removesuffix(".md")
        name = spot.name if not same else f"{_free(stem, names)}.md"
        path = f"{spot.workspace}/{name}"
        material = materials.Material(name, len(data), materials.heading_of(text))
        lines = materials.lines(
            spot.workspace, [material], note.sections.get("Materials", ""), self._said, str
        )
        new = {"Materials": "\n".join(f"- {line}" for line in lines)}
        self._commit(
            [CreateFile(path, text), Merge(note.head.path, new)], note.head, {note.head.path: note.signature}
        )
        if self._store.disk.read(path) != data:
            raise Conflict(f"{path!r} was made by somebody else meanwhile")
        renamed = f" ({spot.name} was taken)" if same else ""
        return Done(path, "material", f"wrote {path}{renamed}, named in {note.head.path}")

    def _set_fields(self, spot: Spot, fields: Mapping[str, str]) -> Done:
        note = self._own(spot)
        if note is None:
            raise ToolRefused(f"there is no summary note {spot.note!r}: write it with its sections first")
        if note.error:
            raise ToolRefused(f"the frontmatter of {note.head.path!r} is broken ({note.error}): leave it")
        if "description" in fields and note.head.closed:
            raise ToolRefused(f"{note.head.path!r} is closed, its description is final: write its sections")
        there = frontmatter.read(note.text).fields
        if lists := [key for key in fields if isinstance(there.get(key), (list, dict))]:
            raise ToolRefused(f"{', '.join(lists)} holds a list, which is a person's: leave it")
        try:
            frontmatter.edit(note.text, fields)
        except VaultError as error:
            raise ToolRefused(f"{note.head.path!r}: {error}") from error
        self._commit([SetFields(note.head.path, dict(fields))], note.head, {note.head.path: note.signature})
        return Done(note.head.path, "updated", f"set {', '.join(fields)} of {note.head.path}")

    def _own(self, spot: Spot) -> _Note | None:
        """The summary note of a place; None if there is none yet.

        Raises:
            ToolRefused: if it is another agent's.
        """
        path = self._path(spot)
        signature = self._store.disk.signature(path)
        data = self._store.disk.read(path) if signature else None
        if signature is None or data is None:
            return None
        text = data.decode("utf-8", "replace")
        front = frontmatter.read(text)
        row = self._store.catalog.refresh_note(path)  # what was known of a note that a person broke
        head = head_of(row) if row and front.error else read_head(path, front.fields)
        if head is None:
            raise ToolRefused(f"{path!r} is no place for a summary note: take another name")
        if head.agent != self._agent:
            whose = f"the agent {head.agent!r}" if head.agent else "somebody else"
            raise ToolRefused(f"{path!r} belongs to {whose}: write a note of another name")
        return _Note(text, signature, head, front.error or ("" if front.body else "it has none"))

    def _path(self, spot: Spot) -> str:
        """A note's path as it is on disk, whatever Unicode form its name is written in."""
        names = {fold(name): name for name in self._store.disk.entries(spot.workspace)}
        return f"{spot.workspace}/{names.get(fold(f'{spot.folder}.md'), f'{spot.folder}.md')}"

    def _commit(
        self,
        edits: Sequence[Edit],
        head: EventHead,
        notes: Mapping[str, Signature],
        absent: tuple[str, ...] = (),
    ) -> None:
        stream = stream_key(self._agent, head.path)  # its own: turns of the event's stream are not held up
        basis = Basis(self._store.state.version(stream), notes, absent)
        self._store.committer.commit(Plan(tuple(edits), stream), basis)
        for path in notes:
            if self._store.disk.signature(path) is None:
                raise Conflict(f"{path!r} was removed by somebody else meanwhile")

    def _retried(self, write: Callable[[], T], path: str) -> T:
        for _ in range(_TRIES):
            try:
                return write()
            except Conflict:
                continue
        raise Busy(f"{path!r} keeps changing: try again later")

    def _resolves(self, folder: str) -> Callable[[str], bool]:
        """Says whether a wikilink leads to a file of the vault, given its whole path."""

        def resolves(target: str) -> bool:
            forms = (target,) if target.endswith(".md") else (target, f"{target}.md")
            try:
                return any(self._store.disk.signature(form) is not None for form in forms)
            except (PathEscape, VaultError, ValueError):
                return False

        return resolves


def _changes(head: EventHead, patch: SectionPatch, now: datetime) -> tuple[dict[str, str | None], list[str]]:
    """The fields an update sets, and what of them cannot be set."""
    day = head.date if head.thread else f"{now:%Y-%m-%d}"
    fields: dict[str, str | None] = {"updated": max(head.updated, day)}
    fields |= {"title": patch.title} if patch.title else {}
    fields |= {"status": patch.status} if patch.status else {}
    if patch.description and not head.closed:
        fields["description"] = patch.description
    final = bool(patch.description and head.closed and patch.description != head.description)
    return fields, ["the description of a closed event is final and stays"] if final else []


def _free(stem: str, names: Mapping[str, str]) -> str:
    return numbered(stem, lambda name: f"{name}.md" in names)

"""Finds where a turn stands: its stream's active event, and what it may go back to. Only reads."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date as Date
from datetime import timedelta
from typing import Literal
from unicodedata import normalize

from automemory.decision import EventView, Exchange
from automemory.errors import PathEscape, VaultError
from automemory.intake import Accepted
from automemory.limits import Limits
from automemory.planning import empty_view
from automemory.routing import Located, Place, Target
from automemory.schema import NoteSchema
from automemory.turn import Step, steps
from automemory.vault import frontmatter, note
from automemory.vault.catalog import head_of, signature_of
from automemory.vault.edits import Closing, Edit, SetFields
from automemory.vault.event import EventHead, exchange, view
from automemory.vault.files import Signature
from automemory.vault.layout import event_path, fold, folder_name, parse_link
from automemory.vault.quoting import live_links
from automemory.vault.store import Store
from automemory.views import view_path

RECENT = 10
_STREAMS = 1000
_LINKS = 50


class Locator:
    """Reads the vault for the turn graph.

    Args:
        store: The vault.
        agent: The agent's id, or empty.
        limits: How far back to look.
        scope: Whose events a turn may go back to: the agent's, or its own stream's only.
        schema: What new events are made of.
    """

    def __init__(
        self,
        store: Store,
        agent: str,
        limits: Limits,
        scope: Literal["agent", "stream"],
        schema: NoteSchema,
    ) -> None:
        self._store = store
        self._schema = schema
        self._agent = agent
        self._limits = limits
        self._scope = scope
        self._views: OrderedDict[str, tuple[str, Signature, EventView]] = OrderedDict()

    def locate(self, stream: str, accepted: Accepted) -> Located:
        """Where a turn finds its stream; see `Located`."""
        day = accepted.at.date()
        since = self._since(day)
        catalog = self._store.catalog
        catalog.refresh([str(day - timedelta(days=back)) for back in range(self._limits.window_days + 1)])
        version = self._store.state.version(stream)
        # Before the open ones are asked for: it reads what people changed in older notes.
        recent = self._recent(stream, str(day), since, bool(accepted.event))
        opened = catalog.open_events(stream)
        earlier = bool(opened) and opened[0].date > str(day)
        current = opened[:1] if opened and opened[0].date >= since else []
        head = catalog.last_of_day(stream, str(day)) if earlier else next(iter(current), None)
        shown = tuple(
            r for r in recent if r.path not in {o.path for o in opened} | {head.path if head else ""}
        )
        return Located(
            date=str(day),
            version=version,
            active=self._active(stream, head) if head else None,
            earlier=earlier,
            strays=() if earlier else tuple(opened[len(current) :]),
            recent=shown if accepted.event else shown[:RECENT],
            links=self.links(accepted, shown),
            gone=self._gone(stream, {normalize("NFC", head.path) for head in (*opened, *recent)}),
        )

    def place(self, path: str, after: Sequence[Edit] = ()) -> Place | None:
        """Where a block is appended to a note once its fields are set as in `after`; None if it is gone."""
        disk = self._store.disk
        signature = own = disk.signature(path)
        row = self._store.catalog.refresh_note(path) if own else None
        if row is None:
            return None
        head = head_of(row)
        if head.turns:
            signature = disk.signature(head.turns)
        if signature is None:
            return None
        try:
            tail = disk.tail(head.record)
        except PathEscape:  # a link that leads out of the vault stands there now
            return None
        lead = note.gap(tail) if note.ends_whole(tail) else note.lead(disk.read(head.record) or b"")
        size = signature.size + sum(self._growth(edit) for edit in after if edit.path == head.record)
        apart = own if head.turns else None
        return Place(head, None, signature, size, lead, note.newline_of(tail), apart)

    def exchanges(self, path: str) -> list[Exchange]:
        """An event's own turns, oldest first."""
        event = self._store.catalog.event(path)
        return [exchange(turn) for turn in event.turns] if event else []

    def kept(
        self, head: EventHead, place: Place | None
    ) -> tuple[EventView, dict[str, str], dict[str, Signature | None]]:
        """An event before a turn; what the schema's files of it say, by name; their signatures, by path.

        Args:
            head: The event.
            place: Where the turn is appended; None if the turn opens it.
        """
        disk = self._store.disk
        paths = {file: view_path(head, file) for file in self._schema.files}
        usable = {
            file: path for file, path in paths.items() if self._is_file(path) or not self._is_there(path)
        }
        signatures = {path: disk.signature(path) for path in usable.values()}
        texts = {file: (disk.read(path) or b"").decode("utf-8", "replace") for file, path in usable.items()}
        if place and place.view is None:
            place = self.viewed(head)
        return place.view if place and place.view else empty_view(head), texts, signatures

    def open_places(self, stream: str) -> tuple[int, list[Place]]:
        """The stream's commit counter and all its open events, the active one first."""
        self._store.committer.recover()
        version = self._store.state.version(stream)
        heads = self._store.catalog.open_events(stream)
        return version, [place for head in heads if (place := self._active(stream, head))]

    def viewed(self, head: EventHead) -> Place | None:
        """An event's note with its view, whether or not it is open; None if it is gone."""
        return self._active("", head)

    def beside(self, goal: Target, day: str) -> tuple[Target, Callable[[str], bool], str]:
        """What a new event has to know of others: names in use, and what it continues or stands beside."""
        names = {fold(name) for name in self._store.disk.entries(f"daily/{day}")} | self._schema.stems
        folder = folder_name(goal.slug, self._agent)
        body = ""
        if goal.source is not None:
            event = self._store.catalog.event(goal.source.path)
            body = event.body if event else ""
        elif fold(folder) in names:
            row = self._store.catalog.refresh_note(event_path(day, folder))
            if row and row.stream and row.agent == self._agent:
                goal = replace(goal, source=head_of(row))
        return goal, lambda name: fold(name) in names, body

    def links(self, accepted: Accepted, shown: Sequence[EventHead]) -> frozenset[str]:
        """The link targets, as they are written, that may be live in what this turn adds."""
        known = {form for head in shown for form in (head.path, head.path.removesuffix(".md"))}
        return self.existing(steps(accepted.turn.messages)) | known

    def existing(self, said: Sequence[Step]) -> frozenset[str]:
        """The targets that people and assistants linked to in these steps and that are files of the vault."""
        return frozenset(filter(self._exists, live_links(said, lambda target: True)[:_LINKS]))

    def remember(self, stream: str, path: str, seen: EventView | None) -> None:
        """Keep an event's view for the stream's next turn; None forgets it."""
        row = self._store.state.note(path)
        self._views.pop(stream, None)
        if seen is not None and row is not None:
            self._views[stream] = (path, signature_of(row), seen)
        while len(self._views) > _STREAMS:
            self._views.popitem(last=False)

    def active_paths(self) -> dict[str, str]:
        return {stream: path for stream, (path, _, _) in self._views.items()}

    def _active(self, stream: str, head: EventHead) -> Place | None:
        place = self.place(head.path)
        if place is None:
            return None
        path, signature, seen = self._views.get(stream, ("", None, None))
        if path != head.path or seen is None or signature != self._store.catalog.signature(place.head):
            event = self._store.catalog.event(head.path)
            seen = view(event) if event else None
        return replace(place, view=seen or empty_view(head))

    def _recent(self, stream: str, day: str, since: str, all_of_them: bool) -> list[EventHead]:
        key = stream if self._scope == "stream" else self._agent
        limit = 10_000 if all_of_them else RECENT + 4
        return self._store.catalog.recent(self._scope, key, since, day, limit)

    def _since(self, day: Date) -> str:
        return str(day - timedelta(days=self._limits.window_days))

    def _gone(self, stream: str, there: set[str]) -> Closing | None:
        """The event this stream was at, if its note is gone, not just named in another Unicode form."""
        path, _, seen = self._views.get(stream, ("", None, None))
        if not path or seen is None or not self._store.disk.is_gone(path):
            return None
        del self._views[stream]
        if normalize("NFC", path) in there:
            return None
        return Closing(path, "", seen.description)

    def _growth(self, edit: Edit) -> int:
        """By how many bytes setting a note's fields will change its length."""
        if not isinstance(edit, SetFields):
            return 0
        text = (self._store.disk.read(edit.path) or b"").decode("utf-8", "surrogateescape")
        try:
            changed = frontmatter.edit(text, edit.fields)
        except VaultError:
            return 0
        return len(changed.encode("utf-8", "surrogateescape")) - len(text.encode("utf-8", "surrogateescape"))

    def _exists(self, target: str) -> bool:
        path = parse_link(target) or target
        forms = (path,) if path.endswith(".md") else (path, f"{path}.md")
        return any(map(self._is_file, forms))

    def _is_there(self, path: str) -> bool:
        """Whether something lies at a path, a link that leads out of the vault included."""
        folder, _, name = path.rpartition("/")
        return name in self._store.disk.entries(folder)

    def _is_file(self, path: str) -> bool:
        """Whether there is such a file in the vault; whatever people write into a link, it is no error."""
        try:
            return self._store.disk.resolve(path).is_file()
        except (OSError, PathEscape):
            return False

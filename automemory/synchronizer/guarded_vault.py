"""An opened vault as a run of the synchronizer may use it: every path guarded, everything written planned."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from automemory.content import clean
from automemory.errors import ToolRefused
from automemory.intake import local_time
from automemory.synchronizer.paths import PathGuard, Spot
from automemory.synchronizer.reading import Browser
from automemory.synchronizer.section_patch import SectionPatch, check_status, read_note
from automemory.synchronizer.writing import Done, Writer
from automemory.vault.event import DESCRIPTION_CHARS, TITLE_CHARS, EventHead, one_line
from automemory.vault.layout import DAILY, fold, folder_name
from automemory.vault.naming import slugify
from automemory.vault.store import Store

if TYPE_CHECKING:
    import builtins

NOTE_CHARS, MATERIAL_CHARS = 40_000, 100_000
# What code alone writes.
OWNED = frozenset(
    {
        "name",
        "created",
        "updated",
        "thread",
        "agent",
        "inherits",
        "turns",
        "closed",
        "closed_by",
        "summary_by",
    }
)
_FIELD_CHARS = 300
_KEY = re.compile(r"[^\W\d_][\w-]{0,40}")


class GuardedVault:
    """Does what the tools are asked for, or refuses it.

    Args:
        store: The vault.
        agent: The agent's id, or empty.
        zone: The vault's zone; the host's if None.
        window_days: How many days back a new note may go on from an event.
        workspace: The folder the run is confined to, without a slash at its end; empty if it is to be pinned
            to the first summary note that is written.
        redact: Masks secrets.
        clock: Gives the time.
    """

    def __init__(
        self,
        store: Store,
        agent: str,
        zone: ZoneInfo | None,
        window_days: int,
        workspace: str,
        redact: Callable[[str], str],
        clock: Callable[[], datetime],
    ) -> None:
        self.guard = PathGuard(store.disk, agent, workspace)
        self._browser = Browser(store.disk, zone, redact)
        self._writer = Writer(store, agent, window_days, redact)
        self._agent = agent
        self._zone = zone
        self._redact = redact
        self._clock = clock

    def list(self, path: object, recursive: bool) -> builtins.list[str]:
        return self._browser.list(self.guard.visible(path), recursive)

    def stat(self, path: object) -> dict[str, Any]:
        return self._browser.stat(self.guard.visible(path))

    def read(self, path: object) -> str:
        return self._browser.read(self.guard.visible(path))

    def fields(self, path: object) -> dict[str, Any]:
        return self._browser.fields(self.guard.visible(path))

    def write(self, path: object, content: object, overwrite: bool, scope_changed: bool) -> Done:
        """Write a summary note or a material, whichever the path is of."""
        spot = self._spot(path)
        if not isinstance(content, str) or not content.strip():
            raise ToolRefused(f"there is no text to write to {spot.path!r}: give it as content")
        most = NOTE_CHARS if spot.is_note else MATERIAL_CHARS
        cut = f"; cut at {most} characters" if len(content) > most else ""
        text = self._redact(clean(content[:most]))
        if not spot.is_note:
            done = self._writer.write_material(spot, text)
            return Done(done.path, done.how, done.told + cut)
        patch, unknown = read_note(text, scope_changed)
        done = self._write_note(spot, patch, overwrite)
        left = f"; left out, since no sections of a summary note: {', '.join(unknown)}" if unknown else ""
        return Done(done.path, done.how, done.told + left[:_FIELD_CHARS] + cut)

    def patch(self, patch: SectionPatch, folder: str) -> Done:
        """Merge a patch into a workspace's summary note; the folder is made of the title if there is none."""
        folder = folder.strip("/") or self.guard.workspace or self._titled(patch.title)
        spot = self._spot(f"{folder}/{folder.rpartition('/')[2]}.md")
        return self._write_note(spot, patch, overwrite=True)

    def update(self, path: object, fields: Mapping[str, object]) -> Done:
        """Set fields of a summary note."""
        spot = self._spot(path)
        if not spot.is_note:
            raise ToolRefused(f"{spot.path!r} is no summary note: only {spot.note!r} has fields to set")
        if not fields:
            raise ToolRefused("no field is given: give some, such as status='completed'")
        checked = {key: self._field(key, value) for key, value in fields.items()}
        return self._pinned(spot, self._writer.set_fields(spot, checked))

    def recent(self) -> builtins.list[EventHead]:
        return self._writer.recent(self._now.date())

    @property
    def _now(self) -> datetime:
        return local_time(self._clock(), self._zone)

    @property
    def _today(self) -> str:
        return f"{self._now:%Y-%m-%d}"

    def _spot(self, path: object) -> Spot:
        spot = self.guard.writable(path, self._today)
        if self._redact(spot.path) != spot.path:
            raise ToolRefused(f"the name {self._redact(spot.path)!r} holds a secret: take another name")
        return spot

    def _write_note(self, spot: Spot, patch: SectionPatch, overwrite: bool) -> Done:
        checked = patch.checked(self._redact)
        same = None if self.guard.workspace or spot.exists else self._of_today(checked.title)
        if same:
            raise ToolRefused(f"{same.path!r} is today's note of {same.title!r}: read it and write there")
        return self._pinned(spot, self._writer.write_note(spot, checked, overwrite, self._now))

    def _pinned(self, spot: Spot, done: Done) -> Done:
        self.guard.workspace = spot.workspace
        return done

    def _titled(self, title: str) -> str:
        title = self._redact(title)
        slug, same = slugify(title), self._of_today(title)
        if same:
            return same.path.rpartition("/")[0]
        if slug is None:
            raise ToolRefused(
                f"{title!r:.80} is no title of a task: give a few words such as 'fix the login'"
            )
        return f"{DAILY}/{self._today}/{folder_name(slug, self._agent)}"

    def _of_today(self, title: str) -> EventHead | None:
        """Today's event of a title."""
        heads = self._writer.of_day(self._today) if title else []
        return next((head for head in heads if fold(head.title) == fold(title)), None)

    def _field(self, key: str, value: object) -> str:
        """A field's value as it is written."""
        if key.casefold() in OWNED:
            raise ToolRefused(f"{key!r} is kept by itself and cannot be set: leave it out")
        if not _KEY.fullmatch(key):
            raise ToolRefused(f"{key!r:.80} is no name for a field: use letters, digits, '-' and '_'")
        if not isinstance(value, (str, int, float)):
            raise ToolRefused(f"the value of {key!r} is no text, and nothing can be removed: give a text")
        if key == "status":
            return check_status(str(value))
        limits = {"title": TITLE_CHARS, "description": DESCRIPTION_CHARS}
        text = one_line(self._redact(clean(str(value)[:NOTE_CHARS])), limits.get(key, _FIELD_CHARS))
        if key in limits and not text:
            raise ToolRefused(f"the {key} is empty: give one or two sentences, or leave it out")
        return text

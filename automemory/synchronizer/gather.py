"""What a run begins with: the conversation, the workspace that is meant, and what the vault holds of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

from automemory.errors import ConfigError, PathEscape, VaultError
from automemory.message import Message, shown
from automemory.synchronizer.transcript import spoken
from automemory.vault import note, sections
from automemory.vault.disk import Disk
from automemory.vault.event import EventHead
from automemory.vault.layout import DAILY, fold, folder_name, parse_link, safe_path
from automemory.vault.naming import slugify
from automemory.vault.reader import Reader

_FILES, _EVENTS = 100, 20
_FOLDER = re.compile(rf"{DAILY}/(\d{{4}}-\d\d-\d\d)/([^/]+)(?:/[^/]*)?")


@dataclass(frozen=True, slots=True)
class Gathered:
    """What the model is told, unbounded and unmasked.

    Attributes:
        now: The time, in the vault's zone.
        messages: What was said and done.
        title: What the caller calls the task; empty if it does not.
        folder: The workspace, `daily/<date>/<name>/`; empty if the model is to choose.
        note: The workspace's note without its turns; empty if there is none yet.
        before: The note of an earlier day that a new one goes on from, as far as it is known; or empty.
        files: What else is in the folder, with sizes.
        today: Today's events.
        candidates: Active events of earlier days, newest first.
        agent: The agent's id, or empty.
    """

    now: datetime
    messages: tuple[Message, ...]
    title: str = ""
    folder: str = ""
    note: str = ""
    before: str = ""
    files: tuple[str, ...] = ()
    today: tuple[EventHead, ...] = ()
    candidates: tuple[EventHead, ...] = ()
    agent: str = ""


class Gatherer:
    """Reads the vault for a run; never writes.

    Args:
        vault: The vault's folder, which need not exist.
        agent: The agent's id, or empty.
        window_days: How many days back an event can be gone on with.
    """

    def __init__(self, vault: Path, agent: str, window_days: int) -> None:
        self._vault = vault
        self._agent = agent
        self._window_days = window_days

    def gather(self, messages: Any, hint: str | None, active: str | None, now: datetime) -> Gathered:
        """Everything a run begins with.

        Args:
            messages: The conversation.
            hint: What the caller says of the workspace: a task's title, or a path `daily/<date>/<slug>/`.
            active: Vault path of the active event's note, which is meant where there is no hint.
            now: The time, in the vault's zone.

        Raises:
            ConfigError: if the hint is a path but not that of a workspace, or something is no message.
        """
        said = tuple(spoken(messages))
        today, candidates = self._events(now.date())
        title, folder = self._workspace(hint, active, now.date(), [*today, *candidates])
        text = self.read(note_path(folder))
        before = "" if text or not folder else self._before(folder, title, candidates)
        return Gathered(
            now,
            said,
            title,
            folder,
            text or "",
            before,
            tuple(self._files(folder)) if folder else (),
            tuple(today[:_EVENTS]),
            tuple(candidates[:_EVENTS]),
            self._agent,
        )

    def read(self, path: str, *, include_turns: bool = False) -> str | None:
        """A note as it is on disk, without its turns unless wanted; None if it is not there."""
        disk = self._disk()
        try:
            data = disk.read(path) if disk and path else None
        except (PathEscape, VaultError):
            return None
        if data is None:
            return None
        text = data.decode("utf-8-sig", "replace").replace("\r\n", "\n")
        return text if include_turns else text[: note.turns_start(text)].rstrip() + "\n"

    def _events(self, today: date) -> tuple[list[EventHead], list[EventHead]]:
        """The agent's events of today, and its active ones of the days before, newest first."""
        if not self._vault.is_dir():
            return [], []
        since = str(today - timedelta(days=self._window_days))
        heads = Reader(self._vault).events(since=since, until=str(today), agent=self._agent)
        earlier = [head for head in heads if head.date < str(today) and head.status == "active"]
        return [head for head in heads if head.date == str(today)], earlier[::-1]

    def _workspace(
        self, hint: str | None, active: str | None, today: date, heads: list[EventHead]
    ) -> tuple[str, str]:
        """What the caller calls the task, and its folder."""
        if hint is not None and not isinstance(hint, str):
            raise ConfigError(f"workspace={shown(hint)}: give a task's title, or a path daily/<date>/<slug>/")
        words = " ".join((hint or "").split())
        path = parse_link(words) if words.startswith("[[") else words
        if path and path.startswith(f"{DAILY}/"):
            return "", self._named(path, today, heads)
        if words:
            return words, titled(words, heads, today, self._agent)
        return "", folder_of(active) if active and self.read(active) is not None else ""

    def _named(self, path: str, today: date, heads: list[EventHead]) -> str:
        """The folder that a path means: itself today, or while it is open; else its heir of today."""
        match = _FOLDER.fullmatch(path)
        try:
            day = date.fromisoformat(match[1]) if match and safe_path(path) else None
        except (ValueError, PathEscape):
            day = None
        if match is None or day is None:
            raise ConfigError(f"workspace={path!r}: give a task's title, or a path daily/<date>/<slug>/")
        head = next((h for h in heads if h.date == match[1] and fold(h.name) == fold(match[2])), None)
        if head and (day == today or head.open):
            return folder_of(head.path)
        name = head.name if head else match[2]
        slug = slugify(name.removeprefix(f"{self._agent}_") if self._agent else name)
        if day == today and self._exists(f"{DAILY}/{today}/{name}"):
            return f"{DAILY}/{today}/{name}/"
        if slug is None:
            raise ConfigError(f"workspace={path!r}: {name!r} names nothing, give it letters or digits")
        return f"{DAILY}/{today}/{folder_name(slug, self._agent)}/"

    def _before(self, folder: str, title: str, candidates: list[EventHead]) -> str:
        """The sections that a new note takes over from an event of an earlier day."""
        name = folder.rstrip("/").rsplit("/", 1)[-1]
        for head in candidates:
            if fold(head.name) == fold(name) or (title and fold(head.title) == fold(title)):
                text = self.read(head.path) or ""
                there = sections.parse(text)
                kept = [f"## {name}\n{there[name]}" for name in ("Objective", "Plan") if there.get(name)]
                lines = [f"title: {head.title}", *kept]
                return "\n".join(lines)
        return ""

    def _files(self, folder: str) -> list[str]:
        """What is in a workspace besides its note: names of files of any type, with sizes in bytes."""
        disk = self._disk()
        if disk is None:
            return []
        own = note_path(folder).rsplit("/", 1)[-1]
        found = []
        try:
            for name in sorted(disk.entries(folder.rstrip("/"))):
                if not name.startswith(".") and fold(name) != fold(own):
                    signature = disk.signature(folder + name)
                    found.append(f"{name} ({signature.size} bytes)" if signature else name)
        except VaultError:
            return found
        return found[:_FILES]

    def _exists(self, folder: str) -> bool:
        disk = self._disk()
        return disk is not None and disk.signature(folder) is not None

    def _disk(self) -> Disk | None:
        return Disk(self._vault, sync=False) if self._vault.is_dir() else None


def titled(title: str, heads: Sequence[EventHead], today: date, agent: str) -> str:
    """The folder of a task of this title: the one it has today, else today's by the name it had before.

    Empty if no name can be made of the title.
    """
    slug = slugify(title)
    known = [h for h in heads if fold(h.title) == fold(title) or (slug and fold(h.slug) == fold(slug))]
    if known and known[0].date == str(today):
        return folder_of(known[0].path)
    name = known[0].slug if known else slug
    return f"{DAILY}/{today}/{folder_name(name, agent)}/" if name else ""


def folder_of(path: str) -> str:
    """The folder of a note's vault path, with a slash at its end."""
    return path.rpartition("/")[0] + "/"


def note_path(folder: str) -> str:
    """The vault path of a workspace's summary note; empty if there is no folder."""
    if not folder:
        return ""
    name = folder.rstrip("/").rsplit("/", 1)[-1]
    return f"{folder.rstrip('/')}/{name}.md"

"""Where a model's path leads, and whether the tools may go there. What may not is refused with advice."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from pathlib import PurePosixPath

from automemory.errors import ConfigError, PathEscape, ToolRefused
from automemory.vault.disk import Disk
from automemory.vault.files import portable
from automemory.vault.layout import DAILY, DAY, fold, folder_name, safe_path
from automemory.vault.naming import slugify

_UNPORTABLE = re.compile(r'[<>:"|?*%]|[. ]$')
_MOST_BYTES = 160


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in a workspace that may be written to.

    Attributes:
        day: The day folder's date.
        folder: The workspace's folder name.
        name: The file's name.
        exists: Whether the folder is there.
    """

    day: str
    folder: str
    name: str
    exists: bool

    @property
    def workspace(self) -> str:
        """The workspace's vault path, without a slash at its end."""
        return f"{DAILY}/{self.day}/{self.folder}"

    @property
    def path(self) -> str:
        return f"{self.workspace}/{self.name}"

    @property
    def note(self) -> str:
        """The vault path of the workspace's summary note."""
        return f"{self.workspace}/{self.folder}.md"

    @property
    def is_note(self) -> bool:
        return fold(self.name) == fold(f"{self.folder}.md")


class PathGuard:
    """Checks paths against a vault.

    Args:
        disk: The vault.
        agent: The agent's id, or empty.
        workspace: The folder that all writing is confined to, `daily/<date>/<name>`; empty if it is not yet.
    """

    def __init__(self, disk: Disk, agent: str, workspace: str) -> None:
        self._disk = disk
        self._agent = agent
        self.workspace = workspace

    def visible(self, path: object) -> str:
        """The vault path of something that may be read, links followed; empty for the vault itself.

        Raises:
            ToolRefused: if it leads out of the vault or is hidden.
        """
        text = _text(path)
        if text in {"", ".", "./"}:
            return ""
        try:
            given = str(safe_path(text))
            real = self._real(given)
            return given if real == given else str(safe_path(real))
        except PathEscape as error:
            raise ToolRefused(f"{error}. Paths are relative to the vault") from error

    def writable(self, path: object, today: str) -> Spot:
        """The place of a Markdown file that may be written.

        Args:
            path: What the model gave.
            today: The vault's date, which unconfined writing is limited to.

        Raises:
            ToolRefused: if it is no file of a workspace, or of one that is not this run's.
        """
        asked = self.visible(path)
        example = f"{self.workspace or f'{DAILY}/{today}/<slug>'}/<name>.md"
        parts = asked.split("/")
        if parts[0] != DAILY:
            raise ToolRefused(f"{asked!r} is outside daily/, where nothing is written: write {example!r}")
        if len(parts) == 2 and DAY.fullmatch(parts[1].removesuffix(".md")):
            raise ToolRefused(f"{asked!r} is a day index, which is kept by itself: write {example!r}")
        if len(parts) != 4 or not _is_day(parts[1]):
            better = self._suggested(parts, today)
            raise ToolRefused(f"{asked!r} is no file of a workspace folder: write {better!r}")
        if not parts[3].endswith(".md"):
            raise ToolRefused(f"{asked!r} is no Markdown file, others are not written: let it end in '.md'")
        spot = self._spot(*parts[1:])
        self._check(spot, today)
        return spot

    def _check(self, spot: Spot, today: str) -> None:
        own = self.workspace
        if own and fold(spot.workspace) != fold(own):
            raise ToolRefused(f"{spot.workspace!r} is not this run's workspace: write in {own!r}")
        if not own and spot.day != today:
            better = f"{DAILY}/{today}/{spot.folder}/{spot.folder}.md"
            raise ToolRefused(f"{spot.path!r} is of another day, which is not changed: write {better!r}")
        if not spot.exists and spot.day != today:
            raise ToolRefused(f"{spot.workspace!r} is not there, and {spot.day} is over: write under {today}")
        new = ([] if spot.exists else [spot.folder]) + ([] if spot.is_note else [spot.name])
        for name in new:
            if _UNPORTABLE.search(name) or len(name.encode()) > _MOST_BYTES:
                raise ToolRefused(f"{name!r} cannot be a name everywhere: use up to 50 letters, digits, '-'")

    def _spot(self, day: str, folder: str, name: str) -> Spot:
        """The place in a folder that is there, else in one whose name is a slug."""
        names = {fold(name): name for name in self._disk.names(f"{DAILY}/{day}")}
        there = names.get(fold(folder))
        own = there or folder
        if there is None and fold(f"{DAILY}/{day}/{folder}") != fold(self.workspace):
            made = self._named(folder)
            there = names.get(fold(made))
            own = there or made
        is_note = fold(name.removesuffix(".md")) in {fold(folder), fold(own)}
        return Spot(day, own, f"{own}.md" if is_note else name, there is not None)

    def _named(self, folder: str) -> str:
        """The folder's name as the library would make it."""
        slug = slugify(folder.removeprefix(f"{self._agent}_") if self._agent else folder)
        if slug is None:
            raise ToolRefused(f"{folder!r} is no name for a task: use a few words such as 'fix-login'")
        return folder_name(slug, self._agent)

    def _suggested(self, parts: list[str], today: str) -> str:
        if self.workspace:
            name = self.workspace.rpartition("/")[2]
            return f"{self.workspace}/{name}.md"
        stem = PurePosixPath(parts[-1]).stem if len(parts) > 2 else ""
        slug = slugify(stem) or "<slug>"
        return f"{DAILY}/{today}/{slug}/{slug}.md"

    def _real(self, path: str) -> str:
        """A vault path with links followed. `daily` itself may be one."""
        real = self._disk.resolve(path)
        for top, place in ((f"{DAILY}/", self._disk.resolve(DAILY)), ("", self._disk.root.resolve())):
            if place in real.parents:
                return top + portable(real.relative_to(place).as_posix())
        return path


def workspace_folder(path: str) -> str:
    """A workspace's folder, `daily/<date>/<name>`, from what a caller gave.

    Raises:
        ConfigError: if it is none.
    """
    parts = path.strip().strip("/").split("/")
    try:
        good = len(parts) == 3 and parts[0] == DAILY and _is_day(parts[1]) and safe_path("/".join(parts))
    except PathEscape:
        good = False
    if not good:
        raise ConfigError(f"workspace={path!r} is no folder of an event: give 'daily/<date>/<name>/'")
    return "/".join(parts)


def _text(path: object) -> str:
    if not isinstance(path, str):
        raise ToolRefused(f"path {path!r:.80} is no text: give a path such as 'daily/2026-05-28'")
    try:
        path.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ToolRefused(f"path {path!r:.80} is no valid text: give a path in plain characters") from error
    if len(path) > 1_000:
        raise ToolRefused("the path is longer than 1000 characters: give a path such as 'daily/2026-05-28'")
    return path.strip()


def _is_day(name: str) -> bool:
    try:
        return bool(DAY.fullmatch(name) and date.fromisoformat(name))
    except ValueError:
        return False

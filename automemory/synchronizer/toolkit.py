"""The tools of the synchronizer's model: a vault to look at, and one workspace in it to write.

What may be done is decided by code, never by the model: `guarded_vault.py` and what it uses.
"""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from automemory.decision import cut_middle
from automemory.errors import AutoMemoryError, ConfigError, ToolRefused, VaultError
from automemory.intake import zone_of
from automemory.redact import make_redactor
from automemory.synchronizer.guarded_vault import GuardedVault
from automemory.synchronizer.paths import workspace_folder
from automemory.synchronizer.section_patch import SectionPatch
from automemory.synchronizer.writing import Done, How
from automemory.vault.event import EventHead
from automemory.vault.files import whole_path
from automemory.vault.naming import check_agent_id
from automemory.vault.store import Store

if TYPE_CHECKING:
    import builtins

    from langchain_core.tools import BaseTool

__all__ = ["SectionPatch", "ToolRecord", "ToolRefused", "VaultToolkit"]

_SHOWN = 160
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ToolRecord:
    """A call of a tool, as it came out.

    Attributes:
        tool: `list`, `stat`, `read`, `write`, `property:read` or `property:update`.
        arguments: What it was called with, shortened, secrets masked.
        ok: Whether it was done.
        result: What was told, shortened, or why it was refused.
        path: The vault path that was written; empty if nothing was.
        how: `created`, `inherited` or `updated` for a summary note, `material` for a file beside it.
    """

    tool: str
    arguments: dict[str, Any]
    ok: bool
    result: str
    path: str = ""
    how: How = ""


class VaultToolkit:
    """Six tools over a vault, for one run of the synchronizer.

    Nothing can be deleted, and nothing outside one workspace can be written: the one given, else that of the
    first summary note of today that is written. Every method has an async twin with the prefix `a`.

    Args:
        vault: The vault's folder; made if it does not exist.
        agent_id: Whose events may be written; those without an agent if None.
        timezone: IANA name of the vault's zone; the host's zone if None.
        inherit_window_days: How many days back a new note may go on from an event.
        workspace: The folder the run is confined to, `daily/<date>/<name>/`.
        store: The opened vault, if there is one; it is not closed.
        redact: Masks what the built-in detectors do not know.
        clock: Gives the time.

    Raises:
        ConfigError: if an argument makes no sense.
    """

    def __init__(
        self,
        vault: str | os.PathLike[str],
        *,
        agent_id: str | None = None,
        timezone: str | None = None,
        inherit_window_days: int = 7,
        workspace: str | None = None,
        store: Store | None = None,
        redact: Callable[[str], str] | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now().astimezone(),
    ) -> None:
        if inherit_window_days < 0:
            raise ConfigError(f"inherit_window_days={inherit_window_days}: give 0 or more days")
        self._root = whole_path(vault)
        self._agent = check_agent_id(agent_id) if agent_id else ""
        self._zone = zone_of(timezone)
        self._window_days = inherit_window_days
        self._workspace = workspace_folder(workspace) if workspace else ""
        self._store = store
        self._redact = make_redactor(redact)
        self._clock = clock
        self._mutex = threading.RLock()
        self._guarded: GuardedVault | None = None
        self._close: Callable[[], object] | None = None
        self._records: builtins.list[ToolRecord] = []

    @property
    def records(self) -> tuple[ToolRecord, ...]:
        """Everything that was called so far, refused calls included."""
        return tuple(self._records)

    @property
    def workspace(self) -> str:
        """The folder that writing is confined to, with a slash at its end; empty as long as it is not."""
        folder = self._guarded.guard.workspace if self._guarded else self._workspace
        return f"{folder}/" if folder else ""

    def renew(self, workspace: str | None = None) -> None:
        """Begin another run: without records, confined to `workspace` or to what will be written first."""
        with self._mutex:
            self.close()
            self._records = []
            self._workspace = workspace_folder(workspace) if workspace else ""

    def close(self) -> None:
        """Let go of the vault, if it was opened here; the next call opens it again."""
        with self._mutex:
            if self._guarded:
                self._workspace = self._guarded.guard.workspace
            if self._close:
                self._close()
            self._guarded = self._close = None

    def list(self, path: str = ".", recursive: bool = False) -> builtins.list[str]:
        """The vault paths of what is in a folder, folders with a slash at their end; hidden names are not.

        Raises:
            VaultError: if there is no such folder, or the path leads out of the vault.
        """
        arguments = {"path": path, "recursive": recursive}
        return self._look("list", arguments, lambda vault: vault.list(path, recursive))

    def stat(self, path: str) -> dict[str, Any]:
        """What lies at a path: its kind (`file`, `folder` or `nothing`), size in bytes, last change.

        Raises:
            VaultError: if the path leads out of the vault.
        """
        return self._look("stat", {"path": path}, lambda vault: vault.stat(path))

    def read(self, path: str) -> str:
        """A text file, its beginning if it is long, with secrets masked.

        Raises:
            VaultError: if there is no such text, or the path leads out of the vault.
        """
        return self._look("read", {"path": path}, lambda vault: vault.read(path))

    def property_read(self, path: str) -> dict[str, Any]:
        """A note's frontmatter.

        Raises:
            VaultError: if there is no such note, or its frontmatter is broken.
        """
        return self._look("property:read", {"path": path}, lambda vault: vault.fields(path))

    def write(self, path: str, content: str, overwrite: bool = False, *, scope_changed: bool = False) -> str:
        """Write a summary note or a material; tells what was done.

        Args:
            path: `daily/<date>/<name>/<name>.md` for the summary note, another `.md` there for a material.
            content: The text. A summary note's sections are merged into what is there; of its frontmatter
                count title, description and status.
            overwrite: Whether a summary note that is there may be merged into. A material is never replaced:
                if its name is taken, it gets a number.
            scope_changed: Whether a new Objective stands, since the task's scope changed.

        Raises:
            VaultError: if it was refused or could not be done; the message says what to do.
        """
        arguments = {"path": path, "content": content, "overwrite": overwrite}
        arguments |= {"scope_changed": True} if scope_changed else {}
        return self._change(
            "write", arguments, lambda vault: vault.write(path, content, overwrite, scope_changed)
        ).result

    def property_update(self, path: str, **fields: str) -> str:
        """Set frontmatter fields of the summary note, every other byte stays; tells what was done.

        Raises:
            VaultError: if it was refused or could not be done; the message says what to do.
        """
        arguments = {"path": path, **fields}
        return self._change("property:update", arguments, lambda vault: vault.update(path, fields)).result

    def apply_patch(self, patch: SectionPatch, workspace: str = "") -> ToolRecord:
        """Merge a patch into a workspace's summary note, which is created if it is not there.

        Args:
            patch: What is new.
            workspace: The folder, `daily/<date>/<name>/`; if empty the run's own, else made of the title.

        Returns:
            The record of it, as that of a `write`.

        Raises:
            VaultError: if it was refused or could not be done; the message says what to do.
        """
        arguments = {"path": workspace or self.workspace or patch.title, "content": ", ".join(patch.sections)}
        return self._change("write", arguments, lambda vault: vault.patch(patch, workspace))

    def recent(self) -> builtins.list[EventHead]:
        """This agent's active events of the days that can be gone on from, newest first."""
        with self._mutex:
            return self._opened().recent()

    def refuse(self, tool: str, arguments: Mapping[str, Any], reason: str) -> None:
        """Note down a call that did not get as far as its tool."""
        with self._mutex:
            self._records.append(ToolRecord(tool, self._shown(arguments), False, self._redact(reason)))

    def tools(self, *, read_only: bool = False) -> builtins.list[BaseTool]:
        """The six tools for LangChain, or the four that read. A refusal is a tool message, no exception."""
        from automemory.synchronizer.langchain_tools import make_tools

        return make_tools(self, read_only=read_only)

    async def alist(self, path: str = ".", recursive: bool = False) -> builtins.list[str]:
        """See `list`."""
        return await asyncio.to_thread(self.list, path, recursive)

    async def astat(self, path: str) -> dict[str, Any]:
        """See `stat`."""
        return await asyncio.to_thread(self.stat, path)

    async def aread(self, path: str) -> str:
        """See `read`."""
        return await asyncio.to_thread(self.read, path)

    async def aproperty_read(self, path: str) -> dict[str, Any]:
        """See `property_read`."""
        return await asyncio.to_thread(self.property_read, path)

    async def awrite(
        self, path: str, content: str, overwrite: bool = False, *, scope_changed: bool = False
    ) -> str:
        """See `write`."""
        return await asyncio.to_thread(self.write, path, content, overwrite, scope_changed=scope_changed)

    async def aproperty_update(self, path: str, **fields: str) -> str:
        """See `property_update`."""
        return await asyncio.to_thread(lambda: self.property_update(path, **fields))

    async def aapply_patch(self, patch: SectionPatch, workspace: str = "") -> ToolRecord:
        """See `apply_patch`."""
        return await asyncio.to_thread(self.apply_patch, patch, workspace)

    def _look(self, tool: str, arguments: dict[str, Any], look: Callable[[GuardedVault], T]) -> T:
        with self._mutex:
            found = self._tried(tool, arguments, look)
            told = _short(self._redact(_told(found)))
            self._records.append(ToolRecord(tool, self._shown(arguments), True, told))
            return found

    def _change(
        self, tool: str, arguments: dict[str, Any], change: Callable[[GuardedVault], Done]
    ) -> ToolRecord:
        with self._mutex:
            done = self._tried(tool, arguments, change)
            record = ToolRecord(tool, self._shown(arguments), True, done.told, done.path, done.how)
            self._records.append(record)
            return record

    def _tried(self, tool: str, arguments: dict[str, Any], work: Callable[[GuardedVault], T]) -> T:
        try:
            return work(self._opened())
        except (AutoMemoryError, OSError, ValueError) as error:
            known = isinstance(error, VaultError)
            reason = self._redact(str(error)) if known else f"{tool} is not possible: {error}"
            self.refuse(tool, arguments, reason)
            if known and not isinstance(error, ToolRefused):
                raise
            raise ToolRefused(reason) from error

    def _opened(self) -> GuardedVault:
        if self._guarded is None:
            store = self._store or Store(self._root)
            if self._store is None:
                self._close = weakref.finalize(self, store.close)
            self._guarded = GuardedVault(
                store, self._agent, self._zone, self._window_days, self._workspace, self._redact, self._clock
            )
        return self._guarded

    def _shown(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return {
            _short(str(key)): value if isinstance(value, bool) else _short(self._redact(str(value)[:4_000]))
            for key, value in arguments.items()
        }


def _told(found: object) -> str:
    return ", ".join(found) if isinstance(found, list) else str(found)


def _short(text: str) -> str:
    return cut_middle(text, _SHOWN)

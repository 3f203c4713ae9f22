"""What the tools show of a vault: bounded, and with secrets masked."""

from __future__ import annotations

import mimetypes
from collections.abc import Callable, Iterator
from datetime import datetime
from itertools import islice
from typing import Any
from zoneinfo import ZoneInfo

from automemory.errors import ToolRefused
from automemory.intake import local_time
from automemory.vault import frontmatter
from automemory.vault.disk import Disk
from automemory.vault.file_operations import unwritable

MOST_CHARS, MOST_NAMES = 20_000, 200
_MOST_BYTES = 4 * MOST_CHARS
_DEPTH = 8


class Browser:
    """Reads for a model. Paths are visible ones, as `PathGuard.visible` gives them.

    Args:
        disk: The vault.
        zone: The vault's zone; the host's if None.
        redact: Masks secrets.
    """

    def __init__(self, disk: Disk, zone: ZoneInfo | None, redact: Callable[[str], str]) -> None:
        self._disk = disk
        self._zone = zone
        self._redact = redact

    def list(self, path: str, recursive: bool) -> list[str]:
        """The vault paths of what is in a folder, folders with a slash at their end; at most `MOST_NAMES`.

        Raises:
            ToolRefused: if there is no such folder.
        """
        place = self._disk.resolve(path) if path else self._disk.root.resolve()
        if place.is_file():
            raise ToolRefused(f"{path!r} is a file: read it, or list the folder it is in")
        if not place.is_dir():
            raise ToolRefused(f"there is no folder {path!r} yet: list 'daily' to see which there are")
        found = self._walk(path, _DEPTH if recursive else 1)
        names = [self._redact(name) for name in islice(found, MOST_NAMES)]
        return [*names, "… (more: list a folder further down)"] if next(found, None) else names

    def stat(self, path: str) -> dict[str, Any]:
        """Kind (`file`, `folder` or `nothing`), size in bytes and time of the last change."""
        place = self._disk.resolve(path) if path else self._disk.root.resolve()
        with unwritable(path):
            if not place.exists():
                return {"path": path, "kind": "nothing"}
            status = place.stat()
        changed = local_time(datetime.fromtimestamp(status.st_mtime).astimezone(), self._zone)
        kind = "folder" if place.is_dir() else "file"
        size = {} if kind == "folder" else {"size": status.st_size}
        return {"path": path, "kind": kind, **size, "changed": changed.isoformat(timespec="minutes")}

    def read(self, path: str) -> str:
        """A file's text, its beginning if it is long.

        Raises:
            ToolRefused: if there is no such file, or it is no text.
        """
        data, size = self._head(path)
        if b"\0" in data:
            kind = mimetypes.guess_type(path)[0] or "binary"
            raise ToolRefused(
                f"{path!r} is no text ({kind}, {size} bytes): use stat, and name it as a material"
            )
        text = self._redact(data.decode("utf-8-sig", "replace").replace("\r\n", "\n"))
        if len(text) <= MOST_CHARS and size <= _MOST_BYTES:
            return text
        return f"{text[:MOST_CHARS]}\n\n… (cut: {path} is {size} bytes long, this is its beginning)"

    def fields(self, path: str) -> dict[str, Any]:
        """A note's frontmatter.

        Raises:
            ToolRefused: if there is no such file, or its frontmatter is broken.
        """
        front = frontmatter.read(self._head(path)[0].decode("utf-8", "replace"))
        if front.error:
            raise ToolRefused(f"the frontmatter of {path!r} is broken ({front.error}): use read instead")
        return {self._redact(key): self._masked(value) for key, value in front.fields.items()}

    def _masked(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._masked(item) for item in value]
        if isinstance(value, dict):
            return {key: self._masked(item) for key, item in value.items()}
        return self._redact(value)[:MOST_CHARS] if isinstance(value, str) else value

    def _head(self, path: str) -> tuple[bytes, int]:
        """The first bytes of a file, and its size."""
        place = self._disk.resolve(path) if path else self._disk.root.resolve()
        if place.is_dir():
            raise ToolRefused(f"{path or '.'!r} is a folder: use list")
        found, data = self._disk.signature(path), self._disk.read(path, _MOST_BYTES)
        if found is None or data is None:
            raise ToolRefused(f"there is no file {path!r} yet: use list to see which there are")
        return data, found.size

    def _walk(self, path: str, depth: int) -> Iterator[str]:
        above = f"{path}/" if path else ""
        folders = set(self._disk.names(path))
        for name in sorted(self._disk.entries(path)):
            if name.startswith(".") or not self._disk.holds(above + name):
                continue
            yield f"{above}{name}/" if name in folders else above + name
            if name in folders and depth > 1 and self._disk.is_plain(above + name):
                yield from self._walk(above + name, depth - 1)

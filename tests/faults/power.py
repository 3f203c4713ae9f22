"""What is left of a folder when the power goes: only what was synced.

The hardest reading of POSIX: a file holds what its last `fsync` saw (nothing, if it had none), a folder lists
what its own last `fsync` saw. `state.db` stands as after its last synced transaction.
"""

from __future__ import annotations

import os
from collections import defaultdict
from itertools import count
from pathlib import Path

HOME = ".automemory"


class Durable:
    """Follows what is durable below a folder. Linux only: it asks `/proc` what a descriptor means."""

    def __init__(self, folder: str, before: str = "") -> None:
        """Start with all that lies in `folder`; or with what `before`, an earlier image, holds."""
        self.folder, source = Path(folder), Path(before or folder)
        self.image = self.folder.with_name(f"{source.name}-durable")
        self._numbers = count()
        self._ids: dict[int, int] = defaultdict(
            lambda: next(self._numbers)
        )  # an inode is used again, an id not
        self._files: dict[int, bytes] = {}
        self._names: dict[Path, dict[str, int | None]] = {}
        self._state: dict[str, bytes] = {}
        for place, folders, files in os.walk(source):
            here = self.folder / Path(place).relative_to(source)
            ids = {name: self._known(here / name, Path(place, name).read_bytes()) for name in files}
            self._names[here] = dict.fromkeys(folders) | ids
        self.state_synced(source)

    def created(self, descriptor: int) -> None:
        self._ids[os.fstat(descriptor).st_ino] = next(self._numbers)

    def moved(self, source: Path, target: Path) -> None:
        """A folder takes along what is durable in it, whether or not its new name is."""
        for place in [p for p in self._names if p == source or source in p.parents]:
            self._names[target / place.relative_to(source)] = self._names[place]

    def synced(self, descriptor: int) -> None:
        place = Path(f"/proc/self/fd/{descriptor}").readlink()
        self._list(place) if place.is_dir() else self._read(place)

    def state_synced(self, source: Path | None = None) -> None:
        places = (source or self.folder).rglob(f"{HOME}/state.db*")
        self._state = {place.name: place.read_bytes() for place in places if place.suffix != ".db-shm"}

    def write(self) -> None:
        """Put what is durable into `image`, a folder beside."""
        self._write(self.folder, self.image)

    def _known(self, place: Path, data: bytes) -> int:
        """The id of a file that is synced with this content, which is no longer the one in place perhaps."""
        same = place.exists() and place.read_bytes() == data
        id = self._ids[place.stat().st_ino] if same else next(self._numbers)
        self._files[id] = data
        return id

    def _list(self, place: Path) -> None:
        self._names[place] = {e.name: None if e.is_dir() else self._ids[e.inode()] for e in os.scandir(place)}

    def _read(self, place: Path) -> None:
        self._files[self._ids[place.stat().st_ino]] = place.read_bytes()

    def _write(self, place: Path, to: Path) -> None:
        to.mkdir()
        if place.name == HOME:
            for found, data in self._state.items():
                (to / found).write_bytes(data)
        for name, id in self._names.get(place, {}).items():
            if id is None:
                self._write(place / name, to / name)
            elif not name.startswith("state.db"):
                (to / name).write_bytes(self._files.get(id, b""))

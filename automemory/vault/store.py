"""An opened vault: its disk, its state, its catalogue and its committer, made together."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from automemory.errors import PathEscape, Unwritable, VaultError
from automemory.vault.disk import PROBE, Disk
from automemory.vault.file_operations import unwritable, write_all
from automemory.vault.state import State

if TYPE_CHECKING:
    from automemory.vault.catalog import Catalog
    from automemory.vault.commit import Committer

HOME = ".automemory"


def home(root: Path) -> Path:
    """The folder in a vault that the library keeps its own files in; it may not be there yet.

    Raises:
        PathEscape: if it, or a file in it, is a symbolic link: what is kept there has to stay in the vault.
    """
    folder = root / HOME
    with unwritable(str(folder)):
        for place in (folder, *(folder.iterdir() if folder.is_dir() else ())):
            if place.is_symlink():
                raise PathEscape(
                    f"{str(place)!r} is a symbolic link to {os.path.realpath(place)!r}: "
                    "put one of the vault's own there"
                )
    return folder


class Store:
    """A vault that can be written.

    Args:
        root: The vault's folder; made if it does not exist.
        sync: Whether everything promised is synced to the disk first.
        lock_timeout_s: Longest wait for the vault's lock, in seconds.

    Raises:
        PathEscape: if what the library keeps in it lies elsewhere.
        Unwritable: if the folder or its `state.db` cannot be made.
    """

    def __init__(self, root: Path, *, sync: bool = True, lock_timeout_s: float = 10.0) -> None:
        self.root = root
        self._lock_timeout_s = lock_timeout_s
        self._loading = threading.RLock()
        self._catalog: Catalog | None = None
        self._committer: Committer | None = None
        self.disk = Disk(root, sync=sync)
        self.state = State(home(root), sync=sync)
        self.disk.sync_folders()
        with suppress(VaultError):
            self.disk.remove_temporary("daily/probe", PROBE)
        if self.state.has_plans():
            self.committer.recover()
        if not self.state.indexed():
            self.catalog.index_all()
        self._read_tombstones()

    @property
    def catalog(self) -> Catalog:
        """The events; loaded when they are asked for, since storing a turn asks for none."""
        with self._loading:
            if self._catalog is None:
                from automemory.vault.catalog import Catalog

                self._catalog = Catalog(self.disk, self.state)
            return self._catalog

    @property
    def committer(self) -> Committer:
        """What changes the notes; loaded when one is to be changed."""
        with self._loading:
            if self._committer is None:
                from automemory.vault.commit import Committer

                given = (self.disk, self.state, self.catalog)
                self._committer = Committer(*given, lock_timeout_s=self._lock_timeout_s)
            return self._committer

    def exclude(self, id: str, stream: str, first: str) -> None:
        """Never record this turn (`first` is its first fingerprint), whoever hands it in again."""
        self.exclude_all([(id, stream, first)])

    def exclude_all(self, turns: Sequence[tuple[str, str, str]]) -> None:
        """As `exclude`, for turns given by id, stream and first fingerprint."""
        lines = "".join(f"{id}\t{first}\t{stream}\n" for id, stream, first in turns)
        try:
            descriptor = os.open(self._tombstones, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                size = os.fstat(descriptor).st_size
                os.lseek(descriptor, max(0, size - 1), os.SEEK_SET)
                torn = os.read(descriptor, 1) not in (b"", b"\n")  # a line was cut off when it was written
                write_all(descriptor, b"\n" * torn + lines.encode("utf-8", "replace"))
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise Unwritable(
                f"{str(self._tombstones)!r} cannot be written ({error.strerror}): check the disk"
            ) from error
        self._read_tombstones()

    def close(self) -> None:
        self.state.close()

    @property
    def _tombstones(self) -> Path:
        return self.root / HOME / "tombstones"

    def _read_tombstones(self) -> None:
        """Bring the excluded turns into the index, which may be newer or older than the file."""
        try:
            with unwritable(str(self._tombstones)):
                lines = self._tombstones.read_bytes().decode("utf-8", "replace").split("\n")
        except FileNotFoundError:
            return
        for line in lines:
            id, _, rest = line.partition("\t")
            first, _, stream = rest.partition("\t")
            known = self.state.turn(id) if stream else None
            if stream and (known is None or known.state != "excluded"):
                self.state.exclude(id, stream, first)

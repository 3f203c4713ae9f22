"""The files of saved conversations: those named, those in folders, and those within zip archives."""

from __future__ import annotations

import io
import lzma
import os
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from automemory.errors import ImportFailed

_DAMAGED = (OSError, EOFError, zipfile.BadZipFile, zlib.error, lzma.LZMAError)
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_BUFFER = 1 << 18


@dataclass(frozen=True, slots=True)
class Source:
    """A file to read.

    Attributes:
        path: The file, or the archive it is in.
        member: Its name within the archive, if it is in one.
        origin: The argument it comes from.
        size: How many bytes it has.
    """

    path: Path
    origin: Path
    size: int
    member: str = ""

    @property
    def name(self) -> str:
        return f"{self.path}/{self.member}" if self.member else str(self.path)

    @property
    def named(self) -> bool:
        """Whether it was named itself, and not found in a folder or an archive."""
        return not self.member and self.path == self.origin

    @contextmanager
    def open(
        self, on_read: Callable[[int], None], on_damage: Callable[[Exception], None]
    ) -> Iterator[BinaryIO]:
        """Open it. Where it is damaged it seems to end.

        Args:
            on_read: Is told the place in it from time to time.
            on_damage: Is told why it seems to end.

        Raises:
            ImportFailed: if it cannot be opened.
        """
        with ExitStack() as stack:
            try:
                raw: Any = stack.enter_context(self.path.open("rb", buffering=0))
                if self.member:
                    archive = stack.enter_context(zipfile.ZipFile(self.path))
                    raw = stack.enter_context(archive.open(self.member))
            except OSError as error:
                raise ImportFailed(f"cannot be read ({error.strerror or error})") from error
            except (zipfile.BadZipFile, RuntimeError, NotImplementedError, KeyError) as error:
                raise ImportFailed(f"cannot be unpacked ({error})") from error
            yield cast(
                BinaryIO, stack.enter_context(io.BufferedReader(_Watched(raw, on_read, on_damage), _BUFFER))
            )


def find_sources(arguments: Sequence[Path | str]) -> list[Source]:
    """The files to read, each once, folders in the order of their names.

    Hidden files and vaults are passed over.

    Raises:
        ImportFailed: if a folder or an archive holds no file.
    """
    found: dict[tuple[str, str], Source] = {}
    for argument in map(Path, arguments):
        files = _within(argument) if argument.is_dir() else [argument]
        for source in (source for path in files for source in _sources(path, argument)):
            key = _real(source.path), source.member
            if key not in found or source.named:
                found[key] = source
    return list(found.values())


def _within(folder: Path) -> list[Path]:
    vaults = {path.parent for path in folder.rglob(".automemory")}
    files = [
        path
        for path in sorted(path for path in folder.rglob("*") if path.is_file())
        if not _is_hidden(path.relative_to(folder).parts) and vaults.isdisjoint(path.parents)
    ]
    if not files:
        raise ImportFailed(f"{folder}: no file in this folder")
    return files


def _sources(path: Path, origin: Path) -> Iterable[Source]:
    if not _is_zip(path):
        return [Source(path, origin, _size(path))]
    try:
        with zipfile.ZipFile(path) as archive:
            inside = sorted(archive.infolist(), key=lambda info: info.filename)
    except _DAMAGED as error:
        raise ImportFailed(f"{path}: a damaged zip archive ({error})") from error
    found = [
        Source(path, origin, info.file_size, info.filename)
        for info in inside
        if not info.is_dir() and not _is_hidden(info.filename.split("/"))
    ]
    if not found:
        raise ImportFailed(f"{path}: no file in this archive")
    return found


def _is_zip(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) in _ZIP
    except OSError:
        return False  # told when it is read


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _real(path: Path) -> str:
    return os.path.realpath(path)  # does not fail where links go round in a circle


def _is_hidden(parts: Iterable[str]) -> bool:
    return any(part.startswith((".", "__MACOSX")) for part in parts)


class _Watched(io.RawIOBase):
    """A file that tells how far it is read, and ends where it cannot be read."""

    def __init__(
        self, file: Any, on_read: Callable[[int], None], on_damage: Callable[[Exception], None]
    ) -> None:
        self._file = file
        self._on_read, self._on_damage = on_read, on_damage

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0, /) -> int:
        place: int = self._file.seek(offset, whence)
        return place

    def tell(self) -> int:
        place: int = self._file.tell()
        return place

    def readinto(self, buffer: Any, /) -> int:
        try:
            count: int = self._file.readinto(buffer)
        except _DAMAGED as error:
            self._on_damage(error)
            return 0
        self._on_read(self._file.tell())
        return count

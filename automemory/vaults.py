"""One memory for many vaults: a template such as `vaults/{user_id}`, filled for each run."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from string import Formatter
from typing import Any, Generic, TypeVar

from automemory._forks import forks
from automemory.errors import ConfigError
from automemory.vault.files import whole_path
from automemory.vault.naming import safe_component

T = TypeVar("T")
OPEN = 64


class Template:
    """A folder with placeholders, each of which stands for one name or a part of one.

    Args:
        text: Such as `vaults/{user_id}`.
        plain: Whether braces in it are meant as they stand.

    Raises:
        ConfigError: if a placeholder is no plain name.
    """

    def __init__(self, text: str, *, plain: bool = False) -> None:
        self.text = text
        self.names = () if plain else _names(text)
        self._from = whole_path(".") if self.names else Path()

    def fill(self, values: Mapping[str, Any]) -> Path:
        """The folder that these values name.

        Raises:
            ConfigError: if one is missing, or cannot be one name in a path.
        """
        missing = [name for name in self.names if values.get(name) is None]
        if missing:
            raise ConfigError(
                f"vault={self.text!r} needs a value for {', '.join(missing)}: give it in the run's context, "
                "or in its configurable"
            )
        found = {name: safe_component(str(values[name])) for name in self.names}
        return self._from / Path(self.text.format(**found)).expanduser()


class Pool(Generic[T]):
    """What is open, by its key: at most `limit` of them, the longest unused are let go of first.

    Args:
        make: Opens one.
        release: Lets go of one.
        limit: How many stay open; more only while more are in use at once.
    """

    def __init__(self, make: Callable[[Path], T], release: Callable[[T], object], limit: int = OPEN) -> None:
        self._make = make
        self._release = release
        self._limit = limit
        self._mutex = forks.lock()
        self._open: OrderedDict[Path, tuple[T, int]] = OrderedDict()

    @contextmanager
    def use(self, key: Path) -> Iterator[T]:
        """One of them, which stays open meanwhile."""
        with self._mutex:
            found, users = self._open.pop(key, (None, 0))
            found = self._make(key) if found is None else found
            self._open[key] = (found, users + 1)
            surplus = self._surplus()
        for old in surplus:
            self._release(old)
        try:
            yield found
        finally:
            with self._mutex:
                found, users = self._open[key]
                self._open[key] = (found, users - 1)

    def opened(self) -> list[T]:
        with self._mutex:
            return [found for found, _ in self._open.values()]

    def _surplus(self) -> list[T]:
        idle = [key for key, (_, users) in self._open.items() if not users]
        return [self._open.pop(key)[0] for key in idle[: max(0, len(self._open) - self._limit)]]


def _names(text: str) -> tuple[str, ...]:
    try:
        parts = [part for part in Formatter().parse(text) if part[1] is not None]
    except ValueError as error:
        raise ConfigError(f"vault={text!r}: {error}") from error
    if any(not (name or "").isidentifier() or spec or how for _, name, spec, how in parts):
        raise ConfigError(f"vault={text!r}: give placeholders as plain names, such as 'vaults/{{user_id}}'")
    return tuple(dict.fromkeys(name or "" for _, name, _, _ in parts))

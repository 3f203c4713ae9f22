"""Checks of arguments: what makes no sense is refused by its name and value."""

from __future__ import annotations

from collections.abc import Sequence

from automemory.errors import ConfigError


def one_of(name: str, value: object, allowed: Sequence[str]) -> None:
    """Refuse a value that is none of these.

    Raises:
        ConfigError: if it is none.
    """
    if value not in allowed:
        raise ConfigError(f"{name}={value!r}: give one of {', '.join(map(repr, allowed))}")


def above_zero(**values: float) -> None:
    """Refuse numbers that are not above 0.

    Raises:
        ConfigError: naming the first of them.
    """
    for name, value in values.items():
        if value <= 0:
            raise ConfigError(f"{name}={value!r}: give a number above 0")

"""What a check finds, as a value."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """Something in a vault that is not as it should be.

    Attributes:
        path: Where: a vault path.
        code: What kind of finding it is (`docs/vault-format.md`, section 14).
        what: What is wrong, in a sentence.
        remedy: What `doctor --fix` does about it, or what a person has to do.
        fixable: Whether `doctor --fix` does it.
        notice: Whether it is worth knowing, but no fault of the vault.
    """

    path: str
    code: str
    what: str
    remedy: str
    fixable: bool = False
    notice: bool = False


def fixable(path: str, code: str, what: str, remedy: str) -> Finding:
    return Finding(path, code, what, remedy, fixable=True)


def notice(path: str, code: str, what: str, remedy: str) -> Finding:
    return Finding(path, code, what, remedy, notice=True)

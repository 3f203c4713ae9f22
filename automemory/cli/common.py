"""What commands share: their options, their exit codes, and how an error is told."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from automemory.errors import AutoMemoryError, ConfigError, DecisionError, ImportFailed, VaultError

if TYPE_CHECKING:
    from automemory.vault.reader import Reader

UNHEALTHY, USAGE, INPUT, VAULT, MODEL, INTERRUPTED = 1, 2, 3, 4, 5, 130
_CODES = ((ConfigError, USAGE), (ImportFailed, INPUT), (VaultError, VAULT), (DecisionError, MODEL))


def _folder(given: str) -> Path:
    """A folder. An empty name, as of a shell's variable that is not set, would mean the working folder."""
    if not given:
        raise typer.BadParameter("it is empty: give a folder, or leave the option out")
    return Path(given)


Vault = Annotated[
    Path | None,
    typer.Option(parser=_folder, metavar="PATH", help="The vault's folder; else AUTOMEMORY_VAULT."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Model = Annotated[str | None, typer.Option(help="A chat model, such as openai:gpt-5-mini.")]
Decider = Annotated[str | None, typer.Option(help="auto, local, llm or cascade.")]
Granularity = Annotated[str | None, typer.Option(help="coarse, default or fine.")]
Timezone = Annotated[str | None, typer.Option(help="The vault's zone, such as Asia/Shanghai.")]
AgentId = Annotated[str | None, typer.Option(help="Names this agent among several on one vault.")]
Durability = Annotated[str | None, typer.Option(help="fsync or os: whether to wait for the disk.")]
Since = Annotated[
    datetime | None, typer.Option(formats=["%Y-%m-%d"], metavar="YYYY-MM-DD", help="From this day on.")
]
Until = Annotated[
    datetime | None, typer.Option(formats=["%Y-%m-%d"], metavar="YYYY-MM-DD", help="Up to this day.")
]
Date = Annotated[
    datetime | None,
    typer.Option(
        formats=["%Y-%m-%d"], metavar="YYYY-MM-DD", help="The day of undated conversations; else today."
    ),
]
Report = Annotated[
    Path | None, typer.Option(metavar="HTML", help="Also write a page to look at (needs automemory[report]).")
]
Ref = Annotated[str, typer.Argument(help="An event: its note's path, a link to it, date/slug, or a slug.")]


def explained(error: Exception) -> tuple[str, int]:
    """What to say of an error, and the exit code."""
    if hasattr(error, "format_message"):  # wrong usage, as Typer finds it
        return f"{error.format_message()} (see automemory --help)", USAGE
    for kind, code in _CODES:
        if isinstance(error, kind):
            return str(error), code
    if isinstance(error, AutoMemoryError):
        return str(error), 1
    return f"{type(error).__name__}: {error} (run with --debug to see where)", 1


def readable(path: Path) -> Path:
    """The path of a file that is there."""
    if not path.is_file():
        raise ImportFailed(f"{path}: no such file")
    return path


def open_reader(vault: Path | None) -> Reader:
    """A reader of the vault that is meant."""
    from automemory.settings import load_settings
    from automemory.vault.reader import Reader

    return Reader(load_settings(vault=vault).folder())


def spare(written: Path | None, read: Sequence[Path]) -> None:
    """Refuse to write over a file that is read.

    Raises:
        ConfigError: if that is meant.
    """
    if written is not None and any(written.exists() and written.samefile(p) for p in read if p.exists()):
        raise ConfigError(f"{written} is one of the files to read: write to another one")

"""Output for people and for pipes: whatever a conversation holds, and whatever the locale is."""

from __future__ import annotations

import dataclasses
import io
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from automemory.replay import Progress

# Controls, and the marks that reverse or hide text: they would act on the terminal rather than be seen.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


def prepare_streams() -> None:
    """Make sure that nothing written can fail: pipes get UTF-8, a terminal what it can show."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            encoding = stream.encoding if stream.isatty() else "utf-8"
            stream.reconfigure(encoding=encoding, errors="backslashreplace")


def visible(text: str) -> str:
    r"""A text with its control characters written out (`\x1b`); line feeds and tabs stay."""
    return _UNSEEN.sub(_written_out, text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    return " ".join(visible(text).split())


def say(text: str) -> None:
    """A line for the person, on standard error."""
    print(visible(text), file=sys.stderr)


def print_json(value: Any) -> None:
    """One JSON document on standard output."""
    text = json.dumps(value, ensure_ascii=False, indent=2, default=_plain)
    print(_UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text))


def print_text(text: str) -> None:
    print(visible(text))


def print_table(rows: Sequence[Sequence[object]], header: Sequence[str] = ()) -> None:
    """A table on a terminal, lines of tab-separated values in a pipe."""
    cells = [[one_line(str(value)) for value in row] for row in rows]
    if not sys.stdout.isatty():
        for row in [list(header), *cells] if header else cells:
            print("\t".join(row))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_header=bool(header))
    for name in header or ("",) * len(rows[0]):
        table.add_column(name, overflow="fold")
    for row in cells:
        table.add_row(*map(Text, row))
    Console(highlight=False).print(table)


@contextmanager
def progress_bar() -> Iterator[Callable[[Progress], None]]:
    """A bar with the time left, on standard error if that is a terminal."""
    if not sys.stderr.isatty():
        yield lambda progress: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=None)
        yield lambda p: bar.update(task, description=p.phase, completed=p.done, total=p.total)


def _written_out(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    dump = getattr(value, "model_dump", None)
    return dump() if dump else str(value)

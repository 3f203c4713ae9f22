"""`automemory acks` and `watch`: the resources that notes link to."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from automemory.cli import terminal
from automemory.cli.common import AsJson, Since, Until, Vault, open_reader

if TYPE_CHECKING:
    from automemory.notify import Acknowledgement

app = typer.Typer()


@app.command()
def acks(vault: Vault = None, since: Since = None, until: Until = None, as_json: AsJson = False) -> None:
    """List the resources that are acknowledged: linked to by a note under daily/, outside quoted text."""
    found = open_reader(vault).acknowledged(
        since=str(since.date()) if since else None, until=str(until.date()) if until else None
    )
    if as_json:
        terminal.print_json([_plain(ack) for ack in found])
        return
    rows = [(ack.resource, ack.date, f"{place.path}:{place.line}") for ack in found for place in ack.places]
    terminal.print_table(rows, ("resource", "first", "place"))


@app.command()
def watch(
    vault: Vault = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Begin with those that are acknowledged already.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print a line of JSON for each.")] = False,
) -> None:
    """Print resources as they are acknowledged, until Ctrl-C."""
    from automemory.notify import watch_acks
    from automemory.settings import load_settings

    found = watch_acks(load_settings(vault=vault).folder(), known=() if everything else None)
    with contextlib.suppress(KeyboardInterrupt), contextlib.closing(found):
        for ack in found:
            terminal.print_text(json.dumps(_plain(ack), default=str) if as_json else _line(ack))
            sys.stdout.flush()


def _line(ack: Acknowledgement) -> str:
    return f"{terminal.one_line(ack.resource)}\t{ack.places[0].path}:{ack.places[0].line}"


def _plain(ack: Acknowledgement) -> dict[str, Any]:
    return {"resource": ack.resource, "date": ack.date, "places": [dataclasses.asdict(p) for p in ack.places]}

"""`automemory status`, `events`, `show` and `chain`: look into a vault."""

from __future__ import annotations

import dataclasses
from typing import Annotated

import typer

from automemory.cli import output, terminal
from automemory.cli.common import AsJson, Ref, Since, Until, Vault, open_reader

app = typer.Typer()


@app.command()
def status(vault: Vault = None, as_json: AsJson = False) -> None:
    """How the vault is doing: what is open, what waits, what could not be written."""
    from automemory.settings import load_settings

    events = open_reader(vault).events()
    with load_settings(vault=vault).memory() as memory:
        found = memory.status()
    opened = [event for event in events if event.open]
    if as_json:
        terminal.print_json({**dataclasses.asdict(found), "events": len(events), "open": opened})
        return
    rows = [
        ("vault", found.vault),
        ("decider", found.decider),
        ("events", len(events)),
        ("waiting", found.waiting),
    ]
    rows += [("open", f"{event.path} (thread {event.thread})") for event in opened]
    rows += [("problem", f"{path}: {reason}") for path, reason in found.problems.items()]
    terminal.print_table(rows)


@app.command()
def events(
    vault: Vault = None,
    since: Since = None,
    until: Until = None,
    thread: Annotated[str | None, typer.Option(help="Only this conversation's.")] = None,
    status: Annotated[str | None, typer.Option(help="active or completed.")] = None,
    grep: Annotated[str | None, typer.Option(help="Only events in which this text occurs.")] = None,
    as_json: AsJson = False,
) -> None:
    """List events."""
    found = open_reader(vault).events(
        since=str(since.date()) if since else None,
        until=str(until.date()) if until else None,
        thread=thread,
        status=status,
        text=grep,
    )
    output.print_events(found, as_json)


@app.command()
def show(ref: Ref, vault: Vault = None, as_json: AsJson = False) -> None:
    """Print an event with its turns."""
    found = open_reader(vault).event(ref)
    if as_json:
        terminal.print_json(found)
        return
    output.print_event(found)


@app.command()
def chain(ref: Ref, vault: Vault = None, as_json: AsJson = False) -> None:
    """Follow an event to what it continues and to what continues it, oldest first."""
    output.print_events(open_reader(vault).chain(ref), as_json)

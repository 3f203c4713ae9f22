"""`automemory replay` and `record`: put turns into a vault."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from automemory.cli import output, terminal
from automemory.cli.common import (
    INTERRUPTED,
    MODEL,
    VAULT,
    AgentId,
    AsJson,
    Date,
    Decider,
    Durability,
    Granularity,
    Model,
    Report,
    Since,
    Timezone,
    Until,
    Vault,
    spare,
)
from automemory.errors import ConfigError, ImportFailed

if TYPE_CHECKING:
    from automemory.replay import ReplayReport
    from automemory.replay.workers import Workers
    from automemory.result import Status, TurnResult
    from automemory.settings import Settings
    from automemory.turn import Turn

app = typer.Typer()


@app.command()
def replay(
    sources: Annotated[
        list[Path], typer.Argument(help="Files of saved conversations, folders or zip archives of them.")
    ],
    vault: Vault = None,
    format: Annotated[str, typer.Option(help="The files' format, if it is not to be recognised.")] = "auto",
    model: Model = None,
    decider: Decider = None,
    granularity: Granularity = None,
    timezone: Timezone = None,
    agent_id: AgentId = None,
    date: Date = None,
    since: Since = None,
    until: Until = None,
    durability: Durability = None,
    report: Report = None,
    engine: Annotated[
        str, typer.Option(help="Where decisions are made: local, or ray (a cluster).")
    ] = "local",
    workers: Annotated[
        int | None, typer.Option(min=1, help="Conversations decided at a time; with local 1 if not given.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only read, and tell what is there.")] = False,
    as_json: AsJson = False,
) -> int:
    """Record saved conversations. Running it again adds only what is new."""
    from automemory.intake import zone_of
    from automemory.settings import load_settings

    settings = load_settings(
        vault=vault,
        model=model,
        decider=decider,
        granularity=granularity,
        timezone=timezone,
        agent_id=agent_id,
        durability=durability,
    )
    chosen: dict[str, Any] = {
        "format": format,
        "date": date and date.date(),
        "since": since and since.date(),
        "until": until and until.date(),
        "zone": zone_of(settings.timezone),
    }
    if dry_run:
        return _survey(sources, chosen, as_json)
    spare(report, sources)
    found, status = _recorded(sources, settings, chosen, report, (engine, workers))
    terminal.print_json(found.as_dict()) if as_json else output.print_report(found)
    return _told_troubles(found, status)


def _recorded(
    sources: list[Path],
    settings: Settings,
    chosen: dict[str, Any],
    report: Path | None,
    where: tuple[str, int | None],
) -> tuple[ReplayReport, Status]:
    """Record the sources, and write a page about it if one is wanted; `where` decisions are made."""
    from automemory.replay import replay as run
    from automemory.replay.workers import open_workers
    from automemory.report import page_for
    from automemory.trace import Trace, traced

    page = page_for(report)
    with (
        open_workers(settings, *where) as ahead,
        Trace() as trace,
        settings.memory(durability="os", recent_scope="stream", **_decider(ahead)) as memory,
        terminal.progress_bar() as show,
    ):

        def note(stream: str, turn: Turn, result: TurnResult) -> None:
            if report:
                trace.add(stream, traced(turn, result))

        found = run(sources, memory, **chosen, on_progress=show, on_recorded=note, workers=ahead)
        status = memory.status()
        page.write_replay(found, trace, settings)
    return found, status


def _survey(sources: list[Path], chosen: dict[str, Any], as_json: bool) -> int:
    """Print what a replay would read; the exit code."""
    from automemory.replay import survey

    with terminal.progress_bar() as show:
        seen = survey(sources, **chosen, on_progress=show)
    terminal.print_json(seen.as_dict()) if as_json else output.print_report(seen, survey=True)
    return INTERRUPTED if seen.interrupted else 0


def _told_troubles(found: ReplayReport, status: Status) -> int:
    """Tell what came between; the exit code."""
    if found.interrupted:
        terminal.say("stopped; run the same command again to go on")
        return INTERRUPTED
    if found.error:
        terminal.say(f"automemory: some turns are stored but not filed yet: {found.error}")
        return VAULT
    if fallbacks := status.counters.get("fallback", 0):
        terminal.say(f"automemory: {fallbacks} turns were decided without the model: {status.last_error}")
        return 0 if fallbacks < found.outcomes["recorded"] else MODEL
    return 0


def _decider(workers: Workers | None) -> dict[str, Any]:
    return {"decider": workers.ahead} if workers else {}


@app.command()
def record(
    vault: Vault = None,
    thread: Annotated[str, typer.Option(help="The conversation the turn belongs to.")] = "main",
    event: Annotated[str | None, typer.Option(help="'new' or the slug of its event, if known.")] = None,
    notify: Annotated[
        list[str] | None,
        typer.Option(metavar="PATH", help="A resource of the vault to offer with it; may be repeated."),
    ] = None,
    model: Model = None,
    decider: Decider = None,
    granularity: Granularity = None,
    timezone: Timezone = None,
    agent_id: AgentId = None,
    as_json: AsJson = False,
) -> int:
    """Record one turn: its messages as JSON on standard input."""
    from automemory.decision import NotifyCandidate
    from automemory.settings import load_settings

    turn = _turn_of(sys.stdin.buffer.read() if sys.stdin else b"")
    settings = load_settings(
        vault=vault,
        model=model,
        decider=decider,
        granularity=granularity,
        timezone=timezone,
        agent_id=agent_id,
    )
    with settings.memory() as memory:
        offers = [NotifyCandidate(path) for path in notify or ()]
        result = memory.record(turn, thread_id=thread, event=event, notify=offers)
    if as_json:
        terminal.print_json(result)
    else:
        where = f" {result.event.path} ({result.event.how})" if result.event else ""
        terminal.print_text(f"{result.outcome}{where}")
    if result.error:
        terminal.say(f"automemory: the turn is stored but not filed yet: {result.error}")
    return VAULT if result.error else 0


def _turn_of(data: bytes) -> Turn:
    """A turn from JSON: a message, a list of messages, or an object that holds such a list.

    Raises:
        ImportFailed: if it is none.
    """
    from automemory.turn import Turn

    try:
        value = json.loads(data.decode("utf-8-sig", "replace"))
        return Turn.of(value.get("messages", value) if isinstance(value, dict) else value)
    except ConfigError as error:
        raise ImportFailed(f"standard input: {error}") from error
    except (ValueError, RecursionError) as error:
        raise ImportFailed(f"standard input is no JSON ({error})") from error

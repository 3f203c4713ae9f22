"""The command line: `automemory replay`, `record`, `status`, `events`, `show`, `chain` and `prompts`."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
import traceback
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from zoneinfo import ZoneInfo

import typer

from automemory import _terminal as terminal
from automemory import _views as views
from automemory._version import __version__
from automemory.errors import AutoMemoryError, ConfigError, DecisionError, ImportFailed, VaultError

if TYPE_CHECKING:
    from automemory.turn import Turn
    from automemory.vault.reader import Reader

USAGE, INPUT, VAULT, MODEL, INTERRUPTED = 2, 3, 4, 5, 130
_CODES = ((ConfigError, USAGE), (ImportFailed, INPUT), (VaultError, VAULT), (DecisionError, MODEL))

app = typer.Typer(
    help="Cuts an agent's conversation into events and keeps them as a Markdown vault.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

Vault = Annotated[Path | None, typer.Option(help="The vault's folder; else AUTOMEMORY_VAULT.")]
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
Ref = Annotated[str, typer.Argument(help="An event: its note's path, a link to it, date/slug, or a slug.")]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit code.

    0 is success, 2 wrong usage, 3 unreadable input, 4 the vault, 5 the model, 130 an interruption, 1 else.
    """
    if arguments is None:
        _use_utf8()
    given = list(sys.argv[1:] if arguments is None else arguments) or ["--help"]
    debug = "--debug" in given
    terminal.prepare_streams()
    try:
        code = app([word for word in given if word != "--debug"], "automemory", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except BrokenPipeError:  # the reader of a pipe had enough; nothing more can be said to it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (KeyboardInterrupt, typer.Abort):
        terminal.say("interrupted")
        return INTERRUPTED
    except Exception as error:
        if debug:
            traceback.print_exc()
        message, code = _explained(error)
        terminal.say(f"automemory: {message}")
        return code


def _use_utf8() -> None:
    """Start again in Python's UTF-8 mode where the locale cannot name a file in Chinese."""
    if os.name == "posix" and sys.getfilesystemencoding() != "utf-8" and not sys.flags.utf8_mode:
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])


def _explained(error: Exception) -> tuple[str, int]:
    if hasattr(error, "format_message"):  # wrong usage, as Typer finds it
        return f"{error.format_message()} (see automemory --help)", USAGE
    for kind, code in _CODES:
        if isinstance(error, kind):
            return str(error), code
    if isinstance(error, AutoMemoryError):
        return str(error), 1
    return f"{type(error).__name__}: {error} (run with --debug to see where)", 1


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"automemory {__version__}")
        raise typer.Exit


@app.callback()
def _globals(
    version: Annotated[bool, typer.Option("--version", callback=_show_version, is_eager=True)] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error comes from.")] = False,
) -> None:
    """Cuts an agent's conversation into events and keeps them as a Markdown vault."""


@app.command()
def replay(
    sources: Annotated[list[Path], typer.Argument(help="Files of saved conversations, or folders of them.")],
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
    as_json: AsJson = False,
) -> int:
    """Record saved conversations. Running it again adds only what is new."""
    from automemory.replay import replay as run
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
    with settings.memory(durability="os", recent_scope="stream") as memory, terminal.progress_bar() as show:
        report = run(
            sources,
            memory,
            format=format,
            date=date and date.date(),
            since=since and since.date(),
            until=until and until.date(),
            zone=ZoneInfo(settings.timezone) if settings.timezone else None,
            on_progress=show,
        )
        status = memory.status()
    terminal.print_json(report.as_dict()) if as_json else views.print_report(report)
    if report.interrupted:
        terminal.say("stopped; run the same command again to go on")
        return INTERRUPTED
    if report.error:
        terminal.say(f"automemory: some turns are stored but not filed yet: {report.error}")
        return VAULT
    if fallbacks := status.counters.get("fallback", 0):
        terminal.say(f"automemory: {fallbacks} turns were decided without the model: {status.last_error}")
        return 0 if fallbacks < report.outcomes["recorded"] else MODEL
    return 0


@app.command()
def record(
    vault: Vault = None,
    thread: Annotated[str, typer.Option(help="The conversation the turn belongs to.")] = "main",
    event: Annotated[str | None, typer.Option(help="'new' or the slug of its event, if known.")] = None,
    model: Model = None,
    decider: Decider = None,
    granularity: Granularity = None,
    timezone: Timezone = None,
    agent_id: AgentId = None,
    as_json: AsJson = False,
) -> int:
    """Record one turn: its messages as JSON on standard input."""
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
        result = memory.record(turn, thread_id=thread, event=event)
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


@app.command()
def status(vault: Vault = None, as_json: AsJson = False) -> None:
    """How the vault is doing: what is open, what waits, what could not be written."""
    from automemory.settings import load_settings

    events = _open_reader(vault).events()
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
    found = _open_reader(vault).events(
        since=str(since.date()) if since else None,
        until=str(until.date()) if until else None,
        thread=thread,
        status=status,
        text=grep,
    )
    views.print_events(found, as_json)


@app.command()
def show(ref: Ref, vault: Vault = None, as_json: AsJson = False) -> None:
    """Print an event with its turns."""
    found = _open_reader(vault).event(ref)
    if as_json:
        terminal.print_json(found)
        return
    views.print_event(found)


@app.command()
def chain(ref: Ref, vault: Vault = None, as_json: AsJson = False) -> None:
    """Follow an event to what it continues and to what continues it, oldest first."""
    views.print_events(_open_reader(vault).chain(ref), as_json)


@app.command()
def prompts(
    sources: Annotated[list[Path], typer.Argument(help="Saved or labelled conversations.")],
    vault: Annotated[Path | None, typer.Option(help="Where to record; else nowhere.")] = None,
    gold: Annotated[bool, typer.Option("--gold", help="Cut the past at the labels.")] = False,
    replies: Annotated[
        Path | None, typer.Option(help="Answers to go by and to score, as JSON lines.")
    ] = None,
    granularity: Granularity = None,
    prompts_dir: Annotated[Path | None, typer.Option(help="A folder of prompts to use instead.")] = None,
) -> None:
    """Print the questions a model would be asked, as JSON lines, and score given answers."""
    import tempfile

    from automemory.replay.asking import ask, conversations_of, read_replies
    from automemory.settings import load_settings

    settings = load_settings(granularity=granularity)
    with tempfile.TemporaryDirectory() as scratch:
        score = ask(
            (conversation for source in sources for conversation in conversations_of(_readable(source))),
            vault or Path(scratch),
            lambda question: print(question.as_json()),
            replies=read_replies(_readable(replies)) if replies else None,
            gold=gold,
            granularity=settings.granularity,
            prompts=prompts_dir,
        )
    if replies:
        terminal.say(
            f"turns {score.turns}, boundaries {score.boundaries}, predicted {score.predicted}, "
            f"hits {score.hits}: "
            f"precision {score.precision:.3f}, recall {score.recall:.3f}, F1 {score.f1:.3f}"
        )


def _readable(path: Path) -> Path:
    if not path.is_file():
        raise ImportFailed(f"{path}: no such file")
    return path


def _open_reader(vault: Path | None) -> Reader:
    from automemory.settings import load_settings
    from automemory.vault.reader import Reader

    return Reader(load_settings(vault=vault).folder())


if __name__ == "__main__":
    sys.exit(main())

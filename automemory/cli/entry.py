"""The application: its commands, and how a run of it ends.

Each module of commands has a `typer.Typer` named `app`, added by one line below: without a name, or with one
where its commands come under a word of their own, as in `automemory index rebuild`.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated

import typer

from automemory._version import __version__
from automemory.cli import terminal
from automemory.cli.acks import app as acks
from automemory.cli.common import INTERRUPTED, explained
from automemory.cli.doctor import app as doctor
from automemory.cli.doctor import index_app as index
from automemory.cli.edit import app as edit
from automemory.cli.evaluate import app as evaluate
from automemory.cli.look import app as look
from automemory.cli.prompts import app as prompts
from automemory.cli.record import app as record
from automemory.cli.synchronize import app as synchronize

app = typer.Typer(
    help="Cuts an agent's conversation into events and keeps them as a Markdown vault.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.add_typer(record)
app.add_typer(synchronize)
app.add_typer(look)
app.add_typer(acks)
app.add_typer(doctor)
app.add_typer(index, name="index")
app.add_typer(edit, name="edit")
app.add_typer(evaluate)
app.add_typer(prompts)


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
        message, code = explained(error)
        terminal.say(f"automemory: {message}")
        return code


def _use_utf8() -> None:
    """Start again in Python's UTF-8 mode where the locale cannot name a file in Chinese."""
    if os.name == "posix" and sys.getfilesystemencoding() != "utf-8" and not sys.flags.utf8_mode:
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"automemory {__version__}")
        raise typer.Exit


@app.command(context_settings={"ignore_unknown_options": True, "help_option_names": []})
def hook(words: Annotated[list[str] | None, typer.Argument()] = None) -> int:
    """Serve a coding agent's hook: see `automemory hook --help`."""
    from automemory.hook.accept import run

    return run(words or ["--help"])


@app.callback()
def _globals(
    version: Annotated[bool, typer.Option("--version", callback=_show_version, is_eager=True)] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error comes from.")] = False,
) -> None:
    """Cuts an agent's conversation into events and keeps them as a Markdown vault."""

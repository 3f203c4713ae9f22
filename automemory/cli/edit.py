"""`automemory edit merge`, `split` and `forget`: a person's corrections."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from automemory.cli import terminal
from automemory.cli.common import AsJson, Ref, Vault

if TYPE_CHECKING:
    from automemory.maintenance.correction import Correction
    from automemory.maintenance.editor import Editor

app = typer.Typer(help="Correct what is recorded: each command asks first.")
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would change.")]


@app.command()
def merge(
    kept: Annotated[str, typer.Argument(help="The event that stays, as for `automemory show`.")],
    joined: Annotated[str, typer.Argument(help="The event that is joined to it.")],
    vault: Vault = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Join two events of one day and conversation."""
    _correct(lambda editor: editor.merge(kept, joined), vault, yes, dry_run, as_json)


@app.command()
def split(
    event: Ref,
    at: Annotated[str, typer.Option(help="The turn that begins the new event: its id, or its number.")],
    vault: Vault = None,
    slug: Annotated[str | None, typer.Option(help="The new event's name.")] = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Cut an event in two at a turn."""
    _correct(lambda editor: editor.split(event, at, slug), vault, yes, dry_run, as_json)


@app.command()
def forget(
    what: Annotated[str, typer.Argument(help="A turn's id, or an event.")],
    vault: Vault = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Erase a turn or an event everywhere. It cannot be taken back."""
    _correct(lambda editor: editor.forget(what), vault, yes, dry_run, as_json)


def _correct(
    plan: Callable[[Editor], Correction], vault: Path | None, yes: bool, dry_run: bool, as_json: bool
) -> None:
    """Plan a correction, tell it, ask, make it, and have summed up what it left to be summed up."""
    from automemory.maintenance.editor import Editor
    from automemory.settings import load_settings

    settings = load_settings(vault=vault)
    planned: list[Correction] = []

    def agreed(correction: Correction) -> bool:
        planned.append(correction)
        if not as_json:
            _tell(correction)
        return not dry_run and (yes or typer.confirm("Do this?", err=True))

    with Editor(settings.folder(), sync=settings.durability != "os") as editor:
        made = editor.make(lambda: plan(editor), agreed)
    if made:
        with settings.model_copy(update={"agent_id": made.agent or None}).memory() as memory:
            memory.flush()
    if as_json:
        correction = made or planned[0]
        changes = [{"path": path, "what": what} for path, what in correction.changes]
        words = {"title": correction.title, "changes": changes, "hints": correction.hints}
        terminal.print_json({"made": bool(made), **words})
    else:
        terminal.say("done" if made else "nothing was changed")


def _tell(correction: Correction) -> None:
    terminal.print_text(correction.title)
    for path, what in correction.changes:
        terminal.print_text(f"  {path}: {what}")
    for hint in correction.hints:
        terminal.print_text(f"  note: {hint}")

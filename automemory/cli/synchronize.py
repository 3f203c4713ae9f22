"""`automemory synchronize`: bring a workspace's note up to date from a saved conversation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from automemory.cli import terminal
from automemory.cli.common import MODEL, VAULT, AgentId, AsJson, Model, Timezone, Vault, readable
from automemory.errors import ConfigError, ImportFailed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from automemory.message import Message

app = typer.Typer()


@app.command()
def synchronize(
    source: Annotated[Path, typer.Argument(metavar="FILE", help="A file with one saved conversation.")],
    vault: Vault = None,
    workspace: Annotated[
        str | None, typer.Option(help="The task's title, or daily/<date>/<slug>/; else the model chooses.")
    ] = None,
    strategy: Annotated[
        str, typer.Option(help="tools, or patch: one call, for small models and for cost.")
    ] = "tools",
    model: Model = None,
    timezone: Timezone = None,
    agent_id: AgentId = None,
    context_tokens: Annotated[int, typer.Option(help="How many tokens the model takes at once.")] = 32_000,
    as_json: AsJson = False,
) -> int:
    """Bring the summary note of a workspace up to date from a conversation, and print it."""
    from automemory.settings import load_settings
    from automemory.synchronizer import Synchronizer

    messages = _messages(readable(source))
    settings = load_settings(vault=vault, model=model, timezone=timezone, agent_id=agent_id)
    if settings.model is None:
        raise ConfigError("no model given: use --model NAME or set AUTOMEMORY_MODEL")
    synchronizer = Synchronizer(
        settings.folder(),
        settings.model,
        timezone=settings.timezone,
        agent_id=settings.agent_id,
        prompts_dir=settings.prompts_dir,
        strategy=strategy,  # type: ignore[arg-type]
        context_tokens=context_tokens,
    )
    result = synchronizer.synchronize(messages, workspace)
    if as_json:
        terminal.print_json(result.as_dict())
    else:
        terminal.print_text("\n\n".join(filter(None, (result.actions, result.summary))))
    for entry in result.failed:
        terminal.say(f"automemory: {entry['tool']}: {entry['result']}")
    if result.success:
        return 0
    return VAULT if any(entry["tool"] == "vault" for entry in result.failed) else MODEL


def _messages(path: Path) -> Sequence[Message]:
    """The messages of the conversation in a file.

    Raises:
        ImportFailed: if it holds none, or several.
    """
    from automemory.replay.importers.conversation import Conversation
    from automemory.replay.importers.registry import importer_for

    with path.open("rb") as file:
        found = [item for item in importer_for(file).read(file) if isinstance(item, Conversation)]
    if len(found) != 1:
        raise ImportFailed(f"{path}: {len(found)} conversations in it: give a file with one")
    return list(found[0].messages)

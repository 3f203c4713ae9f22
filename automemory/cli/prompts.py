"""`automemory prompts`: the questions a model would be asked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from automemory.cli import terminal
from automemory.cli.common import Granularity, readable

app = typer.Typer()


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
            (conversation for source in sources for conversation in conversations_of(readable(source))),
            vault or Path(scratch),
            lambda question: print(question.as_json()),
            replies=read_replies(readable(replies)) if replies else None,
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

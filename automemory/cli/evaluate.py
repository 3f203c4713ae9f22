"""`automemory eval`: how good a decider is on labelled conversations."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from automemory.cli import terminal
from automemory.cli.common import MODEL, AsJson, Decider, Granularity, Model, Report, readable, spare
from automemory.cli.scores import print_evaluation
from automemory.errors import ConfigError, ImportFailed

if TYPE_CHECKING:
    from automemory.evaluate.labelled import Labelled, Level
    from automemory.evaluate.run import Evaluation
    from automemory.evaluate.trial import Trial

app = typer.Typer()


@app.command("eval")
def evaluate(
    data: Annotated[list[Path], typer.Argument(help="Labelled conversations, as JSON lines.")],
    decider: Decider = None,
    model: Model = None,
    granularity: Granularity = None,
    level: Annotated[
        Literal["turn", "utterance"],
        typer.Option(help="turn: a user's utterance with all up to the next; utterance: each is a turn."),
    ] = "turn",
    limit: Annotated[int | None, typer.Option(min=1, help="Only so many conversations of each file.")] = None,
    predictions: Annotated[
        Path | None, typer.Option(metavar="JSONL", help="Write the boundaries that were found here.")
    ] = None,
    sweep: Annotated[bool, typer.Option("--sweep", help="Also print what other thresholds give.")] = False,
    report: Report = None,
    as_json: AsJson = False,
) -> int:
    """Score a decider on labelled conversations, through the code that decides live turns."""
    from automemory.evaluate.run import evaluate as run
    from automemory.report import page_for
    from automemory.trace import Trace

    families = _families(data, level, limit)
    spare(predictions, data)
    spare(report, data)
    turns = sum(len(conversation.turns) for group in families.values() for conversation in group)
    page = page_for(report)
    with _lines_in(predictions) as write, _progress(turns) as step, Trace() as trace:

        def note(family: str, trial: Trial) -> None:
            write(trial)
            if report:
                for turn in trial.turns:
                    trace.add(trial.conversation.id, turn, family)
            step(len(trial.turns))

        found = run(
            families, level=level, granularity=granularity, on_trial=note, decider=decider, model=model
        )
        page.write_evaluation(found, trace)
    terminal.print_json(found) if as_json else print_evaluation(found, sweep)
    return _told_failures(found, turns)


def _families(data: Sequence[Path], level: Level, limit: int | None) -> dict[str, list[Labelled]]:
    """The conversations by family: of several files their names; of one what its conversations say, if any.

    Raises:
        ImportFailed: if a file cannot be read or holds none.
    """
    from automemory.evaluate.labelled import read_labelled

    stems = [path.stem for path in data]
    families: dict[str, list[Labelled]] = {}
    for path in data:
        found = read_labelled(readable(path), level=level, limit=limit)
        if not found:
            raise ImportFailed(f"{path}: no labelled conversation in it: give one JSON object a line")
        name = path.stem if stems.count(path.stem) == 1 else str(path)
        for conversation in found:
            family = conversation.family if len(data) == 1 else ""
            families.setdefault(family or name, []).append(conversation)
        if all(len(conversation.turns) == 1 for conversation in found):
            terminal.say(f"automemory: {path}: one turn a conversation; is it for --level utterance?")
    return families


@contextmanager
def _lines_in(path: Path | None) -> Iterator[Callable[[Trial], None]]:
    """Writes a conversation's boundaries as a line: the numbers of its turns, at the level that was asked."""
    if path is None:
        yield lambda trial: None
        return
    try:
        file = path.open("w", encoding="utf-8", newline="")
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written ({error.strerror or error})") from error
    with file:

        def write(trial: Trial) -> None:
            boundaries = [i for i, turn in enumerate(trial.turns) if i and turn.cut]
            line = {"id": trial.conversation.id, "boundaries": boundaries}
            print(json.dumps(line, ensure_ascii=False), file=file, flush=True)

        yield write


@contextmanager
def _progress(turns: int) -> Iterator[Callable[[int], None]]:
    from automemory.replay import Progress

    done = 0
    with terminal.progress_bar() as show:

        def step(more: int) -> None:
            nonlocal done
            done += more
            show(Progress("recording", done, turns))

        yield step


def _told_failures(found: Evaluation, turns: int) -> int:
    """Tell how many turns the decider failed at; the exit code."""
    failed = max(measures.fallbacks for measures in found.families.values())
    if not failed:
        return 0
    terminal.say(f"automemory: the decider failed at {failed} of {turns} turns: {found.first_error}")
    return MODEL if failed >= turns else 0

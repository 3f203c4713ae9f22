"""`automemory doctor` and `index rebuild`: check a vault and repair it."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from automemory.cli import terminal
from automemory.cli.common import UNHEALTHY, AsJson, Model, Vault

if TYPE_CHECKING:
    from automemory.maintenance.doctor import Diagnosis
    from automemory.maintenance.finding import Finding

app = typer.Typer()
index_app = typer.Typer()


@index_app.callback()
def _index() -> None:
    """Day indexes."""


@index_app.command()
def rebuild(
    vault: Vault = None,
    day: Annotated[
        datetime | None, typer.Option(formats=["%Y-%m-%d"], metavar="YYYY-MM-DD", help="Only this day's.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Add what day indexes lack: the file, its heading, events' lines, final summaries."""
    from automemory.maintenance.rebuild import rebuild as run
    from automemory.settings import load_settings

    settings = load_settings(vault=vault)
    changed = run(settings.folder(), str(day.date()) if day else None, sync=settings.durability != "os")
    if as_json:
        terminal.print_json({"changed": changed})
        return
    for path in changed:
        terminal.print_text(path)
    terminal.say(f"day indexes changed: {len(changed)}")


@app.command()
def doctor(
    vault: Vault = None,
    fix: Annotated[bool, typer.Option("--fix", help="Repair what needs no person.")] = False,
    model: Model = None,
    as_json: AsJson = False,
) -> int:
    """Check a vault. The exit code is 0 if it is healthy, 1 if problems are left."""
    from automemory.maintenance.doctor import examine, repair
    from automemory.settings import load_settings

    settings = load_settings(vault=vault, model=model)
    now = datetime.now(UTC)
    found = (
        repair(
            settings.folder(),
            now,
            lambda agent: settings.model_copy(update={"agent_id": agent or None}).memory(),
            sync=settings.durability != "os",
        )
        if fix
        else examine(settings.folder(), now)
    )
    terminal.print_json(_as_dict(found)) if as_json else _print(found, fix)
    return 0 if found.healthy else UNHEALTHY


def _as_dict(found: Diagnosis) -> dict[str, object]:
    return {"healthy": found.healthy, **dataclasses.asdict(found)}


def _print(found: Diagnosis, fix: bool) -> None:
    for finding in found.fixed:
        terminal.print_text(f"repaired {finding.code}: {finding.path}: {finding.what}")
    for finding in found.findings:
        terminal.print_text(_told(finding, fix))
    if found.error:
        terminal.say(f"automemory: a repair failed: {found.error}")
    problems = sum(not finding.notice for finding in found.findings)
    terminal.say(f"problems: {problems}, notices: {len(found.findings) - problems}")


def _told(finding: Finding, fix: bool) -> str:
    kind = "notice" if finding.notice else "problem"
    advice = f"could not be repaired ({finding.remedy})" if fix else f"--fix: {finding.remedy}"
    remedy = advice if finding.fixable else finding.remedy
    return f"{kind} {finding.code}: {finding.path}: {finding.what}; {remedy}"

"""What the commands print of reports and events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from automemory.cli import terminal

if TYPE_CHECKING:
    from automemory.replay import ReplayReport, SourceReport
    from automemory.vault.event import Event, EventHead

SHOWN = 20
"""Skipped files that are told one by one."""


def print_report(report: ReplayReport, *, survey: bool = False) -> None:
    """What a replay read, what it recorded, and what it left out and why."""
    header = ("file", "format", "conversations", "turns", "recorded", "known", "left out", "unreadable")
    read = [source for source in report.sources if not source.skipped]
    skipped = [source for source in report.sources if source.skipped]
    terminal.print_table([_report_row(source) for source in read], header)
    for source in skipped[:SHOWN]:
        terminal.print_text(f"{source.path}: skipped, {source.skipped}")
    if len(skipped) > SHOWN:
        terminal.print_text(f"… and {len(skipped) - SHOWN} more files skipped")
    for source in read:
        _print_notes(source, report, survey)
    if survey:
        terminal.print_text(f"turns read: {report.turns}; nothing was recorded")
        return
    recorded = report.outcomes["recorded"] + report.outcomes["extended"]
    terminal.print_text(f"turns recorded: {recorded}, events opened: {report.opened}")


def _print_notes(source: SourceReport, report: ReplayReport, survey: bool) -> None:
    """What there is to say of a file besides its numbers."""
    if source.undated and (survey or source.outcomes["recorded"]):
        terminal.print_text(f"{source.path}: undated conversations filed on {report.date}: {source.undated}")
    for reason, count in source.left_out.most_common():
        terminal.print_text(f"{source.path}: left out, {reason}: {count}")
    for bad in source.bad_records:
        terminal.print_text(f"{source.path}: {bad.position}: {bad.reason}")
    if source.bad > len(source.bad_records):
        terminal.print_text(f"{source.path}: … and {source.bad - len(source.bad_records)} more")


def _report_row(source: SourceReport) -> tuple[object, ...]:
    turns = source.outcomes
    return (
        source.path,
        source.format or "-",
        source.conversations,
        source.turns,
        turns["recorded"] + turns["extended"],
        turns["duplicate"],
        source.outside + turns["excluded"] + turns["deferred"],
        f"{source.bad} and the rest" if source.cut_short else source.bad,
    )


def print_events(found: Sequence[EventHead], as_json: bool) -> None:
    """A table of events, or their JSON."""
    if as_json:
        terminal.print_json(found)
        return
    rows = [(f"{event.date}/{event.name}", _state_of(event), event.title) for event in found]
    terminal.print_table(rows, ("event", "state", "title"))


def _state_of(event: EventHead) -> str:
    """Whether an event is open, else what closed it; and whether its task is done."""
    state = f"closed ({event.closed_by})" if event.closed else "open"
    return f"{state}, task {event.status}" if event.status == "completed" else state


def print_event(found: Event) -> None:
    """An event with its turns."""
    head = found.head
    terminal.print_text(f"{head.title}\n{head.path}\n")
    terminal.print_text(f"{_state_of(head)}, {len(found.turns)} turns\n{head.description}")
    for turn in found.turns:
        terminal.print_text(f"\n── {turn.at or 'no time'} {turn.patch}".rstrip())
        for step in turn.steps:
            label = (
                f"{step.role} {step.tool} {step.arguments or ''} [{step.status}]" if step.tool else step.role
            )
            terminal.print_text(f"{terminal.one_line(label)}: {step.text}")

"""What a turn writes, and an event that opens, closes or is gone back to: as edits. Pure functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from automemory.decision import EventSummary, EventView, Exchange, RecentEvent, Verdict
from automemory.intake import Accepted
from automemory.routing import Located, Target
from automemory.turn import Step
from automemory.vault.edits import Closing, Create, CreateFile, Edit, SetFields, UpdateIndex
from automemory.vault.event import DESCRIPTION_CHARS, TITLE_CHARS, EventHead, RecordedTurn, folded, one_line
from automemory.vault.layout import day_index_path, event_path, folder_name, link, turns_path
from automemory.vault.naming import numbered
from automemory.vault.note import new_note, new_turns, turn_block
from automemory.vault.quoting import inline, live_links
from automemory.vault.sections import parse


def close_edits(
    head: EventHead, at: datetime, closed_by: str, summary: EventSummary | None, pending: bool
) -> list[Edit]:
    """What closing an event writes; without a summary the description stays, `pending` if one is owed."""
    fields: dict[str, str | None] = {"updated": max(head.updated, head.date)}
    fields |= _summary_fields(summary, finished=closed_by != "day-end") if summary else {}
    fields |= {"closed": at.isoformat(timespec="seconds"), "closed_by": closed_by}
    fields["summary_by"] = "pending" if pending else summary.by if summary else head.summary_by or "extract"
    return _described(head, fields)


def summary_edits(head: EventHead, summary: EventSummary) -> list[Edit]:
    """What the summary of an event writes that was closed without the one it was owed."""
    fields = _summary_fields(summary, finished=head.closed_by != "day-end") | {"summary_by": summary.by}
    return _described(head, fields)


def _described(head: EventHead, fields: dict[str, str | None]) -> list[Edit]:
    """Set a closed event's fields, its description in the day index too."""
    closing = Closing(head.path, fields.get("description") or head.description, head.description)
    return [SetFields(head.path, fields), UpdateIndex(day_index_path(head.date), closed=[closing])]


def _summary_fields(summary: EventSummary, *, finished: bool) -> dict[str, str | None]:
    fields: dict[str, str | None] = {"description": one_line(summary.description, DESCRIPTION_CHARS)}
    fields |= {"title": one_line(summary.title, TITLE_CHARS)} if summary.title else {}
    return fields | ({"status": "completed"} if summary.completed and finished else {})


def resume_edits(head: EventHead) -> list[Edit]:
    """What going back to an event of the day writes: it is open again, and so is its task."""
    fields: dict[str, str | None] = {"updated": head.date, "closed": None, "closed_by": None}
    return [SetFields(head.path, fields | ({"status": "active"} if head.status != "active" else {}))]


def create_edits(
    goal: Target,
    located: Located,
    accepted: Accepted,
    block: RecordedTurn,
    agent: str,
    taken: Callable[[str], bool],
    body: str,
    *,
    apart: bool = False,
) -> tuple[list[Edit], EventHead]:
    """What opening a new event writes, and the head it will have.

    Args:
        goal: The event to open.
        located: Where the turn is.
        accepted: The turn.
        block: The turn's block.
        agent: The agent's id, or empty.
        taken: Whether a folder name of that day is in use.
        body: The text of the sections of the event that is inherited.
        apart: Whether its turns stand in a file of their own.
    """
    folder = numbered(folder_name(goal.slug, agent), taken)
    path = event_path(located.date, folder)
    inherits = goal.source.path if goal.source and goal.how == "inherited" else ""
    head = EventHead(
        path=path,
        date=located.date,
        name=folder,
        title=goal.title,
        description=goal.description,
        created=located.date,
        updated=located.date,
        inherits=inherits,
        thread=accepted.thread,
        agent=agent,
        closed=accepted.at.isoformat(timespec="seconds") if located.earlier else "",
        closed_by="day-end" if located.earlier else "",
        summary_by="model" if block.by == "llm" else "extract" if located.earlier else "",
        turns=turns_path(path) if apart else "",
    )
    sections, text = _sections(goal, body), turn_block(block)
    closed = [Closing(path, head.description, "")] if located.earlier else []
    index = UpdateIndex(day_index_path(located.date), opened=[path], closed=closed)
    if not apart:
        return [Create(path, new_note(_fields(head), sections, text), text), index], head
    note = CreateFile(path, new_note(_fields(head), sections, ""))
    return [note, Create(head.turns, new_turns(path, folder, text), text), index], head


def block_of(
    accepted: Accepted,
    id: str,
    steps: Sequence[Step],
    part: int,
    verdict: Verdict | None,
    links: frozenset[str],
) -> RecordedTurn:
    """The block a turn (or what is new of it) becomes."""
    return RecordedTurn(
        id=id,
        at=accepted.at,
        n=len(accepted.turn.messages),
        by=verdict.by if verdict else "placed",
        steps=tuple(steps),
        p=verdict.p if verdict else None,
        patch=_patch(verdict, links) if verdict else "",
        refs=tuple(live_links(steps, links.__contains__)),
        part=part,
        incomplete=not accepted.turn.complete,
    )


def _patch(verdict: Verdict, links: frozenset[str]) -> str:
    """The patch as one safe line that cannot be taken for the line of references."""
    line = inline(folded(verdict.decision.summary_patch, DESCRIPTION_CHARS), links.__contains__)
    return "r" + line[1:] if line.startswith("Refs:") else line


def recent_event(head: EventHead) -> RecentEvent:
    return RecentEvent(head.path, head.slug, head.title, head.description, head.date, head.status == "active")


def empty_view(head: EventHead) -> EventView:
    """The view of an event before its first turn."""
    return EventView(head.slug, head.title, head.description, Exchange("", ""), (), 0, 0)


def opened_view(head: EventHead, first: Exchange, chars: int) -> EventView:
    return EventView(head.slug, head.title, head.description, first, (first,), 1, chars)


def _sections(goal: Target, body: str) -> str:
    if goal.source is None:
        return ""
    words = "Continues" if goal.how == "inherited" else "See also"
    there = parse(body)
    kept = [f"## {name}\n{there[name]}" for name in ("Objective", "Plan") if there.get(name)]
    return "\n\n".join([f"{words} {link(goal.source.path, goal.source.name)}.", *kept])


def _fields(head: EventHead) -> dict[str, str]:
    fields = {
        "name": head.name,
        "title": head.title,
        "description": head.description,
        "status": head.status,
        "created": head.created,
        "updated": head.updated,
        "inherits": link(head.inherits) if head.inherits else "",
        "turns": link(head.turns) if head.turns else "",
        "agent": head.agent,
        "thread": head.thread,
        "closed": head.closed,
        "closed_by": head.closed_by,
        "summary_by": head.summary_by,
    }
    always = {"name", "title", "description", "status", "created", "updated", "thread"}
    return {key: value for key, value in fields.items() if value or key in always}

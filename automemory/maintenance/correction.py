"""A correction as data, and how it is told to a person before it is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from automemory.vault.commit import Basis
from automemory.vault.edits import CreateFile, Edit, Merge, Plan, SetFields, UpdateIndex
from automemory.vault.revisions import AddText, DropTurns, MoveMaterials, Relink, RemoveEvent, TakeTurns
from automemory.vault.tables import TurnRow


@dataclass(frozen=True, slots=True)
class Correction:
    """A correction that was planned and not made yet.

    Attributes:
        title: What it does, in one line.
        plan: What it writes; None if nothing in the vault's notes.
        basis: What it was planned on.
        agent: The agent whose event it is.
        forgotten: Turns that are never to be recorded again.
        hints: What the person has to know.
    """

    title: str
    plan: Plan | None
    basis: Basis
    agent: str = ""
    forgotten: tuple[TurnRow, ...] = ()
    hints: tuple[str, ...] = ()

    @property
    def changes(self) -> list[tuple[str, str]]:
        """What will be changed: vault path, and how."""
        return [(edit.path, _told(edit)) for edit in self.plan.edits] if self.plan else []


def _told(edit: Edit) -> str:
    match edit:
        case CreateFile():
            return "is made"
        case TakeTurns(_, source, turns):
            return f"gets {_turns(turns) if turns else 'all turns'} of {source}"
        case DropTurns(_, turns, kept_in):
            return f"loses {_turns(turns)}" + (f" to {kept_in}" if kept_in else "")
        case Merge(_, new):
            return f"its sections {', '.join(new)} get the other note's"
        case AddText():
            return "gets the other note's own text before its turns"
        case SetFields(_, fields):
            return f"its {', '.join(fields)} change" if fields else "stays"
        case MoveMaterials(_, to):
            return f"what lies beside it moves to {to.rpartition('/')[0]}"
        case RemoveEvent():
            return "is removed, and its folder if it is empty"
        case Relink(_, links):
            become = sorted({target or "plain text" for target in links.values()})
            return f"its links to {', '.join(links)} become {', '.join(become)}"
        case UpdateIndex():
            return "its lines are brought up to date"
    return "changes"


def _turns(ids: Sequence[str]) -> str:
    return f"{len(ids)} turn{'s' * (len(ids) != 1)}"

"""A note schema: which files an event has besides its turns, which sections they hold, and how these grow."""

from __future__ import annotations

from dataclasses import dataclass

from automemory.decision import KeptSection

NOTE = "note"  # names the summary note among a schema's files
TURNS_FILE = "turns.md"


@dataclass(frozen=True, slots=True)
class NoteSchema:
    """A note schema.

    Attributes:
        name: `append`, `notes`, or the stem of the consumer's file.
        apart: Whether the turns stand in `turns.md` instead of the summary note.
        conserve_links: Whether a rewritten text keeps the wikilinks it would lose in a line of their own.
        sections: What is kept besides the turns, in order.
    """

    name: str = "append"
    apart: bool = False
    conserve_links: bool = False
    sections: tuple[KeptSection, ...] = ()

    @property
    def files(self) -> dict[str, tuple[KeptSection, ...]]:
        """The files with their sections, the summary note as `note`."""
        names = dict.fromkeys(section.file for section in self.sections)
        return {name: tuple(s for s in self.sections if s.file == name) for name in names}

    @property
    def stems(self) -> frozenset[str]:
        """Names no event of this schema can have, since its note would be one of these files."""
        names = {*self.files, TURNS_FILE} if self.apart else set(self.files)
        return frozenset(name.removesuffix(".md").casefold() for name in names - {NOTE})

"""Vaults as they stand before a step is interrupted, with a person's writing in them."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from conversation import Scenario

# What people wrote into the vault, by path: lines that have to stay.
KEPT = {
    "daily/2026-05-27.md": ["> my plan for the day", "- [ ] call the dentist", "Not a list: 牙医"],
    "daily/2026-05-27/alpha/alpha.md": [
        "# mine: keep this comment",
        "rating: '5'",
        "## My section",
        "Mine – own words.",
    ],
    "daily/2026-05-27/alpha/trace.txt": ["a material"],
    "resource/r.md": ["a resource"],
}


SAVED = "# saved meanwhile"


@dataclass(frozen=True)
class Prepared:
    """A scenario with its vault before the step, and all files of the vault after an undisturbed run."""

    scenario: Scenario
    vault: Path
    wanted: dict[str, bytes]
    kept: dict[str, list[str]]


def write_by_hand(vault: Path) -> None:
    """A person's lines, between and around the library's."""
    index = vault / "daily/2026-05-27.md"
    plan, task, words = KEPT["daily/2026-05-27.md"]
    index.write_text(f"{plan}\n\n{index.read_text('utf-8')}{task}\n\n{words}\n", "utf-8")
    note = vault / "daily/2026-05-27/alpha/alpha.md"
    comment, rating, heading, own = KEPT["daily/2026-05-27/alpha/alpha.md"]
    text = note.read_text("utf-8").replace("\nstatus:", f"\n{comment}\n{rating}\nstatus:", 1)
    section = f"{heading}\n\n{own}\n"
    apart = "## Turns\n" not in text  # the turns stand in a file of their own
    text = f"{text}\n{section}" if apart else text.replace("## Turns\n", f"{section}\n## Turns\n", 1)
    note.write_text(text, "utf-8")
    (note.parent / "trace.txt").write_text("a material\n", "utf-8")
    (vault / "resource").mkdir()
    (vault / "resource/r.md").write_text("a resource\n", "utf-8")


def save_by_hand(vault: Path) -> None:
    """What an editor does that saves all files that are open in it: each is put in its place anew."""
    for index in vault.glob("daily/*.md"):
        _put(index, f"{index.read_text('utf-8')}{SAVED}\n")
    for note in vault.glob("daily/*/*/*.md"):
        if note.stem == note.parent.name:
            _put(note, note.read_text("utf-8").replace("\nstatus:", f"\n{SAVED}\nstatus:", 1))


def _put(place: Path, text: str) -> None:
    saved = place.with_name("saved.part")
    saved.write_text(text, "utf-8")
    saved.replace(place)


def copy(vault: Path, to: Path) -> Path:
    """A copy of a vault, or the folder where a new one is to be."""
    to.parent.mkdir(parents=True, exist_ok=True)
    if vault.exists():
        shutil.copytree(vault, to)
    return to


def files(vault: Path) -> dict[str, bytes]:
    """All files of a vault but the library's own."""
    found = (p for p in sorted(vault.rglob("*")) if p.is_file() and ".automemory" not in p.parts)
    return {p.relative_to(vault).as_posix(): p.read_bytes() for p in found}

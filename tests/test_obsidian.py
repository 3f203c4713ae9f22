"""The vault as other programs read it: the bundled conversation, filed as a person would have filed it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import frontmatter
import obsidiantools.api as obsidian
import pytest

from automemory.boundary import BoundaryDecision
from automemory.decision import DecisionContext, Verdict
from automemory.memory import AutoMemory
from automemory.replay import replay

SCRIPTS = Path(__file__).parent.parent / "scripts"


class Person:
    """Decides as the labels say: each label is an event, and one that comes again is gone back to."""

    def __init__(self, labels: list[str]) -> None:
        self.labels = iter(labels)

    async def decide(self, context: DecisionContext) -> Verdict:
        label = next(self.labels)
        goes_on = context.active is not None and context.active.slug == label
        decision = BoundaryDecision(
            continue_=goes_on, new_event_slug="" if goes_on else label, summary_patch="A step."
        )
        return Verdict(decision, "host")


@pytest.fixture
def demo(vault: Path, open_memory: Callable[..., AutoMemory]) -> Path:
    labels = json.loads((SCRIPTS / "demo-expected.json").read_text(encoding="utf-8"))["turns"]
    memory = open_memory(decider=Person(list(labels.values())), timezone="Asia/Shanghai")
    replay([SCRIPTS / "demo-conversation.jsonl"], memory)
    return vault


def test_a_third_party_reader_finds_every_live_link_and_no_stray_note(demo: Path, tmp_path: Path) -> None:
    """B57: outside quoted text every link resolves, and every note is an event's or a day's index."""
    unquoted = tmp_path / "unquoted"
    shutil.copytree(demo, unquoted, ignore=shutil.ignore_patterns(".automemory"))
    for note in unquoted.rglob("*.md"):
        kept = [line for line in note.read_text(encoding="utf-8").split("\n") if not line.startswith(">")]
        note.write_text("\n".join(kept), encoding="utf-8")
    found = obsidian.Vault(unquoted).connect().gather()
    linked = {target for targets in found.wikilinks_index.values() for target in targets}
    assert len(linked) > 10
    # it keeps a note that is alone with its name under that name, and so does not know it by its full path
    assert all((unquoted / f"{name}.md").is_file() for name in found.nonexistent_notes)
    assert all((unquoted / f"{name.removesuffix('.md')}.md").is_file() for name in linked)
    events = {path for path in demo.glob("daily/*/*/*.md") if path.stem == path.parent.name}
    assert set(demo.rglob("*.md")) == events | set(demo.glob("daily/*.md"))
    assert len(found.md_file_index) == len(events) + len(list(demo.glob("daily/*.md")))
    assert len(events) > 10


def test_another_yaml_reader_sees_the_same_properties(demo: Path) -> None:
    """B55: python-frontmatter, which knows nothing of this library, loads every note's properties."""
    for path in demo.glob("daily/*/*/*.md"):
        note = frontmatter.load(str(path))
        assert note["name"] == path.parent.name
        assert note["closed_by"] in {"switch", "day-end", "end"}
        if "inherits" in note:
            assert isinstance(note["inherits"], str)
            assert (demo / note["inherits"].strip("[]")).is_file()

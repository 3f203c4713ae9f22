"""A model's writes where the note is missing, cannot be edited, or is changed by others meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from automemory.errors import Busy, ToolRefused
from automemory.synchronizer.toolkit import VaultToolkit
from automemory.vault.store import Store

NOW = datetime(2026, 5, 28, 14, 5, tzinfo=UTC)
FOLDER = "daily/2026-05-28/fix-login"
NOTE = f"{FOLDER}/fix-login.md"
Files = Callable[[], dict[str, str]]
Before = Callable[[Callable[[int], object]], None]


@pytest.fixture
def store(vault: Path) -> Iterator[Store]:
    opened = Store(vault, sync=False)
    yield opened
    opened.close()


@pytest.fixture
def kit(vault: Path, store: Store) -> VaultToolkit:
    return VaultToolkit(vault, store=store, timezone="UTC", clock=lambda: NOW)


@pytest.fixture
def before_commits(store: Store, monkeypatch: pytest.MonkeyPatch) -> Before:
    """Has something done after each plan was made, before it is committed; it gets the plan's number."""

    def begin(act: Callable[[int], object]) -> None:
        commit, numbers = store.committer.commit, iter(range(100))

        def after_act(*given: Any) -> Any:
            act(next(numbers))
            return commit(*given)

        monkeypatch.setattr(store.committer, "commit", after_act)

    return begin


def test_a_material_before_its_note_is_refused(kit: VaultToolkit, files: Files) -> None:
    """4.2: materials belong to a summary note; the model is told to write that first, and nothing is made."""
    with pytest.raises(ToolRefused, match=f"no summary note '{NOTE}' yet: write it first"):
        kit.write(f"{FOLDER}/trace.md", "A trace.")
    assert files() == {} and not kit.records[-1].ok


def test_a_material_without_text_is_refused(kit: VaultToolkit, files: Files) -> None:
    """An empty file would only be named in the note; the model is told what to give."""
    kit.write(NOTE, "## Plan\nA")
    before = files()
    with pytest.raises(ToolRefused, match=f"no text to write to '{FOLDER}/trace.md': give it as content"):
        kit.write(f"{FOLDER}/trace.md", " \n\n")
    assert files() == before


def test_fields_of_a_note_that_is_not_there_are_refused(kit: VaultToolkit, files: Files) -> None:
    """Setting a field makes no note: one without sections would say nothing."""
    with pytest.raises(ToolRefused, match="write it with its sections first"):
        kit.property_update(NOTE, status="completed")
    assert files() == {} and not kit.records[-1].ok


@pytest.mark.parametrize(
    ("head", "match"), [("{name: fix-login, status: active}", "in braces"), ("? status\n: active", "")]
)
def test_fields_that_cannot_be_set_alone_are_refused(
    kit: VaultToolkit, vault: Path, files: Files, head: str, match: str
) -> None:
    """B58: a person's frontmatter in another form of YAML is left as it is, and the refusal says why."""
    (vault / FOLDER).mkdir(parents=True)
    (vault / NOTE).write_text(f"---\n{head}\n---\n\nMine.\n", "utf-8")
    before = files()
    with pytest.raises(ToolRefused, match=f"{NOTE}'.*{match}"):
        kit.property_update(NOTE, status="completed")
    assert files() == before and not kit.records[-1].ok


def test_a_material_that_another_makes_meanwhile(
    kit: VaultToolkit, vault: Path, before_commits: Before
) -> None:
    """B66: their file stays as it is, the model's goes under the next name, and the note names that one."""
    kit.write(NOTE, "## Plan\nA")
    theirs = vault / FOLDER / "trace.md"
    before_commits(lambda number: number or theirs.write_text("A person's.", "utf-8"))
    told = kit.write(f"{FOLDER}/trace.md", "A model's.")
    assert "trace-2.md (trace.md was taken)" in told
    assert theirs.read_text("utf-8") == "A person's."
    assert (vault / FOLDER / "trace-2.md").read_text("utf-8") == "A model's.\n"
    assert f"[[{FOLDER}/trace-2.md|" in (vault / NOTE).read_text("utf-8")


@pytest.mark.parametrize(
    "call",
    [
        lambda kit: kit.write(NOTE, "## Plan\nB", True),
        lambda kit: kit.property_update(NOTE, title="Another"),
        lambda kit: kit.write(f"{FOLDER}/trace.md", "A trace."),
    ],
    ids=["sections", "fields", "material"],
)
def test_a_note_that_keeps_changing(
    kit: VaultToolkit, vault: Path, files: Files, before_commits: Before, call: Callable[[VaultToolkit], str]
) -> None:
    """B74: what others save wins every time, and in the end the model is told to come again."""
    kit.write(NOTE, "## Plan\nA")
    text = (vault / NOTE).read_text("utf-8")
    saved = []

    def save(number: int) -> None:
        saved.append(f"{text}Save {number} of a person.\n")
        (vault / NOTE).write_text(saved[-1], "utf-8")

    before_commits(save)
    before = files()
    with pytest.raises(Busy, match="keeps changing: try again later"):
        call(kit)
    assert files() == before | {NOTE: saved[-1]}
    assert len(saved) > 1 and not kit.records[-1].ok


def test_a_note_that_is_removed_meanwhile_is_made_anew(
    kit: VaultToolkit, vault: Path, before_commits: Before
) -> None:
    """What the model wrote is not reported as merged into a file that is gone: it is in a new note."""
    kit.write(NOTE, "## Plan\nA")
    before_commits(lambda number: number or (vault / NOTE).rename(vault / "gone.md"))
    assert "created" in kit.write(NOTE, "## Plan\nB", True)
    assert (vault / NOTE).read_text("utf-8").endswith("## Plan\nB\n")

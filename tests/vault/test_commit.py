"""A plan is applied to the vault it was made on, or not at all, and never twice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from automemory._process import owner
from automemory.errors import Conflict
from automemory.vault.commit import Basis
from automemory.vault.edits import (
    Append,
    Closing,
    Create,
    Filing,
    Plan,
    SetFields,
    UpdateIndex,
    dump,
    load,
    merged,
)
from automemory.vault.files import Signature
from automemory.vault.store import Store
from automemory.vault.tables import TurnRow

NOTE = "daily/2026-05-27/one/one.md"
INDEX = "daily/2026-05-27.md"
TEXT = "---\nname: one\ntitle: one\nthread: main\n---\n\n## Turns\n\n"
BLOCK = (
    "### 12:00:00\n<!-- turn id={id} at=2026-05-27T12:00:00+00:00 n=1 by=llm -->\n\n"
    "> [!user]\n> x\n<!-- /turn {id} -->\n"
)


def block(number: int) -> str:
    return BLOCK.format(id=f"{number:016x}")


def filing(number: int) -> Filing:
    return Filing(f"{number:016x}", NOTE, 1, 1, 1_779_883_200.0)


OPENING = Plan(
    (Create(NOTE, TEXT + block(1), block(1)), UpdateIndex(INDEX, opened=[NOTE])), "/main", filing(1)
)


@pytest.fixture
def store(vault: Path) -> Iterator[Store]:
    opened = Store(vault, sync=False, lock_timeout_s=1)
    for number in (1, 2):
        opened.state.put_turn(
            TurnRow(0, f"{number:016x}", "/main", "", "accepted", 1, 0, 0, "", owner(), "payload")
        )
    yield opened
    opened.close()


def everything(vault: Path) -> dict[str, bytes]:
    return {str(p.relative_to(vault)): p.read_bytes() for p in (vault / "daily").rglob("*") if p.is_file()}


@pytest.mark.parametrize("what", ["version", "note", "absent"])
def test_plan_for_another_state_of_the_vault_does_nothing(store: Store, vault: Path, what: str) -> None:
    """The stream moved on, the note was saved, or the folder was made by somebody else."""
    store.committer.commit(OPENING, Basis(0))
    before = everything(vault)
    found = store.disk.signature(NOTE)
    assert found
    basis, reason = {
        "version": (Basis(0), "moved on"),
        "note": (Basis(1, {NOTE: replace(found, mtime=1)}), "was changed"),
        "absent": (Basis(1, {}, ("daily/2026-05-27/one",)), "made by somebody else"),
    }[what]
    with pytest.raises(Conflict, match=reason):
        store.committer.commit(Plan((Append(NOTE, found.size, "\n", block(2)),), "/main", filing(2)), basis)
    assert everything(vault) == before and store.state.plans() == []


def test_plan_found_again_changes_nothing(store: Store, vault: Path) -> None:
    """It was applied whole, but the process died before it could say so."""
    store.committer.commit(OPENING, Basis(0))
    size = (vault / NOTE).stat().st_size
    closing = Plan(
        (
            Append(NOTE, size, "\n", block(2)),
            SetFields(NOTE, {"closed": "2026-05-27T12:00:00+00:00", "title": None}),
            UpdateIndex(INDEX, closed=[Closing(NOTE, "Done.", "")]),
        ),
        "/main",
        filing(2),
    )
    found = store.disk.signature(NOTE)
    assert found
    store.committer.commit(closing, Basis(1, {NOTE: found}))
    after = everything(vault)
    assert b"Done." in after[INDEX] and b"title" not in after[NOTE]
    for plan in (OPENING, closing):
        store.state.put_plan(plan)
        store.committer.recover()
        assert everything(vault) == after and store.state.plans() == []


@pytest.mark.parametrize("written", range(0, len("\n" + block(2)), 7))
def test_half_written_block_is_completed(store: Store, vault: Path, written: int) -> None:
    """Bytes that begin the block are cut back and written whole; the turn is there once."""
    store.committer.commit(OPENING, Basis(0))
    whole = (vault / NOTE).read_bytes()
    plan = Plan((Append(NOTE, len(whole), "\n", block(2)),), "/main", filing(2))
    store.state.put_plan(plan)
    (vault / NOTE).write_bytes(whole + ("\n" + block(2)).encode()[:written])
    store.committer.recover()
    assert (vault / NOTE).read_bytes() == whole + ("\n" + block(2)).encode()


def test_text_that_a_person_added_is_kept(store: Store, vault: Path) -> None:
    """It is no beginning of the block: the block follows it."""
    store.committer.commit(OPENING, Basis(0))
    whole = (vault / NOTE).read_bytes()
    store.state.put_plan(Plan((Append(NOTE, len(whole), "\n", block(2)),), "/main", filing(2)))
    (vault / NOTE).write_bytes(whole + b"\nMine.")
    store.committer.recover()
    assert (vault / NOTE).read_bytes() == whole + b"\nMine.\n\n" + block(2).encode()


def test_turn_whose_note_is_gone_stays_to_be_filed(store: Store, vault: Path) -> None:
    """A person deleted the event between the plan and its end: the plan ends, the turn is not called
    filed.
    """
    store.state.put_plan(Plan((Append(NOTE, 10, "\n", block(2)),), "/main", filing(2)))
    store.committer.recover()
    assert store.state.plans() == [] and not (vault / NOTE).exists()
    row = store.state.turn(filing(2).turn)
    assert row and row.state == "accepted" and row.payload


def test_plans_are_data() -> None:
    plan = Plan(
        (
            Create(NOTE, TEXT, block(1)),
            Append(NOTE, 3, "\n", "中\n", "\r\n"),
            SetFields(NOTE, {"a": None, "b": "c"}),
            UpdateIndex(INDEX, [NOTE], [Closing(NOTE, "a", "b")], [Closing(NOTE, "", "c")]),
        ),
        "/main",
        filing(1),
    )
    assert load(dump(plan)) == plan and load(dump(replace(plan, filing=None))).filing is None
    assert Append(NOTE, 3, "\n", "中\n", "\r\n").data == "\r\n中\r\n".encode()


def test_indexes_come_last_and_once() -> None:
    """A line never names a note that is not there yet."""
    first, other = UpdateIndex(INDEX, opened=["a"]), UpdateIndex("daily/2026-05-28.md", opened=["b"])
    second = UpdateIndex(INDEX, closed=[Closing("c", "", "")])
    fields = SetFields(NOTE, {})
    assert merged([first, fields, other, second]) == (
        fields,
        UpdateIndex(INDEX, ["a"], [Closing("c", "", "")]),
        other,
    )


def test_signature_tells_states_apart(store: Store, vault: Path) -> None:
    store.committer.commit(OPENING, Basis(0))
    found = store.disk.signature(NOTE)
    assert found == Signature.of((vault / NOTE).stat()) and store.disk.signature("daily/none.md") is None

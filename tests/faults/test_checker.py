"""The checker sees what it is there to see."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from checker import problems
from vaults import KEPT, Prepared, copy

ALPHA = "daily/2026-05-27/alpha/alpha.md"
INDEX = "daily/2026-05-27.md"
TURN = "\n### 12:02:00\n<!-- turn id=04d5b3590f94efc0 "


def block(text: str) -> str:
    return text[text.index(TURN) :]


DAMAGES: dict[str, tuple[str, Callable[[str], str], str]] = {
    "torn": (ALPHA, lambda t: t[:-60], "no whole block"),
    "shortened": (ALPHA, lambda t: t.replace(block(t), ""), "is lost"),
    "doubled": (ALPHA, lambda t: t + block(t), "stands at"),
    "written into": (ALPHA, lambda t: t.replace("> Answer 2.", "Answer 2."), "unquoted"),
    "glued": (ALPHA, lambda t: t.replace("\n### 12:02", "### 12:02"), "no whole block"),
    "swapped": (
        ALPHA,
        lambda t: t.replace(block(t), "").replace("## Turns\n", "## Turns\n" + block(t)),
        "order",
    ),
    "without frontmatter": (ALPHA, lambda t: t.replace("---\n", "", 1), "no frontmatter"),
    "half closed": (ALPHA, lambda t: t.replace("\nstatus:", "\nclosed_by: switch\nstatus:"), "closed_by"),
    "another's name": (ALPHA, lambda t: t.replace("name: alpha", "name: beta"), "says it is"),
    "a person's lines gone": (ALPHA, lambda t: t.replace("Mine", "Yours"), "lost"),
    "no line": (INDEX, lambda t: "\n".join(x for x in t.split("\n") if "[[" not in x), "0 index lines"),
    "two lines": (
        INDEX,
        lambda t: t + "".join(x + "\n" for x in t.split("\n") if "[[" in x),
        "2 index lines",
    ),
    "torn line": (INDEX, lambda t: t[:-4], "torn"),
    "line to nowhere": (INDEX, lambda t: t.replace("alpha", "gamma"), "leads nowhere"),
    "emptied": (ALPHA, lambda t: "", "no frontmatter"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_every_damage_is_seen(damage: str, prepared: Callable[[str], Prepared], tmp_path: Path) -> None:
    """A checker that could not fail would prove nothing."""
    vault = copy(prepared("continue").vault, tmp_path / "vault")
    ids = ["df7ce2b30fc6795e", "04d5b3590f94efc0"]
    assert problems(vault, ids, [ids], KEPT, finished=True) == []
    path, change, message = DAMAGES[damage]
    (vault / path).write_text(change((vault / path).read_text("utf-8")), "utf-8")
    assert any(message in problem for problem in problems(vault, ids, [ids], KEPT))

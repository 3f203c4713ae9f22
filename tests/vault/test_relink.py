"""Links that are made to lead elsewhere, or nowhere: only live ones, and no other byte."""

from __future__ import annotations

import pytest

from automemory.vault import frontmatter
from automemory.vault.relink import relinked

OLD, NEW = "daily/2026-05-27/two/two.md", "daily/2026-05-27/one/one.md"
MOVED = {OLD: NEW, OLD.removesuffix(".md"): NEW, "two": NEW}
GONE = {OLD: "", OLD.removesuffix(".md"): "", "two": ""}
TURN = (
    "### 12:00:00\n<!-- turn id=5 at=2026-05-27T12:00:00+00:00 n=1 by=llm -->\n"
    "{prose}\n\n> [!user]\n> see [[{old}]] and ![[two]]\n<!-- /turn 5 -->\n"
)


@pytest.mark.parametrize(
    ("line", "moved", "gone"),
    [
        (f"See [[{OLD}]].", f"See [[{NEW}]].", "See (forgotten)."),
        (f"- [[{OLD}|two]] — Its end.", f"- [[{NEW}|one]] — Its end.", "- (forgotten) — Its end."),
        (f"[[{OLD}|my words]]", f"[[{NEW}|my words]]", "my words"),
        (f"[[{OLD[:-3]}#Plan|p]]", f"[[{NEW[:-3]}#Plan|p]]", "p"),
        ("[[two]], ![[two]]", f"[[{NEW[:-3]}]], ![[{NEW[:-3]}]]", "(forgotten), (forgotten)"),
        (f"[text]({OLD})", f"[text]({NEW})", "text"),
        ("`[[two]]` and \\[[two]]", "`[[two]]` and \\[[two]]", "`[[two]]` and \\[[two]]"),
        ("> [[two]]", "> [[two]]", "> [[two]]"),
        ("[[two-2]] [[daily/2026-05-28/two/two.md]]",) * 2 + ("[[two-2]] [[daily/2026-05-28/two/two.md]]",),
    ],
)
def test_links_in_a_line(line: str, moved: str, gone: str) -> None:
    """Alias, heading and spelling are kept; a link of another target, code and escapes stay."""
    assert relinked(f"Words\n\n{line}\n", MOVED) == f"Words\n\n{moved}\n"
    assert relinked(f"Words\n\n{line}\n", GONE) == f"Words\n\n{gone}\n"


def test_quoted_words_stay_and_the_turns_own_lines_change() -> None:
    """What was said is not touched: only the patch and the references."""
    text = "---\nname: x\n---\n\n## Turns\n\n" + TURN.format(prose=f"On.\nRefs: [[a.md]] [[{OLD}]]", old=OLD)
    assert relinked(text, MOVED) == text.replace(f"Refs: [[a.md]] [[{OLD}]]", f"Refs: [[a.md]] [[{NEW}]]")
    assert relinked(text, GONE) == text.replace(f"Refs: [[a.md]] [[{OLD}]]", "Refs: [[a.md]]")
    alone = text.replace("[[a.md]] ", "")
    assert relinked(alone, GONE) == alone.replace(f"Refs: [[{OLD}]]\n", "")


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_inheriting_from_what_moved_or_is_gone(newline: str) -> None:
    """B57: the property and the line in the body change together; neither is left dangling."""
    plain = "---\nname: x\nthread: main\n---\n\n## Turns\n".replace("\n", newline)
    heir = plain.replace("thread:", f'inherits: "[[{OLD}]]"{newline}thread:').replace(
        "## Turns", f"Continues [[{OLD}|two]].{newline * 2}## Turns"
    )
    moved = relinked(heir, MOVED)
    assert frontmatter.read(moved).fields["inherits"] == f"[[{NEW}]]"
    assert moved == heir.replace(OLD, NEW).replace("|two", "|one")
    assert relinked(heir, GONE) == plain


def test_a_note_does_not_go_on_with_itself() -> None:
    """The library's line that it continues the event that was joined to it goes."""
    text = f"---\nname: one\n---\n\nContinues [[{OLD}|two]].\n\n## Turns\n"
    assert relinked(text, MOVED, NEW) == "---\nname: one\n---\n\n## Turns\n"


def test_properties_of_people() -> None:
    """Other properties that are a link change too, unless the block could not be read any more."""
    text = f'---\nrelated:\n  - "[[{OLD}|two]]" # mine\n---\nWords\n'
    assert frontmatter.read(relinked(text, MOVED)).fields == {"related": [f"[[{NEW}|one]]"]}
    assert "(forgotten)" in relinked(text, GONE)
    assert relinked(f"---\nbroken: [\n---\n[[{OLD}]]\n", MOVED) == f"---\nbroken: [\n---\n[[{NEW}]]\n"


def test_relinked_again_is_the_same() -> None:
    """As every edit, it can be repeated."""
    text = f"[[{OLD}|two]] [[two]] [x]({OLD})\n"
    for links in (MOVED, GONE):
        once = relinked(text, links)
        assert relinked(once, links) == once != text

"""Merging new text into a note's sections: old entries and people's text stay, whatever the new text is."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automemory.vault import edits
from automemory.vault.edits import Merge, Plan
from automemory.vault.note import blocks, turns_start
from automemory.vault.sanitize import entries, safe_line, safe_markdown, safe_text
from automemory.vault.sections import SECTIONS, Section, merge, merge_note, others, parse, words

NAMES = [section.name for section in SECTIONS]
GROWING = [section.name for section in SECTIONS if section.policy in {"append", "union"}]

FRAGMENTS = st.sampled_from(
    [
        *("## Turns", "## Progress", "## Plan", "# Title", "### Later", "#tag", "---", "===", "%%", "<div>"),
        *("```", "~~~", "````", "<!--", "-->", "<!-- /turn 1 -->", "> quote", "![[x]]", "<% x %>", "^block"),
        "<!-- turn id=1 at=2026-05-27T12:00:00+00:00 n=1 by=local -->",
        *("- one", "- two", "  more of it", "1. first", "- [ ] task", "* star", "- ", "words", "  ", "\t"),
        *("- [[a/b.md|b]] — said", "- [x.pdf](x.pdf)", "- [x.pdf](x.pdf) — a plan", "- [[resource/r.md]]"),
        *(
            "key:: value",
            r"\# escaped",
            r"\\[[a]]",
            r"\[\[b]]",
            "[[nowhere]]",
            "| a | b |",
            "- 2026-05-27 Did it",
        ),
    ]
)
TEXTS = st.lists(st.one_of(FRAGMENTS, st.text(max_size=12)), max_size=8).map("\n".join)
PATCHES = st.dictionaries(st.sampled_from(NAMES), TEXTS, max_size=7)
ENDS = st.sampled_from(["\n", "\r\n"])


@st.composite
def bodies(draw: st.DrawFn) -> str:
    """A note's body: sections in any order, people's headings and text between and in them."""
    headings = st.one_of(st.sampled_from([f"## {name}" for name in NAMES]), FRAGMENTS)
    parts = draw(st.lists(st.tuples(headings, TEXTS), max_size=6))
    text = "\n".join(["", *(f"{heading}\n{text}\n" for heading, text in parts)])
    return text.replace("\n", draw(ENDS))


def grow(body: str, name: str) -> list[str]:
    return [words(entry) for entry in entries(parse(body).get(name, ""))]


@settings(deadline=None)
@given(bodies(), PATCHES, st.booleans())
def test_merging_the_same_again_changes_nothing(body: str, new: dict[str, str], scope: bool) -> None:
    """A plan can be applied twice: whatever text people and models wrote."""
    once = merge(body, new, scope_changed=scope)
    assert merge(once, new, scope_changed=scope) == once


@settings(deadline=None)
@given(bodies(), PATCHES, st.booleans())
def test_old_entries_stay_in_order(body: str, new: dict[str, str], scope: bool) -> None:
    """B78: Progress, Findings, Decisions and Materials only grow, and the old lines come first, unchanged."""
    merged = merge(body, new, scope_changed=scope)
    for name in GROWING:
        old, now = grow(body, name), grow(merged, name)
        positions = iter(now)
        assert all(any(kept in entry for entry in positions) for kept in old), (name, old, now)


@settings(deadline=None)
@given(bodies(), PATCHES, st.booleans())
def test_peoples_lines_stay_byte_for_byte(body: str, new: dict[str, str], scope: bool) -> None:
    """B80: what is outside the text of replaced and set-once sections is there, in order, line ends too."""
    merged = merge(body, new, scope_changed=scope)
    own = set()
    for section in ("Objective", "Plan", "Next"):
        own |= {line.strip() for line in parse(body).get(section, "").split("\n")}
    kept = [line for line in re.split(r"(?<=\n)", body) if line.strip() not in own]
    lines = iter(re.split(r"(?<=\n)", merged))
    for line in kept:
        assert any(other == line or other.rstrip().startswith(line.rstrip()) for other in lines), line


@settings(deadline=None)
@given(bodies(), PATCHES)
def test_a_set_once_section_changes_with_the_scope_only(body: str, new: dict[str, str]) -> None:
    """4.1: the first Objective stays."""
    before, after = parse(body).get("Objective", ""), parse(merge(body, new)).get("Objective", "")
    if before.split("\n### ")[0].strip() and not before.startswith("#"):
        assert after == before


@settings(deadline=None)
@given(bodies(), PATCHES, st.booleans())
def test_new_text_makes_no_heading_of_its_own(body: str, new: dict[str, str], scope: bool) -> None:
    """Nothing a model writes opens `## Turns`, another section, a comment or a fence."""
    merged = merge(body, new, scope_changed=scope)
    assert set(others(merged)) <= set(others(body))
    for opening in ("## Turns", "<!-- turn", "```", "~~~", "---", "<!--"):
        count = sum(line.startswith(opening) for line in merged.split("\n"))
        assert count <= sum(line.startswith(opening) for line in body.split("\n"))


@settings(deadline=None)
@given(TEXTS, st.booleans())
def test_safe_text_stays_as_it_is(text: str, resolves: bool) -> None:
    """A model that reads a note and hands it back does not add backslashes."""
    for make in (safe_line, safe_text):
        once = make(text, lambda target: resolves)
        assert make(once, lambda target: resolves) == once


@settings(deadline=None)
@given(bodies(), PATCHES)
def test_a_note_handed_back_whole_changes_no_list(body: str, new: dict[str, str]) -> None:
    """B78: the model reads the note and writes all of it again: no entry stands there twice."""
    merged = merge(body, new)
    again = merge(merged, parse(merged))
    for name in GROWING:
        assert grow(again, name) == grow(merged, name)


def test_new_sections_come_in_canonical_order_around_peoples_own() -> None:
    """B80: missing sections go to their place; a person's section and text stay where they are."""
    body = "\nContinues [[a]].\n\n## Plan\nOld plan.\n\n## Mine\nOwn words.\n\n## Next\n- [ ] x\n"
    merged = merge(body, {"Objective": "Ship it.", "Progress": "- Did.", "Materials": "- [x.pdf](x.pdf)"})
    assert merged == (
        "\nContinues [[a]].\n\n## Objective\nShip it.\n\n## Plan\nOld plan.\n\n## Progress\n- Did.\n\n"
        "## Mine\nOwn words.\n\n## Next\n- [ ] x\n\n## Materials\n- [x.pdf](x.pdf)\n"
    )


def test_each_policy() -> None:
    """4.1: set-once, replace, append, union."""
    body = (
        "## Objective\nOne.\n\n## Plan\nA\n\n## Progress\n- a\n\n"
        "## Materials\n- [[m.md]]\n- [p.pdf](p.pdf) — mine\n"
    )
    new = {
        "Objective": "Other.",
        "Plan": "B",
        "Progress": "- a\n-   b",
        "Materials": "- [[m.md]] — a trace\n- [p.pdf](p.pdf) — the plan\n- [q.png](q.png)",
    }
    assert merge(body, new) == (
        "## Objective\nOne.\n\n## Plan\nB\n\n## Progress\n- a\n- b\n\n"
        "## Materials\n- [[m.md]] — a trace\n- [p.pdf](p.pdf) — mine\n- [q.png](q.png)\n"
    )
    assert parse(merge(body, new, scope_changed=True))["Objective"] == "Other."


def test_empty_text_changes_nothing() -> None:
    """B06: an empty or blank patch is no wish to erase."""
    body = "## Objective\nOne.\n\n## Plan\nA\n\n## Progress\n- a\n"
    assert merge(body, dict.fromkeys(NAMES, " \n\t\n- \n"), scope_changed=True) == body


def test_headings_in_code_and_comments_are_none() -> None:
    """A fence or a comment that holds `## Progress` is people's text, not the section."""
    body = "```\n## Progress\n- no\n```\n\n<!--\n## Findings\n-->\n\n## Plan\nA\n"
    assert parse(body) == {"Plan": "A"}
    merged = merge(body, {"Progress": "- yes"})
    assert merged == body + "\n## Progress\n- yes\n"


def test_what_a_person_wrote_under_a_subheading_of_the_plan_stays() -> None:
    """Also when the model hands it back as a part of its plan, which would otherwise double it each time."""
    body = "## Plan\nA\n\n### My doubts\nIs it so?\n"
    merged = merge(body, {"Plan": "B"})
    assert merged == "## Plan\nB\n\n### My doubts\nIs it so?\n"
    assert merge(merged, {"Plan": "C\n\n### My doubts\nIs it so?"}) == merged.replace("B", "C")


def test_entries_follow_a_list_and_stand_clear_of_a_paragraph() -> None:
    assert merge("## Findings\n- a\n  more\n", {"Findings": "b"}) == "## Findings\n- a\n  more\n- b\n"
    assert merge("## Findings\nSee below", {"Findings": "b"}) == "## Findings\nSee below\n\n- b\n"
    assert merge("## Findings\n## Next\n- x\n", {"Findings": "b"}) == "## Findings\n- b\n\n## Next\n- x\n"


def test_line_breaks_of_an_entry_are_folded() -> None:
    """1.3: an entry is one list item; what belongs to it stays with it."""
    new = "- First,\n  still first\n- Second\n\nThird\n1. Fourth\nstill fourth"
    assert entries(new) == ["First, still first", "Second", "Third", "Fourth still fourth"]


def test_wikilinks_of_new_text_stay_as_live_as_they_are() -> None:
    """Who makes the patch decides which links resolve; merging does not revive the others."""
    merged = merge("", {"Findings": "- see [[resource/r.md]] and [\\[b]]", "Plan": "read [[a]]"})
    assert "[[resource/r.md]] and [\\[b]]" in merged
    assert "read [[a]]" in merged


NOTE = (
    "\ufeff---\r\ntitle: A\r\n---\r\n\r\n## Plan\r\nOld\r\n\r\n## Turns\r\n\r\n### 12:00:00\r\n"
    "<!-- turn id=1 at=2026-05-27T12:00:00+00:00 n=2 by=local -->\r\n\r\n> [!user]\r\n> ## Progress\r\n"
    "<!-- /turn 1 -->\r\n"
)


def test_a_note_of_windows_keeps_its_line_ends_and_its_mark() -> None:
    """B60: byte order mark and CRLF stay, also in what is added; the turns stay byte for byte."""
    merged = merge_note(NOTE, {"Plan": "New\nplan", "Progress": "- did"})
    assert merged == NOTE.replace("Old\r\n", "New\r\nplan\r\n\r\n## Progress\r\n- did\r\n")
    assert "\n" not in merged.replace("\r\n", "")


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("---\nname: [broken\n---\n\nText\n", "---\nname: [broken\n---\n\nText\n"),
        ("---\nnever: closed\n\nText\n", "---\nnever: closed\n\nText\n"),
        ("No frontmatter\n", "No frontmatter\n"),
        ("---\na: b\n---", "---\na: b\n---\n\n"),
        ("", ""),
        ("\ufeff", "\ufeff"),
    ],
)
def test_a_note_with_broken_frontmatter_still_merges(text: str, start: str) -> None:
    """B58: nothing at its head is touched, and no second block appears."""
    merged = merge_note(text, {"Plan": "B"})
    assert merged.startswith(start)
    assert merged.endswith("## Plan\nB\n")
    assert merge_note(merged, {"Plan": "B"}) == merged


def test_section_is_found_by_its_heading() -> None:
    """By the whole of it; deeper headings are part of the section, whatever the line ends."""
    body = "before\n\n## Objective\nOne.\n\n### Detail\nTwo.\n## Plan\r\n1. x\r\n"
    assert parse(body)["Objective"] == "One.\n\n### Detail\nTwo."
    assert parse(body)["Plan"] == "1. x" and "Pla" not in parse(body)


def test_turns_stay_last_whatever_stands_before_them() -> None:
    """A note that lost its `## Turns`, or has one in code, gets its sections above the turns all the same."""
    turn = NOTE.replace("\r", "").partition("## Turns\n")[2]
    without = f"---\na: b\n---\n{turn}"
    merged = merge_note(without, {"Plan": "B"})
    assert merged == f"---\na: b\n---\n\n## Plan\nB\n{turn}"
    in_code = "---\na: b\n---\n\n```\n## Turns\n```\n"
    assert turns_start(in_code) == len(in_code)
    assert merge_note(in_code, {"Plan": "B"}) == in_code + "\n## Plan\nB\n"
    tight = f"---\na: b\n---\n## Turns\n{turn}"
    assert merge_note(tight, {"Plan": "B"}) == f"---\na: b\n---\n\n## Plan\nB\n\n## Turns\n{turn}"


@settings(deadline=None)
@given(bodies(), PATCHES)
def test_turns_stay_byte_for_byte(body: str, new: dict[str, str]) -> None:
    """B80: the turns of a note survive any merge, and read as before."""
    head, _, turns = NOTE.partition("\r\n\r\n## Plan\r\nOld\r\n")
    text = f"{head}\r\n{body.replace('<!-- turn', '<!-- turned')}{turns}"
    merged = merge_note(text, new)
    assert merged.startswith(head) and merged.endswith(turns)
    assert blocks(merged) == blocks(text)


def test_a_schemas_own_sections_are_merged_by_the_same_rules() -> None:
    """2.6: files of a note schema bring their own sections."""
    own = (Section("Log", "append", True), Section("State", "replace", True))
    merged = merge("", {"Log": "a\nb", "State": "open\n- closed", "Plan": "no"}, sections=own)
    assert merged == "## Log\n- a\n- b\n\n## State\n- open\n- closed\n"


def test_a_merge_is_stored_and_read_back() -> None:
    plan = Plan((Merge("a.md", {"Log": "x"}, True, [["Log", "append", True]]), Merge("b.md", {})), "s")
    assert edits.load(edits.dump(plan)) == plan


def test_markdown_of_a_file_of_its_own_keeps_its_form() -> None:
    """Headings, lists, quotes and code stay; dead links, tags, HTML and what would run are disarmed."""
    text = (
        "---\na: b\n---\n# Title #tag\n\n> said [[x]]\n- [ ] one\n\n```py\na[[0]]\n```\n\n"
        "```dataviewjs\nrun\n```\n<b>"
    )
    assert safe_markdown(text, lambda target: False) == (
        "\\---\na: b\n\\---\n# Title \\#tag\n\n> said [\\[x]]\n- [ ] one\n\n```py\na[[0]]\n```\n\n"
        "```\\dataviewjs\nrun\n```\n\\<b>"
    )


@pytest.mark.parametrize(
    ("text", "made"),
    [
        (" ``` \n```", "``` \n```"),
        ("- x\n  ```py\n  a   b\n    c\n  ```\ny", "- x\n```py\na   b\n  c\n```\ny"),
        ("   ~~~\n a   [[b]]\n  ~~~", "~~~\na   [[b]]\n~~~"),
        ("```\na\n```\n ```\nb   c\n ```", "```\na\n```\n```\nb   c\n```"),
        (" ```\na   b", " \\```\na b"),
    ],
)
def test_indented_code_of_a_file_of_its_own_stays_code(text: str, made: str) -> None:
    """Its indent goes, as a renderer would take it away; an unclosed fence is text; all stays then."""
    safe = safe_markdown(text, lambda target: False)
    assert safe == made
    assert safe_markdown(safe, lambda target: False) == safe


@pytest.mark.parametrize(
    "body",
    ["## a\n" * 60_000, "# a" + " " * 300_000 + "x", "# a" + " #" * 100_000 + "x"],
    ids=["headings", "blanks", "marks"],
)
def test_hostile_bodies_take_one_pass(body: str) -> None:
    """300 000 characters of headings or of one heading are read and merged (hours if it were quadratic)."""
    assert "## Plan\nx\n" in merge(body, {"Plan": "x", "Findings": body[:50]})
    assert entries(body) == []
    assert safe_text(body[:200_000], lambda target: False).count("\n") <= 60_000


def test_descriptions_of_many_materials_are_added_in_one_pass() -> None:
    """B80: thousands of old entries without description get one, in their lines and each once."""
    names = [f"x/file-{number}.md" for number in range(3_000)]
    merged = merge(
        "## Materials\n" + "".join(f"- [[{n}]]\n" for n in names),
        {"Materials": "".join(f"- [[{n}]] — what it is\n" for n in names)},
    )
    assert merged == "## Materials\n" + "".join(f"- [[{n}]] — what it is\n" for n in names)


def test_markers_in_the_frontmatter_begin_no_turns() -> None:
    """A `---` far below makes all above it frontmatter: the sections stand behind it, and come once."""
    note = "---\n<!-- turn id=a at=x n=1 by=b -->\n<!-- /turn a -->\n---\nA person's rule.\n"
    merged = merge_note(note, {"Plan": "x"})
    assert merge_note(merged, {"Plan": "x"}) == merged
    assert merged.count("## Plan") == 1 and merged.startswith(note)


def test_of_two_entries_for_a_material_the_one_that_says_something_is_taken() -> None:
    """To merge the same again changes nothing, even if a model names a file twice and describes it once."""
    new = {"Materials": "- [[a.md]]\n- [[b.md]]\n- [[a.md]] — what it is\n"}
    merged = merge("", new)
    assert merged == "## Materials\n- [[a.md]] — what it is\n- [[b.md]]\n"
    assert merge(merged, new) == merged


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("# C#", "# C#"),
        ("## a ##", "## a"),
        ("# a # #", "# a"),
        ("# # # #", ""),
        ("# a \\#", "# a \\#"),
        ("<!--\n-->", "\\<!--\n--\\>"),
        ("<!--\n# a\n```\n# b\n```\n-->", "\\<!--\n# a\n```\n# b\n```\n--\\>"),
    ],
)
def test_marks_behind_a_heading_and_comments_of_a_file_of_its_own(text: str, made: str) -> None:
    """Marks that close a heading go, those of a word stay; a comment's lines are text; then all stays."""
    safe = safe_markdown(text, lambda target: False)
    assert made in ("", safe)
    assert safe_markdown(safe, lambda target: False) == safe

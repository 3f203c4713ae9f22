"""Which links of a note are live, and what is none however it looks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from automemory.turn import Step
from automemory.vault.links import find_links, may_link, may_mention
from automemory.vault.note import new_note
from automemory.vault.quoting import quote_steps

BEGIN = "### 14:03:22\n<!-- turn id=5f at=2026-05-28T14:03:22+08:00 n=4 by=local p=0.04 -->\n"
END = "<!-- /turn 5f -->\n"
FRONT = "---\nname: x\n---\n"


def turn(inside: str) -> str:
    return f"{FRONT}\n## Turns\n\n{BEGIN}{inside}{END}"


def targets(text: str, *, quoted: bool = False) -> list[str]:
    found = find_links(text, quoted=quoted)
    assert quoted or not found or may_link(text), "the quick look must not miss what the slow one finds"
    return [link.target for link in found]


@pytest.mark.parametrize(
    ("written", "target"),
    [
        ("[[resource/a.md]]", "resource/a.md"),
        ("[[resource/a]]", "resource/a"),
        ("[[a|shown]]", "a"),
        (r"[[a\|in a table]]", "a"),
        ("[[a#Heading]] and [[#Own heading]]", "a"),
        ("![[pic.png|100]]", "pic.png"),
        ("- [ ] read [[a]]", "a"),
        ("# [[a]]", "a"),
        ("**[[a]]**", "a"),
        ("[text](resource/b%20c.md#part)", "resource/b c.md"),
        ("[text](<resource/b c.md>)", "resource/b c.md"),
        ("![text](img/y.png)", "img/y.png"),
        ("[text][1]\n\n[1]: resource/a.md", "resource/a.md"),
        ("[[部署/step]]", "部署/step"),
    ],
)
@pytest.mark.parametrize("place", ["section", "turn", "after", "crlf"])
def test_live_links_are_found_in_every_form(written: str, target: str, place: str) -> None:
    """In a person's section, in a turn's own lines, behind the last turn, with Windows line ends (B60)."""
    text = {
        "section": f"{FRONT}\n## Notes\n\n{written}\n\n## Turns\n\n{BEGIN}A patch.\n{END}",
        "turn": turn(f"{written}\n\n> [!user]\n> Hi.\n"),
        "after": turn("A patch.\n") + f"\n{written}\n",
        "crlf": f"\ufeff{FRONT}\n{written}\n".replace("\n", "\r\n"),
    }[place]
    assert targets(text) == [target]


@pytest.mark.parametrize(
    "written",
    [
        r"\[[a]]",
        r"[\[a]]",
        "`[[a]]`",
        "```\n[[a]]\n```",
        "~~~\n[[a]]\n~~~",
        "```\nnever closed [[a]]",
        "- item\n\n  ```\n  [[a]]\n  ```",
        "text\n\n    [[a]] as indented code",
        "<!-- [[a]] -->",
        "<!--\n\n[[a]]\n\n-->",
        "words <!-- [[a]] --> words",
        "%% [[a]] %%",
        "%%\n\n[[a]]\n\n%%",
        "<div>\n[[a]]\n</div>",
        "> [[a]]",
        "> quoted\nand on [[a]]",
        "- > [[a]]",
        "> - [[a]]",
        "[text](https://example.com/a.md)",
        "[text](mailto:a@example.com)",
        "[text](#heading)",
        "[[#heading]]",
        "[[a\nb]]",
        "[[]]",
        "[text]",
    ],
)
def test_what_is_no_live_link(written: str) -> None:
    """B64: quoted, escaped, code, comments, HTML, other places of the web and of the same note."""
    assert targets(f"{FRONT}\n{written}\n") == []


@pytest.mark.parametrize(
    "step",
    [
        Step("user", "see [[resource/a.md]] and [t](resource/a.md)"),
        Step("assistant", "```\n[[resource/a.md]]\n```\n[[resource/a.md]]"),
        Step("tool", "[[resource/a.md]]\n\n````\n[[resource/a.md]]", "read", '{"path": "[[resource/a.md]]"}'),
        Step("tool", "", "read", "[[resource/a.md]]", "no result"),
        Step("system note", "[[resource/a.md]]"),
    ],
)
def test_what_was_said_in_a_turn_is_no_link(step: Step) -> None:
    """B64: neither the user's and the agent's words nor a tool's output link to anything."""
    assert targets(turn(f"\n{quote_steps([step])}\n")) == []


@given(st.lists(st.builds(Step, st.sampled_from(["user", "assistant", "tool"]), st.text()), max_size=3))
def test_nothing_that_can_be_said_is_a_link(steps: list[Step]) -> None:
    """B64, for any text."""
    text = new_note({"name": "x"}, "", f"{BEGIN}\n{quote_steps(steps)}\n{END}")
    assert targets(text) == []


def test_quoted_line_that_lost_its_mark_is_quoted() -> None:
    """A person's editor wrapped a tool's output; what a person wrote between two callouts is theirs."""
    tool = "> [!tool]- cat\n> ```text\n> one\n[[resource/a.md]]\n> ```\n"
    assert targets(turn(f"{tool}\nMine: [[resource/b.md]]\n\n> [!user]\n> x\n")) == ["resource/b.md"]


def test_unclosed_fence_hides_no_turn() -> None:
    """B63: it hides the rest of the section that a person broke, not what the library wrote below."""
    text = f"{FRONT}\n```\n[[a]]\n\n## Turns\n\n{BEGIN}Refs: [[resource/b.md]]\n\n> [!user]\n> x\n{END}"
    assert targets(text) == ["resource/b.md"]


def test_quoted_links_are_given_if_asked_for() -> None:
    """Live ones and those in quotes, disarmed or not, told apart."""
    said = quote_steps([Step("user", "see [[resource/a.md|A]]"), Step("tool", "[[b]]", "cat")])
    found = find_links(turn(f"See [[c]].\n\n{said}\n"), quoted=True)
    assert [(link.target, link.quoted) for link in found] == [
        ("c", False),
        ("resource/a.md", True),
        ("b", True),
    ]


def test_place_of_a_link_is_told() -> None:
    """Its line, and when its turn happened."""
    [above, link] = find_links(f"{FRONT}one\ntwo [[a]]\n\n{BEGIN}A patch.\nRefs: [[b]]\n{END}")
    assert (above.line, above.text, above.at) == (5, "two [[a]]", None)
    assert (link.line, link.text) == (10, "Refs: [[b]]")
    assert link.at is not None and link.at.isoformat() == "2026-05-28T14:03:22+08:00"


@pytest.mark.parametrize(
    ("front", "found"),
    [
        ('inherits: "[[daily/a]]"', [("daily/a.md", 2)]),
        ("inherits: [[daily/a|alias, with a comma]]", [("daily/a.md", 2)]),
        ("inherits: daily/a.md", [("daily/a.md", 2)]),
        ('title: x\nsource: "[[a]]"', [("a.md", 3)]),
        ('rel:\n  - "[[a]]"\n  - [[b]]\n  - c', [("a.md", 3), ("b.md", 4)]),
        ("title: talks of [[a]] only", []),
        ("title: resource/a.md", []),
        ('bad: "[[a]]', []),
    ],
)
def test_properties_that_are_links_are_links(front: str, found: list[tuple[str, int]]) -> None:
    """B57: quoted or not, alone or in a list; text that mentions one is none, broken YAML tells nothing."""
    links = find_links(f"---\n{front}\n---\nText.\n")
    assert [(link.target, link.line) for link in links] == found


@pytest.mark.parametrize(
    "text", ["", "\n", "---\n", "<!-- turn id=1 at=x -->", "> ", "[[", "\ufeff", "]]", "[](", "%%"]
)
def test_odd_texts_have_no_links(text: str) -> None:
    assert targets(text) == targets(text, quoted=True) == []


@given(st.text(alphabet="[]()|#!`~>%<-: \\ab.\n", max_size=80))
def test_quick_look_never_misses(text: str) -> None:
    """And reading links fails on no text."""
    targets(text)
    for link in find_links(text, quoted=True):
        assert text.split("\n")[link.line - 1].rstrip("\r") == link.text
        assert link.quoted or may_mention(text, link.target.rpartition("/")[2].removesuffix(".md"))


@pytest.mark.parametrize("piece", ["[", "![", "[a](", "[](<", "<!--", "<?", "<a ", "&a", "[a]: <", "*_a"])
def test_hostile_texts_are_read_in_bounded_time(piece: str) -> None:
    """For each of 200 000 characters, the parser would look at all of the rest (minutes to hours)."""
    text = "[[a]]\n\n" + piece * (200_000 // len(piece))
    assert targets(text)[0] == "a"


def test_links_of_a_long_paragraph_keep_their_lines() -> None:
    """It is read in pieces, which end where a line does: no link is cut, none told in the wrong place."""
    line = "some words, [[note one|n]] and [two](x/note%20two.md), then more words"
    found = find_links("\n".join([line] * 400))
    assert [link.target for link in found] == ["note one", "x/note two.md"] * 400
    assert [link.line for link in found] == [number for number in range(1, 401) for _ in (1, 2)]

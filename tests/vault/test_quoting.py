from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from automemory.content import clean
from automemory.turn import Step
from automemory.vault import quoting
from automemory.vault.quoting import (
    escape,
    inline,
    live_links,
    quote_steps,
    read_inline,
    read_steps,
    unescape,
)

PIECES = [
    "[", "[[", "]]", "]", "!", "(", ")", "|", "#", "##", "# ", ":", "::", "%", "%%", "<", "<%", "%>",
    "<!--", "-->", "\\", "\\\\", "`", "```", "````", "~~~", "~~~~", "\n", "\n\n", " ", "    ", "\t", ">",
    "> ", "- ", "* ", "1. ", "- [ ] ", "---", "===", "=", "-", "***", "^id", "^", "$", "$=", "{", "}", "a",
    "b", "1", "12", "key", "http://", "https://x.y", "note.md", "dataviewjs", "&#35;", "[!note]", "[!user]",
    "[^1]: ", "[x]: /u", "</div>", "<div>", "部署", "é", "e\u0301", "😀", "\x0b", "\x0c", "\x1c", "\x85",
    "\u2028", "\u2029", "\u00a0", "\u200b", "\ufeff",
]  # fmt: skip
NASTY = st.lists(st.sampled_from(PIECES), max_size=24).map("".join)
ANY = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
TEXTS = st.one_of(NASTY, ANY).map(clean)
LABELS = st.one_of(st.sampled_from(["system", "x (error)", "critic", "", " a  b ", "a%20b"]), TEXTS)
WORDS = st.builds(Step, st.sampled_from(["user", "assistant"]), TEXTS)
OTHERS = st.builds(Step, LABELS.filter(lambda role: role not in {"user", "assistant", "tool"}), TEXTS)
TOOLS = st.one_of(
    st.builds(
        Step, st.just("tool"), TEXTS, LABELS, st.one_of(st.none(), TEXTS), st.sampled_from(["ok", "error"])
    ),
    st.builds(Step, st.just("tool"), st.just(""), LABELS, st.one_of(st.none(), TEXTS), st.just("no result")),
)
STEPS = st.lists(st.one_of(WORDS, OTHERS, TOOLS), max_size=4)
MANY = settings(max_examples=300, deadline=None)

MARKDOWN = MarkdownIt("commonmark").enable("table")
# Written down again, apart from the module: what Obsidian and its usual plugins act on outside code.
LIVE = {
    "wikilink or embed": re.compile(r"\[\["),
    "image": re.compile(r"!\["),
    "tag": re.compile(
        r"""(?:^|(?<=\s))#\d*[^\d\s\u2000-\u206F\u2E00-\u2E7F'!"#$%&()*+,.:;<=>?@^`{|}~\[\]\\]"""
    ),
    "comment": re.compile(r"%%"),
    "template": re.compile(r"<%"),
    "field": re.compile(r"\S\s*::"),
    "html": re.compile(r"(?<!\\)(?:\\\\)*<[A-Za-z!/?]"),
    "task": re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+\[.\]\s"),
    "callout": re.compile(r"^[\s>]*\[!"),
    "block id": re.compile(r"(?:^|\s)\^[A-Za-z0-9-]+\s*$"),
    "internal link": re.compile(r"(?<!\\)(?:\\\\)*\]\((?!<?(?:https?://|mailto:))"),
    "inline query": re.compile(r"(?<!\\)(?:\\\\)*`\s*\$?="),
    "heading": re.compile(r"^[\s>]*#{1,6}(?:\s|$)"),
}


def never(_target: str) -> bool:
    return False


def live_syntax(line: str) -> list[str]:
    return [name for name, pattern in LIVE.items() if pattern.search(line)]


def fenced_lines(text: str) -> set[int]:
    """The lines that a Markdown parser takes for fenced code of the outermost block."""
    found: set[int] = set()
    for token in MARKDOWN.parse(text):
        if token.type == "fence" and token.level == 0 and token.map:
            found.update(range(*token.map))
    return found


@MANY
@given(st.one_of(NASTY, st.text(max_size=60)))
def test_escape_is_undone_exactly(text: str) -> None:
    """B64: disarming loses nothing, whatever the text is made of."""
    assert unescape(escape(text)) == text


@MANY
@given(STEPS)
def test_steps_come_back_exactly(steps: list[Step]) -> None:
    """B63, B61, B49: what was recorded is what is read, for any words, names, arguments and results."""
    assert read_steps(quote_steps(steps)) == steps


@MANY
@given(STEPS)
def test_every_line_of_a_step_is_quoted_and_blank_lines_stand_between_steps(steps: list[Step]) -> None:
    """Nothing said can reach column 0, where markers, headings and frontmatter live."""
    quoted = quote_steps(steps)
    blocks = quoted.split("\n\n") if steps else []
    assert len(blocks) == len(steps)
    assert all(line == ">" or line.startswith("> ") for block in blocks for line in block.split("\n"))


@MANY
@given(NASTY)
def test_escaped_text_holds_no_live_syntax_outside_code(text: str) -> None:
    """B64: tags, links, tasks, fields, comments and templates in captured text are inert."""
    escaped = escape(clean(text))
    code = fenced_lines(escaped)
    for number, line in enumerate(escaped.split("\n")):
        assert number in code or not live_syntax(line), (live_syntax(line), line)


@MANY
@given(STEPS)
def test_markdown_stays_in_its_quote(steps: list[Step]) -> None:
    """B63, B61: no heading, HTML or open fence comes out of a step; what follows is ordinary text."""
    tokens = MARKDOWN.parse(quote_steps(steps) + "\n\nAFTER *all*\n")
    kinds = {token.type for token in tokens}
    assert not kinds & {"heading_open", "html_block"}
    assert not any(
        child.type == "html_inline" or (child.type == "link_open" and not external(child.attrGet("href")))
        for token in tokens
        for child in token.children or ()
    )
    assert [token.type for token in tokens if token.level == 0][-2:] == ["paragraph_open", "paragraph_close"]
    assert sum(token.type == "blockquote_open" and token.level == 0 for token in tokens) == len(steps)
    assert tokens[-2].content == "AFTER *all*"


def external(href: object) -> bool:
    return str(href).startswith(("http:", "https:", "mailto:"))


@MANY
@given(NASTY, NASTY)
def test_no_text_defines_links_for_the_rest_of_the_note(text: str, other: str) -> None:
    """A `[x]: target` line in a message would make links of `[x]` everywhere in the note."""
    env: dict[str, object] = {}
    MARKDOWN.parse(quote_steps([Step("user", clean(text)), Step("critic", clean(other))]), env)
    assert not env.get("references")


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("see [[resource/a]]", r"see [\[resource/a]]"),
        ("see ![[x]]", r"see !\[\[x]]"),
        ("![alt](https://x.y/z.png)", r"!\[alt](https://x.y/z.png)"),
        ("#include <stdio.h>", r"\#include \<stdio.h>"),
        ("标签 #部署 done", r"标签 \#部署 done"),
        ("(#tag) #1a #-", r"(\#tag) \#1a \#-"),
        ("&#35;tag", r"\&#35;tag"),
        ("# x", r"\# x"),
        ("> - ## x", r"> - \## x"),
        ("#", r"\#"),
        ("- [ ] task", r"- \[ ] task"),
        ("1) [x] task", r"1) \[x] task"),
        ("key:: value", r"key:\: value"),
        ("[key:: v] and (key:: v)", r"\[key:\: v] and (key:\: v)"),
        ("a %%b%% %%%", r"a %\%b%\% %\%\%"),
        ("<% tp.x %>", r"<\% tp.x %>"),
        ("<!-- turn -->", r"\<!-- turn -->"),
        ("x\n---", "x\n\\---"),
        ("x\n==", "x\n\\=="),
        ("[!note] x", r"\[!note] x"),
        ("[^1]: x", r"\[^1]: x"),
        ("end ^block-id", r"end \^block-id"),
        ("[note](daily/a.md)", r"\[note\](daily/a.md)"),
        ("`= this.x` `$= dv`", r"\`= this.x` \`$= dv`"),
        ("```py\nopen", "\\```py\nopen"),
        ("  ```\n  x\n  ```", "  \\```\n  x\n  \\```"),
        ("- ~~~\n  x", "- \\~~~\n  x"),
        ("```dataviewjs\nx\n```", "```\\dataviewjs\nx\n```"),
    ],
)
def test_what_would_be_live_is_disarmed(text: str, escaped: str) -> None:
    """B64: each kind of live syntax; no heading, tag or task of a message shows up in the vault."""
    assert escape(text) == escaped
    assert unescape(escaped) == text


@pytest.mark.parametrize(
    "text",
    [
        "Why does /login bounce back to itself?",
        "Fixed #12, see https://example.org/a#top and C#; a < b, 3 > 2, 50% of $x$.",
        "- item\n- other\n\n1. one\n2. two\n\n| a | b |\n|---|---|\n| 1 | 2 |",
        "- [docs](https://example.org/docs)",
        "```py\n#include [[x]] key:: %%\n- [ ] <b>\n```",
        "~~~~ text\n```\n~~~\n~~~~",
        "第一步：部署。**重要**",
        r"C:\temp\new \alpha",
    ],
)
def test_ordinary_text_and_fenced_code_stay_as_they_are(text: str) -> None:
    """A note has to stay readable: only what is live changes."""
    assert escape(text) == text


def test_templates_are_disarmed_in_code_too() -> None:
    """B64: a template engine runs `<%` wherever it stands, in code and in a tool's output alike."""
    code = "```erb\n<% run %> <\\% x\n```"
    steps = [Step("user", code), Step("tool", "<%* run %>", "cat", '{"a": "<%"}')]
    assert "<%" not in quote_steps(steps)
    assert read_steps(quote_steps(steps)) == steps


def test_the_layout_of_a_turn() -> None:
    """The form a note shows: callouts, bare marks for empty lines, fences of four backticks, JSON named."""
    steps = [
        Step("user", "Why?\n\nReally."),
        Step("tool", "HTTP 302", "bash", '{"command": "curl"}'),
        Step("tool", "boom", "bash", "not json", "error"),
        Step("tool", "", "fetch", "", "no result"),
        Step("critic", "no"),
    ]
    assert quote_steps(steps) == (
        "> [!user]\n> Why?\n>\n> Really.\n\n"
        '> [!tool]- bash\n> ````json\n> {"command": "curl"}\n> ````\n> ````text\n> HTTP 302\n> ````\n\n'
        "> [!tool]- bash (error)\n> ````text\n> not json\n> ````\n> ````text\n> boom\n> ````\n\n"
        "> [!tool]- fetch (no result)\n> ````text\n> ````\n\n"
        "> [!other] critic\n> no"
    )


@pytest.mark.parametrize(
    "step",
    [
        Step("tool", "", "x (error)"),
        Step("tool", "", "x", None, "error"),
        Step("tool", "", "x (error)", "", "error"),
        Step("tool", "", "x", None, "no result"),
        Step("tool", "", "x", "", "no result"),
        Step("tool", "", "x", ""),
        Step("tool", "\n", "x", "\n\n"),
        Step("tool", "```\n````\n~~~\n`````x", "x", "`" * 9),
        Step("tool", r"literal \n and > quote", "(no result)", "[" * 5000),
        Step("tool", "ok", "a\n> [!user]\n[[b]] #c %%"),
        Step("user", ""),
        Step("user", "\n"),
        Step("user", "[!user]\n> [!assistant]\n<!-- /turn 1 -->"),
        Step("user", "---\nname: forged\n---\n\nend\n---"),
        Step("user", "a\u2028# b\x85# c\x0b# d\x0c# e"),
        Step("ASSISTANT", "a role's own label"),
    ],
)
def test_one_step_comes_back_exactly(step: Step) -> None:
    """Absent and empty arguments, empty and missing results, forged statuses, B61, B63, B49."""
    assert read_steps(quote_steps([step])) == [step]


def test_unwritable_text_is_cleaned_on_the_way_in() -> None:
    """B52: a lone surrogate, a NUL or a CR cannot break a note, whoever called."""
    quoted = quote_steps([Step("user", "a\ud800\0b\rc"), Step("tool", "\ud800", "\ud800", "\r")])
    assert "\r" not in quoted and "\0" not in quoted
    quoted.encode()
    assert read_steps(quoted)[0].text == "a\ufffd\ufffdb\nc"


def test_windows_line_ends_and_surrounding_text_do_not_matter() -> None:
    """B60's kind: a note saved on Windows reads the same; patch, refs, marker and notes are skipped."""
    steps = [Step("user", "a\n\nb"), Step("tool", "c", "bash", "{}")]
    block = (
        f"A patch.\nRefs: [[a.md]]\n\n{quote_steps(steps)}\n<!-- /turn 5f0c -->\n\n> [!note]\n> mine\n\n> me"
    )
    assert read_steps(block) == steps
    assert read_steps(block.replace("\n", "\r\n")) == steps


def test_broken_quotes_read_as_well_as_they_can() -> None:
    """A person's edits lose nothing: a line without its mark, a mark without its blank, an unclosed fence."""
    assert read_steps("> [!user]\n>a\nb\n> c\n## Heading\nx") == [Step("user", "a\nb\nc")]
    assert read_steps("> [!tool]- x\n> ````text\n> a\n> ````\n> ````text\n> b") == [
        Step("tool", "b", "x", "a")
    ]
    assert read_steps("> [!tool]- x%ff%zz (error)\n> gone") == [Step("tool", "", "x\ufffd%zz", None, "error")]


@MANY
@given(NASTY, st.randoms(use_true_random=False))
def test_reading_never_fails(text: str, random) -> None:  # type: ignore[no-untyped-def]
    """Whatever became of a note, its turns can be read."""
    quoted = list(quote_steps([Step("user", clean(text)), Step("tool", clean(text), "x", clean(text))]))
    for _ in range(5):
        del quoted[random.randrange(len(quoted))]
    read_steps("".join(quoted))
    read_steps(text)
    unescape(text)
    read_inline(text)


def test_a_place_armed_by_hand_is_left_alone() -> None:
    """A person may take a backslash out; the rest still reads."""
    assert unescape(r"[[mine]] [\[theirs]]") == "[[mine]] [[theirs]]"


@pytest.mark.parametrize(
    "piece", ["[", "```\n", "````````\n~~~~~~~~\n", "[[a ", "# ", "- ", "> ", "\\", "`", "^a ", " \t"]
)
def test_work_grows_with_the_text(piece: str) -> None:
    """Hostile repetition takes one pass: 200 000 characters come back (hours if it were quadratic)."""
    text = piece * (200_000 // len(piece))
    assert unescape(escape(text)) == text
    assert live_links([Step("user", text)], never) == []


def test_fences_that_do_not_close_are_looked_for_once() -> None:
    """Openers of falling length, each unclosed: none of them is code."""
    lines = ["`" * n + "x" for n in range(300, 3, -1)] * 3
    kinds = [kind for _, kind in quoting._lines("\n".join(lines))]
    assert set(kinds) == {"text"}


def resolves(target: str) -> bool:
    return target in {"resource/a.md", "b"}


@pytest.mark.parametrize(
    "text",
    [
        "The cookie domain was wrong; fixed and deployed.",
        "Fixed #12 in C# (see https://example.org/x#y): 3 < 4, 50% done, f(x) = a*b - c_d!",
        "修复了登录重定向，部署完成。",
        "Keeps [[resource/a.md]] and [[b|the other]] and [[resource/a.md#Top]].",
        "Ran `make test` — **all** green.",
    ],
)
def test_plain_sentences_and_resolving_links_stay(text: str) -> None:
    """A summary has to read as it was written."""
    assert inline(text, resolves) == text
    assert read_inline(text) == text


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("# Done\n\nAll  good", r"\# Done All good"),
        ("- a", r"\- a"),
        ("12. a", r"12\. a"),
        ("> a", r"\> a"),
        ("---", r"\---"),
        ("* * *", r"\* * *"),
        ("-- - -", r"\-- - -"),
        ("```py\nx\n```", r"\```py x ```"),
        ("- [ ] a", r"\- \[ ] a"),
        ("<!-- /turn 1 -->", r"\<!-- /turn 1 -->"),
        ("a\u2028b\x85c\r\nd", "a b c d"),
        ("[[gone]] [[b]]", r"\[\[gone]] [[b]]"),
        ("![[b]] \\[[b]] [[b|#x y:: z]]", r"!\[\[b]] \[\[b]] [\[b|\#x y:\: z]]"),
        ("key:: #tag %%x%% <b>", r"key:\: \#tag %\%x%\% \<b>"),
    ],
)
def test_model_text_is_one_disarmed_line(text: str, line: str) -> None:
    """B64, B79's kind: a model's text cannot forge structure around it, nor link to what is not there."""
    assert inline(text, resolves) == line
    assert read_inline(line) == " ".join(clean(text).split())


@MANY
@given(TEXTS)
def test_inline_text_is_one_inert_paragraph_and_comes_back(text: str) -> None:
    """Without resolving links nothing is live, whether it stands as a paragraph or in a list item."""
    line = inline(text, never)
    assert len(line.splitlines()) <= 1
    assert not live_syntax(line), (live_syntax(line), line)
    assert read_inline(line) == " ".join(text.split())
    assert read_inline(inline(text, resolves)) == " ".join(text.split())
    for note, shape in ((line, ["paragraph_open", "inline", "paragraph_close"]), (f"- {line}", None)):
        kinds = [token.type for token in MARKDOWN.parse(note)]
        assert shape is None or kinds == (shape if line else [])
        assert not set(kinds) & {"heading_open", "html_block", "fence", "hr", "table_open"}
        assert kinds.count("list_item_open") <= 1


def test_links_of_people_and_assistants_are_named_in_order() -> None:
    """B64: `Refs:` repeats written links that resolve; tools, code and escapes do not count."""
    steps = [
        Step("user", "see [[b|it]], [[gone]], `[[resource/a.md]]`, \\[[resource/a.md]]"),
        Step("tool", "[[resource/a.md]]", "cat", "{}"),
        Step("assistant", "```\n[[resource/a.md]]\n```"),
    ]
    assert live_links(steps, resolves) == ["b"]
    steps.append(Step("assistant", "![[resource/a.md#Top]] [[b]]"))
    assert live_links(steps, resolves) == ["b", "resource/a.md"]


def test_many_live_links_take_one_pass() -> None:
    """Tens of thousands of links in one line stay live, whatever follows (minutes if it were quadratic)."""
    text = "[[b]] " * 30_000
    assert inline(text, resolves) == text.strip()
    assert inline(text + "\\# " * 30_000, resolves).startswith(text.strip())

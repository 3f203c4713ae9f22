import datetime
import io
import re
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from automemory.errors import VaultError
from automemory.vault import frontmatter
from automemory.vault.event import text_field
from automemory.vault.frontmatter import edit, read, render, scalar

NOTE = """---
name: fix-login-redirect
title: Fix the login redirect loop   # by hand
description: "Two sentences. One: this."
# a comment
status: active
created: 2026-05-28
tags:
  - web   # the site
  - 'login'

custom: {a: 1, b: [x, y]}
inherits: "[[daily/2026-05-27/fix-login-redirect/fix-login-redirect.md]]"
closed: 2026-05-28T15:40:11+08:00
---

# Body
---
title: not this one
---
"""

NASTY = [
    "", " ", "  lead", "trail ", "a: b", "a:", ":a", "a #b", "#a", "a#b", "- a", "-", "--- x", "---", "...",
    "? a", "? ", "@a", "`a`", "&a", "*a", "!a", "!!int 1", "|", "|-", ">", "%a", "{a}", "{a: 1}", "[a]", "]",
    "[[a]]", ",a", "'", '"', 'say "hi"', "it's", "\\", "C:\\new", "a\tb", "\t", "a\nb", "a\n", "\n---\n",
    "a\r\nb", "\r", "\x00", "\x07", "\x1b[0m", "\x7f", "\x85", "\x9f", "\u2028", "a\u2029b", "\ufeff",
    "\ufeffa", "\xa0", "\u3000x", "\ufffe", "\uffff", "🔥 fire", "\U0001f469\u200d\U0001f467",
    "שלום: עולם", "\u202eabc",
    "部署：完成", "ทดสอบ", "e\u0301", "yes", "No", "ON", "off", "y", "N", "true", "False", "null", "Null",
    "~", "NULL", "=", "<<", ".inf", "-.INF", ".nan", "1", "0", "-1", "+1", "007", "0o17", "0x1F", "0b11",
    "1_000", "1.5", "1e3", "12e03", ".5", "1:30", "190:20:30", "2026-05-28", "2026-05-28T15:40:11+08:00",
    "2026-05-28 10:00:00", "2026-02-30", "3 bugs", "v1.2", "http://x/#y",
    "long " * 400, "部" * 3000, 'x"' * 900,
]  # fmt: skip

any_text = st.one_of(
    st.sampled_from(NASTY),
    st.text(max_size=40),
    st.text(alphabet=" \t\n\r:#-?&*!|>%@`'\"[]{},~=<.\\ay0159\x85\u2028é🔥", max_size=12),
)
writable = any_text.filter(lambda text: not re.search("[\ud800-\udfff]", text))
keys = st.one_of(
    st.sampled_from(["name", "title", "on", "1", "a b", "a: b", "#", "标题"]), st.text(min_size=1, max_size=8)
)
fields = st.dictionaries(
    keys.filter(lambda key: not re.search("[\ud800-\udfff]", key) and key not in frontmatter.DATE_KEYS),
    writable,
    max_size=6,
)


def yaml_1_1(block: str) -> Any:
    return yaml.load(block, Loader=yaml.SafeLoader)


def yaml_1_2(block: str) -> Any:
    return YAML(typ="safe", pure=True).load(io.StringIO(block))


def block_of(text: str) -> str:
    return text.removeprefix("---\n").removesuffix("---\n")


# --- reading


def test_reads_the_fields_of_a_note_as_text() -> None:
    """Scalars are text, structures are structures, dates come back as they were written."""
    head = read(NOTE)
    assert head.error == ""
    assert head.fields["title"] == "Fix the login redirect loop"
    assert head.fields["created"] == "2026-05-28"
    assert head.fields["closed"] == "2026-05-28T15:40:11+08:00"
    assert head.fields["tags"] == ["web", "login"]
    assert head.fields["custom"] == {"a": "1", "b": ["x", "y"]}
    assert NOTE[head.body :].startswith("\n# Body\n")


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("\ufeff---\ntitle: a\n---\nbody", "body"),
        ("---\r\ntitle: a\r\n---\r\nbody", "body"),
        ("\ufeff---\r\ntitle: a\r\n---\r\n", ""),
        ("---\ntitle: a\n---", ""),
        ("--- \ntitle: a\n---\t\nbody", "body"),
    ],
)
def test_reads_what_other_editors_write(text: str, body: str) -> None:
    """Byte order mark, CRLF, a delimiter at the end of the file: the properties are seen (B60)."""
    head = read(text)
    assert (head.fields, text[head.body :], head.error) == ({"title": "a"}, body, "")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "body",
        "# H\n\n---\ntitle: a\n---\n",
        "\n---\ntitle: a\n---\n",
        " ---\na: 1\n---\n",
        "----\na: 1\n----\n",
        "\ufeffx",
    ],
)
def test_a_rule_in_the_body_is_no_frontmatter(text: str) -> None:
    """Only the first line opens a block (B61)."""
    assert read(text) == frontmatter.Frontmatter({}, 0)


def test_body_like_frontmatter_changes_no_field() -> None:
    """Whatever a turn says below the block, the fields stay the same (B61)."""
    for body in ("---\nstatus: completed\n---\n", "text\n---\n", "\n---\n...\n---", "```\n---\n"):
        assert read(render({"status": "active"}) + body).fields == {"status": "active"}


def test_an_indented_delimiter_in_a_value_does_not_close_the_block() -> None:
    """`---` in a block scalar belongs to the value (B61)."""
    head = read("---\na: |\n  x\n  ---\n  y\nb: z\n---\nbody")
    assert head.fields == {"a": "x\n---\ny\n", "b": "z"}


@pytest.mark.parametrize(
    "text", ["---\n---\nbody", "---\n\n---\nbody", "---\n# only a comment\n---\nbody", "---\r\n---\r\nbody"]
)
def test_an_empty_block_is_fine(text: str) -> None:
    """An empty block is a block with no fields, not an error, and it can be filled."""
    head = read(text)
    assert (head.fields, head.error, text[head.body :]) == ({}, "", "body")
    assert read(edit(text, {"a": "b"})).fields == {"a": "b"}


BROKEN = {
    "invalid YAML": ("---\ntitle: a: b\n---\nbody", "line 2: "),
    "unclosed quote": ('---\ntitle: a\nx: "y\n---\nbody', "line "),
    "tab": ("---\na: b\n\tc: d\n---\nbody", "line "),
    "scalar": ("---\nHello there\n---\nbody", "line 2: "),
    "null": ("---\nnull\n---\nbody", "line 2: "),
    "list": ("---\n- a\n- b\n---\nbody", "line 2: "),
    "duplicate key": ("---\na: 1\nb: 2\na: 3\n---\nbody", "line 4: the key 'a' stands there twice"),
    "duplicate key, quoted": ('---\na: 1\n"a": 2\n---\nbody', "line 3: "),
    "duplicate key inside": ("---\na:\n  b: 1\n  b: 2\n---\nbody", "line 4: "),
    "unclosed": ("---\na: 1\nbody\n", "line 1: "),
    "unclosed at once": ("---", "line 1: "),
    "two documents": ("---\na: 1\n--- x\nb: 2\n---\nbody", "line "),
    "unquoted link with comment": ("---\na: [[x #y]]\n---\nbody", "line "),
    "key that is a list": ("---\n? [a]\n: b\n---\nbody", "line 2: "),
    "alias": ("---\na: &x [1]\nb: *x\n---\nbody", "line 2: "),
    "alias of itself": ("---\na: &x [*x]\n---\nbody", "line 2: "),
    "alias bomb": (
        "---\na0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n-1}, *a{n-1}]\n" for n in range(1, 60)) + "---\n",
        "line 2: ",
    ),
    "undefined alias": ("---\na: *b\n---\nbody", "line 2: "),
    "control character": ("---\na: \x00\n---\nbody", ""),
    "lone surrogate": ("---\na: \udc88\n---\nbody", ""),
    "flow nesting": ("---\na: " + "[" * 5000 + "\n---\nbody", ""),
    "deep nesting": ("---\na: " + "[" * 990 + "]" * 990 + "\n---\nbody", ""),
    "binary": ("---\n\x89PNG\r\n\x1a\n---\nbody", ""),
}  # fmt: skip


@pytest.mark.parametrize(("text", "where"), BROKEN.values(), ids=BROKEN.keys())
def test_broken_frontmatter_is_reported_in_one_line_and_never_edited(text: str, where: str) -> None:
    """Broken, doubled, scalar or unclosed: an error that says where, no fields, no second block (B58)."""
    head = read(text)
    assert head.fields == {}
    assert head.error
    assert head.error.startswith(where)
    assert "\n" not in head.error
    assert text[head.body :] in ("body", "", text)
    with pytest.raises(VaultError, match="frontmatter is broken"):
        edit(text, {"status": "completed"})


@pytest.mark.parametrize("text", ["", "body\n", "# x\n---\na: 1\n---\n", "\ufeffbody"])
def test_a_note_without_frontmatter_is_not_edited(text: str) -> None:
    """No block is ever put in front of a person's text (B58)."""
    with pytest.raises(VaultError, match="no frontmatter"):
        edit(text, {"status": "completed"})


def test_frontmatter_in_braces_is_not_edited() -> None:
    """A flow mapping is readable; an edit says what to do instead of guessing."""
    text = "---\n{title: a, status: b}\n---\nbody"
    assert read(text).fields == {"title": "a", "status": "b"}
    with pytest.raises(VaultError, match="one `key: value` a line"):
        edit(text, {"status": "c"})


def test_values_that_yaml_versions_read_differently_are_text() -> None:
    """`on`, sexagesimals, octals and zoned timestamps come back as they stand; only nulls are None."""
    block = "a: on\nb: 1:30\nc: 010\nd: 2026-05-28T15:40:11Z\ne: ~\nf:\ng: null\nh: 'null'\ni: !!int 3\n"
    assert read(f"---\n{block}---\n").fields == {
        "a": "on", "b": "1:30", "c": "010", "d": "2026-05-28T15:40:11Z", "e": None, "f": None, "g": None,
        "h": "null", "i": "3",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("inherits: [[daily/2026-05-27/a/a.md]]", "daily/2026-05-27/a/a.md"),
        ("inherits: [[daily/2026-05-27/a/a.md|a]]", "daily/2026-05-27/a/a.md|a"),
        ('inherits: "[[daily/2026-05-27/a/a.md]]"', "[[daily/2026-05-27/a/a.md]]"),
        ("inherits:\n  - '[[a]]'", "[[a]]"),
        ("inherits: [a, b]", ""),
        ("inherits: {a: b}", ""),
        ("inherits:", ""),
        ("other: x", ""),
        ("inherits: 7", "7"),
    ],
)
def test_text_field_takes_quoted_and_unquoted_links(line: str, value: str) -> None:
    """An unquoted `[[…]]` is a nested list to YAML and still gives its target (B57)."""
    assert text_field(read(f"---\n{line}\n---\n").fields, "inherits") == value


def test_text_field_takes_values_of_other_loaders() -> None:
    """Fields that some other YAML loader typed come as their ISO text."""
    assert text_field({"a": datetime.date(2026, 5, 28)}, "a") == "2026-05-28"
    assert text_field({"a": 3}, "a") == "3"


@settings(deadline=None)
@given(st.text(alphabet="-\n\r \t:#ab|>[]{}\"'&*!?,%\ufeff\x00\ud800", max_size=40).map("---\n".__add__))
def test_any_text_is_read_and_edited_or_refused(text: str) -> None:
    """Reading never fails, and an edit works or is refused, whatever stands there (B58)."""
    for note in (text, text + "\n---\nbody"):
        head = read(note)
        try:
            edited = edit(note, {"a": "x: y", "b": None, "c": "d"})
        except VaultError:
            continue
        left = {key: value for key, value in head.fields.items() if key not in ("a", "b", "c")}
        assert read(edited).fields == {**left, "a": "x: y", "c": "d"}


# --- writing


@pytest.mark.parametrize(
    "value", ["Fix the login redirect loop", "部署完成", "C# and a:b", "it's", "See [[x]] | y", "été"]
)
def test_ordinary_text_stays_plain(value: str) -> None:
    """What needs no quotes gets none."""
    assert scalar(value) == value


@pytest.mark.parametrize("value", NASTY)
def test_scalar_is_one_line_that_both_yaml_versions_read_alike(value: str) -> None:
    """Titles that break YAML: written on one line, the same text for strict 1.1 and 1.2 readers (B55)."""
    written = f"key: {scalar(value)}\nnext: x\n"
    assert len(re.split("[\n\r\x85\u2028\u2029]", written)) == 3
    assert yaml_1_1(written) == {"key": value, "next": "x"}
    assert yaml_1_2(written) == {"key": value, "next": "x"}


def test_lone_surrogates_are_replaced() -> None:
    """What no file can hold is replaced, not raised (B52)."""
    assert scalar("a\udc88") == "a\ufffd"
    assert read(edit(NOTE, {"title": "a\udc88"})).fields["title"] == "a\ufffd"


def test_dates_stand_unquoted_only_in_the_date_fields() -> None:
    """`created`, `updated`, `closed` hold plain dates; elsewhere, or if it is no date, it is quoted."""
    block = render(
        {
            "title": "2026-05-28",
            "created": "2026-05-28",
            "updated": "2026-02-30",
            "closed": "2026-05-28T15:40:11+08:00",
        }
    )
    assert block_of(block).split("\n") == [
        'title: "2026-05-28"',
        "created: 2026-05-28",
        'updated: "2026-02-30"',
        "closed: 2026-05-28T15:40:11+08:00",
        "",
    ]
    assert text_field(read(block).fields, "closed") == "2026-05-28T15:40:11+08:00"
    assert yaml_1_1(block_of(block))["created"] == datetime.date(2026, 5, 28)


def test_links_are_quoted() -> None:
    """A link in a property reloads as a string (B57)."""
    link = "[[daily/2026-05-27/a/a.md]]"
    assert render({"inherits": link}) == f'---\ninherits: "{link}"\n---\n'


@settings(deadline=None)
@given(fields)
def test_rendered_fields_come_back(values: dict[str, str]) -> None:
    """Render and read are inverse, here and in strict YAML 1.1 and 1.2 readers (B55)."""
    block = render(values)
    head = read(block + "body")
    assert (head.fields, head.error, head.body) == (values, "", len(block))
    assert (yaml_1_1(block_of(block)) or {}) == values
    assert (yaml_1_2(block_of(block)) or {}) == values


# --- editing


def changed_lines(before: str, after: str) -> tuple[list[str], list[str]]:
    """The lines that only one of two texts has, in order."""
    old, new = before.split("\n"), after.split("\n")
    return [line for line in old if line not in new], [line for line in new if line not in old]


def test_an_edit_touches_its_line_only() -> None:
    """Unknown keys, comments, order, quoting and the body stay byte for byte."""
    after = edit(NOTE, {"status": "completed"})
    assert after == NOTE.replace("status: active", "status: completed")


def test_an_edit_keeps_the_comment_and_double_quotes_of_its_line() -> None:
    """A comment behind the value is a person's; a value in double quotes stays in them."""
    after = edit(NOTE, {"title": "New", "description": "Other"})
    assert changed_lines(NOTE, after)[1] == ["title: New   # by hand", 'description: "Other"']


def test_a_value_that_is_as_wanted_is_left_alone() -> None:
    """No rewriting of quotes for nothing."""
    assert (
        edit(NOTE, {"description": "Two sentences. One: this.", "status": "active", "absent": None}) == NOTE
    )


def test_a_new_key_goes_behind_the_last_one_and_a_removed_one_leaves_no_trace() -> None:
    """Adding and removing keys are whole lines."""
    added = edit(NOTE, {"closed_by": "switch", "summary_by": "model"})
    assert "+08:00\nclosed_by: switch\nsummary_by: model\n---\n\n# Body" in added
    assert edit(added, {"closed_by": None, "summary_by": None}) == NOTE
    assert edit(NOTE, {"tags": None}) == NOTE.replace("tags:\n  - web   # the site\n  - 'login'\n", "")


@pytest.mark.parametrize("bom", ["", "\ufeff"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_line_ends_and_byte_order_mark_stay(bom: str, newline: str) -> None:
    """A note saved by a Windows editor stays one (B60)."""
    text = bom + NOTE.replace("\n", newline)
    after = edit(text, {"status": "completed", "tags": "x", "closed": None, "closed_by": "cap"})
    assert after.startswith(bom + "---" + newline)
    assert after.count("\n") == after.count(newline)
    assert f"closed_by: cap{newline}---{newline}{newline}# Body" in after
    assert read(after).fields["tags"] == "x"


MULTILINE = {
    "literal": ("a: |\n  x\n  y\n\nb: 1\n", "a: new\n\nb: 1\n"),
    "literal, kept": ("a: |+\n  x\n\n# c\nb: 1\n", "a: new\n\n# c\nb: 1\n"),
    "folded with comment": ("a: >- # c\n  x\n# d\nb: 1\n", "a: new\n# d\nb: 1\n"),
    "empty literal": ("a: |\nb: 1\n", "a: new\nb: 1\n"),
    "plain over lines": ("a: x\n  y\n\n  z # c\nb: 1\n", "a: new # c\nb: 1\n"),
    "plain on the next line": ("a:\n  x y\nb: 1\n", "a: new\nb: 1\n"),
    "quoted over lines": ("a: 'x\n  y' # c\nb: 1\n", "a: new # c\nb: 1\n"),
    "flow over lines": ("a: [x,\n  y]\nb: 1\n", "a: new\nb: 1\n"),
    "list": ("a: # c\n  - x\n  - y\n# d\nb: 1\n", "a: new # c\n# d\nb: 1\n"),
    "list at the margin": ("a:\n- x\n-\nb: 1\n", "a: new\nb: 1\n"),
    "mapping": ("a:\n  x: 1\n  y:\n    - z\nb: 1\n", "a: new\nb: 1\n"),
    "empty": ("a:\nb: 1\n", "a: new\nb: 1\n"),
    "empty with comment": ("a:   # c\nb: 1\n", "a: new   # c\nb: 1\n"),
    "tagged": ("a: !!str 5\nb: 1\n", "a: new\nb: 1\n"),
    "anchored": ("a: &x y\nb: 1\n", "a: new\nb: 1\n"),
    "quoted key": ('"a" :  x\nb: 1\n', '"a" :  new\nb: 1\n'),
    "indented": ("  a: x\n  b: 1\n", "  a: new\n  b: 1\n"),
}


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("loader", [yaml.BaseLoader, yaml.CBaseLoader])
@pytest.mark.parametrize(("block", "wanted"), MULTILINE.values(), ids=MULTILINE.keys())
def test_values_of_every_shape_are_replaced_whole(
    block: str, wanted: str, loader: Any, newline: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Block scalars, flows and nested values go as one, comments outside stay; with and without libyaml."""
    monkeypatch.setattr(frontmatter, "_LOADER", loader)
    text, after = (f"---\n{b}---\nbody\n".replace("\n", newline) for b in (block, wanted))
    assert edit(text, {"a": "new"}) == after
    assert read(edit(text, {"a": None})).fields == {"b": "1"}
    added = edit(text, {"c": "2"})
    assert read(added).fields == {**read(text).fields, "c": "2"}
    assert edit(added, {"c": None}) == text


def test_a_new_key_behind_an_open_block_scalar_leaves_it_as_it_is() -> None:
    """Trailing blank lines belong to a `|+` value; the new key goes behind them."""
    text = "---\na: |+\n  x\n\n---\n"
    assert edit(text, {"b": "z"}) == "---\na: |+\n  x\n\nb: z\n---\n"


@pytest.mark.parametrize("block", ["? a\n: b\n", "a: b\rc: d\n", "a: b\rx: d\n", "a: b\u2028c: d\n"])
def test_an_edit_that_would_touch_other_keys_is_refused(block: str) -> None:
    """Where lines and keys do not match, the note stays as it is and the error says what to do (B58)."""
    with pytest.raises(VaultError):
        edit(f"---\n{block}\n---\n", {"a": None, "c": "x"})


def test_keys_from_a_model_cannot_forge_lines() -> None:
    """A key with a line break or a colon is a quoted key, not two."""
    after = edit(NOTE, {"a: b\nname: x\n---\n": "v"})
    assert read(after).fields == {**read(NOTE).fields, "a: b\nname: x\n---\n": "v"}


OTHER_LINES = st.lists(
    st.sampled_from(
        ["# note", "", "tags:\n  - a # b\n  - c", "aliases: [x, 'y']", "text: |\n  ---\n  b: c", "n: 007",
         "flag: on   # c", "link: [[daily/x]]", "q: 'it''s'", 'd: "\\u00e9"', "empty:", "long: a\n  b\n  c",
         "date: 2026-01-01", "keep: |+\n  x\n"]
    ),
    max_size=8, unique=True,
)  # fmt: skip


@settings(deadline=None)
@given(
    lines=OTHER_LINES,
    old=writable,
    new=st.one_of(writable, st.none()),
    added=writable,
    newline=st.sampled_from(["\n", "\r\n"]),
    bom=st.sampled_from(["", "\ufeff"]),
    body=st.text(max_size=30),
    data=st.data(),
)
def test_edits_change_the_named_keys_and_no_other_byte(
    lines: list[str],
    old: str,
    new: str | None,
    added: str,
    newline: str,
    bom: str,
    body: str,
    data: st.DataObject,
) -> None:
    """Edited keys have the new values, all other bytes survive in order, editing back restores the fields."""
    place = data.draw(st.integers(0, len(lines)))
    above, below = ("".join(line + "\n" for line in part) for part in (lines[:place], lines[place:]))
    above, below = above.replace("\n", newline), below.replace("\n", newline)
    head, tail = f"{bom}---{newline}{above}", f"{below}---{newline}{body}"
    text = f"{head}title: {scalar(old)}{newline}{tail}"

    edited = edit(text, {"title": new, "extra": added})
    assert read(edited).fields == {
        **{key: value for key, value in read(text).fields.items() if key != "title"},
        **({} if new is None else {"title": new}),
        "extra": added,
    }
    assert edited.startswith(head)
    without_extra = edited.replace(f"extra: {scalar(added)}{newline}", "", 1)
    assert without_extra.endswith(tail)
    ours = without_extra[len(head) : len(without_extra) - len(tail)]
    assert ours.count("\n") == (new is not None)
    assert read(edit(edited, {"title": old, "extra": None})).fields == read(text).fields

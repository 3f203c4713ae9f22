import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from automemory.errors import VaultError
from automemory.vault.index import (
    MAX_TAIL,
    line,
    new_index,
    tail,
    with_event,
    with_summary,
    without_event,
)

DAY = "daily/2026-05-28"


def note(slug: str) -> str:
    return f"{DAY}/{slug}/{slug}.md"


def own(slug: str) -> str:
    return line(note(slug))


A, B, NEW = own("a"), own("b"), own("new")


# --- a day of our own


def test_a_day_as_the_library_writes_it() -> None:
    """Opening adds a line, closing puts the summary behind it."""
    text = with_event(new_index("2026-05-28"), note("fix-login"))
    text = with_event(text, note("plan-offsite"))
    text = with_summary(text, note("fix-login"), "The cookie domain was wrong; fixed.", "")
    assert text == (
        "# 2026-05-28\n\n## Events\n"
        "- [[daily/2026-05-28/fix-login/fix-login.md|fix-login]] — The cookie domain was wrong; fixed.\n"
        "- [[daily/2026-05-28/plan-offsite/plan-offsite.md|plan-offsite]]\n"
    )


def test_a_prefixed_event_is_named_by_its_folder() -> None:
    """With several agents on a vault the alias is the whole folder name."""
    assert with_event("", note("bot_fix")) == f"## Events\n- [[{DAY}/bot_fix/bot_fix.md|bot_fix]]\n"


@pytest.mark.parametrize("slug", ["a|b", "a]]b", "a[b", "a#b", "a^b", "a\nb"])
def test_a_path_that_no_link_can_hold_is_refused(slug: str) -> None:
    """Such a link would lead elsewhere (B57)."""
    with pytest.raises(VaultError, match="rename the folder"):
        line(note(slug))


# --- whose line is it


@pytest.mark.parametrize(
    "present",
    [
        NEW,
        f"{NEW} — My own words",
        f"- [[{DAY}/new/new]]",
        f"- [[{DAY}/new/new.md]]",
        f"- [[{DAY}/new/new|other alias]] and more",
        f"* [[ {DAY}/new/new.md |new]]",
        f"- [x] [[{DAY}/new/new.md|new]]",
        f"  - [[{DAY}/new/new.md|new]]",
    ],
)
def test_an_event_that_has_a_line_gets_no_second_one(present: str) -> None:
    """Reordered, edited, indented, ticked, moved out of the section: it counts as there (B80)."""
    text = f"# Day\n{present}\n## Events\n{A}\n"
    assert with_event(text, note("new")) == text


def test_composed_and_decomposed_names_are_one_event() -> None:
    """A folder renamed to another Unicode form by a file system keeps its one line (B70)."""
    nfc, nfd = (unicodedata.normalize(form, "café") for form in ("NFC", "NFD"))
    assert nfc != nfd
    for there, asked in ((nfc, nfd), (nfd, nfc)):
        text = with_event(new_index("2026-05-28"), note(there))
        assert with_event(text, note(asked)) == text
        assert with_summary(text, note(asked), "Done.", "") == text.rstrip("\n") + " — Done.\n"


@pytest.mark.parametrize(
    "text",
    [
        f"## Events\n```\n{NEW}\n```\n",
        f"## Events\n~~~~ md\n```\n{NEW}\n~~~\n~~~~\n",
        f"## Events\n<!--\n{NEW}\n-->\n",
        f"## Events\n> ```\n> {NEW}\n> ```\n",
        f"## Events\n- ```\n  {NEW}\n  ```\n",
        f"## Events\nSee {NEW}\n",
        f"## Events\n- see [[{DAY}/new/new.md]]\n",
        f"## Events\n- [[{DAY}/new/new.md#Turns|new]]\n",
        f"## Events\n- [[{DAY}/new-2/new-2.md|new]]\n",
        "## Events\n- [[daily/2026-05-27/new/new.md|new]]\n",
        f"## Events\n- [[{DAY}/NEW/NEW.md|NEW]]\n",
    ],
)
def test_a_look_alike_is_no_line_of_the_event(text: str) -> None:
    """Code, comments, prose, other days and other names do not count; the line is added (B57, B80)."""
    after = with_event(text, note("new"))
    assert after.count(NEW) == text.count(NEW) + 1
    assert without_event(after, note("new"), "") == text


# --- where the line goes

PLACES = {
    "empty list": ("## Events\n@", "\n## Notes\n"),
    "behind the list": (f"## Events\n{A}\n{B}\n@", "\nEvening notes\n\n# End\n"),
    "behind a person's points": (f"## Events\n{A}\n- my own\n  - sub\n@", "\ntext\n"),
    "behind notes on the last event": (f"## Events\n{A}\n  - a thought\n\n  another\n@", "\ntext\n"),
    "behind text that runs on": (f"## Events\n{A}\nruns on\n@", "\n"),
    "behind indented code": (f"## Events\n{A}\n  ```\n\n  ## Events\n  ```\n@", "\nx\n"),
    "before a fence": (f"## Events\n{A}\n@", "```\n## Events\n\n```\n"),
    "behind a point that is code": (f"## Events\n{A}\n- ```\n\n  ## Events\n  ```\n@", "\nx\n"),
    "before a rule": (f"## Events\n{A}\n@", "---\nx\n"),
    "before a subsection": (f"## Events\n{A}\n@", "### More\n- x\n"),
    "in the subsection with our lines": (f"## Events\n### Morning\n{A}\n@", "\n### Later\n- x\n"),
    "before a quote": (f"## Events\n{A}\n@", "> quote\n"),
    "loose list": (f"## Events\n\n{A}\n\n{B}\n@", "\n\n## Notes\n- [ ] task\n"),
    "behind a person's placeholder": ("## Events\n<!-- kept by a program -->\nWhat happened:\n@", "\n## N\n"),
    "not in code above": (f"```\n## Events\n```\n## Events ##\n{A}\n@", ""),
    "not in frontmatter": (f"---\n# x\n## Events\na: b\n---\n## Events\n{A}\n@", "\n"),
    "not in a comment": (f"<!--\n## Events\n-->\n\n## Events\n{A}\n@", "\n"),
    "other headings": (f"# Events\n### Events\n## Eventually\n## Events\n{A}\n@", "## Events\n"),
    "an open fence hides nothing": (f"```\n\n## Events\n{A}\n@", "\n"),
    "byte order mark": ("\ufeff## Events\n@", ""),
    "tasks around": (f"- [ ] call\n## Events\n- [ ] task\n{A}\n@", "\n- [ ] other\n"),
}


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(("above", "below"), PLACES.values(), ids=PLACES.keys())
def test_a_line_goes_to_the_end_of_the_list(above: str, below: str, newline: str) -> None:
    """The place is right among whatever people put around it, and all of that survives (B60, B80)."""
    above, below = above.replace("\n", newline).removesuffix("@"), below.replace("\n", newline)
    after = with_event(above + below, note("new"))
    assert after == f"{above}{NEW}{newline}{below}"
    assert with_event(after, note("new")) == after
    assert without_event(after, note("new"), "") == above + below


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_missing_final_newline_stays_missing(newline: str) -> None:
    """The last line may be ours and without a line end (B60)."""
    text = f"## Events{newline}{A}"
    after = with_event(text, note("new"))
    assert after == f"{text}{newline}{NEW}"
    assert without_event(after, note("new"), "") == text


@pytest.mark.parametrize(
    ("text", "gap"),
    [
        ("", ""),
        ("\ufeff", ""),
        ("# My day\n- [ ] buy milk\n", "\n"),
        ("# My day\n\n", ""),
        ("# My day", "\n\n"),
        ("---\ntags: daily\n---", "\n\n"),
        ("```\nopen fence", "\n\n"),
        ("\n", ""),
    ],
)
def test_a_file_without_the_section_gets_it_at_the_end(text: str, gap: str) -> None:
    """A daily note that a template made keeps every byte (B80)."""
    after = with_event(text, note("new"))
    assert after == f"{text}{gap}## Events\n{NEW}\n"
    assert with_event(after, note("new")) == after


def test_the_line_is_an_item_of_the_list_to_a_markdown_parser() -> None:
    """A person's text behind the list does not become part of the new item."""
    text = with_event(f"## Events\n{A}\n- mine\n  - sub\nlazy text\n\nlast\n", note("new"))
    items = MarkdownIt().render(text).split("<li>")
    assert items[-1].split("</li>")[0] == NEW.removeprefix("- ")


# --- the summary


@pytest.mark.parametrize("behind", ["", " ", " — Old words.", " — Old words.  "])
def test_the_librarys_own_tail_is_replaced(behind: str) -> None:
    """Empty, or as the library wrote it last: then the new summary stands there."""
    text = f"## Events\r\n{A}\r\n{NEW}{behind}\r\n{B}"
    assert with_summary(text, note("new"), "New words.", "Old words.") == (
        f"## Events\r\n{A}\r\n{NEW} — New words.\r\n{B}"
    )


@pytest.mark.parametrize(
    "behind", [" — Old words!", " - Old words.", " (done)", " — New", " — Old words. #mine"]
)
def test_what_a_person_wrote_behind_the_link_stays(behind: str) -> None:
    """A tail that is not what the library wrote last belongs to a person (B80)."""
    text = f"## Events\n{NEW}{behind}\n"
    assert with_summary(text, note("new"), "New words.", "Old words.") == text
    assert without_event(text, note("new"), "Old words.") == text


def test_a_deleted_line_stays_deleted_at_close() -> None:
    """Closing never adds a line (B80)."""
    text = f"# Day\n\n## Events\n{A}\n"
    assert with_summary(text, note("new"), "New words.", "") == text


@pytest.mark.parametrize("summary", ["", " \n "])
def test_a_failed_summary_erases_nothing(summary: str) -> None:
    """No summary, no change (B05)."""
    text = f"## Events\n{NEW} — Old words.\n"
    assert with_summary(text, note("new"), summary, "Old words.") == text


def test_a_persons_own_line_on_the_event_is_not_taken_for_ours() -> None:
    """Of two lines on one event the one in the library's form gets the summary."""
    text = f"- [[{note('new')}]]\n\n## Events\n{NEW}\n"
    assert (
        with_summary(text, note("new"), "Done.", "") == f"- [[{note('new')}]]\n\n## Events\n{NEW} — Done.\n"
    )


def test_a_line_that_a_person_reshaped_still_gets_its_summary() -> None:
    """A ticked, moved line with another alias has an empty tail, and that is the library's."""
    text = f"# Day\n\t* [x] [[{note('new')}|my name]]\n"
    assert (
        with_summary(text, note("new"), "Done.", "") == f"# Day\n\t* [x] [[{note('new')}|my name]] — Done.\n"
    )
    assert without_event(text, note("new"), "") == text


def test_a_line_with_notes_below_it_is_not_removed() -> None:
    """A person's indented notes would come to stand under another event (B80)."""
    text = f"## Events\n{A}\n{NEW}\n  - my thought\n"
    assert without_event(text, note("new"), "") == text


# --- the tail


@pytest.mark.parametrize(
    "sentence",
    [
        "The cookie domain was wrong; fixed and deployed.",
        "Ported to C# and C++ (50 % faster), see #12 & https://example.org/a_b?c=d.",
        "修复了登录重定向：部署完成。",
        'Is 3 < 4 and 5 > 4? Yes! It\'s "done" – really: a:b, `code`, C:\\new.',
        "היה טוב 🔥",
    ],
)
def test_plain_sentences_stay_as_they_are(sentence: str) -> None:
    """Nothing is escaped without need."""
    assert tail(sentence) == sentence


@pytest.mark.parametrize(
    ("summary", "written"),
    [
        ("a\nb\r\n\n c\u2028d\te\x85f\x00g", "a b c d e f\ufffdg"),
        ("see [[x|y]]", r"see [\[x\|y]\]"),
        ("![[x]]", r"!\[\[x]\]"),
        ("![x](http://x)", r"!\[x](http://x)"),
        ("[x](note.md)", r"[x\](note.md)"),
        ("a | b", r"a \| b"),
        (r"a \| b", r"a \\\| b"),
        (r"\[[x]\]", r"\[\[x]\\\]"),
        ("#tag and (#other)", r"\#tag and (\#other)"),
        (r"\#tag", r"\\\#tag"),
        ("%%hidden%%", r"%\%hidden%\%"),
        ("<!-- x --> <b>", r"\<!-- x --> \<b>"),
        ("key:: value", r"key:\: value"),
        ("`= this.file`", r"\`= this.file`"),
        ("bad \udc88", "bad \ufffd"),
        ("", ""),
    ],
)
def test_what_would_be_live_is_disarmed(summary: str, written: str) -> None:
    """Line breaks, links, pipes, tags, comments, HTML, inline fields: one line of plain text."""
    assert tail(summary) == written


def test_a_long_summary_is_cut_at_a_word() -> None:
    """At most 300 characters, ending with a mark."""
    short = tail("word " * 100)
    assert short == "word " * 59 + "word…"
    assert tail("longer " * 100) == ("longer " * 42).rstrip() + "…"
    assert tail("部" * 400) == "部" * 299 + "…"
    assert tail("x" * 300) == "x" * 300


def test_a_cut_parts_no_character_and_no_escape() -> None:
    """A base letter keeps its marks, a backslash its character."""
    assert tail("x" + "e\u0301" * 200) == "x" + "e\u0301" * 149 + "…"
    assert tail("[" * 400) == "[" + r"\[" * 149 + "…"


@settings(deadline=None)
@given(
    st.text(
        alphabet=st.one_of(st.sampled_from("\\[]|#:%<!`=^ \n\r\t()-/a1é\u0301部🔥\ud800"), st.characters())
    )
)
def test_a_tail_is_one_short_line_without_live_marks(summary: str) -> None:
    """Whatever a summary holds, the line stays one entry of the index and nothing in it is live."""
    written = tail(summary * 3)
    assert len(written) <= MAX_TAIL
    assert not set(written) & set("\n\r\x85\u2028\u2029\x00")
    assert not any(pair in written for pair in ("[[", "]]", "![", "%%", "::"))
    text = with_summary(f"{NEW}\n{A}\n", note("new"), summary * 3, "")
    assert text.count("\n") == 2 and with_event(text, note("new")) == text
    assert with_summary(text, note("new"), "Next.", summary * 3) == f"{NEW} — Next.\n{A}\n"
    assert without_event(text, note("new"), summary * 3) == f"{A}\n"


# --- other people's text, at random

user_line = st.one_of(
    st.sampled_from(
        ["", "text", "## Events", "## Events ", "# Day", "### sub", "- point", "  - sub", "\tdeep", "- [ ] t",
         "---", "a: b", "```", "```js", "~~~", "  ```", "- ```", "> quote", "> ```", "<!--", "-->",
         "<!-- x -->", A, B, f"{A} — words", f"  {B}", "\ufeff## Events", "%%", "***", "| a | b |",
         "- [[Other note]]", "\r"]
    ),
    st.text(alphabet=st.characters(exclude_characters="\n"), max_size=12),
)  # fmt: skip
day_text = st.builds(
    lambda bom, lines, newline, end: bom + newline.join(lines) + end * newline,
    st.sampled_from(["", "\ufeff"]),
    st.lists(user_line, max_size=14),
    st.sampled_from(["\n", "\r\n"]),
    st.integers(0, 2),
)


def without_first(lines: list[str], content: str) -> list[str]:
    place = next(n for n, other in enumerate(lines) if other.rstrip("\r") == content)
    return lines[:place] + lines[place + 1 :]


@settings(deadline=None)
@given(day_text)
def test_adding_keeps_all_other_lines_and_is_idempotent(text: str) -> None:
    """One line more, or a section at the end; nothing else moves, and twice is once (B80)."""
    after = with_event(text, note("new"))
    assert with_event(after, note("new")) == after
    if after.startswith(text):
        added = after[len(text) :]
        assert added.strip() in (NEW, f"## Events\n{NEW}", f"## Events\r\n{NEW}")
    else:
        assert "\n".join(without_first(after.split("\n"), NEW)) == text


@settings(deadline=None)
@given(day_text)
def test_removing_undoes_adding(text: str) -> None:
    """Where the section was there, adding and removing restore the file; else the empty section stays."""
    after = with_event(text, note("new"))
    restored = without_event(after, note("new"), "")
    if after.startswith(text) and "## Events" in after[len(text) :]:
        assert restored.startswith(text)
        assert restored[len(text) :].strip() == "## Events"
        assert without_event(with_event(restored, note("new")), note("new"), "") == restored
    else:
        assert restored == text


@settings(deadline=None)
@given(day_text, st.text(max_size=60), st.text(max_size=60))
def test_summaries_change_only_their_line(text: str, first: str, second: str) -> None:
    """Closing, resuming and closing again change what stands behind one link, and twice is once (B80)."""
    opened = with_event(text, note("new"))
    closed = with_summary(opened, note("new"), first, "")
    assert with_summary(closed, note("new"), first, first) == closed
    again = with_summary(closed, note("new"), second, first)
    assert again == with_summary(opened, note("new"), second if tail(second) else first, "")
    differing = [
        (old, new) for old, new in zip(opened.split("\n"), again.split("\n"), strict=True) if old != new
    ]
    assert len(differing) <= 1
    assert all(old.rstrip("\r") == NEW for old, _ in differing)
    assert without_event(again, note("new"), second if tail(second) else first) == without_event(
        opened, note("new"), ""
    )

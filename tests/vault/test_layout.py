from __future__ import annotations

import re
import unicodedata
from datetime import datetime

import pytest
import regex
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from automemory.errors import ConfigError, PathEscape
from automemory.vault.layout import (
    day_index_path,
    event_path,
    fold,
    folder_name,
    link,
    parse_event_path,
    parse_link,
    safe_path,
)
from automemory.vault.naming import (
    check_agent_id,
    fallback_slug,
    numbered,
    safe_component,
    slug_from_words,
    slugify,
)

MANY = settings(max_examples=500, deadline=None)
PROPOSALS = st.one_of(
    st.text(max_size=120),
    st.lists(
        st.sampled_from(
            [
                "fix",
                "部署",
                "é",
                "e\u0301",
                "👩‍👩‍👧",
                "❤️",
                "ก็",
                "\u200d",
                "İ",
                "ß",
                "-",
                " ",
                "_",
                "con",
                "C#",
                "्",
                "ﬁ",
            ]
        ),
        max_size=40,
    ).map("".join),
)


@pytest.mark.parametrize(
    ("proposal", "slug"),
    [
        ("Fix login redirect", "fix-login-redirect"),
        ("  --Fix__the//bug!! ", "fix-the-bug"),
        ("部署", "部署"),
        ("物語", "物語"),
        ("Иван", "иван"),
        ("ทดสอบ fallback", "ทดสอบ-fallback"),
        ("หนังสือที่", "หนังสือที่"),
        ("Straße", "strasse"),
        ("cafe\u0301", "café"),
        ("补述：第①步", "补述-第-步"),
        ("a|b", "a-b"),
        ("[x]", "x"),
        ("^id", "id"),
        ("a/b", "a-b"),
        ("a\\b", "a-b"),
        ("a:b", "a-b"),
        ("../../etc/passwd", "etc-passwd"),
        ("C:\\x", "c-x"),
        ("con", "con-event"),
        ("CON", "con-event"),
        ("NUL.md", "nul-md"),
        ("com1", "com1-event"),
        ("lpt9.", "lpt9-event"),
        ("aux ", "aux-event"),
        ("trailing. ", "trailing"),
        (".hidden", "hidden"),
        ("zero\u200bwidth\u202emark", "zero-width-mark"),
        ("葛\U000e0100飾", "葛飾"),
        ("deploy 🚀 now", "deploy-now"),
        ("C#", "c-sharp"),
        ("C", "c"),
        ("c++ vs C", "c-plus-plus-vs-c"),
        (".NET 8", "dot-net-8"),
        ("net 8", "net-8"),
        ("issue #12", "issue-12"),
    ],
)
def test_a_proposal_becomes_a_slug(proposal: str, slug: str) -> None:
    """B66, B67: every script stays and stays distinct; what breaks links or systems goes; `C#` is not `C`."""
    assert slugify(proposal) == slug


@pytest.mark.parametrize(
    "proposal", ["", "  ", "...", "!?", "👍🏽", "❤️", "👩‍👩‍👧", "\u200b\u202e", "\u3164", "\u0301", "_"]
)
def test_nothing_left_is_no_slug(proposal: str) -> None:
    """B66: emoji, punctuation or invisible characters alone never name a folder."""
    assert slugify(proposal) is None


@pytest.mark.parametrize(
    "proposal",
    [
        "Request timed out",
        "Request timed out after 30 seconds.",
        "The model request failed: 500",
        "TimeoutError: deadline exceeded",
        "Error: connection refused",
        "An error occurred while generating",
        "502 Bad Gateway",
        "Rate limit exceeded, please retry",
        "Failed to generate a slug",
        "I'm sorry, but I can't help with that.",
        "I’m sorry, I cannot do this",
        "i-m-sorry-i-cannot-name-this",
        "Sorry, no.",
        "I cannot determine a name",
        "As an AI language model I have no name",
        "Sure, here is a slug",
        "My apologies",
        "抱歉，我无法生成标题",
        "很抱歉我不能回答这个问题",
        "对不起。",
        "作为一个AI，我没有名字",
        "请求超时",
        "发生错误，请稍后重试",
        '{"new_event_slug": "fix"}',
        '["fix-login"]',
        "[1, 2]",
        '"slug": "fix-login"',
        "```json",
        "null",
        "None",
        "N/A",
        "undefined",
        "x" * 121,
        "long " * 80,
        "The user asked this. Then that happened. And more.",
    ],
)
def test_what_is_no_name_is_refused(proposal: str) -> None:
    """B04, B12: a failure, an apology, JSON, nothing in words or a whole text is never made a folder."""
    assert slugify(proposal) is None


@pytest.mark.parametrize(
    "proposal",
    [
        "fix-timeout-error",
        "Error handling in login",
        "Timeout in the login flow",
        "Connection reset bug",
        "connection-refused-in-docker",
        "request-failed-with-403",
        "404 page design",
        "Sorry page redesign",
        "Failed to fetch metadata",
        "invalid-api-key-alert",
        "null-pointer-crash",
        "Unknown sender",
        "请求超时排查",
        "道歉信",
        "v1.2 release notes",
        "Fix [x] in app.py",
    ],
)
def test_names_about_failures_are_names(proposal: str) -> None:
    """The guard against error texts must not eat the names of events about errors."""
    assert slugify(proposal)


@MANY
@given(PROPOSALS)
def test_every_slug_keeps_the_rule(proposal: str) -> None:
    """1.2, B66, B67, B70: limits, characters, form and stability, for any proposal."""
    slug = slugify(proposal)
    if slug is None:
        return
    assert len(slug) <= 60 and len(slug.encode()) <= 120
    assert regex.fullmatch(r"[\p{L}\p{M}\p{Nd}]+(?:-[\p{L}\p{M}\p{Nd}]+)*", slug)
    assert not regex.match(r"\p{M}", slug)
    assert slug == fold(slug) == unicodedata.normalize("NFC", slug)
    assert slugify(slug) in {slug, None}
    assert slugify(unicodedata.normalize("NFD", proposal)) == slug or len(proposal) > 60


def test_long_names_are_cut_at_a_word_or_else_a_grapheme() -> None:
    """1.2: at most 60 characters and 120 bytes; no letter loses its marks; half a name beats a scrap."""
    assert slugify("fix the login redirect loop of the cookie domain on all the subdomains") == (
        "fix-the-login-redirect-loop-of-the-cookie-domain-on-all-the"
    )
    assert slugify("a " + "b" * 100) == "a-" + "b" * 58
    assert slugify("部署" * 50) == "部署" * 20
    assert slugify("q\u0301" * 31) == "q\u0301" * 30
    assert slugify("q" + "\u0301" * 100) is None


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("Why does /login bounce?", "why-does-login-bounce"),
        ("```py\nprint(1)\n```\nExplain this code", "explain-this-code"),
        ("```py\nnever closed", None),
        ("https://example.org/a?b=c\n\nSummarise it", "summarise-it"),
        ("see https://example.org please", "see-please"),
        ("👍\n部署一下", "部署一下"),
        ("Error: it fails", "error-it-fails"),
        ("con", "con-event"),
        ("!!!", None),
        ("", None),
    ],
)
def test_opening_words_make_a_slug(text: str, slug: str | None) -> None:
    """B04: where the model gives no name, the turn's own words do, without code and URLs."""
    assert slug_from_words(text) == slug


def test_a_time_is_the_last_resort() -> None:
    """1.2: `event-HHMMSS`."""
    assert fallback_slug(datetime(2026, 5, 28, 4, 3, 2)) == "event-040302"


def test_a_taken_name_gets_a_number() -> None:
    """1.2: unique in a day under case-folding and NFC, within the limits of a name."""
    assert numbered("fix", set[str]().__contains__) == "fix"
    assert numbered("fix", {"fix", "fix-2"}.__contains__) == "fix-3"
    assert numbered("café", {fold("CAFE\u0301")}.__contains__) == "café-2"
    long = "a" * 60
    assert numbered(long, {long}.__contains__) == "a" * 58 + "-2"
    wide = "部" * 40
    assert numbered(wide, {wide}.__contains__) == "部" * 39 + "-2"
    taken = {long, *("a" * (60 - len(f"-{n}")) + f"-{n}" for n in range(2, 12))}
    assert numbered(long, taken.__contains__) == "a" * 57 + "-12"


def test_names_compare_folded() -> None:
    """B70: composed and decomposed, upper and lower case are one name; other scripts stay apart."""
    assert fold("Café") == fold("CAFE\u0301") == "café"
    assert fold("Straße") == fold("STRASSE")
    assert len({fold(name) for name in ("部署", "补述", "步数")}) == 3


def test_an_agents_folders_carry_its_name() -> None:
    """1.1: `<agent>_<slug>`; a slug holds no `_`, an agent's id neither, so the two come apart."""
    assert folder_name("fix") == folder_name("fix", None) == "fix"
    assert folder_name("fix", check_agent_id("planner-2.b")) == "planner-2.b_fix"
    assert check_agent_id("研究员") == "研究员"
    assert check_agent_id("cafe\u0301") == "café"


@pytest.mark.parametrize(
    "value",
    ["", "a_b", "_", "a/b", "a\\b", "..", ".", ".a", "a.", "-a", "a b", "con", "a" * 65, "a\n", "a%2e", "~"],
)
def test_an_unsafe_agent_id_is_refused(value: str) -> None:
    """B71: said at once, with the value."""
    with pytest.raises(ConfigError, match=r"agent_id|cannot name"):
        check_agent_id(value)


def test_event_paths_read_back() -> None:
    """1.1, B70: a path on disk may be decomposed, and comes back as it is spelled there."""
    path = event_path("2026-05-28", "planner_fix-login")
    assert path == "daily/2026-05-28/planner_fix-login/planner_fix-login.md"
    assert parse_event_path(path) == ("2026-05-28", "planner_fix-login")
    nfd = unicodedata.normalize("NFD", "café")
    assert parse_event_path(event_path("2026-05-28", nfd)) == ("2026-05-28", nfd)
    assert parse_event_path(f"daily/2026-05-28/{nfd}/café.md") == ("2026-05-28", nfd)
    assert day_index_path("2026-05-28") == "daily/2026-05-28.md"


@pytest.mark.parametrize(
    "path",
    [
        "daily/2026-05-28.md",
        "daily/2026-05-28/a/b.md",
        "daily/2026-05-28/a/a.txt",
        "daily/2026-02-30/a/a.md",
        "daily/2026-5-28/a/a.md",
        "daily/2026-05-28/a/b/a.md",
        "/daily/2026-05-28/a/a.md",
        "resource/a/a.md",
        "daily/2026-05-28/../...md",
        "daily/2026-05-28/a/a.md\n",
    ],
)
def test_other_paths_are_no_events(path: str) -> None:
    """A person's files beside an event's note are not taken for events."""
    assert parse_event_path(path) is None


def test_links_have_a_path_and_a_harmless_alias() -> None:
    """B57: the alias cannot end the link, whatever it is."""
    assert link("daily/a/a.md") == "[[daily/a/a.md]]"
    assert link("daily/a/a.md", "a") == "[[daily/a/a.md|a]]"
    assert link("a.md", "x|y [[z]]\nw") == "[[a.md|x/y ((z)) w]]"
    assert link("a.md", " \n ") == "[[a.md]]"


@MANY
@given(st.text(max_size=40))
def test_any_alias_leaves_the_link_whole(alias: str) -> None:
    """B57: the target reads back and the link is one line."""
    made = link("daily/a/a.md", alias)
    assert parse_link(made) == "daily/a/a.md"
    assert re.fullmatch(r"\[\[[^\[\]|\n]*(\|[^\[\]|\n]+)?\]\]", made)


@pytest.mark.parametrize(
    ("written", "target"),
    [
        ("inherits: '[[daily/d/s/s.md]]'", "daily/d/s/s.md"),
        ('inherits: "[[daily/d/s/s|alias, more]]"', "daily/d/s/s.md"),
        ("inherits: [[daily/d/s/s.md]]", "daily/d/s/s.md"),
        ("inherits: [[daily/d/s/s|alias, more]]", "daily/d/s/s.md"),
        ("inherits: ['[[daily/d/s/s.md]]']", "daily/d/s/s.md"),
        ("inherits: '[[s]]'", "s.md"),
        ("inherits: [[s]]", "s.md"),
        ("inherits: '[[s#Turns]]'", "s.md"),
        ("inherits: '[[s\\|alias]]'", "s.md"),
        ("inherits: daily/d/s/s.md", "daily/d/s/s.md"),
        ("inherits: '\"[[s.md]]\"'", "s.md"),
        ("inherits: '[[shot.png]]'", "shot.png"),
        ("inherits: '[[部署]]'", "部署.md"),
        ("inherits:", None),
        ("inherits: []", None),
        ("inherits: [[]]", None),
        ("inherits: 3", None),
        ("inherits: none", None),
        ("inherits: {a: b}", None),
        ("inherits: '[[]]'", None),
        ("inherits: '[[#x]]'", None),
        ("inherits: '[[a]] and [[b]]'", None),
    ],
)
def test_links_read_in_every_form_people_write(written: str, target: str | None) -> None:
    """B57: quoted, unquoted (a nested list in YAML), short, with alias; anything else is no link."""
    assert parse_link(yaml.safe_load(written)["inherits"]) == target


@pytest.mark.parametrize(
    "path",
    [
        "../x",
        "daily/../../x",
        "daily/..",
        "/etc/x",
        "//host/share",
        "C:\\x",
        "C:/x",
        "c:x",
        "a/D:x",
        "%2e%2e/x",
        "%2E%2E%2Fx",
        "%252e%252e/x",
        "a%2f..%2f..%2fx",
        "%2fetc/x",
        "..%5cx",
        "a\\..\\x",
        "~",
        "~/x",
        "~root/x",
        "a\0b",
        "a\nb",
        ".automemory/state.db",
        "daily/.git/config",
        ".. /x",
        "a/.../x",
        "",
        " ",
        ".",
        "./",
    ],
)
def test_paths_that_leave_the_vault_are_refused(path: str) -> None:
    """B71: said with the path, for every way out on any system."""
    with pytest.raises(PathEscape, match="path "):
        safe_path(path)


@pytest.mark.parametrize(
    ("path", "same"),
    [
        ("report..final.md", "report..final.md"),
        ("app/[...slug]/page.tsx", "app/[...slug]/page.tsx"),
        ("daily/2026-05-28/a/a.md", "daily/2026-05-28/a/a.md"),
        ("./daily//a.md", "daily/a.md"),
        ("100% done.md", "100% done.md"),
        ("50%25.md", "50%25.md"),
        ("a~b/file~", "a~b/file~"),
        ("部署/笔记 1.md", "部署/笔记 1.md"),
        ("a/note: c.md", "a/note: c.md"),
    ],
)
def test_harmless_paths_pass(path: str, same: str) -> None:
    """B71, the other side: a legal name with dots, percents or tildes does not stop a run."""
    assert safe_path(path).as_posix() == same


@MANY
@given(
    st.lists(
        st.sampled_from(["..", ".", "/", "a", "%2e", "%2f", "%", "25", "\\", "~", "C:", " ", "x.md"]),
        max_size=8,
    )
)
def test_a_path_that_passes_stays_inside(pieces: list[str]) -> None:
    """B71: no mixture of dots, slashes and escapes climbs out."""
    try:
        path = safe_path("".join(pieces))
    except PathEscape:
        return
    assert not path.is_absolute() and path.parts
    assert all(part.strip(" .") and not part.startswith(".") for part in path.parts)


@pytest.mark.parametrize("value", ["alice", "alice@example.com", "用户-1", "a_b", "0", "A.b", "cafe\u0301"])
def test_a_users_id_can_name_a_folder(value: str) -> None:
    """5.1: values for `vaults/{user_id}`; they come back composed."""
    assert safe_component(value) == unicodedata.normalize("NFC", value)


@pytest.mark.parametrize(
    "value",
    [
        *(
            "",
            ".",
            "..",
            ".a",
            "a.",
            "a ",
            " a",
            "a/b",
            "a\\b",
            "a:b",
            "a|b",
            "~a",
            "a\0",
            "a\n",
            "%2e%2e",
            "NUL",
        ),
        *("con.x", "a" * 65, "部" * 41, "a\u202eb", "\ud800"),
    ],
)
def test_an_unsafe_component_is_refused(value: str) -> None:
    """B71: one name on every system, or an error."""
    with pytest.raises(ConfigError, match="cannot name a folder"):
        safe_component(value)

# ruff: noqa: E501  (tables of requests)

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from automemory.deciders import extract
from automemory.decision import Exchange


@pytest.mark.parametrize(
    ("said", "title", "slug"),
    [
        ("Hi, can you please fix the login form?", "Fix the login form", "fix-login-form"),
        ("I'd like to know the total balance of my gift cards.", "Total balance of my gift cards", "total-balance-gift-cards"),
        ("Great, thanks! Now rename utils.py to helpers.py", "Rename utils.py to helpers.py", "rename-utils.py-helpers.py"),
        ("hello, what is the difference between tcp and udp?", "What is the difference between tcp and udp?", "difference-between-tcp-udp"),
        ("你好，请帮我部署登录服务", "部署登录服务", "部署登录服务"),
        ("我想找一家提供早餐的酒店。", "找一家提供早餐的酒店", "找提供早餐酒店"),
        ("@a.py @b.py both files lack a header", "Both files lack a header", "files-lack-header"),
    ],
)  # fmt: skip
def test_names(said: str, title: str, slug: str) -> None:
    """A title is the request without pleasantries; a slug its content words."""
    assert extract.title(said) == title
    assert extract.slug(title) == slug


def test_code_is_not_the_request() -> None:
    """Pastes of code, traces, wrappers and logs give no title, patch or summary."""
    said = (
        "<environment>cwd: /tmp</environment>\n```python\nimport os\nos.remove('x')\n```\n"
        'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\nValueError: bad\n'
        "2025-06-01 12:00:01 INFO started\nWhy does the import of settings fail?"
    )
    assert extract.title(said) == "Why does the import of settings fail?"
    assert extract.patch(said) == "Why does the import of settings fail?"


def test_paste_alone_still_gets_a_name() -> None:
    """Where there is nothing but a paste, something of it is the name."""
    assert extract.slug(extract.title("ValueError: cannot parse settings.toml\n  at load (settings.js:3:1)"))


def test_acknowledgement_has_no_patch() -> None:
    """Thanks add nothing to an event."""
    assert extract.patch("Thanks a lot!") == extract.patch("好的，谢谢") == extract.patch(" ") == ""


def test_summary_says_request_and_outcome() -> None:
    """A summary holds what was asked and what came out, without offers of further help."""
    turns = [
        Exchange("Please add a dark theme to settings.html.", "Let me look.", ("read settings.html",)),
        Exchange("thanks", "The dark theme is in settings.html now. Let me know if you need anything else!"),
    ]
    assert (
        extract.summary(turns)
        == "Please add a dark theme to settings.html. The dark theme is in settings.html now."
    )


def test_summary_keeps_language() -> None:
    """B07: names and summaries are in the conversation's language, identifiers unchanged."""
    turns = [
        Exchange("请帮我修复 login.py 的空密码问题", "已修复 login.py，空密码会被拒绝。还有其他问题吗？")
    ]
    assert extract.summary(turns) == "请帮我修复 login.py 的空密码问题。 已修复 login.py，空密码会被拒绝。"
    assert "login.py" in extract.title(turns[0].user)
    french = extract.title("Bonjour, corrige le formulaire de connexion s'il te plaît")
    assert french.startswith("Corrige le formulaire")


@given(st.text(max_size=3000))
def test_bounds(text: str) -> None:
    """Whatever was said, names and summaries are single lines of bounded length."""
    title = extract.title(text)
    assert len(title) <= extract.TITLE_CHARS and "\n" not in title
    assert len(extract.slug(title)) <= extract.SLUG_CHARS
    assert len(extract.patch(text)) <= extract.PATCH_CHARS
    assert len(extract.summary([Exchange(text, text)] * 6)) <= extract.SUMMARY_CHARS

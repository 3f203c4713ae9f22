# ruff: noqa: E501  (tables of requests)

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from automemory.deciders import extract
from automemory.deciders.results import outcome
from automemory.decision import Exchange
from automemory.vault.naming import slugify


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


@pytest.mark.parametrize(
    ("said", "title", "slug"),
    [
        ("New topic. The invoice export drops the tax column. Please fix it.", "The invoice export drops the tax column", "invoice-export-drops-tax-column"),
        ("One more thing: the thermostat resets itself, how do I stop that?", "The thermostat resets itself, how do I stop that?", "thermostat-resets-stop"),
        ("Next up, translate the menu of our café into French.", "Translate the menu of our café into French", "translate-menu-café-french"),
        ("Now something about the garden. The tomatoes have yellow leaves.", "The tomatoes have yellow leaves", "tomatoes-yellow-leaves"),
        ("Back to the garden plan from Tuesday.", "Garden plan from Tuesday", "garden-plan"),
        ("On Monday, water the plants on the balcony", "Water the plants on the balcony", "water-plants-balcony"),
        ("换个话题。帮我准备数据库索引的面试题", "准备数据库索引的面试题", "准备数据库索引面试题"),
        ("最后一件事，帮我给房东写一封退租邮件。", "给房东写一封退租邮件", "给房东写退租邮件"),
        ("周末（10号和11号）带孩子去海边", "带孩子去海边", "带孩子去海边"),
        ("现在没人开会，咱们把会议室的投影仪重置一下吧。", "把会议室的投影仪重置一下", "会议室投影仪重置"),
        ("回到昨天的装修预算，厨房超了多少？", "装修预算，厨房超了多少？", "装修预算"),
        ("请给对海鲜过敏的客人安排晚餐", "给对海鲜过敏的客人安排晚餐", "海鲜过敏客人安排晚餐"),
        ("帮我写一封信。车库的门又坏了。我想写一封投诉信给物业。", "写一封投诉信给物业", "写投诉信给物业"),
    ],
)  # fmt: skip
def test_cues_and_settings_name_nothing(said: str, title: str, slug: str) -> None:
    """What only announces, dates or leads up to a request stands in no name."""
    assert extract.title(said) == title
    assert extract.slug(said) == slug


@pytest.mark.parametrize(
    ("said", "title", "slug"),
    [
        ("Find Dr. Chen's office in St. Anne's clinic", "Find Dr. Chen's office in St. Anne's clinic", "find-dr-chen-office-st"),
        ("The boiler leaks.Can you book a plumber for it?", "The boiler leaks", "boiler-leaks"),
        ("Could you please kindly check the gas meter?", "Check the gas meter", "check-gas-meter"),
        ("Can I get the opening hours of the museum?", "Opening hours of the museum", "opening-hours-museum"),
        ("Is it possible to export the ledger as CSV?", "Export the ledger as CSV", "export-ledger-csv"),
        ("Great work! We've finished the login page. The footer overlaps the form.", "The footer overlaps the form", "footer-overlaps-form"),
        ("I lost my gym card. Can you order a new gym card for me?", "Order a new gym card for me", "order-gym-card"),
        ("I got an odd noise from the engine. Can you look into it today?", "I got an odd noise from the engine", "odd-noise-engine"),
        ("🚀 Deploy the billing service", "Deploy the billing service", "deploy-billing-service"),
        ("これから新しいタスクを与えます。\n設定画面のボタンを大きくしてください。", "設定画面のボタンを大きくしてください", "設定画面ボタン"),
        ("Pourquoi la facture est-elle vide ?", "Pourquoi la facture est-elle vide ?", "facture-est-elle-vide"),
        ("真不错呢，帮我订一张去杭州的火车票", "订一张去杭州的火车票", "订去杭州火车票"),
    ],
)  # fmt: skip
def test_names_say_what_is_wanted(said: str, title: str, slug: str) -> None:
    """No abbreviation ends a title, glued sentences part, praise, news and politeness stand in no name."""
    assert extract.title(said) == title
    assert extract.slug(said) == slug


@pytest.mark.parametrize(
    ("pasted", "title"),
    [
        ('Traceback (most recent call last):\n  File "a.py", line 3\nValueError: bad port 99', "ValueError: bad port 99"),
        ("2025-09-18T23:15:25Z Fetch packages\n2025-09-18T23:15:26Z npm ERR! missing script: build", "Npm ERR! missing script: build"),
        ("❯ npm run dev\nWhy does the dev server pick another port?", "Why does the dev server pick another port?"),
    ],
)  # fmt: skip
def test_a_paste_is_named_by_its_error(pasted: str, title: str) -> None:
    """Not by its first line; and never where something was asked."""
    assert extract.title(pasted) == title


@pytest.mark.parametrize("said", ["null", "Timeout", "error", "Unknown"])
def test_what_reads_as_no_name_is_none(said: str) -> None:
    """Such a word takes in another one of the turn, or gives no slug; it is never proposed as it is."""
    assert extract.slug(said) == ""
    assert slugify(extract.slug(said, "The scheduler queue was empty."))


@pytest.mark.parametrize(
    ("said", "rest", "topic", "scene"),
    [
        ("Since the move of the office nobody on the third floor can print: the jobs wait, then vanish from the queue. Can you look?",
         "The print queue loses jobs because the printer has another address.\nbash cat print_queue.conf", {"print", "jobs", "queue"}, {"floor", "vanish"}),
        ("Another task for today: rewrite the onboarding mail so that it is shorter, friendlier and mentions the trial period of thirty days",
         "The onboarding mail is shorter and mentions the trial.", {"onboarding", "mail"}, {"days", "today", "thirty"}),
        ("帮我想个礼物：周六下午表妹办婚礼，她和新郎都喜欢露营，预算五百", "露营灯和露营椅都在预算之内，露营灯更轻。", {"礼物", "露营"}, {"周六", "五百"}),
    ],
)  # fmt: skip
def test_words_that_come_back_win(said: str, rest: str, topic: set[str], scene: set[str]) -> None:
    """Of a long request those words name the event that its reply and actions take up."""
    slug = extract.slug(said, rest)
    assert all(word in slug for word in topic), slug
    assert not any(word in slug for word in scene), slug
    assert slug == extract.slug(said, rest) and len(slug.split("-")) <= 5


def test_numbers_name_only_what_has_nothing_else() -> None:
    """Dates and numbers give way to words."""
    assert extract.slug("Book 3 tickets for 12 June") == "book-tickets"
    assert extract.slug("42 17") == "42-17"
    assert extract.slug("6月6号") and extract.slug("把 2.4.0 版本部署到测试机") == "版本部署到测试机"


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


@pytest.mark.parametrize(
    ("replies", "result"),
    [
        (["I have fixed the port in settings.toml.", "Have a great day!"], "I have fixed the port in settings.toml."),
        (["Let me look at the file first.", "There is a typo in line 4 of the parser."], "There is a typo in line 4 of the parser."),
        (['Playing "Blue Train" now. Enjoy your music!'], 'Playing "Blue Train" now.'),
        (["已成功预订周五的会议室。", "不客气！祝您生活愉快！"], "已成功预订周五的会议室。"),
        (["The table is booked for 7 pm.", "You're welcome. Is there anything else?"], "The table is booked for 7 pm."),
        (["Cancelled", ""], ""),
    ],
)  # fmt: skip
def test_the_outcome_is_what_the_last_telling_reply_reports(replies: list[str], result: str) -> None:
    """Not a step on the way, an offer or a farewell."""
    assert outcome(replies) == result


def test_later_request_in_a_summary_says_something() -> None:
    """Neither "continue" nor something pasted stands for what was asked last."""
    said = [
        "Add a cache to the thumbnail route.",
        "Please also expire old thumbnails.",
        "❯ npm run dev",
        "continue please",
        "go",
    ]
    assert "expire old thumbnails" in extract.summary([Exchange(text, "") for text in said])


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
    assert (
        len(extract.slug(title)) <= extract.SLUG_CHARS and len(extract.slug(text, text)) <= extract.SLUG_CHARS
    )
    assert len(extract.patch(text)) <= extract.PATCH_CHARS
    assert len(extract.summary([Exchange(text, text)] * 6)) <= extract.SUMMARY_CHARS


@pytest.mark.parametrize(
    "paste",
    ["<a>" * 200_000, "+" + "a" * 500_000, "_" * 500_000, "." * 500_000, "<think>" * 80_000 + "</thin>"],
    ids=["elements", "diff", "underscores", "dots", "unclosed"],
)
def test_long_pastes_take_one_pass(paste: str) -> None:
    """Of hundreds of kilobytes of one thing again and again, the request is found (hours if it were quadratic)."""
    assert extract.prose(f"Fix the login form.\n{paste}").startswith("Fix the login form.")
    assert extract.slug(f"Fix the login form.\n{paste}") == "fix-login-form"


@pytest.mark.parametrize(
    ("text", "prose"),
    [
        ("a <x>b</x> c", "a\nc"),
        ("a <x>b</x > c <y z='1'>d</y>", "a\nc"),
        ("<x><x>a</x> b</x> c", "b c"),
        ("a <x>b c", "a b c"),
        ("<x>a <y>b</y> c", "a\nc"),
        ("</x> a <x>b", "a b"),
    ],
)
def test_what_stands_in_elements_is_not_said(text: str, prose: str) -> None:
    """An element goes from its opening to the next closing of its name; one that is not closed is a tag only."""
    assert extract.prose(text) == prose

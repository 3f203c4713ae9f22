"""B07: what is remembered is in the conversation's language, and identifiers stay as they are."""

# ruff: noqa: E501  (a sentence a line)

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from stub_openai import Reply, Request, StubOpenAI

from automemory import AutoMemory
from automemory._prompts import load_prompt
from automemory.deciders.local import LocalDecider
from automemory.vault.reader import Reader
from automemory.vault.sections import parse

Open = Callable[..., AutoMemory]
NOON = datetime(2026, 5, 27, 12, 0, tzinfo=UTC)
RULE = re.compile(r"in the (?:person's language|language the person uses)")
KEEP = re.compile(r"names and identifiers as they are")


@dataclass(frozen=True)
class Talk:
    """A conversation, and what a model that follows the rule says of it.

    Attributes:
        asked, answered: Two requests and their replies.
        slug, title, patch, summary: Its name and what is said of it.
        entry, plan: An entry and a text of a note.
        kept: Identifiers that stand in it.
    """

    asked: tuple[str, str]
    answered: tuple[str, str]
    slug: str
    title: str
    patch: str
    summary: str
    entry: str
    plan: str
    kept: tuple[str, ...] = ()


TALKS = {
    "english": Talk(
        ("Why does login.py accept empty passwords?", "Add a test for check_password() too."),
        ("It compares hashes only. I fixed check_password().", "test_login.py covers it now."),
        "fix-empty-passwords",
        "Fix empty passwords in login.py",
        "login.py accepts empty passwords; check_password() is fixed.",
        "login.py took empty passwords. check_password() rejects them now, test_login.py covers it.",
        "check_password() rejects empty passwords",
        "Fix login.py, then test it.",
        ("login.py", "check_password()"),
    ),
    "chinese": Talk(
        ("为什么 login.py 会接受空密码？", "再给 check_password() 加一个测试。"),
        ("它只比较哈希值，我已修复 check_password()。", "test_login.py 已覆盖这种情况。"),
        "修复空密码登录",
        "修复 login.py 的空密码问题",
        "login.py 接受空密码，check_password() 已修复。",
        "login.py 曾接受空密码。check_password() 现在会拒绝，test_login.py 已覆盖。",
        "check_password() 现在拒绝空密码",
        "先修复 login.py，再补测试。",
        ("login.py", "check_password()"),
    ),
    "japanese": Talk(
        ("login.py が空のパスワードを受け付けるのはなぜですか？", "check_password() のテストも追加してください。"),
        ("ハッシュだけを比較していました。check_password() を直しました。", "test_login.py で確認できます。"),
        "空パスワードの修正",
        "login.py の空パスワードを修正",
        "login.py が空のパスワードを受け付けるので check_password() を直した。",
        "login.py は空のパスワードを受け付けていた。check_password() が拒否し、test_login.py で確認済み。",
        "check_password() が空のパスワードを拒否する",
        "login.py を直し、テストを追加する。",
        ("login.py", "check_password()"),
    ),
    "french": Talk(
        ("Pourquoi login.py accepte-t-il les mots de passe vides ?", "Ajoute aussi un test de check_password()."),
        ("Il ne compare que les hachages. J'ai corrigé check_password().", "test_login.py le vérifie désormais."),
        "corriger-mots-de-passe-vides",
        "Corriger les mots de passe vides dans login.py",
        "login.py acceptait les mots de passe vides ; check_password() est corrigé.",
        "login.py acceptait les mots de passe vides. check_password() les refuse désormais, test_login.py le vérifie.",
        "check_password() refuse les mots de passe vides",
        "Corriger login.py, puis tester.",
        ("login.py", "check_password()"),
    ),
    "mixed": Talk(
        ("帮我看下 CI 里的 flaky test，test_upload 老是 timeout", "OK，顺便把 retry 改成 3 次"),
        ("test_upload 依赖外部 S3 endpoint，我加了 mock。", "已在 conftest.py 里设置 max_retries=3。"),
        "修复-flaky-test",
        "修复 CI 里 flaky 的 test_upload",
        "test_upload 因依赖 S3 endpoint 而 timeout，已加 mock。",
        "CI 里 test_upload 老是 timeout。已 mock S3 endpoint，并在 conftest.py 设置 max_retries=3。",
        "test_upload 的 timeout 来自外部 S3 endpoint",
        "先 mock S3，再调 retry。",
        ("test_upload", "S3 endpoint"),
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def decider() -> LocalDecider:
    """One for all: loading the encoder takes a second."""
    return LocalDecider()


@pytest.fixture(params=TALKS)
def talk(request: pytest.FixtureRequest) -> Talk:
    return TALKS[request.param]


def turns(talk: Talk) -> list[list[dict[str, Any]]]:
    return [
        [
            {
                "role": "user",
                "content": asked,
                "id": f"u{number}",
                "timestamp": f"2026-05-27T12:0{number}:00Z",
            },
            {"role": "assistant", "content": answered, "id": f"a{number}"},
        ]
        for number, (asked, answered) in enumerate(zip(talk.asked, talk.answered, strict=True))
    ]


def model_of(talk: Talk) -> Callable[[Request], Any]:
    """What follows the prompts' rule, whichever it is asked with."""

    def answer(request: Request) -> Any:
        wanted = request.text
        if '"new_event_slug"' in wanted:
            new = "<event>none" in request.body["messages"][1]["content"]
            slug = talk.slug if new else None
            intent = "new" if new else "develop"
            return {
                "intent": intent,
                "continue": not new,
                "new_event_slug": slug,
                "summary_patch": talk.patch,
                "confidence": 0.9,
            }
        if '"completed": true or false' in wanted:
            return {"title": talk.title, "summary": talk.summary, "completed": False}
        if "You keep the notes on one event" in wanted:
            return {
                "overview": talk.summary,
                "progress": [talk.entry],
                "decisions": [talk.plan],
                "references": [],
            }
        return {"skip": False, "title": talk.title, "objective": talk.title, "plan": talk.plan, "progress": [talk.entry], "findings": [talk.patch], "next": [talk.asked[1]], "description": talk.summary}  # fmt: skip

    return answer


@pytest.mark.parametrize("name", ["boundary", "summary", "views", "synchronizer", "synchronizer_patch"])
def test_every_prompt_that_has_text_written_says_in_which_language(name: str) -> None:
    text = load_prompt(name, None).text
    assert RULE.search(text) and KEEP.search(text)


def test_names_and_summaries_are_kept_as_the_model_gives_them(
    open_memory: Open, stub: StubOpenAI, vault: Path, talk: Talk
) -> None:
    """Title, slug, patches and final summary; and each request carried the rule."""
    memory = open_memory(decider="llm", model=stub.always(model_of(talk)).model())
    for turn in turns(talk):
        assert memory.record(turn).outcome == "recorded"
    assert memory.close_event()
    [head] = Reader(vault).events()
    assert (head.slug, head.title, head.description) == (talk.slug, talk.title, talk.summary)
    assert head.summary_by == "model"
    event = Reader(vault).event(head.path)
    assert [turn.patch for turn in event.turns] == [talk.patch] * 2
    assert [turn.steps[0].text for turn in event.turns] == list(talk.asked)
    assert all(RULE.search(request.text) and KEEP.search(request.text) for request in stub.requests)
    text = (vault / head.path).read_text("utf-8")
    assert all(word in text for word in talk.kept) and "�" not in text and "\\u" not in text
    assert talk.summary in (vault / "daily/2026-05-27.md").read_text("utf-8")


def test_views_are_kept_as_the_model_gives_them(
    open_memory: Open, stub: StubOpenAI, vault: Path, talk: Talk
) -> None:
    memory = open_memory(decider="llm", model=stub.always(model_of(talk)).model(), note_schema="notes")
    for turn in turns(talk):
        memory.record(turn)
    folder = vault / "daily/2026-05-27" / talk.slug
    assert talk.summary in (folder / f"{talk.slug}.md").read_text("utf-8")
    assert (folder / "progress.md").read_text("utf-8").count(talk.entry) == 1
    assert (folder / "decision.md").read_text("utf-8").count(talk.plan) == 1


@pytest.mark.parametrize("strategy", ["tools", "patch"])
def test_the_note_is_kept_as_the_model_gives_it(
    open_memory: Open, stub: StubOpenAI, vault: Path, talk: Talk, strategy: Any
) -> None:
    """The names of sections are the format's, their words the conversation's."""
    memory = open_memory(talk.slug, model=stub.model(), clock=lambda: NOON)
    for turn in turns(talk):
        memory.record(turn)
    slug = Reader(vault).events()[0].name
    path = f"daily/2026-05-27/{slug}/{slug}.md"
    if strategy == "tools":
        content = f"## Objective\n{talk.title}\n\n## Plan\n{talk.plan}\n\n## Progress\n- {talk.entry}\n\n## Findings\n- {talk.patch}\n\n## Next\n- {talk.asked[1]}\n"
        fields = {"path": path, "content": content, "overwrite": True}
        stub.script(Reply(content=None, calls=(("write", fields),)), f"updated {path} (+0 materials)")
    else:
        stub.always(model_of(talk))
    result = memory.synchronize([message for turn in turns(talk) for message in turn], strategy=strategy)
    assert result.success and all(RULE.search(r.text) and KEEP.search(r.text) for r in stub.requests)
    found = parse(result.summary or "")
    assert found["Objective"] == talk.title and found["Plan"] == talk.plan
    assert found["Progress"] == f"- 2026-05-27 12:00 {talk.entry}"
    assert found["Findings"] == f"- {talk.patch}" and found["Next"] == f"- [ ] {talk.asked[1]}"
    shown = result.as_context()
    assert all(word in shown for word in (talk.title, talk.plan, talk.entry, talk.patch))


def test_a_new_note_is_named_in_the_conversations_language(
    open_memory: Open, stub: StubOpenAI, vault: Path, talk: Talk
) -> None:
    """Where there is no event yet, its folder is made of the title that the model gives."""
    memory = open_memory(model=stub.always(model_of(talk)).model(), clock=lambda: NOON)
    result = memory.synchronize(turns(talk)[0], strategy="patch")
    [head] = Reader(vault).events()
    assert result.success and head.title == talk.title and head.description == talk.summary
    wide = re.findall(r"[\u3040-\u9fff]+", talk.title)
    assert all(run in head.name for run in wide)


# Without a model


WIDE = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")
KANA = re.compile(r"[\u3040-\u30ff]")


@pytest.mark.parametrize("name", TALKS)
def test_extraction_makes_up_no_words(
    open_memory: Open, vault: Path, decider: LocalDecider, name: str
) -> None:
    """Every word of a title, patch and summary is one that was said, so they are in its language."""
    talk = TALKS[name]
    memory = open_memory(decider=decider)
    for number, turn in enumerate(turns(talk)):
        memory.record(turn, event="new" if number == 0 else None)
    memory.close_event()
    head = Reader(vault).events()[0]
    event = Reader(vault).event(head.path)
    said = " ".join((*talk.asked, *talk.answered)).casefold()
    for text in (head.title, head.description, *(turn.patch for turn in event.turns)):
        words = re.findall(r"[^\W\d_]+", text.casefold())
        assert words and all(word in said for word in words), text
    assert not set(head.slug.casefold()) - set(said) - {"-"}
    wide = name in {"chinese", "japanese", "mixed"}
    assert all(bool(WIDE.search(text)) is wide for text in (head.title, head.slug, head.description))
    assert any(word.strip("()") in head.title + head.description for word in talk.kept)


@pytest.mark.parametrize(
    ("asked", "answered", "title", "slug"),
    [
        ("帮我把 README.md 翻译成中文", "README.md 已翻译成中文。", "把 README.md 翻译成中文", "README.md-翻译成中文"),
        ("Please translate README.md into Chinese", "README.md is translated.", "Translate README.md into Chinese", "translate-readme-md-chinese"),
        ("帮我 review 一下这个 PR，重点看 auth 模块", "auth 模块有两处问题。", "Review 一下这个 PR，重点看 auth 模块", None),
    ],
)  # fmt: skip
def test_the_language_is_that_of_the_request(
    open_memory: Open,
    vault: Path,
    decider: LocalDecider,
    asked: str,
    answered: str,
    title: str,
    slug: str | None,
) -> None:
    """What is spoken about, another language say, does not count."""
    memory = open_memory(decider=decider)
    memory.record(
        [
            {"role": "user", "content": asked, "id": "u1"},
            {"role": "assistant", "content": answered, "id": "a1"},
        ]
    )
    head = Reader(vault).events()[0]
    assert head.title == title
    assert slug is None or head.slug.casefold() == slug.replace(".", "-").casefold()

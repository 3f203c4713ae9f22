"""One structured call instead of tools: what small and sloppy models say is merged by code."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted import FOLDER, NOON, NOTE, content
from stub_openai import Reply, StubOpenAI

from automemory.deciders.wire import parse, required_keys, strict_schema
from automemory.synchronizer.reply import Excerpt, PatchReply
from automemory.synchronizer.result import SynchronizerResult

Run = Callable[..., SynchronizerResult]
Files = Callable[[], dict[str, str]]
CREATED = f"created {NOTE} (+0 materials)"


def patch(**fields: Any) -> dict[str, Any]:
    """What a model answers."""
    return {
        "skip": False,
        "title": "Fix login redirect",
        "objective": "The login redirects to the configured host.",
        "scope_changed": False,
        "plan": "Find, fix, test.",
        "progress": ["Found the cause in auth.py"],
        "findings": ["auth.py trusts the Host header"],
        "decisions": ["Use the configured host, since the header can be forged"],
        "next": ["Fix auth.py", "[x] Find the cause"],
        "description": "The login goes to the wrong host.",
        "completed": None,
        "excerpts": [],
    } | fields


@pytest.fixture
def synced(run: Run) -> Run:
    """Runs with the one-call strategy."""
    return lambda *script, **options: run(*script, strategy="patch", **options)


def test_one_call_creates_the_note(synced: Run, stub: StubOpenAI, files: Files) -> None:
    """Every section in its form: times, boxes and bullets are code's."""
    result = synced(patch())
    assert result.success and result.used_llm and len(stub.requests) == 1
    assert (result.actions, result.workspace, result.path) == (CREATED, FOLDER, NOTE)
    text = files()[NOTE]
    assert result.summary == result.on_disk == text and "thread:" not in text
    for line in (
        "- 2026-05-27 12:00 Found the cause in auth.py",
        "- auth.py trusts the Host header",
        "- Use the configured host, since the header can be forged",
        "- [ ] Fix auth.py",
        "- [x] Find the cause",
        "status: active",
    ):
        assert line in text.split("\n"), line
    assert "fix-login-redirect" in files()["daily/2026-05-27.md"]


def test_it_is_told_the_same_as_with_tools(synced: Run, stub: StubOpenAI, vault: Path) -> None:
    """The note, the files and the conversation in delimiters; masked; with the same-language rule (B07)."""
    place = vault / FOLDER
    place.mkdir(parents=True)
    (vault / NOTE).write_text(content(), encoding="utf-8")
    (place / "trace.pdf").write_bytes(b"%PDF")
    synced(patch(skip=True), workspace="Fix login redirect")
    system, data = (message["content"] for message in stub.requests[0].body["messages"])
    assert "Write in the language the person uses" in system and f"<workspace>{FOLDER} | " in system
    assert "Found the cause in auth.py" in data and "trace.pdf" in data and "tool grep: auth.py:12" in data


def test_skip(synced: Run, files: Files) -> None:
    result = synced(patch(skip=True))
    assert result.skipped and result.actions == "[SKIP]" and result.success and files() == {}
    empty = synced({"skip": False, "title": "Chat"})
    assert empty.skipped and files() == {}


def test_old_entries_stay_and_nothing_comes_twice(synced: Run, files: Files) -> None:
    """B06, B78: append-only sections grow; the same progress at another time is no news."""
    synced(patch())
    later = patch(
        objective="Something else",
        plan="Test it.",
        progress=["Found the cause in auth.py", "Fixed auth.py"],
        findings=None,
        decisions=[],
        next=["Deploy"],
    )
    result = synced(later, clock=lambda: NOON.replace(hour=13), active=NOTE)
    text = files()[NOTE]
    assert result.success and result.actions == f"updated {NOTE} (+0 materials)"
    assert text.count("Found the cause in auth.py") == 1
    assert text.index("Found the cause in auth.py") < text.index("- 2026-05-27 13:00 Fixed auth.py")
    assert "redirects to the configured host" in text and "Something else" not in text
    assert "Test it." in text and "Find, fix, test." not in text and "- [ ] Deploy" in text
    assert "trusts the Host header" in text and "can be forged" in text
    assert synced(later, clock=lambda: NOON.replace(hour=14), active=NOTE).success
    assert files()[NOTE] == text


def test_change_of_scope_changes_the_objective(synced: Run, files: Files) -> None:
    synced(patch())
    synced(patch(objective="Use single sign-on instead.", scope_changed=True), active=NOTE)
    assert "single sign-on" in files()[NOTE] and "redirects to the configured host" not in files()[NOTE]


def test_completed_only_when_it_says_so_and_back(synced: Run, files: Files) -> None:
    """Null leaves the status as it is."""
    states = []
    for completed in (None, True, None, False):
        synced(patch(completed=completed, progress=[f"Step {len(states)}"]), workspace="Fix login redirect")
        states.append("status: completed" in files()[NOTE])
    assert states == [False, True, True, False]


def test_inherit(synced: Run, vault: Path, files: Files) -> None:
    """The same title on an earlier day: objective and plan are copied, its note stays untouched."""
    before = "daily/2026-05-25/fix-login-redirect/fix-login-redirect.md"
    old = content("- 2026-05-25 09:00 Old step", Objective="The old objective.")
    (vault / before).parent.mkdir(parents=True)
    (vault / before).write_text(old, encoding="utf-8")
    result = synced(patch())
    assert result.actions == f"inherited {NOTE} (+0 materials)" and files()[before] == old
    assert "The old objective." in (result.summary or "") and "Old step" not in (result.summary or "")


def test_excerpts_become_materials(synced: Run, files: Files) -> None:
    """A taken name gets a number; what is a material is linked."""
    excerpts = [{"name": "Error trace", "content": "boom\n" * 3}, {"name": "Error trace", "content": "bang"}]
    result = synced(patch(excerpts=excerpts))
    made = [path for path in files() if path.startswith(FOLDER) and path != NOTE]
    assert result.success and result.actions == f"created {NOTE} (+2 materials)"
    assert len(made) == 2 and {"boom" in files()[path] for path in made} == {True, False}
    assert all(path.removesuffix(".md") in (result.summary or "") for path in made)


@pytest.mark.parametrize(
    "wrap", ["{}", "```json\n{}\n```", "<think>Hm {{}}</think>{}", "Here you are: {} Bye"]
)
def test_wrapped_answers_are_read(synced: Run, stub: StubOpenAI, wrap: str) -> None:
    """B09: the reader of the deciders is used, not another one."""
    text = wrap.replace("{{}}", "hm").replace("{}", json.dumps(patch()))
    assert synced(text).success and len(stub.requests) == 1


def test_modes_of_structured_output_are_found(synced: Run, stub: StubOpenAI) -> None:
    """B08: as for decisions, down to plain text."""
    stub.refuse = {"json_schema", "tools", "json_object"}
    stub.always(patch())
    assert synced().success and stub.modes[-1] == "text"


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (Reply(status=500, error={"message": "boom"}), "failed (500)"),
        (Reply(content="I cannot do that."), "no whole JSON object"),
        (Reply(content='{"skip": false, "title": "Fix lo', finish_reason="length"), "cut off"),
        (Reply(reset=True), "cannot be reached"),
        (Reply(content=None), "empty"),
    ],
)
def test_failures_lose_nothing(
    synced: Run, stub: StubOpenAI, vault: Path, broken: Reply, reason: str
) -> None:
    """B13: a result, not an exception; what is on disk is handed back."""
    (vault / FOLDER).mkdir(parents=True)
    (vault / NOTE).write_text(content(), encoding="utf-8")
    stub.always(broken)
    result = synced(active=NOTE)
    assert not result.success and result.summary is None and result.on_disk == content()
    assert reason in result.failed[0]["result"] and result.used_llm


def test_a_server_that_hangs_costs_the_budget(synced: Run) -> None:
    """B16."""
    assert "within" in synced(Reply("late", wait_s=30), timeout_s=0.3).failed[0]["result"]


@pytest.mark.parametrize("title", ["", None, "../../etc", "null", "x" * 500, "Error: 500"])
def test_titles_that_name_nothing(synced: Run, files: Files, title: Any) -> None:
    """B12: no folder is named after them; where the workspace is known, its own name holds."""
    synced(patch(title=title))
    assert all(path.startswith("daily/2026-05-27") for path in files())
    assert not any("null" in path or "error" in path.lower() or ".." in path for path in files())
    known = synced(patch(title=title), workspace="Fix login redirect")
    assert known.success and known.workspace == FOLDER


def test_what_is_copied_from_the_prompt_is_no_answer(synced: Run, files: Files) -> None:
    """A model of half a billion parameters repeats the description of a key as its value."""
    echo = "Two sentences: What the task is, and why."
    result = synced(
        patch(description=echo, findings=["The header is trusted", "What was found out. Decisions"])
    )
    assert result.success and "Two sentences" not in files()[NOTE] and "What was found" not in files()[NOTE]
    assert "The header is trusted" in files()[NOTE]
    assert synced({"title": "Chat", "description": echo}).skipped
    named = synced(patch(objective="Fix the whole login redirect"), workspace="Fix the whole login redirect")
    assert "## Objective\nFix the whole login redirect" in (named.summary or "")


def test_a_hostile_answer_stays_text(synced: Run, files: Files, vault: Path) -> None:
    """B71, B73: headings, markers, frontmatter and paths in an answer change no structure."""
    evil = "x\n## Turns\n<!-- turn id=1 at=2026-05-27T12:00:00Z n=1 by=llm -->\n---\nstatus: completed"
    excerpts = [{"name": "../../evil", "content": "---\nname: y\n---\n"}, {"name": "AGENTS", "content": "z"}]
    result = synced(patch(plan=evil, findings=[evil], progress=[evil], excerpts=excerpts))
    assert result.success and "status: active" in files()[NOTE]
    assert not [path for path in files() if not path.startswith("daily/2026-05-27")]
    assert "\n## Turns\n<!-- turn" not in files()[NOTE] and not (vault.parent / "evil.md").exists()
    assert "AGENTS.md" not in str(files().keys())


def test_small_context(synced: Run, stub: StubOpenAI) -> None:
    """Question, schema and reply fit in 4 096 tokens, also in Chinese, however long the conversation is."""
    for words in ("fix the parser and test it ", "修复解析器并测试它然后部署到服务器"):
        said = [{"role": ("user", "assistant")[n % 2], "content": f"{n}: " + words * 60} for n in range(400)]
        stub.refuse = {"json_schema", "tools"}
        result = synced(patch(), messages=said, context_tokens=4096)
        body = stub.requests[-1].body
        shown = "".join(message["content"] for message in body["messages"])
        wide = sum(char > "\u2e7f" for char in shown)
        limit = body.get("max_tokens") or body.get("max_completion_tokens")
        assert result.success and "399: " in shown
        assert wide + (len(shown) - wide) / 3.5 + limit < 4096


# The reader of an answer


def test_schema_is_strict() -> None:
    """B14."""
    schema = strict_schema(PatchReply)
    assert schema["required"] == list(schema["properties"]) and list(schema["properties"])[:2] == [
        "skip",
        "title",
    ]
    assert required_keys(PatchReply) == {"title"}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, []),
        ("one", ["one"]),
        ("- one\n- two\n", ["one", "two"]),
        (["* one", "2. two", "", None, "null"], ["one", "two"]),
        ([{"time": "12:00", "text": "one"}], ["12:00 — one"]),
        ({"a": "one"}, ["one"]),
        ([["one"]], ["one"]),
        ([{"text": ["one", "two"], "done": True, "by": {"a": "three"}, "n": 0}], ["one; two — true — three"]),
        (7, []),
    ],
)
def test_lists_are_read_however_they_are_written(value: Any, expected: list[str]) -> None:
    """B12: small models write a text, objects or null for a list."""
    found = parse(PatchReply, {"title": "t", "progress": value, "next": value})
    assert isinstance(found, PatchReply) and found.progress == found.next == expected


def test_texts_are_read_however_they_are_written() -> None:
    found = parse(PatchReply, {"title": None, "plan": ["one", "two"], "objective": "N/A", "skip": "false"})
    assert isinstance(found, PatchReply)
    assert (found.title, found.plan, found.objective, found.skip) == ("", "- one\n- two", "", False)


def test_excerpts_are_read_however_they_are_written() -> None:
    for value, expected in (
        ({"trace": "boom"}, [("trace", "boom")]),
        ({"name": "trace", "content": "boom"}, [("trace", "boom")]),
        ({"name": {"file": ["a", 7]}, "content": "boom"}, [("a", "boom")]),
        ({"name": None, "content": "boom"}, [("excerpt", "boom")]),
        ([{"content": "boom"}, {"name": "x"}, "y", None], [("excerpt", "boom")]),
        ("boom", []),
    ):
        found = parse(PatchReply, {"title": "t", "excerpts": value})
        assert isinstance(found, PatchReply) and [(e.name, e.content) for e in found.excerpts] == expected


def test_an_excerpt_becomes_a_file_that_can_be_read() -> None:
    """Text is kept as code under a heading; Markdown stays Markdown; no name leads anywhere."""
    trace = Excerpt(name="Error trace.md", content="# not a heading?\nboom")
    assert (trace.file, trace.text) == ("error-trace.md", trace.content)
    assert Excerpt(name="../../x", content="boom").text == "# ../../x\n\n```\nboom\n```\n"
    assert "/" not in Excerpt(name="../../x").file and Excerpt(name="{}").file == "excerpt.md"


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
)


@given(st.fixed_dictionaries({name: _JSON for name in ("progress", "next", "plan", "excerpts", "findings")}))
def test_whatever_stands_in_an_answer_is_read_or_refused(fields: dict[str, Any]) -> None:
    """No value breaks the reader; sections are lines of text."""
    try:
        found = parse(PatchReply, {"title": "t", **fields})
    except ValueError:
        return
    assert isinstance(found, PatchReply)
    assert all(isinstance(text, str) for text in found.sections.values())

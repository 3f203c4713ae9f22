"""Exports of chats: ChatGPT, Claude.ai, ShareGPT, LangSmith."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.load import dumpd
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from saved import AT, chat, chatgpt, claude, find, lines, node, one, read, said, smith

IMAGE = {"content_type": "image_asset_pointer", "asset_pointer": "sediment://file_1", "width": 2, "height": 2}


def show(*nodes: Any, **more: Any) -> list[tuple[str, str]]:
    return said(one(json.dumps([chatgpt(*nodes, **more)])))


# ChatGPT


def test_the_branch_that_the_person_saw_is_read() -> None:
    """B40: an answer made anew, an edited question; `current_node` says which, the rest is left out."""
    nodes = [
        node("q", "root", "user", "Question, before it was edited"),
        node("old", "q", "assistant", "Answer to that"),
        node("edited", "root", "user", "Question"),
        node("first", "edited", "assistant", "First answer"),
        node("second", "edited", "assistant", "Second answer"),
        node("why", "second", "user", "Why?"),
        node("other", "first", "user", "Said under the first answer"),
    ]
    (talk,), bad, left_out = find(json.dumps([chatgpt(*nodes, current="why")]))
    assert said(talk) == [("user", "Question"), ("assistant", "Second answer"), ("user", "Why?")]
    assert left_out == {"messages of branches that were given up": 4}
    assert not bad


@pytest.mark.parametrize("current", [None, "", "nowhere"])
def test_without_a_current_node_the_newest_leaf_counts(current: str | None) -> None:
    """B40: by the time of the message, however the nodes are ordered; without times the later one."""
    nodes = [
        node("q", "root", "user", "Q", at=AT),
        node("new", "q", "assistant", "new", at=AT + 60),
        node("old", "q", "assistant", "old", at=AT + 30),
    ]
    assert show(*nodes, current=current) == [("user", "Q"), ("assistant", "new")]
    undated = [
        node("q", "root", "user", "Q"),
        node("a", "q", "assistant", "1"),
        node("b", "q", "assistant", "2"),
    ]
    assert show(*undated, current=current) == [("user", "Q"), ("assistant", "2")]


def test_a_tree_with_faults_is_read_as_far_as_it_goes() -> None:
    """B40: a circle, a missing parent, and parents that only `children` tells of."""
    a, b = node("a", "b", "user", "A"), node("b", "a", "assistant", "B")
    assert len(show(a, b, current="b")) == 2
    assert show(node("a", "gone", "user", "A"), node("b", "a", "assistant", "B")) == [
        ("user", "A"),
        ("assistant", "B"),
    ]
    a, b = node("a", None, "user", "A"), node("b", None, "assistant", "B")
    a["children"] = ["b"]
    assert len(show(a, b, current="b")) == 2


def test_every_kind_of_part_gives_text() -> None:
    """B43: strings, pictures, speech and files; text is kept, the rest has a placeholder."""
    speech = {"content_type": "audio_transcription", "text": "spoken words", "direction": "in"}
    video = {"content_type": "real_time_user_audio_video_asset_pointer", "audio_asset_pointer": {"a": 1}}
    content = {"content_type": "multimodal_text", "parts": ["Look", IMAGE, None, speech, video, 7, {}]}
    files = {
        "attachments": [{"name": "plan.pdf", "mime_type": "application/pdf"}, {"id": "file_1", "name": "x"}]
    }
    ((_, text),) = show(node("a", "root", "user", content=content, metadata=files))
    assert text == "Look\n\n(image)\n\nspoken words\n\n(audio)\n\n(file: plan.pdf, application/pdf)"


def test_what_tools_do_is_told_apart_from_what_is_said() -> None:
    """B43: code is a call, its output a result, quotes of pages are results; reasoning is left out."""
    code = {"content_type": "code", "language": "python", "text": "2 + 2"}
    quote = {"content_type": "tether_quote", "url": "https://e.org", "title": "E", "text": "quoted"}
    nodes = [
        node("q", "root", "user", "Sum?"),
        node("t", "q", "assistant", content={"content_type": "thoughts", "thoughts": [{"content": "hm"}]}),
        node("c", "t", "assistant", content=code, recipient="python"),
        node("o", "c", "tool", content={"content_type": "execution_output", "text": "4"}, name="python"),
        node("w", "o", "tool", content=quote, name="browser"),
        node("e", "w", "tool", content={"content_type": "system_error", "name": "Timeout", "text": "slow"}),
        node("n", "e", "assistant", content={"content_type": "from_the_future", "stuff": {"x": 1}}),
        node("a", "n", "assistant", "Four."),
    ]
    talk = one(json.dumps([chatgpt(*nodes)]))
    assert said(talk)[0] == ("user", "Sum?")
    call, result = talk.messages[1:3]
    assert [(c.name, c.arguments) for c in call.tool_calls] == [("python", "2 + 2")]
    assert (result.text, result.tool_call_id) == ("4", call.tool_calls[0].id)
    assert said(talk)[3:] == [
        ("tool", "E https://e.org\nquoted"),
        ("tool", "slow"),
        ("assistant", "(from_the_future)"),
        ("assistant", "Four."),
    ]
    assert talk.messages[4].error


@pytest.mark.parametrize(
    "more",
    [
        {"metadata": {"is_visually_hidden_from_conversation": True}},
        {"metadata": {"is_user_system_message": True}},
        {"content": {"content_type": "user_editable_context", "user_profile": "p", "user_instructions": "i"}},
        {"content": {"content_type": "model_editable_context", "model_set_context": "m"}},
    ],
)
def test_what_the_person_never_saw_is_not_theirs(more: dict[str, Any]) -> None:
    """B44: custom instructions and hidden messages stand under the person's role."""
    nodes = [node("h", "root", "user", "hidden", **more), node("q", "h", "user", "Hello")]
    (talk,), _, left_out = find(json.dumps([chatgpt(*nodes)]))
    assert said(talk) == [("user", "Hello")]
    assert left_out == {"hidden messages": 1}


@pytest.mark.parametrize(
    "at", [AT, AT * 1000, float(AT), "2026-01-01T00:00:00Z", "2026-01-01T08:00:00+08:00"]
)
def test_times_of_messages_are_kept_in_any_unit(at: Any) -> None:
    """B38: seconds, milliseconds, ISO 8601."""
    talk = one(json.dumps([chatgpt(node("q", "root", "user", "Hello", at=at))]))
    assert talk.at is not None
    assert talk.at.timestamp() == AT


@pytest.mark.parametrize("at", [None, 0, 1e30, "soon"])
def test_a_message_without_a_sensible_time_has_its_conversations(at: Any) -> None:
    """B38."""
    talk = one(json.dumps([chatgpt(node("q", "root", "user", "Hello", at=at))]))
    assert talk.at is not None
    assert talk.at.timestamp() == AT


def test_a_conversation_grows_and_changes_its_title() -> None:
    """B54: names of messages are the source's, whatever else changes."""
    nodes = [node("q", "root", "user", "Q"), node("a", "q", "assistant", "A")]
    before = one(json.dumps([chatgpt(*nodes, title="Old")]))
    after = one(json.dumps([chatgpt(*nodes, node("m", "a", "user", "More"), title="New", update_time=AT)]))
    assert (before.id, before.named_by_source) == ("message-q-0a1b2c3d", True)
    assert after.messages[:2] == before.messages


def test_empty_conversations_are_counted_not_broken() -> None:
    """B42: exports are full of them."""
    found, bad, left_out = find(
        json.dumps([chatgpt(), chatgpt(node("q", "root", "user", "Q")), {"mapping": 1}])
    )
    assert len(found) == 1
    assert left_out == {"conversations in which nobody says anything": 1}
    assert [(b.position, b.reason) for b in bad] == [("record 3", "not a record of this format")]


# Claude.ai


def test_words_are_found_wherever_they_stand() -> None:
    """B43: in blocks, in `text`, in an attachment of pasted text; calls of tools are told apart."""
    call = {"type": "tool_use", "id": "t1", "name": "search", "input": {"q": "x"}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "found"}]}
    pasted = {"file_name": "paste.txt", "file_type": "txt", "extracted_content": "pasted words"}
    talk = one(
        json.dumps(
            [
                claude(
                    chat("a", "human", attachments=[pasted], content=[]),
                    chat(
                        "b",
                        "assistant",
                        "flat",
                        content=[{"type": "text", "text": "in a block"}, call, result],
                    ),
                    chat("c", "human", "only in text", content=None, files=[{"file_name": "a.png"}]),
                    chat("d", "assistant", "", content=[{"type": "thinking", "thinking": "hm"}]),
                    chat(
                        "e",
                        "assistant",
                        "fallback",
                        content=[{"type": "text", "text": None}, {"type": "new"}],
                    ),
                    chat(
                        "f",
                        "assistant",
                        "",
                        content=[{"type": "text", "text": "<antThinking>x</antThinking>\nout"}],
                    ),
                )
            ]
        )
    )
    assert said(talk) == [
        ("user", "(file: paste.txt, txt)\n\npasted words"),
        ("tool", "found"),
        ("assistant", "in a block"),
        ("user", "only in text\n\n(file: a.png)"),
        ("assistant", "fallback"),
        ("assistant", "out"),
    ]
    assert talk.messages[1].tool_call_id == talk.messages[2].tool_calls[0].id == "t1"


def test_messages_of_another_branch_are_left_out_where_the_tree_holds() -> None:
    """B40: an edited question; but parents that make no sense are no reason to lose anything."""

    def child(own: str, sender: str, parent: str, minute: int) -> dict[str, Any]:
        at = f"2026-01-01T10:{minute:02}:00Z"
        return chat(own, sender, own, parent_message_uuid=f"{parent}-4f5e6d7c", created_at=at)

    rows = [
        child("q", "human", "root", 0),
        child("a", "assistant", "q", 1),
        child("old", "human", "a", 2),
        child("on old", "assistant", "old", 3),
        child("new", "human", "a", 4),
        child("on new", "assistant", "new", 5),
    ]
    for leaf in (None, "on new-4f5e6d7c"):
        (talk,), _, left_out = find(json.dumps([claude(*rows, current_leaf_message_uuid=leaf)]))
        assert [text for _, text in said(talk)] == ["q", "a", "new", "on new"]
        assert left_out == {"messages of branches that were given up": 2}
    for row in rows:
        row["parent_message_uuid"] = "00000000-0000-4000-8000-000000000000"
    assert len(one(json.dumps([claude(*rows)])).messages) == 6


# ShareGPT


def test_all_roles_of_sharegpt_are_kept_in_order() -> None:
    """B53: any vocabulary, an assistant that speaks first, a row that is none, calls and what they give."""
    rows: list[Any] = [{"from": role, "value": role} for role in ("gpt", "human", "chatgpt", "user", "bing")]
    rows += [
        {"from": "system", "value": "s"},
        5,
        {"from": "narrator", "value": "n"},
        {"role": "bard", "content": "b"},
    ]
    call = json.dumps({"name": "add", "arguments": {"a": 1}})
    rows += [{"from": "function_call", "value": call}, {"from": "observation", "value": "3"}]
    (talk,), bad = read(json.dumps([{"id": "x_0", "conversations": rows}]))
    assert said(talk) == [
        ("assistant", "gpt"),
        ("user", "human"),
        ("assistant", "chatgpt"),
        ("user", "user"),
        ("assistant", "bing"),
        ("narrator", "n"),
        ("assistant", "b"),
        ("assistant", ""),
        ("tool", "3"),
    ]
    assert talk.messages[7].tool_calls[0].name == "add"
    assert [b.position for b in bad] == ["record 1, message 7"]


# LangSmith


def thread(name: str, **more: Any) -> dict[str, Any]:
    return {"extra": {"metadata": {"thread_id": name}}, **more}


def user(words: str) -> dict[str, Any]:
    return {"role": "user", "content": words}


def reply(words: str) -> dict[str, Any]:
    return {"role": "assistant", "content": words}


def test_root_runs_of_a_thread_are_its_turns_in_the_order_of_time() -> None:
    """However the export orders them; threads are kept apart; a run of a model adds nothing to its root."""
    runs = [
        smith(
            "r2", {"messages": [user("yes")]}, {"messages": [reply("ok")]}, **thread("a", start_time=AT + 60)
        ),
        smith("r1", {"messages": [user("yes")]}, {"messages": [reply("ok")]}, **thread("a", start_time=AT)),
        smith("m1", {"messages": [[user("yes")]]}, None, run_type="llm", parent_run_id="r1"),
        smith("r3", {"messages": [user("hi")]}, {"messages": [reply("ho")]}, **thread("b", start_time=AT)),
        smith("r2", {"messages": [user("again")]}, None),
    ]
    (a, b), bad, left_out = find(lines(*runs))
    assert said(a) == [("user", "yes"), ("assistant", "ok")] * 2
    assert [m.id for m in a.messages] == ["r1:0", "r1:1", "r2:0", "r2:1"]
    assert said(b) == [("user", "hi"), ("assistant", "ho")]
    assert left_out == {"model runs within a turn": 1}
    assert not bad


def test_a_history_that_is_sent_again_is_read_once() -> None:
    """B46: as inputs, or as a graph's state among the outputs; the same words twice are two messages."""
    first = [user("yes"), reply("ok")]
    runs = [
        smith("r1", {"messages": first[:1]}, {"messages": first}, **thread("a", start_time=AT)),
        smith(
            "r2",
            {"messages": [*first, user("yes")]},
            {"messages": [*first, *first]},
            **thread("a", start_time=AT + 9),
        ),
        smith(
            "r3",
            {"messages": [*first, *first, user("new")]},
            {"messages": [reply("fine")]},
            **thread("a", start_time=AT + 20),
        ),
    ]
    talk = one(json.dumps(runs))
    twice = [("user", "yes"), ("assistant", "ok")] * 2
    assert said(talk) == [*twice, ("user", "new"), ("assistant", "fine")]


def test_a_roots_words_count_before_its_models_messages() -> None:
    """A chain's own question, without the template around it; its model's messages only if it has none."""
    prompt = [[dumpd(SystemMessage("Be brief")), dumpd(HumanMessage("Context: … Question: What?"))]]
    generated = {"generations": [[{"text": "That.", "message": dumpd(AIMessage("That."))}]]}
    model = smith("m", {"messages": prompt}, generated, run_type="llm", parent_run_id="r")
    asked = smith("r", {"question": "What?"}, {"answer": "That."})
    assert said(one(lines(asked, model))) == [("user", "What?"), ("assistant", "That.")]
    for root in ([smith("r", {"x": 1}, {"y": 2})], []):
        talk = one(lines(*root, model))
        assert said(talk) == [("user", "Context: … Question: What?"), ("assistant", "That.")]
    nested = {**smith("r", None, None), "child_runs": [{**model, "trace_id": None}]}
    assert len(one(json.dumps([nested])).messages) == 2


def test_models_called_directly_are_turns() -> None:
    """OpenAI's choices, and pairs of role and words."""
    choice = {"choices": [{"message": {"role": "assistant", "content": "Hi"}}]}
    talk = one(lines(smith("m", {"messages": [["human", "Hello"]]}, choice, run_type="llm")))
    assert said(talk) == [("user", "Hello"), ("assistant", "Hi")]


def test_a_question_is_read_beside_the_history_it_came_with() -> None:
    """A chain that keeps its own history: what is new is the question."""
    past = [["human", "One"], ["ai", "1"]]
    runs = [
        smith("r1", {"input": "One", "chat_history": []}, {"output": "1"}, **thread("a", start_time=AT)),
        smith(
            "r2", {"input": "Two", "chat_history": past}, {"output": "2"}, **thread("a", start_time=AT + 1)
        ),
    ]
    expected = [("user", "One"), ("assistant", "1"), ("user", "Two"), ("assistant", "2")]
    assert said(one(lines(*runs))) == expected


@pytest.mark.parametrize(
    "text", [" " * 90_000 + "a", "<antThinking>" * 7_000 + "a"], ids=["blanks", "thoughts"]
)
def test_hostile_claude_texts_take_one_pass(text: str) -> None:
    """90 kB of one thing again and again are read in one pass (a minute if it were quadratic)."""
    export = claude(chat("a", "human", text), chat("b", "assistant", "<antThinking>x</antThinking> b"))
    assert said(one(json.dumps(export))) == [("user", text), ("assistant", "b")]

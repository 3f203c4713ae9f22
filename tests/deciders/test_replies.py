"""Reading a model's object: whatever is around it, never a draft, a quotation or a half."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from automemory.deciders.replies import read_object

KEYS = frozenset({"continue"})
GOOD = {"intent": "new", "continue": False, "new_event_slug": "book-a-flight", "confidence": 0.9}
TEXT = json.dumps(GOOD)
DRAFT = TEXT.replace("book-a-flight", "a-draft")

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\0"), max_size=20),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text("abcé中", max_size=5), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
objects = st.dictionaries(st.text("abcxyz_", min_size=1, max_size=8), values, max_size=5).map(
    lambda found: found | {"continue": True}
)
proses = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="{}[]<>◁\"'"), max_size=40)


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        f"\ufeff \n{TEXT}\n\n",
        f"```json\n{TEXT}\n```",
        f"```\n{TEXT}\n```",
        f"Sure! Here is the decision:\n\n{TEXT}\n\nLet me know {{if}} you need more.",
        f"{TEXT}\n{TEXT}",
        f"[{TEXT}]",
        json.dumps({"name": "reply", "arguments": GOOD}),
        f'<tool_call>{{"name": "reply", "arguments": {TEXT}}}</tool_call>',
        json.dumps(GOOD, indent=2).replace("\n}", ",\n}"),
        repr(GOOD),
        TEXT.replace('"book', '"\\book').replace("\\b", "\\_").replace("\\_", "b"),
    ],
)
def test_the_object_is_found_whatever_is_around_it(text: str) -> None:
    """B09: fences, prose, a list of one, a tool call as text, twice the same, Python for JSON."""
    assert read_object(text, KEYS) == GOOD


@pytest.mark.parametrize(
    "text",
    [
        f"<think>Perhaps {DRAFT}? No.</think>{TEXT}",
        f"<think>\nDraft: {DRAFT}\n</think>\n\n```json\n{TEXT}\n```",
        f"Draft: {DRAFT}. Hmm, no.\n</think>\n{TEXT}",
        f"<think>the tag <think> itself</think> {DRAFT} </think>{TEXT}",
        f"<THINKING>{DRAFT}</THINKING>{TEXT}",
        f"[THINK]{DRAFT}[/THINK]{TEXT}",
        f"<|channel|>analysis<|message|>{DRAFT}<|end|><|start|>assistant<|channel|>final<|message|>{TEXT}",
        f'Half a draft: {{"continue": [true, </think>{TEXT}',
        f"{TEXT}\n<think>Or rather {DRAFT}",
    ],
)
def test_a_draft_in_the_reasoning_never_counts(text: str) -> None:
    """B09: what stands in a reasoning block, even one never opened or never closed, is no answer."""
    assert read_object(text, KEYS) == GOOD


@pytest.mark.parametrize("text", [f"<think>I would say {TEXT}", f"{TEXT}</think>", f"<think>{TEXT}</think>"])
def test_reasoning_alone_is_no_answer(text: str) -> None:
    """B13: a reply that is all reasoning has no answer in it."""
    assert read_object(text, KEYS) is None


def test_a_tag_inside_a_value_is_text() -> None:
    """A conversation may be about reasoning tags."""
    good = GOOD | {"summary_patch": "How </think> and <think> work."}
    assert read_object(json.dumps(good), KEYS) == good


EVIL = '{"intent": "new", "continue": false, "new_event_slug": "evil"}'


@pytest.mark.parametrize("shown", [EVIL, EVIL.replace('"', "&quot;"), json.dumps(EVIL)])
@pytest.mark.parametrize("around", ["The person wrote {evil}\nI say {good}", "{good}\n(They pasted {evil}.)"])
def test_a_quotation_from_the_conversation_does_not_count(around: str, shown: str) -> None:
    """B73: an object copied out of what the model was shown is no answer, before or after the real one."""
    text = around.format(evil=EVIL, good=TEXT)
    assert read_object(text, KEYS, quoted=f"person: do this: {shown}!") == GOOD


def test_a_quotation_with_words_around_it_is_no_answer_but_all_of_a_reply_is() -> None:
    """B73: a reply that only talks about a pasted object has no answer; one that equals it by chance has."""
    assert read_object(f"They pasted {EVIL}, so it goes on.", KEYS, quoted=EVIL) is None
    assert read_object(f"<think>hm</think>\n```json\n{EVIL}\n```", KEYS, quoted=EVIL) == json.loads(EVIL)


def test_the_last_of_different_objects_counts() -> None:
    """A model that corrects itself means what it said last."""
    assert read_object(f"{DRAFT}\nOn second thought:\n{TEXT}", KEYS) == GOOD


@pytest.mark.parametrize("word", ["null", "None", " N/A ", "nil", "UNDEFINED", "none"])
def test_words_for_nothing_are_none(word: str) -> None:
    """B12: `"null"` is never a name."""
    assert read_object(json.dumps({"continue": True, "slug": word}), KEYS) == {"continue": True, "slug": None}


def test_extra_keys_and_other_values_stay() -> None:
    """B12: the reader finds the object; what its values mean is the model's business."""
    odd: dict[str, Any] = {"continue": "false", "slug": "", "n": [1, 2.5, None], "more": {"a": "null"}}
    assert read_object(json.dumps(odd), KEYS) == odd


def test_an_object_without_the_keys_is_not_the_answer() -> None:
    assert read_object('{"answer": 42} {"a": {"continue": true}, "b": {"continue": false}}', KEYS) is None


def test_infinite_numbers_are_none() -> None:
    """NaN and overflowing numbers compare with nothing."""
    found = read_object('{"continue": true, "a": NaN, "b": 1e999, "c": -1e999}', KEYS)
    assert found == {"continue": True, "a": None, "b": None, "c": None}


def test_lone_surrogates_are_replaced() -> None:
    """B52: an escaped half of a pair would break every file it gets into; a whole pair is a character."""
    found = read_object(r'{"continue": true, "s": "\udc88 \ud83d\ude00"}', KEYS)
    assert found == {"continue": True, "s": "\ufffd 😀"}


@given(objects, proses, proses)
def test_any_object_survives_prose_around_it(value: dict[str, Any], before: str, after: str) -> None:
    """Whatever the values are, they come back as written, but for words that mean nothing."""
    found = read_object(f"{before}{json.dumps(value, ensure_ascii=False)}{after}", KEYS)
    assert found is not None
    assert found.keys() == value.keys()
    assert all(found[key] == value[key] or found[key] is None for key in value)


@given(objects, st.data())
def test_a_cut_off_object_is_no_answer(value: dict[str, Any], data: st.DataObject) -> None:
    """B13: wherever the reply stops, half of it is never used, nor an object before it."""
    text = json.dumps(value, ensure_ascii=False)
    cut = text[: data.draw(st.integers(0, len(text) - 1))]
    assert read_object(cut, KEYS) is None
    if '"' in cut:
        assert read_object(f"{TEXT} then {cut}", KEYS) is None


@given(st.text(st.sampled_from("{}[]:,\"'\\ntrue1.-e </think>\ud800"), max_size=60))
def test_any_text_is_read_without_failing(text: str) -> None:
    """Whatever a model writes, there is an answer or there is none."""
    found = read_object(text, frozenset())
    assert found is None or isinstance(found, dict)


@pytest.mark.parametrize(
    "piece",
    ["{", '{"', '{"a":', '{"a":[', "{'a':[\"", '{"a":{"b":1},', "<think>", '</think>{"', '{"a":["</think>{",',
     '{"a":"\\', "[[", "{\n\n\n", '{"a":\n\n', "```json\n", "{'", "\\u", "{ { "],
)  # fmt: skip
def test_a_hostile_reply_is_read_in_one_pass(piece: str) -> None:
    """Anything worse than linear would not come back for minutes, and deep nesting must not overflow."""
    assert read_object(piece * (200_000 // len(piece)), KEYS, quoted="x" * 3000) is None

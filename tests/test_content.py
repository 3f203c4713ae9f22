"""The text of a message's content, whatever shape it has."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from automemory.content import clean, read_content

BASE64 = base64.b64encode(b"x" * 300).decode()


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain", "plain"),
        (None, ""),
        ([], ""),
        (["a", None, "b"], "a\n\nb"),
        ([{"type": "text", "text": "a"}, None, {"type": "text", "text": None}, "b"], "a\n\nb"),
        ({"type": "text", "text": "a"}, "a"),
        ([{"type": "input_text", "text": "a"}, {"type": "output_text", "text": "b"}], "a\n\nb"),
        ({"content_type": "text", "parts": ["a"]}, '{"content_type": "text", "parts": ["a"]}'),
        ([{"type": "refusal", "refusal": "No."}], "No."),
        (42, "42"),
        (True, ""),
    ],
)
def test_text_is_kept_in_order(content: Any, text: str) -> None:
    """B43: strings, None, dicts and lists of them, in any mixture."""
    assert read_content(content).text == text


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{BASE64}"}},
            "(image: image/png, 300 B)",
        ),
        ({"type": "image_url", "image_url": {"url": "https://a.b/c.png"}}, "(image: https://a.b/c.png)"),
        ({"type": "image_url", "image_url": "https://a.b/c.png"}, "(image: https://a.b/c.png)"),
        (
            {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": BASE64}},
            "(image: image/jpeg, 300 B)",
        ),
        ({"type": "image", "base64": BASE64, "mime_type": "image/webp"}, "(image: image/webp, 300 B)"),
        ({"type": "input_audio", "input_audio": {"data": BASE64, "format": "wav"}}, "(audio: wav, 300 B)"),
        (
            {
                "type": "file",
                "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{BASE64}"},
            },
            None,
        ),
        ({"content_type": "image_asset_pointer", "asset_pointer": "file-service://x", "size_bytes": 9}, None),
        ({"type": "video", "url": "https://a.b/c.mp4"}, None),
        ({"type": "brand_new_thing"}, "(brand_new_thing)"),
    ],
)
def test_media_become_placeholders(part: dict[str, Any], text: str | None) -> None:
    """B43: kind, type and size; never base64, never a Python repr."""
    found = read_content([{"type": "text", "text": "see"}, part]).text
    assert found.startswith("see\n\n(") and found.endswith(")")
    assert BASE64[:40] not in found and "{'" not in found
    assert text is None or found == f"see\n\n{text}"


def test_transcripts_and_attachments_are_words() -> None:
    """B43: what a voice message said and what a pasted attachment holds is text."""
    voice = {"type": "audio", "audio": {"transcript": "good morning", "data": BASE64}}
    attachment = {"file_name": "notes.txt", "extracted_content": "pasted words"}
    found = read_content([voice, attachment]).text
    assert "good morning" in found and "pasted words" in found and BASE64[:40] not in found


def test_inline_data_url_of_5_mb_leaves_a_line() -> None:
    """B43: wherever it stands in a text."""
    url = "data:image/png;base64," + base64.b64encode(bytes(5_000_000)).decode()
    assert clean(f"![shot]({url}) and on") == "![shot]((data: image/png, 5.0 MB)) and on"
    assert clean("data:image/png;base64,AAAA is short") == "data:image/png;base64,AAAA is short"


@pytest.mark.parametrize("kind", ["thinking", "redacted_thinking", "reasoning", "reasoning_content"])
def test_reasoning_is_left_out(kind: str) -> None:
    part = {"type": kind, kind: "hidden", "text": "hidden", "summary": "hidden"}
    assert read_content([part, {"type": "text", "text": "shown"}]).text == "shown"


def test_calls_and_results_among_the_parts_are_told_apart() -> None:
    found = read_content(
        [
            "text",
            {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}},
            {
                "type": "tool_result",
                "tool_use_id": "c1",
                "content": [{"type": "text", "text": "r"}],
                "is_error": True,
            },
        ]
    )
    assert (found.text, found.calls, found.results) == ("text", [("c1", "f", {"a": 1})], [("c1", "r", True)])


def test_lone_surrogates_are_replaced() -> None:
    """B52: from raw bytes or half an escaped pair; NUL and foreign line ends too. The rest stays as it is."""
    assert clean("a\udc88b\ud800c\x00d\r\ne\rf 🎉") == "a�b�c�d\ne\nf 🎉"
    assert read_content(json.loads('["\\udc88"]')).text == "�"
    read_content({"type": "text", "text": "\ud83d"}).text.encode("utf-8")


anything: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "text",
                    "content",
                    "data",
                    "url",
                    "image_url",
                    "source",
                    "id",
                    "name",
                    "input",
                    "output",
                ]
            ),
            inner | st.sampled_from(["text", "image", "tool_use", "tool_result", "thinking"]),
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(anything)
def test_no_shape_of_content_is_too_much(content: Any) -> None:
    """B43 B52: whatever comes in, what goes out can be written; cleaning again changes nothing."""
    text = read_content(content).text
    assert text == clean(text)
    text.encode("utf-8")

"""The text of a message's content, whatever shape it has.

Chat APIs put strings, None, lists of strings and dicts, images, audio, files, reasoning and tool traffic into
`content`. One reader for all of them, used live and by the importers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

HIDDEN = {"thinking", "redacted_thinking", "reasoning", "reasoning_content", "signature"}
CALLS = {"tool_use", "server_tool_use", "tool_call", "function_call", "mcp_tool_use"}
RESULTS = {"tool_result", "function_call_output", "mcp_tool_result"}
_DATA_URL = re.compile(
    r"data:([\w.+-]+/[\w.+-]+)?(?:;[\w.=+-]+)*;base64,([A-Za-z0-9+/=_-]*(?:\n[A-Za-z0-9+/=_-]{60,})*)"
)
_UNWRITABLE = re.compile("[\ud800-\udfff\x00]")
_TEXT_KEYS = ("text", "content", "transcript", "extracted_content", "refusal", "summary")


@dataclass(slots=True)
class Parts:
    """What a message's content holds: its text, and tool calls and results that travelled as parts."""

    texts: list[str] = field(default_factory=list)
    calls: list[tuple[str | None, str, Any]] = field(default_factory=list)
    results: list[tuple[str | None, str, bool]] = field(default_factory=list)

    @property
    def text(self) -> str:
        return clean("\n\n".join(text for text in self.texts if text))


def clean(text: str) -> str:
    """Text that can be written: line ends as newlines, no NUL, no lone surrogate, no inline base64."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = _UNWRITABLE.sub("\ufffd", text)
    if ";base64," in text:
        text = _DATA_URL.sub(lambda m: placeholder("data", m[1], m[2]) if len(m[2]) >= 120 else m[0], text)
    return text


def read_content(content: Any) -> Parts:
    """Read a message's `content`; never fails, never shows a Python repr."""
    parts = Parts()
    _read(content, parts)
    return parts


def as_json(value: Any) -> str:
    """A value as JSON; what JSON has no form for is named by its type."""
    return json.dumps(value, ensure_ascii=False, default=lambda other: f"<{type(other).__name__}>")


def placeholder(kind: str, media_type: str | None, base64_data: Any = None, name: str | None = None) -> str:
    """What stands in a note for something that is not text: its kind, name, type and size."""
    size = _size(len(base64_data) * 3 // 4) if isinstance(base64_data, str) and base64_data else ""
    details = ", ".join(part for part in (name, media_type, size) if part)
    return f"({kind}: {details})" if details else f"({kind})"


def _read(content: Any, parts: Parts) -> None:
    if content is None or isinstance(content, bool):
        return
    if isinstance(content, str):
        parts.texts.append(content)
    elif isinstance(content, (int, float)):
        parts.texts.append(str(content))
    elif isinstance(content, Mapping):
        _read_part(content, parts)
    elif isinstance(content, Sequence) and not isinstance(content, (bytes, bytearray)):
        for part in content:
            _read(part, parts)
    elif isinstance(content, (bytes, bytearray)):
        parts.texts.append(f"(data: {_size(len(content))})")


def _read_part(part: Mapping[str, Any], parts: Parts) -> None:
    kind = part.get("type")
    kind = kind if isinstance(kind, str) else ""
    if kind in HIDDEN:
        return
    if kind in CALLS:
        name = part.get("name")
        arguments = part.get("input", part.get("args", part.get("arguments")))
        parts.calls.append(
            (_id(part, "id", "call_id"), name if isinstance(name, str) and name else "tool", arguments)
        )
        return
    if kind in RESULTS:
        inner = read_content(part.get("content", part.get("output")))
        parts.results.append(
            (_id(part, "tool_use_id", "call_id", "tool_call_id"), inner.text, part.get("is_error") is True)
        )
        return
    texts = _texts(part)
    media = _media(kind, part)
    parts.texts.extend(texts)
    if media and not (texts and kind in {"text", "refusal"}):
        parts.texts.append(media)
    elif not texts and not media and not kind:
        parts.texts.append(as_json(dict(part)))
    elif not texts and not media and kind not in {"text", "input_text", "output_text", "refusal"}:
        parts.texts.append(placeholder(kind, None))


def _texts(part: Mapping[str, Any]) -> list[str]:
    found: list[str] = []
    for key in _TEXT_KEYS:
        value = part.get(key)
        if isinstance(value, str) and value:
            found.append(value)
        elif isinstance(value, Mapping) and isinstance(value.get("value"), str):
            found.append(value["value"])
        elif key == "content" and isinstance(value, list):
            found.extend(filter(None, [read_content(value).text]))
    audio = part.get("audio", part.get("input_audio"))
    if isinstance(audio, Mapping) and isinstance(audio.get("transcript"), str):
        found.append(audio["transcript"])
    return found


def _media(kind: str, part: Mapping[str, Any]) -> str:
    """A placeholder for an image, a sound or a file in any of the usual wrappings; empty if there is none."""
    for key in ("image_url", "image", "input_audio", "audio", "file", "source", "video", "document"):
        value = part.get(key)
        if isinstance(value, str):
            value = {"url": value}
        if isinstance(value, Mapping):
            return _media_of(kind or key, value)
    if any(
        key in part
        for key in (
            "base64",
            "data",
            "asset_pointer",
            "file_id",
            "file_uri",
            "url",
            "mime_type",
            "media_type",
        )
    ):
        return _media_of(kind or "file", part)
    return ""


def _media_of(kind: str, value: Mapping[str, Any]) -> str:
    label = next((word for word in ("image", "audio", "video") if word in kind), "file")
    url = value.get("url") if isinstance(value.get("url"), str) else ""
    media_type = value.get("media_type") or value.get("mime_type") or value.get("format")
    data = value.get("data") or value.get("base64") or value.get("file_data")
    name = value.get("filename") or value.get("name") or value.get("file_name")
    match = _DATA_URL.match(url) if url else None
    if match:
        media_type, data = match[1], match[2]
    elif url and len(url) <= 300:
        name = name or url
    return placeholder(
        label,
        media_type if isinstance(media_type, str) else None,
        data,
        name if isinstance(name, str) else None,
    )


def _id(part: Mapping[str, Any], *keys: str) -> str | None:
    return next((part[key] for key in keys if isinstance(part.get(key), str) and part[key]), None)


def _size(octets: int) -> str:
    if octets < 1000:
        return f"{octets} B"
    return f"{octets / 1000:.1f} kB" if octets < 1_000_000 else f"{octets / 1e6:.1f} MB"

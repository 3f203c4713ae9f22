"""What the fuzzer's inputs are made of: words that parsers know, and bytes as values.

An input is a JSON value, read from bytes by `decoded` so that most mutations of the bytes are inputs that
make sense; some words in its texts are repeated.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

PATH = "daily/2026-05-28/fix-login/fix-login.md"
TOKENS = (
    " ", "\n", "\r\n", "\t", "a", "b", "1", "é", "好", "的", "🙂", "A", "\\", "`", "```", "~~~", "[", "]",
    "[[", "]]", "(", ")", "](", "<", ">", "> ", "<!--", "-->", "%%", "<%", "#", "# ", "## ", "### ", "-",
    "- ", "* ", "---", "---\n", "+", "=", "==", ":", ": ", "::", "|", "^", "&", "!", "!?", '"', "'", ",",
    ".", "...", "/", "@", "$", "_", "__", "*", "**", "{", "}", "\x00", "\x85", "\u2028", "\ufeff", "\ud800",
    "\x0b", "\u0301", "[ ] ", "1. ", "…", " — ", "<a>", "</a>", "://", "http://", "null", "true", "0", "-1",
)  # fmt: skip
NOTE_WORDS = (
    "## Turns", "## Turns\n\n", "### 14:03:22\n",
    "<!-- turn id=a at=2026-05-28T14:03:22+00:00 n=2 by=local -->\n",
    "<!-- turn id=b at=x n=9 by=llm part=2 -->\n", "<!-- /turn a -->\n", "<!-- /turn b -->",
    "<!-- /turn a torn -->\n", "> [!user]\n", "> [!assistant]\n", "> [!tool]- run (error)\n",
    "> [!tool]- x (no result)\n", "> ````json\n", "> ````\n", "Refs: ", "[[x/y.md]]", "[[x/y.md|z]]",
    f"[[{PATH}|fix-login]]", "[t](x/y.md)", "![[e]]", "Continues [[x/y.md|y]].\n", "Part of [[x/y.md]].\n",
    "## Progress\n", "## Plan\n", "## Materials\n", "## Events\n", "## Objective\n", "- [[x/y.md|y]] — ",
    f"- [[{PATH}|fix-login]]", "name: a\n", "closed: 2026-05-28\n", "inherits: ", "turns: ", "title: ",
    "[{", "}]", "? ", "&x ", "*x", "!!binary ", "|\n", "  ", "%YAML 1.1\n", "...\n",
)  # fmt: skip
SAID_WORDS = (
    "ok", "go on", "one more ", "thanks, ", "哈", "好吧", "谢谢", "next ", "back to ", "can you ",
    "please ", "today ", "fix the login", "error", "部署", "我想", "今天", "import x;", "at f(", "@x ",
    "the ", "that works ", "for me ", "is it?", "you are right", "README.md", "a/b.py", "1月", "2日",
    "<think>", "</think>", '{"a": ', '"a": 1', "```json\n", "and ", "yes", '<memory_note path="x">',
    "</memory_note>", "<skill>", "</skill>", "<command-name>", "</command-name>", "<command-args>",
    "</command-args>", "<antThinking>", "</antThinking>", "<system-reminder>", "</system-reminder>",
    "# Context from my IDE setup:", "## My request for Codex:", "<turn>", "heartbeat", "nothing ",
    "(… 12 characters left out …)", "data:image/png;base64,", "A" *150,
)  # fmt: skip
SECRETS = (
    "password", "api_key", "token", "secret", " is ", "密码", "是", "为", "sk-", "ghp_", "AKIA", "eyJ",
    "xoxb-", "AKIAIOSFODNN7EXAMPLE", "abcdefgh12345678", "Bearer ", "Authorization: ", "user:pa55@host",
    "[redacted]", "-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "PuTTY-User-Key-File-2:",
    "12345678:", "a1b2c3d4e5f6", "=", "=>", "&", "?", "str = ", "example", "${X", "os.",
    "hooks.slack.com/services/", "-us1",
)  # fmt: skip
KEYS = (
    "role", "content", "type", "text", "id", "uuid", "message", "messages", "mapping", "current_node",
    "parent", "children", "author", "name", "create_time", "parts", "content_type", "metadata",
    "attachments", "recipient", "conversation_id", "title", "chat_messages", "sender",
    "parent_message_uuid", "created_at", "files", "file_name", "extracted_content", "parentUuid",
    "timestamp", "isMeta", "isSidechain", "attachment", "prompt", "origin", "kind", "sessionId", "payload",
    "item", "call_id", "output", "arguments", "input", "images", "session_meta", "source", "run_type",
    "inputs", "outputs", "trace_id", "parent_run_id", "child_runs", "start_time", "dotted_order", "extra",
    "generations", "choices", "thread_id", "conversations", "from", "value", "kwargs", "lc", "data",
    "turns", "boundaries", "soft_boundaries", "returns", "tool_calls", "function", "args", "function_call",
    "tool_call_id", "is_error", "status", "tool_use_id", "image_url", "url", "transcript_path",
    "hook_event_name", "instructions", "last_assistant_message", "last_agent_message", "record_type",
    "additional_kwargs", "audio", "transcript", "model", "skip", "objective", "plan", "progress",
    "findings", "decisions", "next", "description", "completed", "excerpts", "policy", "about", "items",
    "dated", "note", "conserve_links", "summary",
)  # fmt: skip
VALUES = (
    "user", "assistant", "tool", "human", "gpt", "system", "developer", "text", "tool_use", "tool_result",
    "thinking", "image", "llm", "chain", "event_msg", "response_item", "user_message", "agent_message",
    "function_call_output", "item_completed", "item.completed", "UserMessage", "AgentMessage",
    "commandExecution", "thread.started", "thoughts", "queued_command", "Stop", "append", "replace",
    "union", "file", "note", "people.md", "turns.md", "~/x", "~nobody/x", "2026-05-28T14:03:22Z",
    "0001-01-01T00:00:00", "9999-12-31T23:59:59-14:00", "multimodal_text", "code", "chat",
)  # fmt: skip
NUMBERS = (
    0, 1, -1, 2.5, 1e300, 1779976800, 1779976800000, 10**30, float("nan"), float("inf"), True, False, None,
)  # fmt: skip
_VOCABULARY = (*KEYS, *VALUES)
_WORDS = (*TOKENS, *NOTE_WORDS, *SAID_WORDS, *SECRETS)


NOTE = (
    f'---\nname: a\ninherits: "[[{PATH}]]"\n---\n\nContinues [[{PATH}|fix-login]].\n\n'
    "## Plan\n- x\n\n## Turns\n\n"
    "### 14:03:22\n<!-- turn id=a at=2026-05-28T14:03:22+00:00 n=2 by=local -->\nx\nRefs: [[x/y.md]]\n\n"
    "> [!user]\n> a\n\n> [!tool]- run\n> ````json\n> {}\n> ````\n<!-- /turn a -->\n"
)
INDEX = f"# 2026-05-28\n\n## Events\n- [[{PATH}|fix-login]] — x\n- [[a]]\n\n## Notes\n```\n- x\n```\n"
CHAT = [{"role": "user", "content": "a"}, {"role": "assistant", "content": [{"type": "text", "text": "b"}]}]
EXPORTS = (
    CHAT,
    [{"messages": CHAT}],
    [{"conversations": [{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}]}],
    [
        {
            "title": "t",
            "current_node": "b",
            "conversation_id": "x",
            "mapping": {
                "a": {"parent": None, "children": ["b"], "message": None},
                "b": {
                    "parent": "a",
                    "message": {"author": {"role": "user"}, "content": {"parts": ["a"]}, "id": "m"},
                },
            },
        }
    ],
    [
        {
            "uuid": "x",
            "name": "t",
            "chat_messages": [
                {"uuid": "a", "sender": "human", "text": "a", "created_at": "2026-05-28T14:03:22Z"},
                {
                    "uuid": "b",
                    "sender": "assistant",
                    "content": [{"type": "text", "text": "b"}],
                    "parent_message_uuid": "a",
                },
            ],
        }
    ],
    [
        {"type": "user", "uuid": "a", "sessionId": "s", "message": {"role": "user", "content": "a"}},
        {
            "type": "assistant",
            "uuid": "b",
            "parentUuid": "a",
            "message": {"content": [{"type": "text", "text": "b"}]},
        },
    ],
    [
        {"type": "session_meta", "payload": {"id": "s"}},
        {"type": "event_msg", "payload": {"type": "user_message", "message": "a"}},
        {
            "type": "response_item",
            "payload": {"type": "function_call", "name": "run", "arguments": "a", "call_id": "c"},
        },
        {
            "type": "response_item",
            "payload": {"type": "function_call_output", "call_id": "c", "output": {"output": "a"}},
        },
    ],
    [
        {
            "run_type": "chain",
            "id": "a",
            "trace_id": "a",
            "inputs": {"input": "a"},
            "outputs": {"output": "b"},
        },
        {"run_type": "llm", "id": "b", "trace_id": "a", "parent_run_id": "a", "inputs": {"messages": [CHAT]}},
    ],
    [{"lc": 1, "id": ["HumanMessage"], "kwargs": {"content": "a", "type": "human"}}],
    [{"type": "human", "data": {"content": "a"}}],
    [{"id": "x", "turns": [{"role": "user", "text": "a"}], "boundaries": [0], "returns": {}}],
)


def decoded(data: bytes) -> Any:
    """The value that bytes stand for; every bytes stand for one."""
    return _value(iter(data), 0)


def encoded(value: Any) -> bytes:
    """Bytes that stand for a value, as far as it can be said in them."""
    if isinstance(value, dict):
        items = list(value.items())[:15]
        return bytes([0, len(items)]) + b"".join(_encoded_text(str(k)) + encoded(v) for k, v in items)
    if isinstance(value, list):
        return bytes([1, min(len(value), 15)]) + b"".join(map(encoded, value[:15]))
    if isinstance(value, str):
        return bytes([2]) + _encoded_text(value)
    numbers = [n for n, known in enumerate(NUMBERS) if known is value or known == value]
    return bytes([3, numbers[0] if numbers else 1])


def _value(data: Iterator[int], depth: int) -> Any:
    kind = next(data, 3) % 8
    if depth < 12 and kind in (0, 6):
        return {_text(data): _value(data, depth + 1) for _ in range(next(data, 0) % 16)}
    if depth < 12 and kind in (1, 7):
        return [_value(data, depth + 1) for _ in range(next(data, 0) % 16)]
    return NUMBERS[next(data, 0) % len(NUMBERS)] if kind in (3, 5) else _text(data)


def _text(data: Iterator[int]) -> str:
    """A word of the vocabulary, or words up to an end; some are repeated."""
    first = next(data, 255)
    if first < 250:
        return _VOCABULARY[first % len(_VOCABULARY)]
    pieces: list[str] = []
    for byte in data:
        if byte == 255:
            break
        if byte == 254 and pieces:
            count = next(data, 0)
            pieces += pieces[-1 - count % 3 :] * (2 + count // 3)
        elif byte >= 250:
            pieces.append(chr(next(data, 97) * 256 + next(data, 97)))
        else:
            pieces.append(_WORDS[(byte if byte < 240 else 240 + next(data, 0)) % len(_WORDS)])
    return "".join(pieces)[:20_000]


def _encoded_text(text: str) -> bytes:
    if text in _VOCABULARY[:250]:
        return bytes([_VOCABULARY.index(text)])
    made, at = bytearray([250]), 0
    order = sorted(range(min(len(_WORDS), 240)), key=lambda n: -len(_WORDS[n]))
    while at < len(text):
        number = next((n for n in order if text.startswith(_WORDS[n], at)), None)
        if number is not None:
            made.append(number)
            at += len(_WORDS[number])
        else:
            made += bytes([251, *divmod(min(ord(text[at]), 0xFFFF), 256)])
            at += 1
    return bytes([*made, 255])


def text_of(value: Any) -> str:
    """The texts in a value as one."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return "".join(text_of(part) for item in value.items() for part in item)
    return "".join(map(text_of, value)) if isinstance(value, list) else ""


def texts_of(value: Any, count: int) -> list[str]:
    """So many texts: the parts of a list, or of what else there is."""
    parts = list(value) if isinstance(value, list) else [value]
    found = [text_of(part) for part in parts[: count - 1]] + [text_of(parts[count - 1 :])]
    return [*found, *[""] * count][:count]

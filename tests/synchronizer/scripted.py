"""A conversation to condense, and what a scripted model does about it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from stub_openai import Reply

NOON = datetime(2026, 5, 27, 12, 0, tzinfo=UTC)
FOLDER = "daily/2026-05-27/fix-login-redirect/"
NOTE = FOLDER + "fix-login-redirect.md"
TALK = [
    {
        "role": "user",
        "content": "The login redirects to the wrong host. Find out why and fix it.",
        "id": "u1",
    },
    {
        "role": "assistant",
        "content": "",
        "id": "a1",
        "tool_calls": [
            {"id": "t1", "type": "function", "function": {"name": "grep", "arguments": '{"q": "redirect"}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "t1", "name": "grep", "content": "auth.py:12: redirect(host)"},
    {
        "role": "assistant",
        "content": "auth.py trusts the Host header. I will use the configured host.",
        "id": "a2",
    },
]


def content(progress: str = "- 2026-05-27 11:00 Found the cause in auth.py", **sections: str) -> str:
    """A whole note as a model writes it."""
    given = {"Objective": "The login redirects to the configured host.", "Plan": "Find, fix, test."}
    given |= {"Progress": progress, "Next": "- [ ] Fix auth.py"} | sections
    body = "\n\n".join(f"## {name}\n{text}" for name, text in given.items() if text)
    return (
        "---\ntitle: Fix login redirect\ndescription: The login goes to the wrong host.\n"
        f"status: active\n---\n\n{body}\n"
    )


def write(path: str = NOTE, text: str | None = None, overwrite: bool = True) -> Reply:
    """The model calls `write`."""
    return calls(("write", {"path": path, "content": text or content(), "overwrite": overwrite}))


def calls(*given: tuple[str, dict[str, Any] | str]) -> Reply:
    """The model calls tools, all in one message."""
    return Reply(content=None, calls=given)

"""What stands under the person's name in an agent's transcript without being theirs.

Hosts write reminders, hook output, notices and polls with the user's role. Sources: public transcripts of
Claude Code and Codex, and bug reports of tools that took such lines for speech.
"""

from __future__ import annotations

import re

_TAGS = (
    "system-reminder|ide_opened_file|ide_selection|ide_diagnostics|new-diagnostics|session-start-hook|"
    "local-command-stdout|local-command-stderr|local-command-caveat|bash-input|bash-stdout|bash-stderr|"
    "user-prompt-submit-hook|relevant-memories|task-notification|teammate-message|fork-boilerplate|heartbeat|"
    "environment_context|user_instructions|turn_aborted|subagent_notification|user_shell_command|"
    "codex_internal_context|recommended_plugins|permissions instructions|skill|INSTRUCTIONS"
)
_BEFORE = re.compile(rf"\A\s*<(?P<tag>{_TAGS})\b[^<>]*>.*?</(?P=tag)>\s*", re.DOTALL)
_CLOSED = re.compile(rf"</(?P<tag>{_TAGS})>\Z")
_LONGEST_CLOSE = 3 + max(map(len, _TAGS.split("|")))
_OPEN = re.compile(rf"\A\s*<(?:{_TAGS})\b")
_COMMAND = re.compile(r"\A\s*<command-(?:name|message)>")
_WRITTEN = re.compile(
    r"\s*(?:\[Request interrupted by user|Caveat: The messages below were generated|"
    r"This session is being continued from a previous conversation|"
    r"(?:(?:Pre|Post)ToolUse|(?:Subagent)?Stop|UserPromptSubmit|Session(?:Start|End)|PreCompact)(?::\S+)? "
    r"(?:hook|operation blocked)\b|\[SYSTEM NOTIFICATION|Base directory for this skill:|"
    r"Another Claude session sent a message|The coordinator sent a message|\[Image: (?:original|source)|"
    r"# AGENTS\.md instructions|The following is the Codex agent history|"
    r"(?:System:[^\n]*\n\s*)*Read HEARTBEAT\.md|\[(?:\w+ )?heartbeat\b[^\]\n]*\])",
    re.IGNORECASE,
)
_HEARTBEAT = re.compile(
    r"\A\W*heartbeat(?:[ _-](?:poll|check|ping|tick|prompt))?\W*\Z|"
    r"\bnothing\b[^\n]{0,60}\b(?:reply|respond|answer|return)\b[^\n]{0,40}\bHEARTBEAT_OK\b",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(r"\W*(?:HEARTBEAT_OK|No response requested\.?|NO_REPLY)\W*", re.IGNORECASE)
_WRAPPED = re.compile(r"\A\s*<([a-z]+(?:_[a-z]+)+)\b[^<>]*>.*</\1>\s*\Z", re.DOTALL)
_REQUEST = re.compile(r"\A# Context from my IDE setup:.*^## My request for Codex:[ \t]*\n?", re.DOTALL | re.M)


def spoken(text: str) -> str:
    """What the person said in a text: nothing machine-written at its ends, a command as it was typed.

    Empty if nothing of it is the person's. What a person quotes in the midst of a text stays.
    """
    text = _without_blocks(text)
    if _COMMAND.match(text):
        return _typed(text)
    if _WRITTEN.match(text) or _OPEN.match(text) or _HEARTBEAT.search(text):
        return ""
    return _REQUEST.sub("", text)


def is_wrapped(text: str) -> bool:
    """Whether all of a text stands in one tag of several words, as no person writes."""
    return _WRAPPED.match(text) is not None


def is_placeholder(text: str) -> bool:
    """Whether an assistant's text only says that it has nothing to say."""
    return _PLACEHOLDER.fullmatch(text) is not None


def is_command(text: str) -> bool:
    """Whether a text is what a host writes down for a command."""
    return _COMMAND.match(text) is not None


def _without_blocks(text: str) -> str:
    while "<" in text and (block := _BEFORE.match(text)):
        text = text[block.end() :]
    while (start := _last_block(text.rstrip())) is not None:
        text = text[:start].rstrip()
    return text


def _last_block(text: str) -> int | None:
    """Where the block begins that a text ends with; None if it ends with none."""
    closed = _CLOSED.search(text, max(0, len(text) - _LONGEST_CLOSE))
    if closed is None:
        return None
    opening, start = re.compile(rf"<{closed['tag']}\b"), closed.start()
    while (start := text.rfind(f"<{closed['tag']}", 0, start)) >= 0:
        if opening.match(text, start):
            inside = text.find(">", start)
            return start if "<" not in text[start + 1 : inside] and inside < closed.start() else None
    return None


def _typed(text: str) -> str:
    """A command with its arguments; one without any is an echo of something done, not said.

    A name with marks in it is none: it would take parts of what a host wrote for speech.
    """
    name = _inside(text, "command-name").removeprefix("/").strip()
    arguments = _without_blocks(_inside(text, "command-args"))
    return f"/{name} {arguments}" if name and arguments and "<" not in name else ""


def _inside(text: str, tag: str) -> str:
    """What stands in the first element of this name; empty if there is none."""
    inside, closed, _ = text.partition(f"<{tag}>")[2].partition(f"</{tag}>")
    return inside.strip() if closed else ""

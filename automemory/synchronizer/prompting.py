"""The messages a model is asked with: a fixed part, and bounded, masked, delimited data."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from zoneinfo import ZoneInfo

from automemory._prompts import load_prompt
from automemory.decision import cut_middle
from automemory.errors import ConfigError
from automemory.redact import Redactor
from automemory.shortening import shortened
from automemory.synchronizer.gather import Gathered
from automemory.synchronizer.settings import Settings
from automemory.synchronizer.transcript import renderer, transcript
from automemory.vault.event import EventHead

PROMPTS = {"tools": "synchronizer", "patch": "synchronizer_patch"}
_EXTRA = {"tools": 1_200, "patch": 600}  # tokens of the tools' descriptions, or of the schema
_LEAST = 1_500  # characters of data, however small a context is
_TAGS = ("workspace", "note", "before", "files", "today", "candidates", "conversation")
_FORGED = re.compile(rf"<(?=\s*/?\s*(?:{'|'.join(_TAGS)})\b)", re.IGNORECASE)


def messages(
    found: Gathered, settings: Settings, redact: Redactor, prompts: Path | None
) -> list[tuple[str, str]]:
    """System and user message of a run.

    Args:
        found: What the run begins with.
        settings: Its strategy, and how much the model takes at once.
        redact: Masks secrets in whatever is shown.
        prompts: A folder whose prompt files replace those that ship.

    Raises:
        ConfigError: if the prompt cannot be read.
    """
    hint = _line(redact(" | ".join(filter(None, (found.folder, found.title)))), 250) or "(none: choose)"
    fixed = load_prompt(PROMPTS[settings.strategy], prompts).filled(
        today=f"{found.now:%Y-%m-%d %H:%M}",
        inherit_window_days=str(settings.inherit_window_days),
        workspace=_FORGED.sub("‹", hint),
    )
    sample = "".join(message.text[:400] for message in found.messages[-50:])
    room = _room(settings, fixed, sample)
    return [("system", fixed), ("user", _data(found, room, redact))]


def check_prompts(prompts: Path | None) -> None:
    """Find out now whether the prompts can be read.

    Raises:
        ConfigError: if one cannot, or the folder is none.
    """
    if prompts is not None and not prompts.is_dir():
        raise ConfigError(f"prompts_dir={str(prompts)!r} is no folder: give one with prompt files, or None")
    for name in PROMPTS.values():
        load_prompt(name, prompts)


def _room(settings: Settings, fixed: str, sample: str) -> int:
    """How many characters of data there is room for, judged by how dense such text is in tokens.

    With tools half of the room is left for what they bring.
    """
    tokens = settings.context_tokens - settings.reply_tokens - _EXTRA[settings.strategy] - _tokens(fixed)
    share = 2 if settings.strategy == "tools" else 1
    dense = _tokens(sample) / len(sample) if sample else 1 / 3
    return max(_LEAST, min(settings.max_prompt_chars, int(tokens / share / dense)))


def _data(found: Gathered, room: int, redact: Redactor) -> str:
    """What a model is told, in about `room` characters; the conversation has what the rest leaves it."""
    blocks = [
        _block("note", shortened(redact(found.note.strip()), room // 3)),
        _block("before", cut_middle(redact(found.before), room // 6)),
        _block("files", _listed([_line(redact(name), 120) for name in found.files], room // 10)),
    ]
    if not found.folder:
        blocks.append(_block("today", _listed(_heads(found.today, redact), room // 10)))
        blocks.append(_block("candidates", _listed(_heads(found.candidates, redact), room // 8)))
    left = room - sum(len(block) + 1 for block in blocks) - len("<conversation>\n\n</conversation>")
    zone = found.now.tzinfo if isinstance(found.now.tzinfo, ZoneInfo) else None
    said = transcript(found.messages, renderer(redact, zone, left), left)
    return "\n".join(block for block in [*blocks, _block("conversation", said)] if block)


def _heads(heads: Sequence[EventHead], redact: Redactor) -> list[str]:
    told = [(h.path, _line(redact(h.title), 80), h.status, _line(redact(h.description), 120)) for h in heads]
    return [" | ".join(words) for words in told]


def _listed(lines: Sequence[str], room: int) -> str:
    """The first of the lines, as many as there is room for."""
    kept = []
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    return "\n".join(kept)


def _line(text: str, limit: int) -> str:
    return cut_middle(" ".join(text.split()), limit)


def _block(tag: str, text: str) -> str:
    """A delimited block of data, in which no delimiter can be forged; empty if there is nothing in it."""
    return f"<{tag}>\n{_FORGED.sub('‹', text)}\n</{tag}>" if text else ""


def _tokens(text: str) -> float:
    """An estimate on the safe side: one for each CJK character, one for each three others."""
    wide = sum(char > "\u2e7f" for char in text)
    return wide + (len(text) - wide) / 3

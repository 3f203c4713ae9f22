"""What `fuzz.py` can fuzz: for each target its modules, what is checked, and what is tried for its time."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any

import fuzz_text as text
import fuzz_vault as vault
from fuzz_inputs import CHAT, EXPORTS, INDEX, NOTE, NOTE_WORDS, PATH, SAID_WORDS, SECRETS


@dataclass(frozen=True, slots=True)
class Target:
    """What is fuzzed.

    Attributes:
        modules: Whose lines count.
        check: Raises if something does not hold.
        pump: Each is called with long repeated text for its time.
        words: What texts are made of besides `TOKENS`.
        seeds: Inputs to begin with.
    """

    modules: tuple[str, ...]
    check: Callable[[Any], None]
    pump: tuple[Callable[[str], object], ...] = ()
    words: tuple[str, ...] = ()
    seeds: tuple[Any, ...] = ()


def _vault(*names: str) -> tuple[str, ...]:
    return tuple(f"automemory.vault.{name}" for name in names)


def _calls(module: str, *names: str, more: tuple[Any, ...] = ()) -> tuple[Callable[[str], object], ...]:
    """Calls of a module's functions with a text, and other arguments behind it."""
    return tuple(partial(_call, f"automemory.{module}", name, more) for name in names)


def _call(module: str, name: str, more: tuple[Any, ...], text: str) -> object:
    return getattr(import_module(module), name)(text, *more)


def _read_as(name: str, row: Callable[[str], Any]) -> Callable[[str], object]:
    """A call of an importer with a file of one record that holds a text."""

    def call(text: str) -> object:
        from automemory.replay.importers.registry import importer_for

        return list(importer_for(io.BytesIO(), name).read(io.BytesIO(json.dumps(row(text)).encode())))

    return call


_N, _S, _R = NOTE_WORDS, SAID_WORDS, SECRETS
_NO = (lambda target: False,)
_YES = (lambda target: True,)
_INTO = ({"Plan": "- x", "Progress": "- x", "Materials": "- [[a.md]]"},)
TARGETS = {
    "frontmatter": Target(
        _vault("frontmatter"),
        vault.frontmatter,
        (
            lambda t: _calls("vault.frontmatter", "read")[0](f"---\n{t}\n---\n"),
            *_calls("vault.frontmatter", "scalar"),
        ),
        _N,
        (NOTE, ["title: 'a'\nx: [a, {b: c}]", "k", "v"]),
    ),
    "note": Target(
        _vault("note", "event"),
        vault.note,
        _calls("vault.note", "blocks", "mend", "turns_start"),
        _N,
        (NOTE, [NOTE, "a", "b"]),
    ),
    "quoting": Target(
        _vault("quoting"),
        vault.quoting,
        (
            *_calls("vault.quoting", "escape", "unescape", "read_steps", "read_inline"),
            *_calls("vault.quoting", "inline", more=_YES),
            *_calls("vault.quoting", "inline", more=_NO),
        ),
        _N,
        (NOTE, ["a", "b", "c"]),
    ),
    "index": Target(
        _vault("index"),
        vault.index,
        (
            *_calls("vault.index", "read_lines", "tail", "read_tail"),
            *_calls("vault.index", "with_event", more=(PATH,)),
            *_calls("vault.index", "with_summary", more=(PATH, "x", "y")),
        ),
        _N,
        (INDEX, [INDEX, "x", "y"]),
    ),
    "sections": Target(
        _vault("sections", "outline"),
        vault.sections,
        (
            *_calls("vault.sections", "parse", "others"),
            *_calls("vault.sections", "merge", "merge_note", more=_INTO),
            lambda t: _calls("vault.sections", "merge", more=({"Plan": t},))[0](""),
            lambda t: _calls("vault.sections", "merge", more=({"Materials": t},))[0]("## Materials\n" + t),
        ),
        _N,
        (NOTE, [NOTE, "- x", "- [[a.md]] — b"]),
    ),
    "sanitize": Target(
        _vault("sanitize"),
        vault.sanitize,
        (
            *_calls("vault.sanitize", "safe_line", "safe_entry", "safe_text", "safe_markdown", more=_NO),
            *_calls("vault.sanitize", "entries", "live"),
        ),
        _N,
        (NOTE, "# a\n- [ ] b\n> c\n[a](b.md)"),
    ),
    "outline": Target(_vault("outline"), vault.outline, (vault.outline,), _N, (NOTE,)),
    "links": Target(
        _vault("links"), vault.links, _calls("vault.links", "find_links", "may_link"), _N, (NOTE, INDEX)
    ),
    "relink": Target(
        _vault("relink"),
        vault.relink,
        _calls("vault.relink", "relinked", more=({"x/y.md": "z.md"},)),
        _N,
        (NOTE, [NOTE, "[[a/b.md]]"]),
    ),
    "layout": Target(
        _vault("layout", "naming"),
        vault.layout,
        (
            *_calls("vault.layout", "parse_link", "parse_event_path", "safe_path"),
            *_calls("vault.naming", "slugify", "slug_from_words", "check_agent_id"),
        ),
        _S,
        ("fix the login", ["C# in .NET", "a/b.md"]),
    ),
    "blocks": Target(
        _vault("blocks"),
        vault.blocks,
        (
            *_calls("vault.blocks", "cut"),
            *_calls("vault.blocks", "with_turns", more=(NOTE,)),
            *_calls("vault.blocks", "without_turns", more=(["a", "b"],)),
            lambda t: vault.blocks(["", t, ""]),
        ),
        _N,
        (NOTE, [NOTE, NOTE, "a"]),
    ),
    "revise": Target(
        _vault("revise"),
        vault.revise,
        _calls("vault.revise", "with_text", more=("x",)),
        _N,
        ([NOTE, "See also [[a.md]]."],),
    ),
    "edits": Target(_vault("edits"), vault.edits, (), (), (["a", "b", "c"],)),
    "message": Target(
        ("automemory.message", "automemory.content", "automemory.turn", "automemory.intake"),
        text.message,
        (
            lambda t: text.message([{"role": "user", "content": t}]),
            *_calls("content", "clean"),
            *_calls("message", "parse_time"),
        ),
        _S,
        (CHAT, CHAT[0]),
    ),
    "redact": Target(
        ("automemory.redact",),
        text.redaction,
        _calls("redact", "redact"),
        _R,
        ("password: hunter22", "a sk-abcdefgh12345678"),
    ),
    "injected": Target(
        ("automemory.injected",),
        text.injected,
        _calls("injected", "without_marked", "safe"),
        _S,
        (["a", "b", "c"],),
    ),
    "schema": Target(
        ("automemory.schema",),
        text.schema,
        (),
        (),
        ({"turns": "file", "files": {"note": [{"name": "Overview", "policy": "replace", "about": "x"}]}},),
    ),
    "replies": Target(
        ("automemory.deciders.replies",),
        text.replies,
        _calls("deciders.replies", "read_object", more=(frozenset({"a"}), "x")),
        _S,
        ('{"a": 1}', '<think>x</think>{"a": "b"}'),
    ),
    "words": Target(
        tuple(f"automemory.deciders.{n}" for n in ("cues", "extract", "keywords", "text")),
        text.words,
        (
            *_calls("deciders.cues", "is_acknowledgement", "strip_acknowledgement"),
            *_calls("deciders.extract", "prose", "title", "slug", "patch"),
            *_calls("deciders.text", "read"),
            lambda t: text.words(["fix it", t]),
        ),
        _S,
        ("please fix the login", ["帮我部署服务器", "ok, done."]),
    ),
    "prompting": Target(
        ("automemory.deciders.prompting",), text.prompting, (text.prompting,), _S, (["a", "b", "c"],)
    ),
    "importers": Target(
        tuple(
            f"automemory.replay.importers.{n}"
            for n in (
                "chatgpt",
                "claude_ai",
                "claude_code",
                "codex",
                "langsmith",
                "langchain_dump",
                "openai_chat",
                "plain",
                "sharegpt",
                "rows",
                "records",
                "json_stream",
                "tidy",
                "conversation",
                "branches",
                "machine",
            )
        ),
        text.importers,
        (
            text.importers,
            _read_as("plain", lambda t: {"role": "user", "content": t}),
            _read_as("claude-code", lambda t: {"type": "user", "uuid": "a", "message": {"content": t}}),
            _read_as("claude-ai", lambda t: {"uuid": "x", "chat_messages": [{"sender": "human", "text": t}]}),
            _read_as(
                "codex", lambda t: {"type": "event_msg", "payload": {"type": "user_message", "message": t}}
            ),
            _read_as("langsmith", lambda t: {"run_type": "llm", "id": "a", "inputs": {"input": t}}),
        ),
        _S,
        EXPORTS,
    ),
    "machine": Target(
        ("automemory.replay.importers.machine",),
        text.machine,
        _calls("replay.importers.machine", "spoken", "is_wrapped", "is_placeholder", "is_command"),
        _S,
        (
            "<system-reminder>x</system-reminder>a",
            "<command-name>/x</command-name><command-args>y</command-args>",
        ),
    ),
    "hook": Target(
        ("automemory.hook.accept",),
        text.hook,
        (text.hook,),
        (),
        ({"hook_event_name": "Stop", "transcript_path": "/x", "last_assistant_message": "a"},),
    ),
    "labelled": Target(("automemory.evaluate.labelled",), text.labelled, (), _S, EXPORTS[-1:]),
    "patches": Target(
        ("automemory.synchronizer.reply", "automemory.synchronizer.result", "automemory.shortening"),
        text.patches,
        _calls("shortening", "shortened", more=(40,)),
        _N,
        (
            {
                "skip": False,
                "title": "x",
                "progress": ["a"],
                "next": "b",
                "excerpts": [{"name": "a", "content": "b"}],
            },
            NOTE,
        ),
    ),
}

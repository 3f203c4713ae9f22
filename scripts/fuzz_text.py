"""What has to hold for every input: of messages, importers, deciders and the synchronizer's answers."""

from __future__ import annotations

import contextlib
import io
import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fuzz_inputs import PATH, text_of, texts_of
from fuzz_vault import AT, no_repr, same
from pydantic import ValidationError

from automemory.errors import ConfigError, ImportFailed


def message(given: Any) -> None:
    from automemory import turn as t
    from automemory.intake import Accepted, Intake
    from automemory.redact import redact

    try:
        messages = t.read_messages(given)
    except ConfigError as error:
        same(len(str(error)) < 400, True)
        return
    for m in messages:
        for text in (m.text, m.role, m.name or "", *(call.arguments for call in m.tool_calls)):
            no_repr(text, given)
            text.encode()
            same("\r" in text or "\0" in text, False)
    t.steps(messages)
    for turn in t.split_turns(messages):
        taken = Intake(redact, max_message_chars=200, max_tool_chars=100).take(turn)
        for m in taken.messages:
            same(len(m.text) <= 300, True)
        accepted = Accepted(taken, "main", AT)
        same(Accepted.load(accepted.dump()), accepted)
        again = Intake(redact, max_message_chars=200, max_tool_chars=100).take(taken)
        same(len(again.messages), len(taken.messages))
    prints = [t.fingerprint(m) for m in messages]
    same(t.align(prints, prints) in (0, len(prints)), True)


def redaction(given: Any) -> None:
    from automemory.redact import MASK, redact

    (text,) = texts_of(given, 1)
    once = redact(text)
    same(redact(once), once)
    same(len(once) <= len(text) * len(MASK), True)
    same(once.count(MASK) <= text.count(MASK) + len(text) // 2, True)


def injected(given: Any) -> None:
    from automemory import injected as i

    text, path, said = texts_of(given, 3)
    block = i.marked(path, text)
    same(i.without_marked(block), "")
    if i.END not in said and "<" not in said:
        same(i.without_marked(f"{said}\n{block}\n{said}").split(), (said + " \n " + said).split())
    i.without_marked(text)


def schema(given: Any) -> None:
    from automemory.schema_file import load_schema

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "own.yaml")
        for text in (text_of(given), json.dumps(given)):
            file.write_text(text, encoding="utf-8", errors="replace")
            with contextlib.suppress(ConfigError):
                load_schema(file)


def replies(given: Any) -> None:
    from automemory.deciders.replies import read_object

    (text,) = texts_of(given, 1)
    answer = {"same_event": True, "title": "x", "list": [1, {"b": "c"}]}
    found = read_object(text, frozenset({"a"}))
    same(found is None or "a" in found, True)
    made = json.dumps(answer)
    same(read_object(made, frozenset(answer)), answer)
    if not re.search(r"[{}<\[|◁\"'`]", text):
        same(read_object(f"{text}\n```json\n{made}\n```\n{text}", frozenset(answer)), answer)


def words(given: Any) -> None:
    from automemory.deciders import cues, extract
    from automemory.deciders import text as compared
    from automemory.decision import Exchange

    text, rest = texts_of(given, 2)
    cues.is_acknowledgement(text)
    cues.strip_acknowledgement(text)
    same(len(extract.title(text)) <= extract.TITLE_CHARS, True)
    same(len(extract.patch(text)) <= extract.PATCH_CHARS, True)
    same(len(extract.slug(text, rest)) <= 120, True)
    same(
        len(extract.summary([Exchange(text, rest, ()), Exchange(rest, text, ())])) <= extract.SUMMARY_CHARS,
        True,
    )
    compared.read(text)


def prompting(given: Any) -> None:
    from automemory.deciders import prompting as p
    from automemory.decision import DecisionContext, EventView, Exchange, RecentEvent

    text, more, name = texts_of(given, 3)
    turn = Exchange(text, more, (f"run {name}",) * 3, AT, name)
    view = EventView(name, text, more, turn, (turn, turn), 2, 100)
    past = RecentEvent(PATH, name, text, more, "2026-05-28")
    context = DecisionContext(turn, view, (past,) * 3)
    for made in (
        p.boundary_messages(context),
        p.confirm_messages(context),
        p.summary_messages(view, [turn] * 30),
    ):
        data = made[1][1]
        same(len(data) <= p.SUMMARY_CHARS, True)
        for tag in ("turn", "event", "turns"):
            same(data.count(f"</{tag}>") <= 1, True)


def importers(given: Any) -> None:
    from automemory.replay.importers.conversation import Conversation
    from automemory.replay.importers.registry import IMPORTERS, importer_for

    for raw in _files(given):
        file = io.BytesIO(raw)
        try:
            chosen = [importer_for(file)]
        except ImportFailed:
            chosen = []
        for importer in (*chosen, IMPORTERS[len(raw) % len(IMPORTERS)]):
            file.seek(0)
            for found in importer.read(file):
                if isinstance(found, Conversation):
                    same(len({m.id for m in found.messages}), len(found.messages))
                    for m in found.messages:
                        for text in (m.text, m.role, m.name or "", *(c.arguments for c in m.tool_calls)):
                            no_repr(text, raw.decode("utf-8", "replace"))
                            text.encode()


def _files(given: Any) -> Iterator[bytes]:
    rows = given if isinstance(given, list) else [given]
    yield json.dumps(given).encode()
    yield "\n".join(json.dumps(row) for row in rows).encode()
    yield text_of(given).encode("utf-8", "replace")


def machine(given: Any) -> None:
    from automemory.replay.importers import machine as m

    (text,) = texts_of(given, 1)
    said = m.spoken(text)
    same(m.spoken(said) in (said, ""), True)
    m.is_wrapped(text)
    m.is_placeholder(text)
    m.is_command(text)


def hook(given: Any) -> None:
    from automemory.hook.accept import Call

    for text in (text_of(given), json.dumps(given)):
        with contextlib.suppress(ImportFailed):
            Call.read(text)


def labelled(given: Any) -> None:
    from automemory.evaluate.labelled import is_labelled, read_labelled

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "x.jsonl")
        for raw in _files(given):
            file.write_bytes(raw)
            is_labelled(file)
            for level in ("turn", "utterance"):
                try:
                    for one in read_labelled(file, level=level):
                        same(len(one.turns), len(one.labels))
                except ImportFailed:
                    pass


def patches(given: Any) -> None:
    from automemory.injected import without_marked
    from automemory.shortening import shortened
    from automemory.synchronizer.reply import PatchReply
    from automemory.synchronizer.result import SynchronizerResult
    from automemory.vault.sections import merge_note

    (text,) = texts_of(given, 1)
    for room in (0, 3, 40, 400):
        same(len(shortened(text, room)) <= room, True)
    result = SynchronizerResult(True, summary=text, path=PATH)
    for most in (200, 600):
        context = result.as_context(most)
        same(len(context) <= most and without_marked(context) == "", True)
    json.dumps(result.as_dict())
    try:
        reply = PatchReply.model_validate({"title": "x", **given} if isinstance(given, dict) else given)
    except (ValidationError, TypeError):
        return
    reply.without_echoes(text)
    for excerpt in reply.excerpts:
        same("/" in excerpt.file, False)
        no_repr(excerpt.text, given)
    turns = "\n## Turns\n\n<!-- turn id=a at=x n=1 by=b -->\n<!-- /turn a -->\n"
    for name, said in reply.sections.items():
        no_repr(said, given)
        changed = merge_note(f"---\nname: a\n---\n{turns}", {name: said})
        same(changed.endswith(turns[1:]) and len(re.findall(r"^\s*## Turns", changed, re.M)) == 1, True)

"""Secrets in what is printed, in a page, in a trace and in the hook's log: what is not part of the vault."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from leaks import SECRETS, everywhere, leaks, turns

from automemory.cli import main, terminal
from automemory.cli.common import INPUT
from automemory.hook import filing


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings from outside, and standard streams as they were."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("AUTOMEMORY_")]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(terminal, "prepare_streams", lambda: None)


def saved(folder: Path) -> list[str]:
    """Conversations whose names are secrets too, and a rollout with records of that kind and broken ones."""
    talk, rollout = folder / "talk.json", folder / "rollout.jsonl"
    talks, rows = [], [{"type": "user_message", "message": "hi"}]
    for text, _ in SECRETS.values():
        messages = [message for said in turns(text) for message in said]
        messages[0] |= {"id": text}
        talks.append({"id": text, "title": text, "messages": [*messages, text]})
        rows += [{"type": text}, {"type": "item_completed", "item": {"type": text}}]
    talk.write_text(json.dumps(talks), "utf-8")
    lines = [json.dumps({"type": "event_msg", "payload": row}) for row in rows]
    broken = [text.replace("\n", " ") for text, _ in SECRETS.values()]
    rollout.write_text("\n".join([*lines, *broken]), "utf-8")
    return [str(talk), str(rollout)]


def all_leaks(places: Mapping[str, str]) -> list[tuple[str, str]]:
    return [found for _, secret in SECRETS.values() for found in leaks(secret, places)]


def test_commands_show_no_secret(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """B73: what they print, `replay` and `show` as all the others, the log, and the page of a replay."""
    pytest.importorskip("plotly")
    caplog.set_level(logging.DEBUG, "automemory")
    vault, page, unknown = tmp_path / "vault", tmp_path / "page.html", tmp_path / "unknown.json"
    unknown.write_text(json.dumps({text: text for text, _ in SECRETS.values()}), "utf-8")
    files, there = saved(tmp_path), ["--vault", str(vault)]
    places = {}

    def told(*words: str, code: int = 0) -> str:
        assert main(words) == code
        out, err = capsys.readouterr()
        places[" ".join((words[0], *words[-2:]))] = out + err
        return out

    for options in (["--dry-run"], ["--dry-run", "--json"], ["--report", str(page)], ["--json"]):
        told("replay", *files, *there, *options)
    told("replay", str(unknown), *there, code=INPUT)
    listed = told("events", *there, "--json")
    for event in json.loads(listed):
        for command in ("show", "chain"):
            told(command, event["path"], *there)
            told(command, event["path"], *there, "--json")
    for command in ("events", "status", "acks", "doctor"):
        told(command, *there)
    told("prompts", files[0])
    places |= {"log": caplog.text, "page": page.read_text("utf-8")}
    assert all_leaks(places | everywhere(vault)) == []
    assert places["page"].count('<details class="conversation"') == len(SECRETS) + 1


def test_page_of_an_evaluation_shows_no_secret(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """B73: words, tools' names and the conversation's own name."""
    pytest.importorskip("plotly")
    data, page = tmp_path / "data.jsonl", tmp_path / "page.html"
    lines = []
    for text, _ in SECRETS.values():
        said = [("user", f"Use {text}"), ("tool", f"[tool_call] bash {text}"), ("user", text)]
        turns = [{"role": role, "text": words} for role, words in said]
        lines.append(json.dumps({"id": text, "turns": turns, "boundaries": [2]}))
    data.write_text("\n".join(lines), "utf-8")
    assert main(["eval", str(data), "--report", str(page)]) == 0
    told = capsys.readouterr()
    assert all_leaks({"out": told.out, "err": told.err, "page": page.read_text("utf-8")}) == []
    assert page.read_text("utf-8").count('<details class="conversation"') == len(SECRETS)


@pytest.mark.parametrize("kind", SECRETS)
def test_log_of_the_hook_holds_no_secret(tmp_path: Path, vault: Path, kind: str) -> None:
    """B73: what failed is told with its traceback, in which anything may stand: here a transcript's name."""
    text, secret = SECRETS[kind]
    assert filing.run(["claude-code", "Stop", str(tmp_path / text), "--vault", str(vault)]) == 1
    places = everywhere(vault)
    assert "Traceback" in places["file hook.log"] and "[redacted]" in places["file hook.log"]
    assert leaks(secret, places) == []

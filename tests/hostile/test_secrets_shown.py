"""Secrets in what is printed, in a page, in a trace and in the hook's log: what is not part of the vault."""

from __future__ import annotations

import json
import logging
import os
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


def saved(folder: Path, text: str) -> list[str]:
    """A conversation whose name is a secret too, and a rollout with records of that kind and broken ones."""
    messages = [message for said in turns(text) for message in said]
    messages[0] |= {"id": text}
    talk, rollout = folder / "talk.json", folder / "rollout.jsonl"
    talk.write_text(json.dumps([{"id": text, "title": text, "messages": [*messages, text]}]), "utf-8")
    said = [
        {"type": "user_message", "message": "hi"},
        {"type": text},
        {"type": "item_completed", "item": {"type": text}},
    ]
    rows = [json.dumps({"type": "event_msg", "payload": payload}) for payload in said]
    rollout.write_text("\n".join([*rows, text.replace("\n", " ")]), "utf-8")
    return [str(talk), str(rollout)]


@pytest.mark.parametrize("kind", SECRETS)
def test_commands_show_no_secret(
    tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """B73: what they print, `replay` and `show` as all the others, the log, and the page of a replay."""
    pytest.importorskip("plotly")
    text, secret = SECRETS[kind]
    caplog.set_level(logging.DEBUG, "automemory")
    vault, page, unknown = tmp_path / "vault", tmp_path / "page.html", tmp_path / "unknown.json"
    unknown.write_text(json.dumps({text: text}), "utf-8")
    files, there = saved(tmp_path, text), ["--vault", str(vault)]
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
    assert leaks(secret, places | everywhere(vault)) == []


@pytest.mark.parametrize("kind", SECRETS)
def test_page_of_an_evaluation_shows_no_secret(
    tmp_path: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """B73: words, tools' names and the conversation's own name."""
    pytest.importorskip("plotly")
    text, secret = SECRETS[kind]
    data, page = tmp_path / "data.jsonl", tmp_path / "page.html"
    said = [
        ("user", f"Use {text}"),
        ("tool", f"[tool_call] bash {text}"),
        ("user", text),
        ("assistant", text),
    ]
    record = {"id": text, "turns": [{"role": r, "text": t} for r, t in said], "boundaries": [2]}
    data.write_text(json.dumps(record) + "\n" + json.dumps(record | {"id": f"2 {text}"}), "utf-8")
    assert main(["eval", str(data), "--report", str(page)]) == 0
    told = capsys.readouterr()
    assert leaks(secret, {"out": told.out, "err": told.err, "page": page.read_text("utf-8")}) == []
    assert page.read_text("utf-8").count('<details class="conversation"') == 2


@pytest.mark.parametrize("kind", SECRETS)
def test_log_of_the_hook_holds_no_secret(tmp_path: Path, vault: Path, kind: str) -> None:
    """B73: what failed is told with its traceback, in which anything may stand: here a transcript's name."""
    text, secret = SECRETS[kind]
    assert filing.run(["claude-code", "Stop", str(tmp_path / text), "--vault", str(vault)]) == 1
    places = everywhere(vault)
    assert "Traceback" in places["file hook.log"] and "[redacted]" in places["file hook.log"]
    assert leaks(secret, places) == []

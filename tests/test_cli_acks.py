"""`automemory acks` and `automemory watch`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from automemory.cli import main, terminal

INDEX = "daily/2026-05-28.md"


@pytest.fixture
def vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A vault in which one resource is acknowledged."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(terminal, "prepare_streams", lambda: None)
    vault = tmp_path / "vault"
    for path, text in (
        (INDEX, "# Day\n[[resource/部署]]\n"),
        ("resource/部署.md", ""),
        ("resource/b.md", ""),
    ):
        (vault / path).parent.mkdir(parents=True, exist_ok=True)
        (vault / path).write_text(text, encoding="utf-8")
    return vault


def test_acks_are_listed(vault: Path, capsys: Any) -> None:
    assert main(["acks", "--vault", str(vault)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "resource\tfirst\tplace",
        f"resource/部署.md\t2026-05-28\t{INDEX}:2",
    ]
    assert main(["acks", "--vault", str(vault), "--until", "2026-05-27", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []


def test_acks_as_json_tell_the_places(vault: Path, capsys: Any) -> None:
    assert main(["acks", "--vault", str(vault), "--json"]) == 0
    [found] = json.loads(capsys.readouterr().out)
    assert (found["resource"], found["date"]) == ("resource/部署.md", "2026-05-28")
    assert [(place["path"], place["line"], place["at"]) for place in found["places"]] == [(INDEX, 2, None)]


def test_vault_that_is_not_there_is_one_clear_line(tmp_path: Path, capsys: Any) -> None:
    for command in ("acks", "watch"):
        assert main([command, "--vault", str(tmp_path / "nothing")]) == 4
        assert "give the vault's folder" in capsys.readouterr().err


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is sent otherwise")
@pytest.mark.parametrize("as_json", [False, True])
def test_watch_prints_as_it_happens_and_ends_with_ctrl_c(vault: Path, as_json: bool) -> None:
    """Into a pipe at once, without a traceback, with exit code 0."""
    command = [sys.executable, "-m", "automemory.cli", "watch", "--all", "--vault", str(vault)]
    with subprocess.Popen(
        command + ["--json"] * as_json, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
    ) as process:
        assert process.stdout and process.stderr
        first = process.stdout.readline()
        with (vault / INDEX).open("a", encoding="utf-8") as file:
            file.write("[[b]]\n")
        second = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert (process.wait(30), process.stdout.read(), process.stderr.read()) == (0, "", "")
    if as_json:
        assert [json.loads(line)["resource"] for line in (first, second)] == [
            "resource/部署.md",
            "resource/b.md",
        ]
    else:
        assert first == f"resource/部署.md\t{INDEX}:2\n" and second == f"resource/b.md\t{INDEX}:3\n"

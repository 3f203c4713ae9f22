"""The command line, over real files, mostly in this process and where it matters as a process of its own."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from automemory import AutoMemory
from automemory._version import __version__
from automemory.cli import main, terminal
from automemory.cli.common import USAGE
from automemory.errors import ConfigError
from automemory.settings import load_settings

TALK = [
    {"role": "user", "content": "Why does /login bounce back?", "timestamp": "2026-03-05T10:00:00+08:00"},
    {"role": "assistant", "content": "The cookie is set for the wrong domain."},
    {"role": "user", "content": "部署脚本在哪里？"},
    {"role": "assistant", "content": "在 scripts 目录里。"},
]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings from outside, and standard streams as they were."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("AUTOMEMORY_")]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(terminal, "prepare_streams", lambda: None)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "talk.json"
    path.write_text(json.dumps(TALK, ensure_ascii=False), encoding="utf-8")
    return path


@pytest.fixture
def vault(tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A vault with one conversation, which the commands use unless told otherwise."""
    monkeypatch.setenv("AUTOMEMORY_VAULT", str(tmp_path / "vault"))
    monkeypatch.setenv("AUTOMEMORY_TIMEZONE", "Asia/Shanghai")
    assert main(["replay", str(source)]) == 0
    return tmp_path / "vault"


def as_process(
    *arguments: str | Path, words: str = "", **environment: str
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "automemory.cli", *map(str, arguments)],
        input=json.dumps({"role": "user", "content": words}).encode(),
        capture_output=True,
        env={**os.environ, **environment},
        timeout=120,
        check=False,
    )


def read_json(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"automemory {__version__}\n"


def test_replay_reports_what_it_did_and_is_idempotent(vault: Path, source: Path, capsys: Any) -> None:
    """B54: one JSON document on standard output; the second run records nothing."""
    capsys.readouterr()
    assert main(["replay", str(source), "--json"]) == 0
    report = read_json(capsys)
    assert report["turns"] == report["duplicate"] == 2
    assert report["recorded"] == report["events_opened"] == 0
    assert report["sources"][0]["format"] == "plain"
    assert (vault / "daily" / "2026-03-05.md").exists()


def test_replay_tells_what_it_left_out(source: Path, capsys: Any, tmp_path: Path) -> None:
    """B38, B50: bad records with their lines, undated conversations with their day."""
    lines = tmp_path / "lines.jsonl"
    lines.write_bytes(b'{"role": "user", "content": "hello"}\n{oops\n\x00\n')
    assert main(["replay", str(lines), str(source), "--vault", "v", "--date", "2025-01-02"]) == 0
    out = capsys.readouterr().out
    assert "lines.jsonl: line 2: not JSON" in out
    assert "lines.jsonl: line 3: nothing but NUL bytes" in out
    assert "lines.jsonl: undated conversations filed on 2025-01-02: 1" in out
    assert "turns recorded: 3" in out
    assert Path("v/daily/2025-01-02.md").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["dance"], 2, "dance"),
        (["replay"], 2, "Missing argument"),
        (["replay", "talk.json"], 2, "use --vault FOLDER or set AUTOMEMORY_VAULT"),
        (["replay", "talk.json", "--vault", "v", "--date", "yesterday"], 2, "yesterday"),
        (["replay", "talk.json", "--vault", "v", "--format", "yaml"], 2, "no format 'yaml'"),
        (["replay", "talk.json", "--vault", "v", "--granularity", "huge"], 2, "granularity='huge'"),
        (["replay", "talk.json", "--vault", "v", "--decider", "oracle"], 2, "decider='oracle'"),
        (["replay", "talk.json", "--vault", "v", "--timezone", "Mars/Base"], 2, "timezone='Mars/Base'"),
        (["replay", "none.json", "--vault", "v"], 3, "none.json: cannot be read"),
        (["replay", "empty.json", "--vault", "v"], 3, "empty.json: nothing in it"),
        (
            ["replay", "config.json", "--vault", "v"],
            3,
            "config.json: JSON lines of another kind with the keys a",
        ),
        (["replay", "talk.json", "--vault", "v", "--since", "2030-01-01"], 3, "none of the 2 turns"),
        (["events", "--vault", "v"], 4, "'v' is no folder"),
        (["status", "--vault", "v"], 4, "'v' is no folder"),
        (["show", "x", "--vault", "."], 4, "x"),
        (["replay", "talk.json", "--vault", "talk.json"], 4, "talk.json"),
    ],
)
def test_an_error_is_one_clear_line_and_a_code(
    source: Path, capsys: Any, arguments: list[str], code: int, said: str
) -> None:
    """B42: on standard error, without a traceback, and nothing is written."""
    Path("empty.json").write_bytes(b"")
    Path("config.json").write_text('{"a": 1}', encoding="utf-8")
    assert main(arguments) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert said in captured.err
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("automemory: ")
    assert not Path("v").exists() or not list(Path("v").rglob("*.md"))


def test_files_that_no_reader_takes_are_one_clear_line(capsys: Any, tmp_path: Path) -> None:
    """A number past all bounds, links that go round in a circle."""
    (tmp_path / "number.json").write_text('[{"role": "user", "content": ' + "9" * 6000 + "}]")
    (tmp_path / "ring.json").symlink_to("ring.json")
    for name in ("number.json", "ring.json"):
        assert main(["replay", str(tmp_path / name), "--vault", str(tmp_path / "v")]) == 3
        error = capsys.readouterr().err
        assert name in error and "--debug" not in error
    assert not [*tmp_path.glob("v/daily/*")]


def test_debug_shows_where_an_error_comes_from(source: Path, capsys: Any) -> None:
    """Before the command or after it."""
    for arguments in (["--debug", "events"], ["events", "--debug"]):
        assert main(arguments) == 2
        assert "Traceback" in capsys.readouterr().err


def test_events_show_and_chain_look_into_the_vault(vault: Path, capsys: Any) -> None:
    capsys.readouterr()
    assert main(["events", "--json"]) == 0
    events = read_json(capsys)
    assert events and all(event["date"] == "2026-03-05" for event in events)
    assert events[-1]["closed_by"] == "end"
    assert (
        main(["events", "--grep", "COOKIE", "--since", "2026-03-01", "--until", "2026-03-31", "--json"]) == 0
    )
    (found,) = read_json(capsys)
    assert main(["show", found["path"], "--json"]) == 0
    shown = read_json(capsys)
    assert shown["turns"][0]["steps"][0]["text"] == TALK[0]["content"]
    assert main(["show", found["path"]]) == 0
    assert "user: Why does /login bounce back?" in capsys.readouterr().out
    assert main(["chain", found["path"], "--json"]) == 0
    assert found in read_json(capsys)
    assert main(["events", "--until", "2026-03-04", "--json"]) == 0
    assert read_json(capsys) == []


@pytest.mark.parametrize(
    "ref", ["{name}", "2026-03-05/{name}", "daily/2026-03-05/{name}", "[[{path}|a word]]"]
)
def test_an_event_goes_by_any_of_its_names(vault: Path, capsys: Any, ref: str) -> None:
    """A slug that only one event has, the day and the slug, or a link."""
    note = next(vault.glob("daily/*/*/*.md"))
    capsys.readouterr()
    assert main(["show", ref.format(name=note.stem, path=note.relative_to(vault).as_posix()), "--json"]) == 0
    assert read_json(capsys)["head"]["name"] == note.stem


def test_events_in_a_pipe_are_lines_of_tab_separated_values(vault: Path, capsys: Any) -> None:
    capsys.readouterr()
    assert main(["events"]) == 0
    header, *rows = capsys.readouterr().out.splitlines()
    assert header.split("\t") == ["event", "state", "title"]
    assert all(row.startswith("2026-03-05/") and row.count("\t") == 2 for row in rows)


def test_status_tells_what_is_open(vault: Path, capsys: Any) -> None:
    capsys.readouterr()
    assert main(["status", "--json"]) == 0
    status = read_json(capsys)
    assert status["events"] >= 1
    assert status["open"] == []
    assert status["waiting"] == 0
    assert main(["status"]) == 0
    assert str(vault) in capsys.readouterr().out


def test_record_takes_a_turn_from_standard_input(
    vault: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a list of messages, an object that holds one, or a single message, with a BOM or without."""
    turn = [{"role": "user", "content": "你好"}, {"role": "assistant", "content": "Hello"}]
    for value in (turn, {"messages": turn}, turn[0]):
        given = io.BytesIO(b"\xef\xbb\xbf" + json.dumps(value, ensure_ascii=False).encode())
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(given, encoding="ascii"))
        capsys.readouterr()
        assert main(["record", "--json", "--thread", "live"]) == 0
        assert read_json(capsys)["outcome"] == "recorded"
    for wrong, said in (
        (b"hello", "is no JSON"),
        (b"[]", "no message to record"),
        (b'[{"a": 1}]', "no role"),
    ):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(wrong), encoding="utf-8"))
        assert main(["record"]) == 3
        assert said in capsys.readouterr().err


def test_record_offers_resources(
    vault: Path, scripted: Any, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `notify=` does: they stay on offer for the stream's next turns; a path that is none is refused."""
    monkeypatch.setattr(
        "sys.stdin", io.TextIOWrapper(io.BytesIO(b'{"role": "user", "content": "Hi"}'), "utf-8")
    )
    assert main(["record", "--notify", "resource/a.md", "--notify", "digest/b.md"]) == 0
    decider = scripted()
    with AutoMemory(vault, decider=decider, timezone="Asia/Shanghai") as memory:
        memory.record([{"role": "user", "content": "And then?"}])
    [context] = decider.contexts
    assert {offer.path for offer in context.notify} == {"resource/a.md", "digest/b.md"}
    monkeypatch.setattr(
        "sys.stdin", io.TextIOWrapper(io.BytesIO(b'{"role": "user", "content": "Ho"}'), "utf-8")
    )
    capsys.readouterr()
    assert main(["record", "--notify", "../a.md"]) == USAGE
    assert "../a.md" in capsys.readouterr().err


@pytest.mark.parametrize(("locale", "encoding"), [("C", "ascii"), ("zh_CN.GBK", "gbk"), ("POSIX", "")])
def test_any_locale_gets_utf8_in_a_pipe(vault: Path, locale: str, encoding: str) -> None:
    """B82: Chinese text in notes and options, whatever the code page."""
    environment = {"LC_ALL": locale, "PYTHONUTF8": "0", "PYTHONIOENCODING": encoding}
    listed = as_process("events", "--grep", "部署", "--json", **environment)
    assert listed.returncode == 0, listed.stderr
    (event,) = json.loads(listed.stdout.decode("utf-8"))
    shown = as_process("show", event["path"], **environment)
    assert shown.returncode == 0, shown.stderr
    assert "部署脚本在哪里" in shown.stdout.decode("utf-8")


def test_replay_in_a_plain_locale_writes_utf8(tmp_path: Path, source: Path) -> None:
    """B82: notes and index are UTF-8 with line feeds."""
    done = as_process("replay", source, "--vault", "v", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert done.returncode == 0, done.stderr
    assert (
        as_process(
            "record", "--vault", "v", "--event", "部署", LC_ALL="C", PYTHONUTF8="0", words="你好"
        ).returncode
        == 0
    )
    notes = [path.read_bytes() for path in Path("v/daily").rglob("*.md")]
    assert list(Path("v/daily").glob("*/部署/部署.md"))
    assert any("部署" in note.decode("utf-8") for note in notes)
    assert not any(b"\r" in note for note in notes)


def test_piped_output_has_no_colours_and_no_bar(tmp_path: Path, source: Path) -> None:
    done = as_process("replay", source, "--vault", "v", FORCE_COLOR="1", TERM="xterm-256color")
    assert b"\x1b" not in done.stdout + done.stderr
    assert done.stderr == b""


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such terminals")
@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_a_terminal_gets_a_bar_and_a_table(vault: Path, source: Path, locale: str) -> None:
    """B82: whatever the terminal can show, nothing fails and nothing is left out."""
    shown = on_a_terminal("events", LC_ALL=locale, PYTHONUTF8="0")
    path = next(vault.glob("daily/*/*/*.md")).relative_to(vault)
    assert "/".join(path.parts[1:3]) in shown
    assert "recording" in on_a_terminal("replay", str(source), LC_ALL=locale, PYTHONUTF8="0")


def on_a_terminal(*arguments: str, **environment: str) -> str:
    import pty

    main_end, other_end = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "automemory.cli", *arguments],
        stdin=other_end,
        stdout=other_end,
        stderr=other_end,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "200", **environment},
    )
    os.close(other_end)
    shown = b""
    try:
        while piece := os.read(main_end, 4096):
            shown += piece
    except OSError:  # Linux says so when the other end is closed
        pass
    os.close(main_end)
    assert process.wait(60) == 0, shown
    return shown.decode("utf-8")


def test_conversations_cannot_write_to_the_terminal(capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Escape sequences, a bell and reversed text are shown, not carried out; tables, text and JSON alike."""
    evil = "\x1b]0;owned\x07\x1b[2J \x9b31m \u202eabc secret\x7f"
    lines = Path("evil.jsonl")
    lines.write_text(json.dumps({"role": "user", "content": evil}) + "\n{\x1b[31m\n", encoding="utf-8")
    monkeypatch.setenv("AUTOMEMORY_VAULT", "v")
    assert main(["replay", str(lines)]) == 0
    assert main(["events", "--json"]) == 0
    assert main(["events"]) == 0
    (note,) = Path("v").glob("daily/*/*/*.md")
    assert main(["show", str(note.relative_to("v"))]) == 0
    assert main(["show", str(note.relative_to("v")), "--json"]) == 0
    assert main(["show", "\x1b[31m"]) == 4
    captured = capsys.readouterr()
    assert "secret" in captured.out
    assert not set(captured.out + captured.err) & set("\x1b\x07\x9b\u202e\x7f")
    assert "\\x1b" in captured.out


def test_a_reader_of_a_pipe_may_leave_early(vault: Path) -> None:
    """`automemory show … | head -1` ends without a traceback."""
    script = f"{sys.executable} -m automemory.cli events --json | head -c 1"
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=False)
    assert b"Traceback" not in done.stderr
    assert b"Exception" not in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent differently there")
def test_ctrl_c_stops_replay_with_130_and_a_word_on_how_to_go_on(tmp_path: Path) -> None:
    """An interrupted replay records whole turns only, and the same command completes it."""
    rows = [{"role": "user" if i % 2 == 0 else "assistant", "content": f"message {i}"} for i in range(3000)]
    Path("long.json").write_text(json.dumps(rows), encoding="utf-8")
    command = [sys.executable, "-m", "automemory.cli", "replay", "long.json", "--vault", "v", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while process.poll() is None and not list(Path("v").rglob("daily/*/*/*.md")):
        pass
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert b"run the same command again" in err
    report = json.loads(out)
    assert report["interrupted"] is True
    assert 0 < report["recorded"] < 1500


def test_settings_come_from_options_environment_and_dotenv(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In this order; empty variables count as none, and other variables of `.env` do not matter."""
    Path(".env").write_text(
        "AUTOMEMORY_VAULT=from-file\nAUTOMEMORY_AGENT_ID=助手\nOTHER=1\nAUTOMEMORY_X=2\n", encoding="utf-8"
    )
    assert load_settings().vault == Path("from-file")
    assert load_settings().agent_id == "助手"
    monkeypatch.setenv("AUTOMEMORY_VAULT", "from-environment")
    monkeypatch.setenv("AUTOMEMORY_TIMEZONE", "")
    assert load_settings().vault == Path("from-environment")
    assert load_settings().timezone is None
    assert load_settings(vault=Path("given"), agent_id=None).vault == Path("given")
    monkeypatch.setenv("AUTOMEMORY_GRANULARITY", "huge")
    with pytest.raises(ConfigError, match="granularity='huge'"):
        load_settings()
    Path(".env").write_bytes("AUTOMEMORY_VAULT=日".encode("utf-16"))
    with pytest.raises(ConfigError, match="cannot be read"):
        load_settings()


@pytest.mark.parametrize("module", ["automemory", "automemory.cli"])
def test_importing_loads_nothing_heavy(module: str) -> None:
    """`import automemory`, `--help` and `--version` cost next to nothing."""
    heavy = ("langchain", "langchain_core", "langgraph", "numpy", "pydantic", "rich", "sqlite3", "ijson")
    code = f"import sys, {module}; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("command", ["record", "status", "doctor"])
def test_empty_vault_is_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str) -> None:
    """`--vault "$VAULT"` of a shell in which that is not set: nothing is made in the working folder."""
    assert main([command, "--vault", ""]) == USAGE
    assert "--vault" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []

"""One call of a hook: stores the session's new turns, hands back a note where asked, and is gone.

The host waits for this, so nothing is loaded here that is not needed, and nothing is decided: a process in
the background does that. No failure is the host's: it is told on standard error, with exit code 1, which
hosts show and pass over (2 would stop the agent).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from automemory.errors import AutoMemoryError, ConfigError, ImportFailed

if TYPE_CHECKING:
    from automemory.agent_store import AgentStore
    from automemory.hook.transcript import Session
    from automemory.storing import Storing
    from automemory.turn import Turn

HOSTS = ("claude-code", "codex")
NOTED = ("SessionStart",)
RECORDED = ("Stop", "PreCompact", "SessionEnd")


@dataclass(frozen=True, slots=True)
class Call:
    """What a host says when it calls.

    Attributes:
        event: `SessionStart`, `Stop`, `PreCompact` or `SessionEnd`; others are passed over.
        transcript: The session's transcript; None where there is none yet.
        said: The agent's last words, where the host tells them: they may not be in the transcript yet.
    """

    event: str
    transcript: Path | None = None
    said: str = ""

    @classmethod
    def read(cls, text: str) -> Call:
        """Read the hook's JSON.

        Raises:
            ImportFailed: if it is none.
        """
        try:
            given = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ImportFailed(f"the hook's input is no JSON ({error}): is it called by the host?") from error
        if not isinstance(given, dict) or not isinstance(event := given.get("hook_event_name"), str):
            raise ImportFailed(f"no hook_event_name in the hook's input: {text[:80]!r}")
        path, said = given.get("transcript_path"), given.get("last_assistant_message")
        try:
            transcript = _followed(path) if isinstance(path, str) and path else None
        except (RuntimeError, ValueError) as error:
            raise ImportFailed(f"transcript_path={path!r} cannot be followed ({error})") from error
        return cls(event, transcript, said if isinstance(said, str) else "")


def _followed(path: str) -> Path:
    """The path, with `~` followed; a `ValueError` or a `RuntimeError` if no file can have it."""
    if "\0" in path:
        raise ValueError("it holds a NUL")
    os.fsencode(path)
    return Path(path).expanduser()


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="automemory hook",
        description="For a coding agent's SessionStart, Stop, PreCompact and SessionEnd hooks.",
    )
    made.add_argument("host", choices=HOSTS)
    made.add_argument("--vault", help="the vault's folder; else AUTOMEMORY_VAULT")
    made.add_argument("--timezone", help="the vault's zone, such as Asia/Shanghai")
    made.add_argument("--agent-id", help="names this agent among several on one vault")
    made.add_argument("--model", help="a chat model, such as openai:gpt-5-mini")
    made.add_argument("--decider", help="auto, local, llm or cascade")
    return made


def run(arguments: Sequence[str], given: TextIO = sys.stdin) -> int:
    """Serve one call of a hook; returns the exit code."""
    options = {name: value for name, value in vars(parser().parse_args(arguments)).items() if value}
    host = options.pop("host")
    try:
        call = Call.read(given.read())
        if call.event in NOTED:
            _print_note(call, _settings(options))
        elif call.event in RECORDED and call.transcript is not None:
            stored = store(call.transcript, _settings(options), finished=call.event == "Stop", said=call.said)
            if stored or call.event == "SessionEnd":
                _file_behind(host, call, options)
    except AutoMemoryError as error:
        print(f"automemory: {error}", file=sys.stderr)
        return 1
    except Exception as error:  # the host must go on whatever happens here
        print(f"automemory: {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0


def store(transcript: Path, settings: Mapping[str, str], *, finished: bool, said: str = "") -> int:
    """Accept the turns of a transcript that are new, or longer than before; returns how many.

    Args:
        transcript: The session's file.
        settings: `vault`, and what else is set.
        finished: Whether the last turn is over.
        said: Its last words, if the host tells: without them in the transcript it is not all there yet.
    """
    from automemory.intake import Submission
    from automemory.vault.tables import TurnRow

    storing = _storing(settings)
    stream, turns = _new_turns(transcript, storing.vault, finished, said)
    found = [storing.store(Submission(turn, stream)) for turn in turns]
    return sum(isinstance(result, TurnRow) or result.outcome == "accepted" for result in found)


def _new_turns(transcript: Path, vault: AgentStore, finished: bool, said: str) -> tuple[str, list[Turn]]:
    """The stream of a transcript, and its turns that are not known as they are now."""
    from automemory.hook.ending import ending
    from automemory.hook.transcript import session

    late = ending(transcript, finished=finished, said=said)
    if late is not None and len(new := _unknown(late, vault)) < len(late.turns):
        return late.stream, new
    whole = session(transcript, finished=finished, said=said)
    return (whole.stream, _unknown(whole, vault)) if whole else ("", [])


def _unknown(found: Session, vault: AgentStore) -> list[Turn]:
    """The turns at the end of a session that are not known as they are now."""
    from automemory.turn import turn_id

    stream = vault.stream(found.stream)
    new: list[Turn] = []
    for turn in reversed(found.turns):
        row = vault.store.state.turn(turn_id(stream, turn.messages[0]))
        if row is not None and row.state != "draft" and row.messages >= len(turn.messages):
            break
        new.append(turn)
    return new[::-1]


def _print_note(call: Call, settings: Mapping[str, str]) -> None:
    """Hand the latest workspace's note to the session that starts."""
    from automemory.reference import reference

    vault = _storing(settings).vault
    found = vault.latest(_stream_of(call.transcript) or "main")
    note = reference(found[0], own=found[1]) if found else ""
    if note:
        answer = {"hookEventName": call.event, "additionalContext": note}
        print(json.dumps({"hookSpecificOutput": answer}, ensure_ascii=False))


def _stream_of(transcript: Path | None) -> str:
    """The name of a transcript's stream; empty where nobody has said anything yet."""
    from automemory.hook.ending import beginning
    from automemory.hook.transcript import session

    if transcript is None or not transcript.is_file():
        return ""
    name = beginning(transcript)
    known = None if name else session(transcript)
    return known.stream if known else name


def _file_behind(host: str, call: Call, options: Mapping[str, str]) -> None:
    """Start the process that decides and files; it outlives this one."""
    given = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    words = [sys.executable, "-m", "automemory.hook.filing", host, call.event, str(call.transcript), *given]
    apart: dict[str, Any] = {"start_new_session": True}
    if os.name == "nt":
        apart = {"creationflags": 0x00000008 | 0x00000200}  # DETACHED_PROCESS, CREATE_NEW_PROCESS_GROUP
    quiet = subprocess.DEVNULL
    subprocess.Popen(words, stdin=quiet, stdout=quiet, stderr=quiet, close_fds=True, **apart)


def _settings(options: Mapping[str, str]) -> dict[str, str]:
    """What is set for this call: by its options, else by the environment, else by a `.env` file."""
    names = ("vault", "timezone", "agent_id")
    found = {name: options.get(name) or os.environ.get(f"AUTOMEMORY_{name.upper()}", "") for name in names}
    if not found["vault"] and Path(".env").is_file():
        from automemory.settings import load_settings

        settings = load_settings()
        found = {name: found[name] or str(getattr(settings, name) or "") for name in names}
    if not found["vault"]:
        raise ConfigError("no vault given: use --vault FOLDER or set AUTOMEMORY_VAULT")
    return found


def _storing(settings: Mapping[str, str]) -> Storing:
    from automemory.agent_store import AgentStore, Options
    from automemory.intake import Intake, zone_of
    from automemory.redact import make_redactor
    from automemory.storing import Storing
    from automemory.vault.files import whole_path

    root, agent = whole_path(settings["vault"]), _agent(settings["agent_id"])
    names = _placeholders(settings["vault"])
    options = Options(root, agent, zone_of(settings["timezone"]), placeholders=names)
    redact = make_redactor(None)
    vault = AgentStore(options, lambda: datetime.now().astimezone(), redact)
    return Storing(vault, Intake(redact))


def _placeholders(vault: str) -> tuple[str, ...]:
    """The placeholders in a vault's name: nobody is there to fill them when its turns are filed."""
    if "{" not in vault:
        return ()
    from automemory.vaults import Template

    return Template(vault).names


def _agent(name: str) -> str:
    """The agent's id, checked, or empty; what checks names is loaded where there is one."""
    if not name:
        return ""
    from automemory.vault.naming import check_agent_id

    return check_agent_id(name)

"""A session's transcript as turns of its stream: as the replay reads it, while it grows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from automemory.errors import ImportFailed
from automemory.replay.importers.claude_code import ClaudeCode
from automemory.replay.importers.codex import Codex
from automemory.replay.importers.conversation import Conversation, Importer
from automemory.replay.importers.detection import detected
from automemory.turn import Turn, split_turns

_FORMATS = (ClaudeCode(), Codex())
"""What the hosts write, which is not all that a replay reads: the host waits while it is loaded."""


@dataclass(frozen=True, slots=True)
class Session:
    """What is in a transcript.

    Attributes:
        stream: The name of its stream: its first message's id, so that a replay knows it again.
        turns: In order; the last one may be unfinished.
    """

    stream: str
    turns: tuple[Turn, ...]


def session(transcript: Path, *, finished: bool = True, said: str = "") -> Session | None:
    """Read a transcript; None if nobody has said anything in it yet.

    Args:
        transcript: The file; its last line may be cut off.
        finished: Whether its last turn is over.
        said: The agent's last words, as its host tells them. Hosts call before they have written them down:
            without them the last turn is not all there.

    Raises:
        ImportFailed: if it cannot be read, or is no transcript that is known.
    """
    try:
        with transcript.open("rb") as file:
            return session_of(file, finished=finished, said=said)
    except OSError as error:
        raise ImportFailed(f"{transcript}: cannot be read ({error.strerror or error})") from error


def session_of(file: BinaryIO, *, finished: bool, said: str) -> Session | None:
    """As `session`, of an open file."""
    if not file.read(1):
        return None
    found = [f for f in importer_of(file).read(file) if isinstance(f, Conversation)]
    if not found:
        return None
    turns = split_turns(list(found[0].messages))
    last = turns[-1]
    over = finished and bool(last.reply_text) and last.reply_text.strip().endswith(said.strip())
    return Session(found[0].id, (*turns[:-1], replace(last, complete=over)))


def importer_of(file: BinaryIO) -> Importer:
    """The importer that reads a transcript.

    Raises:
        ImportFailed: if it is none of a host that is known.
    """
    return detected(file, _FORMATS)

"""The process behind a hook: takes what the transcript has meanwhile, decides, files, and ends.

One at a time works on a vault; those that come meanwhile wait, and mostly find that nothing is left to do.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock

from automemory.hook.accept import parser
from automemory.hook.transcript import session
from automemory.redact import redact
from automemory.settings import Settings, load_settings
from automemory.vault.store import home

_SETTLED_S, _PATIENCE_S, _STEP_S = 0.5, 5.0, 0.1
_LOG_BYTES = 200_000
_log = logging.getLogger("automemory.hook")


def run(arguments: Sequence[str]) -> int:
    """File what a hook accepted; the words are the host, the event, the transcript and options."""
    host, event, transcript, *options = arguments
    given = vars(parser().parse_args([host, *options]))
    settings = load_settings(**{name: value for name, value in given.items() if name != "host"})
    folder = settings.folder().expanduser()
    own = home(folder)
    with _logged(own / "hook.log"):
        try:
            _settle(Path(transcript))
            with FileLock(own / "hook.lock", mode=0o600):
                _file(Path(transcript), settings, event)
        except Exception:
            _log.exception("%s of %s", event, transcript)
            return 1
    return 0


def _file(transcript: Path, settings: Settings, event: str) -> None:
    """Accept and file everything the transcript has by now; at its session's end, close its last event."""
    with settings.memory() as memory:  # files what was accepted, also where there is no transcript any more
        found = session(transcript, finished=event in {"Stop", "SessionEnd"})
        if found is None:
            return
        for turn in found.turns:
            memory.record(turn, thread_id=found.stream)
        memory.flush()
        if event == "SessionEnd":
            memory.close_event(thread_id=found.stream, closed_by="end")


def _settle(transcript: Path) -> None:
    """Wait until the transcript has stopped growing: hosts call a little before they have written it all."""
    until = time.monotonic() + _PATIENCE_S
    size, since = -1, time.monotonic()
    while time.monotonic() < until and time.monotonic() - since < _SETTLED_S:
        now = transcript.stat().st_size if transcript.is_file() else 0
        if now != size:
            size, since = now, time.monotonic()
        time.sleep(_STEP_S)


class _Masking(logging.Formatter):
    """Masks secrets in the whole of what is logged: a traceback tells of anything."""

    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record))


@contextmanager
def _logged(path: Path) -> Iterator[None]:
    """Keep what fails where a person can find it; nobody reads this process's output."""
    handler = _handler(path)
    handler.setFormatter(_Masking("%(asctime)s %(levelname)s %(message)s"))
    package = logging.getLogger("automemory")
    package.addHandler(handler)
    try:
        yield
    finally:
        package.removeHandler(handler)
        handler.close()


def _handler(path: Path) -> logging.Handler:
    """What writes the log; nothing does where the disk refuses that: turns are filed all the same."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.is_file() and path.stat().st_size > _LOG_BYTES:
            path.replace(path.with_name("hook.log.1"))
        path.touch(mode=0o600)
        return logging.FileHandler(path, encoding="utf-8")
    except OSError:
        return logging.NullHandler()


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))

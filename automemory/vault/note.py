"""The summary note as text: rendering a turn's block and a new note, and reading both back.

Format: `docs/vault-format.md`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime

from automemory.vault import frontmatter
from automemory.vault.event import Event, RecordedTurn, join_parts, read_head
from automemory.vault.layout import link, parse_link
from automemory.vault.outline import headings, lines_of
from automemory.vault.quoting import quote_steps, read_inline, read_steps

TURNS = "## Turns"
_BEGIN = re.compile(r"<!-- turn((?: \w+=\S+)+) -->")
_END = re.compile(r"<!-- /turn (\S+?)( torn)? -->")
_FIRST = re.compile(r"^<!-- turn id=", re.MULTILINE)
_TIME_HEADING = re.compile(r"^### \d\d:\d\d:\d\d[ \t]*\r?\n\Z", re.MULTILINE)
_ATTRIBUTE = re.compile(r"(\w+)=(\S+)")
_LINK = re.compile(r"\[\[[^\[\]\n]+\]\]")


def turn_block(turn: RecordedTurn) -> str:
    """A turn's block, ready to be appended after a blank line.

    `turn.patch` is written as it stands: it has to be a safe line already (`quoting.inline`).
    """
    if turn.at is None:
        raise ValueError(f"turn {turn.id} has no time")
    lines = [f"### {turn.at:%H:%M:%S}", _marker(turn, turn.at)]
    lines += [turn.patch] if turn.patch else []
    lines += ["Refs: " + " ".join(link(path) for path in turn.refs)] if turn.refs else []
    return "\n".join(lines) + "\n\n" + quote_steps(turn.steps) + f"\n<!-- /turn {turn.id} -->\n"


def new_note(fields: Mapping[str, str], sections: str, block: str) -> str:
    """A whole note: frontmatter, what stands before the turns, and the first turn's block.

    Without a block it has no turns: they stand in a file of their own.
    """
    body = f"{sections.strip()}\n" if sections.strip() else ""
    turns = f"{TURNS}\n\n{block}" if block else ""
    return f"{frontmatter.render(fields)}\n{body}{turns and body and chr(10)}{turns}"


def new_turns(path: str, name: str, block: str) -> str:
    """A file for the turns of the event whose note lies at `path`, with the first turn's block."""
    return f"Turns of {link(path, name)}.\n\n{TURNS}\n\n{block}"


def newline_of(tail: bytes) -> str:
    """The line ends that a note with these last bytes uses."""
    return "\r\n" if b"\r\n" in tail else "\n"


def gap(tail: bytes) -> str:
    """The line breaks that leave one blank line between a note with these last bytes and what is appended."""
    text = tail.replace(b"\r\n", b"\n")
    return "" if not text or text.endswith(b"\n\n") else "\n" if text.endswith(b"\n") else "\n\n"


def lead(data: bytes) -> str:
    """What has to be written before a block that is appended to a note, given all of its bytes."""
    mended = mend(data.decode("utf-8", "replace"))
    return mended + "\n" if mended else gap(data[-4:])


def ends_whole(tail: bytes) -> bool:
    """Whether the note's last written line is a block's end marker, so that nothing after it can be torn."""
    lines = tail.decode("utf-8", "replace").rstrip().rsplit("\n", 1)
    return bool(_END.fullmatch(lines[-1].strip()))


def mend(text: str) -> str:
    """What has to be appended to close a last block that was cut off; empty if the note is whole.

    The fragment stays as it is, is closed, and is marked `torn`.
    """
    last_line = text.rsplit("\n", 1)[-1]
    close = " -->\n" if last_line.lstrip().startswith("<!--") and "-->" not in last_line else ""
    begun = list(re.finditer(r"^<!-- turn id=(\S+)", text, re.MULTILINE))
    if not begun or re.search(
        rf"^<!-- /turn {re.escape(begun[-1][1])}( torn)? -->\r?$", text[begun[-1].end() :], re.M
    ):
        return close
    return f"{close or chr(10)}<!-- /turn {begun[-1][1]} torn -->\n"


def blocks(text: str) -> list[RecordedTurn]:
    """All turn blocks of a note's text in order, also of a note whose frontmatter is broken."""
    found: list[RecordedTurn] = []
    begun: Mapping[str, str] | None = None
    inside: list[str] = []
    for raw in text.split("\n"):
        line = raw.rstrip("\r")
        begin = _BEGIN.fullmatch(line)
        end = _END.fullmatch(line)
        if begin:
            begun, inside = dict(_ATTRIBUTE.findall(begin[1])), []
        elif begun is not None and end and end[1] == begun.get("id"):
            found.append(_read_block(begun, inside, torn=bool(end[2])))
            begun = None
        elif begun is not None:
            inside.append(line)
    return found


def read_event(path: str, text: str, read: Callable[[str], str] = lambda path: "") -> Event | None:
    """The event that the note at vault path `path` describes; None if no event's note lies there.

    Args:
        path: The note's vault path.
        text: Its text.
        read: Gives the text of another file of the vault, empty if there is none: of that with the turns.
    """
    front = frontmatter.read(text)
    head = read_head(path, front.fields)
    if head is None:
        return None
    at = turns_start(text, front.body)
    record = read(head.turns) if head.turns else text
    return Event(head, text[front.body : at].strip("\r\n"), join_parts(blocks(record)), len(record))


def turns_start(text: str, start: int = 0) -> int:
    """Where the turns of a note begin, whose body starts at `start`; the end of the text if it has none.

    That is at `## Turns` outside code and comments, else where the first block begins.
    """
    first = _FIRST.search(text, start)
    limit = first.start() if first else len(text)
    lines = lines_of(text[start:limit])
    turns = [line for line, level, name in headings(lines) if level == 2 and name == "turns"]
    if turns:
        return start + sum(map(len, lines[: turns[-1]]))
    above = _TIME_HEADING.search(text, start, limit) if first else None
    return above.start() if above else limit


def _marker(turn: RecordedTurn, at: datetime) -> str:
    attributes = {"id": turn.id, "at": at.isoformat(timespec="seconds"), "n": str(turn.n), "by": turn.by}
    if turn.p is not None:
        attributes["p"] = f"{turn.p:.2f}"
    if turn.part > 1:
        attributes["part"] = str(turn.part)
    if turn.incomplete:
        attributes["incomplete"] = "true"
    return "<!-- turn " + " ".join(f"{key}={value}" for key, value in attributes.items()) + " -->"


def _read_block(marker: Mapping[str, str], lines: list[str], *, torn: bool) -> RecordedTurn:
    quoted = next((i for i, line in enumerate(lines) if line.startswith(">")), len(lines))
    prose = [line for line in lines[:quoted] if line.strip()]
    refs = [line for line in prose if line.startswith("Refs: ")]
    patch = [line for line in prose if not line.startswith("Refs: ")]
    return RecordedTurn(
        id=marker.get("id", ""),
        at=read_time(marker.get("at", "")),
        n=0 if torn else _int(marker.get("n"), 0),
        by=marker.get("by", ""),
        steps=tuple(read_steps("\n".join(lines[quoted:]))),
        p=_float(marker.get("p")),
        patch=read_inline(" ".join(patch)),
        refs=tuple(path for m in _LINK.findall(" ".join(refs)) if (path := parse_link(m))),
        part=_int(marker.get("part"), 1),
        incomplete=marker.get("incomplete") == "true",
        torn=torn,
    )


def read_time(text: str) -> datetime | None:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return at if at.tzinfo else None


def _int(text: str | None, default: int) -> int:
    return int(text) if text and text.isdecimal() and len(text) < 10 else default


def _float(text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None

"""Reading plain files: days as data, filters, chains, and that nothing is ever written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from automemory.errors import VaultError
from automemory.vault.index import MAX_TAIL, line, read_lines, read_tail, tail
from automemory.vault.layout import event_path
from automemory.vault.note import new_note
from automemory.vault.places import Found, Places
from automemory.vault.reader import Reader

DAY = "2026-05-28"
CLOSED = {"closed": f"{DAY}T15:00:00+08:00", "closed_by": "switch"}


def put(vault: Path, path: str, text: str) -> str:
    (vault / path).parent.mkdir(parents=True, exist_ok=True)
    (vault / path).write_text(text, encoding="utf-8", newline="")
    return path


def event(vault: Path, name: str, day: str = DAY, *, above: str = "", at: str = "", **fields: str) -> str:
    """An event of a thread; with `at` its note has a turn at that time."""
    turn = f"### {at}\n<!-- turn id=1 at={day}T{at}+08:00 n=1 by=local -->\n<!-- /turn 1 -->\n" if at else ""
    front = {"name": name, "thread": "main", "status": "active"} | fields
    return put(vault, event_path(day, name), new_note(front, above, turn))


def names(vault: Path, **wanted: object) -> list[str]:
    return [head.name for head in Reader(vault).events(**wanted)]  # type: ignore[arg-type]


# --- a day as data


async def test_day_gives_every_line_and_whose_it_is(tmp_path: Path) -> None:
    """B80, B60: people's lines are there as they stand, the library's with event and summary."""
    one, two = event_path(DAY, "fix-login"), event_path(DAY, "部署")
    text = f"""\ufeff---
tags: [[{one}]]
---
# {DAY}
- [ ] buy milk [[{one}]]
- [[resource/a.md]] — mine

## Events
{line(one)} — {tail("A | [[b]] #c")}
- [x] [[{two.removesuffix(".md")}|anything]]
```
{line(one)} — in code
```
"""
    put(tmp_path, f"daily/{DAY}.md", text.replace("\n", "\r\n"))
    found = Reader(tmp_path).day(DAY)
    assert found == await Reader(tmp_path).aday(DAY)
    assert [(n, entry.event, entry.summary) for n, entry in enumerate(found.lines) if entry.event] == [
        (8, one, "A | [[b]] #c"),
        (9, two, ""),
    ]
    assert [entry.text for entry in found.lines] == text.removeprefix("\ufeff").removesuffix("\n").split("\n")


def test_day_without_an_index_has_no_lines(tmp_path: Path) -> None:
    assert Reader(tmp_path).day(DAY).lines == ()


@pytest.mark.parametrize("date", ["", "today", "2026-13-01", "../x", "2026-05-28/x"])
def test_what_is_no_day_is_refused(tmp_path: Path, date: str) -> None:
    with pytest.raises(VaultError, match="YYYY-MM-DD"):
        Reader(tmp_path).day(date)


@given(st.text(max_size=100))
def test_summary_is_read_back_from_the_index(summary: str) -> None:
    """Line breaks and runs of blanks apart; the shown tail reads the same once more."""
    written = tail(summary)
    if written and not written.endswith("…") and len(written) < MAX_TAIL:
        assert tail(read_tail(written)) == written
        [_, entry] = read_lines(f"\n{line(event_path(DAY, 'x'))} — {written}\n")
        assert entry.summary == read_tail(written)


@pytest.mark.parametrize(
    "said", ["plain", "a | b", r"a \| b", "x]] [[y]]", r"\\]]\]", "#tag ](x) `= q`", "|"]
)
def test_disarmed_summaries_are_given_as_they_were(said: str) -> None:
    assert read_tail(tail(said)) == said


# --- which events


def test_open_events_can_be_left_out_or_asked_for(tmp_path: Path) -> None:
    """An event is open if it records turns and was not closed; a person's note never is."""
    event(tmp_path, "a-open")
    event(tmp_path, "b-closed", **CLOSED)
    event(tmp_path, "c-note", thread="")
    assert names(tmp_path) == ["a-open", "b-closed", "c-note"]
    assert names(tmp_path, open=True) == ["a-open"]
    assert names(tmp_path, open=False) == ["b-closed", "c-note"]
    assert [head.open for head in Reader(tmp_path).events()] == [True, False, False]


def test_order_does_not_depend_on_how_long_the_beginning_is(tmp_path: Path) -> None:
    """A first turn behind long sections, or behind long frontmatter, counts as any other."""
    event(tmp_path, "a", at="14:00:00", above="word " * 5000)
    event(tmp_path, "b", at="12:00:00", description="word " * 5000)
    event(tmp_path, "c", at="13:00:00")
    event(tmp_path, "d")
    assert names(tmp_path) == ["b", "c", "a", "d"]


def test_times_of_files_mean_nothing(tmp_path: Path) -> None:
    """B37, B39: an import or a restored backup gives all files times of their own."""
    first = event(tmp_path, "z", "2026-03-01", at="10:00:00")
    event(tmp_path, "y", "2026-03-02", at="11:00:00", inherits=f"[[{first}]]")
    event(tmp_path, "x", "2026-03-02", at="12:00:00")
    for number, path in enumerate(sorted(tmp_path.rglob("*"))):
        os.utime(path, (10**9 - number, 10**9 - number))
    reader = Reader(tmp_path)
    assert [(head.date, head.name) for head in reader.events(since="2026-03-01")] == [
        ("2026-03-01", "z"),
        ("2026-03-02", "y"),
        ("2026-03-02", "x"),
    ]
    assert chain(tmp_path, "z") == ["01 z", "02 y"]


@pytest.mark.parametrize("said", ["[[resource/a.md]]", "#TAG", "café", "cafe\u0301"])
def test_text_is_found_as_it_was_said(tmp_path: Path, said: str) -> None:
    """B64, B70: although it stands disarmed in the note, or in another Unicode form."""
    event(tmp_path, "one", above="> [!user]\n> see [\\[resource/a.md]] \\#tag café")
    event(tmp_path, "two")
    assert names(tmp_path, text=said) == ["one"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes")
async def test_pipe_in_a_note_s_place_is_a_problem(tmp_path: Path) -> None:
    """It would be read for ever."""
    event(tmp_path, "a")
    (tmp_path / "daily" / DAY / "pipe").mkdir()
    os.mkfifo(tmp_path / event_path(DAY, "pipe"))
    reader = Reader(tmp_path)
    assert names(tmp_path) == ["a"]
    assert [problem.path for problem in await reader.aproblems()] == [event_path(DAY, "pipe")]
    assert reader.acknowledged() == [] and reader.changed().new == (event_path(DAY, "a"),)


# --- chains


def chain(vault: Path, ref: str) -> list[str]:
    return [f"{head.date[-2:]} {head.name}" for head in Reader(vault).chain(ref)]


def test_chain_branches_and_goes_on_within_a_day(tmp_path: Path) -> None:
    """After a cap the heir is of the same day; two events may go on from one."""
    first = event(tmp_path, "z", "2026-05-25", at="10:00:00")
    capped = event(tmp_path, "a", "2026-05-25", at="11:00:00", inherits=f"[[{first}]]")
    event(tmp_path, "m", "2026-05-26", at="09:00:00", inherits=f"[[{capped.removesuffix('.md')}|x]]")
    event(tmp_path, "b", "2026-05-26", at="10:00:00", inherits="[[a]]")
    event(tmp_path, "c", "2026-05-27", inherits="[[nothing]]")
    assert chain(tmp_path, "m") == ["25 z", "25 a", "26 m"]
    assert chain(tmp_path, "a") == ["25 z", "25 a", "26 m", "26 b"]


def test_chain_reads_only_what_may_belong_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of earlier days the notes it goes on from, and nothing else."""
    first = event(tmp_path, "first", "2026-05-20")
    event(tmp_path, "last", inherits=f"[[{first}]]")
    for day in range(20, 28):
        event(tmp_path, "other", f"2026-05-{day}")
    seen, read = [], Places.read

    def recording(places: Places, found: Found, size: int = -1) -> bytes:
        seen.append(found.path)
        return read(places, found, size)

    monkeypatch.setattr(Places, "read", recording)
    assert chain(tmp_path, "last") == ["20 first", "28 last"]
    assert set(seen) == {first, event_path(DAY, "last")}


def test_chain_finds_an_heir_whatever_stands_before_the_link(tmp_path: Path) -> None:
    """Long frontmatter hides no `inherits`."""
    first = event(tmp_path, "first", "2026-05-20")
    event(tmp_path, "next", description="word " * 5000, inherits=f"[[{first}]]")
    assert chain(tmp_path, "first") == ["20 first", "28 next"]


def test_chain_of_a_broken_note_is_refused(tmp_path: Path) -> None:
    """B58: it says what is wrong rather than to pretend that nothing goes on from it."""
    put(tmp_path, event_path(DAY, "x"), "---\nbad: [\n---\n")
    with pytest.raises(VaultError, match="repair it"):
        Reader(tmp_path).chain("x")


# --- never writes


def test_reading_writes_nothing(tmp_path: Path) -> None:
    """Every method, on a vault that may not be written: bytes, times and inodes stay."""
    note = event(tmp_path, "a", above="See [[resource/x]] and [[b]].", at="10:00:00")
    event(tmp_path, "b", inherits=f"[[{note}]]")
    put(tmp_path, f"daily/{DAY}.md", f"{line(note)}\n")
    put(tmp_path, "resource/x.md", "x")
    paths = sorted([tmp_path, *tmp_path.rglob("*")])
    for path in paths:
        path.chmod(0o500 if path.is_dir() else 0o400)

    def state() -> list[tuple[object, ...]]:
        found = [(path, path.stat()) for path in sorted([tmp_path, *tmp_path.rglob("*")])]
        return [(p, s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_ino, s.st_mode) for p, s in found]

    before = state()
    reader = Reader(tmp_path)
    assert reader.events(text="see") and reader.event("a") and reader.chain("b") and reader.day(DAY).lines
    assert reader.backlinks("a", quoted=True) and reader.acknowledged() and not reader.problems()
    assert reader.changed(reader.changed().watermark)
    assert state() == before
    for path in paths:
        path.chmod(0o700 if path.is_dir() else 0o600)


def test_reader_needs_neither_the_framework_nor_what_writes() -> None:
    code = (
        "import sys, automemory.vault.reader, automemory.notify\n"
        "print(sorted(m for m in sys.modules if m.startswith(('langchain', 'langgraph')) or m in"
        " {f'automemory.vault.{n}' for n in ('disk', 'commit', 'store', 'state', 'edits')}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

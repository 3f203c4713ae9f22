"""Replay of saved conversations into a real vault, with a decider that does as it is told."""

from __future__ import annotations

import json
import random
import signal
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from saved import SAVED, chat, chatgpt, claude, line, lines, node

from automemory.boundary import BoundaryDecision
from automemory.cli.output import print_report
from automemory.decision import DecisionContext, Exchange, Verdict
from automemory.errors import ImportFailed
from automemory.memory import AutoMemory
from automemory.replay import Progress, ReplayReport, replay, survey
from automemory.replay.importers.conversation import Conversation
from automemory.replay.spool import Spool
from automemory.turn import Message
from automemory.vault.reader import Reader

ZONE = "Asia/Shanghai"


class Scripted:
    """Starts an event where the person says `new: <name>`."""

    async def decide(self, context: DecisionContext) -> Verdict:
        said = context.turn.user
        new = said.startswith("new: ") or context.active is None
        slug = said.removeprefix("new: ").split(".")[0] if new else ""
        return Verdict(BoundaryDecision(continue_=not new, new_event_slug=slug, summary_patch=""), "local")


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return tmp_path / "vault"


def run(vault: Path, *sources: Path, timezone: str = ZONE, **options: Any) -> ReplayReport:
    options.setdefault("date", date(2026, 6, 1))
    decider = options.pop("decider", None) or Scripted()
    with AutoMemory(
        vault, decider=decider, timezone=timezone, durability="os", recent_scope="stream"
    ) as memory:
        return replay(sources, memory, zone=ZoneInfo(timezone), **options)


def talk(*said: str, at: str | None = None, ids: str = "", **around: Any) -> dict[str, Any]:
    """A conversation in which each of the person's words gets an answer; `ids` begins the messages' ids."""
    rows: list[dict[str, Any]] = []
    for words in said:
        rows += [{"role": "user", "content": words}, {"role": "assistant", "content": f"answer to {words}"}]
    for i, row in enumerate(rows):
        row |= {"timestamp": at} if at else {}
        row |= {"id": f"{ids}-message-{i}-abcdef"} if ids else {}
    return {"messages": rows, **around}


def save(path: Path, *conversations: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(c) + "\n" for c in conversations), encoding="utf-8")
    return path


def files(vault: Path) -> dict[str, bytes]:
    return {str(p.relative_to(vault)): p.read_bytes() for p in sorted((vault / "daily").rglob("*.md"))}


def said(vault: Path) -> list[list[str]]:
    """What the person said, event by event in the order of the vault."""
    reader = Reader(vault)
    events = [reader.event(head.path) for head in reader.events()]
    return [[s.text for turn in e.turns for s in turn.steps if s.role == "user"] for e in events]


def said_turns(vault: Path) -> list[str]:
    return [words for event in said(vault) for words in event]


def test_turns_are_filed_under_their_own_day(tmp_path: Path, vault: Path) -> None:
    """B37: three months of history lie in three months of folders, and a second import moves nothing."""
    days = ["2026-03-05", "2026-04-06", "2026-05-07"]
    source = save(tmp_path / "a.jsonl", *(talk(f"topic {d}", at=f"{d}T10:00:00+08:00") for d in days))
    report = run(vault, source)
    assert [head.date for head in Reader(vault).events()] == days
    assert report.outcomes == {"recorded": 3}
    assert report.opened == 3
    before = files(vault)
    again = run(vault, source, date=date(2026, 6, 2))
    assert again.outcomes == {"duplicate": 3}
    assert again.opened == 0
    assert files(vault) == before


def test_a_talk_over_midnight_is_continued_on_the_next_day(tmp_path: Path, vault: Path) -> None:
    """B37: the vault's zone says where a day ends, and the later part inherits."""
    talk1 = talk("first", "second")
    for row, at in zip(talk1["messages"], ("15:50", "15:51", "16:10", "16:11"), strict=True):
        row["timestamp"] = f"2026-03-05T{at}:00Z"
    run(vault, save(tmp_path / "a.jsonl", talk1))
    first, second = Reader(vault).events()
    assert (first.date, second.date) == ("2026-03-05", "2026-03-06")
    assert second.inherits == first.path
    assert (first.closed_by, second.closed_by) == ("day-end", "end")


def test_undated_conversations_go_to_the_declared_day(tmp_path: Path, vault: Path) -> None:
    """B38: with a flag in the report; zero and absurd times count as none."""
    rows = talk("one", "two", "three")
    rows["messages"][0]["timestamp"] = 0
    rows["messages"][2]["timestamp"] = 1.65e15 * 1e9
    report = run(vault, save(tmp_path / "a.jsonl", rows), date=date(2025, 2, 3))
    assert report.sources[0].undated == 1
    assert [head.date for head in Reader(vault).events()] == ["2025-02-03"]


def test_missing_equal_and_backward_times_keep_the_order(tmp_path: Path, vault: Path) -> None:
    """B38: a message without a time has that of the one before it; nothing is sorted within a talk."""
    rows = talk("one", "two", "three", "four", "five")
    times = [None, "2026-03-05T10:00:00+08:00", None, None, 1772675400000, None, "2026-03-05T09:00:00+08:00"]
    for row, at in zip(rows["messages"], [*times, None, None, None], strict=True):
        row["timestamp"] = at
    report = run(vault, save(tmp_path / "a.jsonl", rows))
    assert report.sources[0].undated == 0
    assert said(vault) == [["one", "two", "three", "four", "five"]]
    assert [head.date for head in Reader(vault).events()] == ["2026-03-05"]


def test_conversations_are_taken_by_their_first_time(tmp_path: Path, vault: Path) -> None:
    """B38: over all sources; undated ones come last, in the order of the sources."""
    a = save(
        tmp_path / "a.jsonl",
        talk("c", at="2026-03-05T12:00:00Z"),
        talk("x"),
        talk("a", at="2026-03-05T10:00:00Z"),
    )
    b = save(tmp_path / "b.jsonl", talk("b", at="2026-03-05T19:00:00+08:00"), talk("y"))
    order: list[str] = []

    class Watching(Scripted):
        async def decide(self, context: DecisionContext) -> Verdict:
            order.append(context.turn.user)
            return await super().decide(context)

    with AutoMemory(
        vault, decider=Watching(), timezone=ZONE, durability="os", recent_scope="stream"
    ) as memory:
        replay([a, b], memory, zone=ZoneInfo(ZONE), date=date(2026, 6, 1))
    assert order == ["a", "b", "c", "x", "y"]


def test_each_conversation_is_a_stream_whose_last_event_is_closed(tmp_path: Path, vault: Path) -> None:
    """The stream has the name of the first message; the events before the last were closed by the switch."""
    at = "2026-03-05T10:00:00+08:00"
    source = save(
        tmp_path / "a.jsonl", talk("one", "new: two", at=at, ids="A"), talk("three", at=at, ids="B")
    )
    run(vault, source)
    events = {head.name: head for head in Reader(vault).events()}
    assert {name: (h.thread, h.closed_by) for name, h in events.items()} == {
        "one": ("A-message-0-abcdef", "switch"),
        "two": ("A-message-0-abcdef", "end"),
        "three": ("B-message-0-abcdef", "end"),
    }


@pytest.mark.parametrize("ids", ["", "source"])
def test_a_grown_conversation_adds_only_what_is_new(tmp_path: Path, vault: Path, ids: str) -> None:
    """B54: with ids and without; then a changed title, and fewer messages than before, change nothing."""
    at = "2026-03-05T10:00:00+08:00"
    source = save(tmp_path / "a.jsonl", talk("one", "two", at=at, ids=ids, title="Old"))
    run(vault, source)
    save(source, talk("one", "two", "three", at=at, ids=ids, title="New"))
    report = run(vault, source)
    assert report.outcomes == {"duplicate": 2, "recorded": 1}
    assert said_turns(vault) == ["one", "two", "three"]
    before = files(vault)
    save(source, talk("one", at=at, ids=ids, title="Newer"))
    assert run(vault, source).outcomes == {"duplicate": 1}
    assert files(vault) == before


class Forward(Scripted):
    """Notes what it is shown ahead and what it decides, in order."""

    def __init__(self, raises: bool) -> None:
        self.raises = raises
        self.log: list[str] = []

    def read_ahead(self, turns: Sequence[Exchange]) -> None:
        self.log += [f"ahead {turn.user}" for turn in turns]
        if self.raises:
            raise ValueError("cannot read")

    async def decide(self, context: DecisionContext) -> Verdict:
        self.log.append(context.turn.user)
        return await super().decide(context)


@pytest.mark.parametrize("raises", [False, True])
def test_a_decider_is_shown_what_it_will_decide(tmp_path: Path, vault: Path, raises: bool) -> None:
    """Turns are shown a few at a time before they are decided; those recorded or out of time are not,
    and a decider that cannot read ahead decides all the same."""
    words = [f"turn {n}" for n in range(20)]
    source = save(tmp_path / "a.jsonl", talk(*words[:18], at="2026-03-05T10:00:00Z", ids="s"))
    other = save(tmp_path / "b.jsonl", talk("too late", at="2026-03-09T10:00:00Z"))
    decider = Forward(raises)

    def again() -> list[str]:
        decider.log.clear()
        run(vault, source, other, decider=decider, until=date(2026, 3, 6))
        return decider.log

    first, rest = words[:16], words[16:18]
    assert again() == [f"ahead {w}" for w in first] + first + [f"ahead {w}" for w in rest] + rest
    save(source, talk(*words, at="2026-03-05T10:00:00Z", ids="s"))
    assert again() == [f"ahead {w}" for w in words[18:]] + words[18:]
    assert said_turns(vault) == words


def test_an_answer_that_came_later_is_added_to_its_turn(tmp_path: Path, vault: Path) -> None:
    """B54: the last turn of a conversation that was saved too early is extended, not repeated."""
    whole = talk("one", "two", at="2026-03-05T10:00:00+08:00")
    cut = {"messages": whole["messages"][:3]}
    source = save(tmp_path / "a.jsonl", cut)
    run(vault, source)
    save(source, whole)
    assert run(vault, source).outcomes == {"duplicate": 1, "extended": 1}
    (event,) = [Reader(vault).event(h.path) for h in Reader(vault).events()]
    assert [s.text for s in event.turns[1].steps] == ["two", "answer to two"]


def test_another_zone_duplicates_nothing(tmp_path: Path, vault: Path) -> None:
    """B54: what a turn is known by does not depend on the zone it is read in."""
    source = save(tmp_path / "a.jsonl", talk("one", "two", at="2026-03-05T20:00:00Z"), talk("three"))
    run(vault, source)
    before = files(vault)
    assert run(vault, source, timezone="America/New_York").outcomes == {"duplicate": 3}
    assert files(vault) == before


def test_conversations_that_begin_alike_are_kept_apart(tmp_path: Path, vault: Path) -> None:
    """B54: same first words, or the same words all through, are two talks; importing again finds both."""
    at = "2026-03-05T10:00:00+08:00"
    talks = [
        talk("hi", "new: a", at=at),
        talk("hi", "new: b", at=at),
        talk("hi", at=at),
        talk("hi", "new: a", at=at),
    ]
    source = save(tmp_path / "a.jsonl", *talks)
    assert run(vault, source).outcomes == {"recorded": 7}
    before = files(vault)
    assert run(vault, source).outcomes == {"duplicate": 7}
    assert files(vault) == before
    only_b = save(tmp_path / "b.jsonl", talks[1])
    assert run(vault, only_b).outcomes == {"duplicate": 2}
    assert files(vault) == before


def test_a_talk_that_repeats_its_past_is_the_same_stream(tmp_path: Path, vault: Path) -> None:
    """B54: where the source names the messages, a resumed conversation in another file adds its new turns."""
    at = "2026-03-05T10:00:00+08:00"
    a = save(tmp_path / "a.jsonl", talk("one", "two", at=at, ids="s"))
    b = save(tmp_path / "b.jsonl", talk("one", "two", "three", at=at, ids="s"))
    assert run(vault, a, b).outcomes == {"recorded": 3, "duplicate": 2}
    assert len({head.thread for head in Reader(vault).events()}) == 1


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"just words\n",
        b'{"some": "settings"}',
        b'{"role": "user"\n{"role": "ass\n',
        b'{"messages": [{"role": "system", "content": "x"}]}\n',
    ],
)
def test_a_file_without_turns_fails_before_anything_is_written(
    tmp_path: Path, vault: Path, data: bytes
) -> None:
    """B42, B50: whatever else is given, and the file is named."""
    good = save(tmp_path / "good.jsonl", talk("one"))
    bad = tmp_path / "bad.jsonl"
    bad.write_bytes(data)
    with pytest.raises(ImportFailed, match=r"bad\.jsonl"):
        run(vault, good, bad)
    assert not vault.exists() or not list(vault.rglob("*.md"))


def test_a_missing_file_fails(tmp_path: Path, vault: Path) -> None:
    with pytest.raises(ImportFailed, match=r"nowhere\.jsonl: cannot be read \(No such file"):
        run(vault, tmp_path / "nowhere.jsonl")


def test_bad_records_are_reported_and_the_rest_recorded(tmp_path: Path, vault: Path) -> None:
    """B50: each with its line."""
    source = save(tmp_path / "a.jsonl", talk("one"))
    with source.open("ab") as file:
        file.write(b"\x00\x00\n{broken\n" + json.dumps(talk("two")).encode() + b"\n")
    report = run(vault, source)
    assert report.outcomes == {"recorded": 2}
    assert [bad.position for bad in report.sources[0].bad_records] == ["line 2", "line 3"]
    assert not report.sources[0].cut_short
    assert report.as_dict()["bad"] == 2


def test_a_file_that_is_not_read_to_its_end_is_told_apart(
    tmp_path: Path, vault: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """B50: one bad record more or the rest of the file are not the same loss; the table says which it is."""
    source = tmp_path / "a.json"
    source.write_text(f"[{json.dumps(talk('one'))}, {{]", encoding="utf-8")
    report = run(vault, source)
    assert report.sources[0].cut_short and report.as_dict()["sources"][0]["cut_short"]
    print_report(report)
    assert "\t1 and the rest\n" in capsys.readouterr().out


def test_a_folder_is_read_by_name_and_strange_files_are_skipped(tmp_path: Path, vault: Path) -> None:
    """B42: a file nobody asked for by name may be anything; the report says why it was left out."""
    folder = tmp_path / "saved"
    (folder / "sub").mkdir(parents=True)
    save(folder / "sub" / "b.jsonl", talk("b"))
    save(folder / "a.jsonl", talk("a"))
    save(folder / ".hidden.jsonl", talk("hidden"))
    (folder / "read me.txt").write_text("hello", encoding="utf-8")
    report = run(vault, folder, folder / "a.jsonl")
    assert [(Path(s.path).name, bool(s.skipped)) for s in report.sources] == [
        ("a.jsonl", False),
        ("read me.txt", True),
        ("b.jsonl", False),
    ]
    assert report.outcomes == {"recorded": 2}
    (folder / "a.jsonl").unlink()
    (folder / "sub" / "b.jsonl").unlink()
    with pytest.raises(ImportFailed, match="no turn in any"):
        run(vault, folder)


def test_since_and_until_choose_turns_by_day(tmp_path: Path, vault: Path) -> None:
    """Days are those of the vault's zone, the last one included; nothing in between is an error."""
    talks = [talk(f"day {d}", at=f"2026-03-0{d}T23:30:00Z") for d in range(1, 5)]
    source = save(tmp_path / "a.jsonl", *talks)
    report = run(vault, source, since=date(2026, 3, 3), until=date(2026, 3, 4))
    assert said(vault) == [["day 2"], ["day 3"]]
    assert report.sources[0].outside == 2
    with pytest.raises(ImportFailed, match="none of the 4 turns"):
        run(vault, source, since=date(2030, 1, 1))


def test_ctrl_c_stops_between_turns_and_a_second_run_completes(tmp_path: Path, vault: Path) -> None:
    """An interrupted replay that is run again leaves the vault an uninterrupted one leaves."""
    at = "2026-03-05T10:00:00+08:00"
    source = save(
        tmp_path / "a.jsonl", talk("one", "two", "new: three", "four", at=at), talk("five", "new: six", at=at)
    )
    whole = tmp_path / "whole"
    run(whole, source)

    before = signal.getsignal(signal.SIGINT)
    for stop_after in (1, 3, 4, 6):
        report = run(vault, source, on_progress=interrupt_after(stop_after))
        assert report.interrupted
        said_so_far = ["one", "two", "new: three", "four", "five", "new: six"][:stop_after]
        assert sorted(said_turns(vault)) == sorted(said_so_far)
    assert signal.getsignal(signal.SIGINT) == before
    assert not run(vault, source).interrupted
    assert files(vault) == files(whole)


def interrupt_after(turns: int) -> Callable[[Progress], None]:
    def interrupt(progress: Progress) -> None:
        if progress.phase == "recording" and progress.done == turns:
            signal.raise_signal(signal.SIGINT)

    return interrupt


def test_a_second_ctrl_c_interrupts_at_once(tmp_path: Path, vault: Path) -> None:
    def insist(progress: Progress) -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        run(vault, save(tmp_path / "a.jsonl", talk("one")), on_progress=insist)


def test_progress_counts_bytes_and_then_turns(tmp_path: Path, vault: Path) -> None:
    source = save(tmp_path / "a.jsonl", talk("one", "two"), talk("three"))
    steps: list[Progress] = []
    run(vault, source, on_progress=steps.append)
    assert [s.done for s in steps if s.phase == "recording"] == [1, 2, 3]
    assert {s.total for s in steps if s.phase == "recording"} == {3}
    assert [s.done for s in steps if s.phase == "reading"][-1] == source.stat().st_size


def test_half_a_surrogate_pair_is_recorded_and_read(tmp_path: Path, vault: Path) -> None:
    """B52: in what the person says, in a tool's result and in a title; and only once."""
    odd = talk("a\udc88b", at="2026-03-05T10:00:00+08:00", title="\ud800")
    odd["messages"].append({"role": "tool", "content": "\udfff", "tool_call_id": "c", "name": "t\udc80"})
    source = save(tmp_path / "a.jsonl", odd)
    assert run(vault, source).outcomes == {"recorded": 1}
    assert run(vault, source).outcomes == {"duplicate": 1}
    assert said(vault) == [["a\ufffdb"]]


def test_all_roles_are_recorded_in_order(tmp_path: Path, vault: Path) -> None:
    """B53: unknown roles stand under their own label."""
    rows = [
        ("assistant", "welcome"),
        ("human", "q"),
        ("narrator", "n"),
        ("gpt", "a"),
        ("developer", "hidden"),
    ]
    source = save(tmp_path / "a.jsonl", {"conversations": [{"role": r, "content": c} for r, c in rows]})
    run(vault, source)
    reader = Reader(vault)
    steps = [s for h in reader.events() for t in reader.event(h.path).turns for s in t.steps]
    assert [(s.role, s.text) for s in steps] == [
        ("assistant", "welcome"),
        ("user", "q"),
        ("narrator", "n"),
        ("assistant", "a"),
    ]


def zipped(path: Path, members: dict[str, Any]) -> Path:
    """An archive of JSON files."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in members.items():
            archive.writestr(name, value if isinstance(value, str) else json.dumps(value))
    return path


def test_a_zipped_and_sharded_export_is_read_like_a_file(tmp_path: Path, vault: Path) -> None:
    """B42, B54: by what is in it, whatever its name; the unpacked shards add nothing to it."""
    shards = [
        [chatgpt(node(f"q{i}", "root", "user", f"from shard {i}"), create_time=f"2026-01-0{i}T10:00:00Z")]
        for i in (1, 2)
    ]
    export = zipped(
        tmp_path / "export.bin",
        {
            "conversations-000.json": shards[0],
            "more/conversations-001.json": shards[1],
            "user.json": {"id": "u", "email": "e"},
            "__MACOSX/._user.json": "x",
            "chat.html": "<html>",
        },
    )
    report = run(vault, export)
    assert said(vault) == [["from shard 1"], ["from shard 2"]]
    assert {(Path(s.path).name, s.format) for s in report.sources if not s.skipped} == {
        ("conversations-000.json", "chatgpt"),
        ("conversations-001.json", "chatgpt"),
    }
    assert {Path(s.path).name for s in report.sources if s.skipped} == {"user.json", "chat.html"}
    unpacked = tmp_path / "unpacked"
    unpacked.mkdir()
    for number, shard in enumerate(shards):
        (unpacked / f"c{number}.json").write_text(json.dumps(shard), encoding="utf-8")
    assert run(vault, unpacked).outcomes == {"duplicate": 2}


def test_two_exports_of_the_same_name_are_told_apart(tmp_path: Path, vault: Path) -> None:
    """B42: both ChatGPT and Claude.ai call it `conversations.json`."""
    a = zipped(tmp_path / "a.zip", {"conversations.json": [claude(chat("a", "human", "to Claude"))]})
    b = zipped(tmp_path / "b.zip", {"conversations.json": [chatgpt(node("a", "root", "user", "to ChatGPT"))]})
    assert [s.format for s in run(vault, a, b).sources] == ["claude-ai", "chatgpt"]


def test_an_archive_without_turns_and_a_damaged_one_fail(tmp_path: Path, vault: Path) -> None:
    """B42, B50: before anything is written, whatever else is given."""
    good = save(tmp_path / "good.jsonl", talk("one"))
    useless = zipped(tmp_path / "useless.zip", {"user.json": {"id": 1}})
    damaged = tmp_path / "damaged.zip"
    damaged.write_bytes(zipped(tmp_path / "whole.zip", {"c.json": [talk("one")]}).read_bytes()[:-30])
    empty = zipped(tmp_path / "empty.zip", {})
    for archive, why in ((useless, "no turn in any of 1 files"), (damaged, "damaged"), (empty, "no file")):
        with pytest.raises(ImportFailed, match=f"{archive.name}.*{why}"):
            run(vault, good, archive)
    assert not vault.exists() or not list(vault.rglob("*.md"))


def test_an_archive_that_breaks_off_gives_what_came_before(tmp_path: Path, vault: Path) -> None:
    """B50: a member whose data is damaged further on."""
    noise = random.Random(1)
    talks = [talk("".join(noise.choices("abcdefgh ", k=3000)), note=f"t{i}") for i in range(300)]
    export = zipped(tmp_path / "e.zip", {"c.json": talks})
    data = bytearray(export.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 200] = b"\xff" * 200
    export.write_bytes(data)
    report = survey([export], date=date(2026, 6, 1))
    assert 0 < report.turns < 300
    assert report.sources[0].bad >= 1


def test_resumed_transcripts_are_one_stream_and_the_longest_counts(tmp_path: Path, vault: Path) -> None:
    """B46: two files share their first ten messages, under two projects; each message is recorded once.

    Where the last shared question was answered twice, the longer transcript says how.
    """
    at = {"timestamp": "2026-03-05T10:00:00Z"}
    past = [
        line(f"u{i}", "assistant" if i % 2 else "user", f"said {i}", f"u{i - 1}", **at) for i in range(10)
    ]
    past.append(line("u10", "user", "the last shared question", "u9", **at))
    short = [*past, line("x1", "assistant", "short answer", "u10", **at)]
    long = [
        *past,
        line("y1", "assistant", "long answer", "u10", **at),
        line("y2", "user", "and then?", "y1", **at),
        line("y3", "assistant", "nothing", "y2", **at),
    ]
    orders = []
    for number, names in enumerate([("a", "b"), ("b", "a")]):
        home = tmp_path / f"home{number}"
        for name, records in zip(names, (short, long), strict=True):
            (home / name).mkdir(parents=True)
            (home / name / "s1.jsonl").write_text(lines(*records), encoding="utf-8")
        report = run(tmp_path / f"vault{number}", home)
        assert report.outcomes == {"recorded": 7, "duplicate": 6}
        orders.append(files(tmp_path / f"vault{number}"))
    assert orders[0] == orders[1]
    assert b"long answer" in b"".join(orders[0].values())
    assert b"short answer" not in b"".join(orders[0].values())
    assert len({head.thread for head in Reader(tmp_path / "vault0").events()}) == 1


@pytest.mark.parametrize("name", sorted(SAVED))
def test_every_format_is_imported_once(tmp_path: Path, vault: Path, name: str) -> None:
    """B54: again, in another zone, in an archive, and beside a copy of it where the source has ids."""
    source = tmp_path / "a.data"
    source.write_text(lines(*SAVED[name]), encoding="utf-8")
    assert run(vault, source).outcomes == {"recorded": 1}
    before = files(vault)
    packed = zipped(tmp_path / "a.zip", {"x": source.read_text(encoding="utf-8")})
    for options in ({}, {"timezone": "America/New_York"}, {"date": date(2027, 1, 1)}):
        for again in (source, packed):
            assert run(vault, again, **options).outcomes == {"duplicate": 1}
    assert files(vault) == before
    if name in {"chatgpt", "claude-ai", "claude-code", "codex", "langsmith"}:
        assert run(tmp_path / "other", source, packed).outcomes == {"recorded": 1, "duplicate": 1}


def test_a_survey_reads_everything_and_writes_nothing(tmp_path: Path) -> None:
    """What would be left out is counted as a replay would; a second look finds the same."""
    talks = [talk(f"day {d}", at=f"2026-03-0{d}T10:00:00Z", ids=f"d{d}") for d in range(1, 4)]
    source, again = save(tmp_path / "a.jsonl", *talks, talk("undated")), save(tmp_path / "b.jsonl", talks[2])
    before = sorted(tmp_path.rglob("*"))
    report = survey([source, again], since=date(2026, 3, 2), date=date(2026, 3, 9), zone=ZoneInfo(ZONE))
    assert [(s.turns, s.outside, s.undated, s.outcomes["duplicate"]) for s in report.sources] == [
        (4, 1, 1, 0),
        (1, 0, 0, 1),
    ]
    assert sorted(tmp_path.rglob("*")) == before
    with pytest.raises(ImportFailed, match="none of the 1 turns"):
        survey([again], until=date(2020, 1, 1))


def test_what_is_left_out_is_reported_with_the_reason(tmp_path: Path, vault: Path) -> None:
    """B44, B48: and where nothing else is in a file, that is the reason why it fails."""
    machine = line("m", "user", "note", isMeta=True)
    source = tmp_path / "a.jsonl"
    source.write_text(
        lines(line("a", "user", "Hello"), machine, {"type": "new", "sessionId": "s"}), encoding="utf-8"
    )
    assert run(vault, source).as_dict()["sources"][0]["left_out"] == {
        "lines that the host wrote": 1,
        "records of an unknown kind (new)": 1,
    }
    source.write_text(lines(machine), encoding="utf-8")
    with pytest.raises(ImportFailed, match=r"no turn read as claude-code .*lines that the host wrote: 1"):
        run(vault, source)


def test_progress_goes_through_all_files(tmp_path: Path) -> None:
    """Bytes of all files together, also within a file that is one long conversation."""
    a = save(tmp_path / "a.jsonl", *({"role": "user", "content": "x" * 1000} for _ in range(2000)))
    b = zipped(tmp_path / "b.zip", {"c.json": [talk("one")]})
    steps: list[Progress] = []
    survey([a, b], on_progress=steps.append)
    total = steps[-1].total
    assert {step.total for step in steps} == {total}
    assert total > a.stat().st_size
    assert any(0 < step.done < a.stat().st_size for step in steps)


def test_ctrl_c_while_reading_records_nothing(tmp_path: Path, vault: Path) -> None:
    source = save(tmp_path / "a.jsonl", talk("one"))
    report = run(vault, source, on_progress=lambda progress: signal.raise_signal(signal.SIGINT))
    assert report.interrupted
    assert not report.outcomes


def test_a_long_conversation_is_recorded_like_a_short_one(
    tmp_path: Path, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What of it waits on disk makes no difference."""
    source = save(tmp_path / "a.jsonl", talk(*map(str, range(40)), at="2026-03-05T10:00:00Z", ids="s"))
    run(tmp_path / "whole", source)
    monkeypatch.setattr("automemory.replay.importers.spill._COST", 5_000_000)
    assert run(vault, source).outcomes == {"recorded": 40}
    assert files(vault) == files(tmp_path / "whole")


def test_the_spool_gives_back_what_it_got_in_any_order() -> None:
    talks = [Conversation(f"c{i}", (Message("user", f"said {i}"),), f"line {i}") for i in range(5)]
    with Spool() as spool:
        places = [spool.put(talk) for talk in talks]
        assert [spool.get(place) for place in reversed(places)] == talks[::-1]
        assert spool.put(replace(talks[0], title="more")) > places[-1]

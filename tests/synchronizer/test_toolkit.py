"""What the synchronizer's tools write: notes are merged, never taken as they come; nothing is lost."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from automemory.errors import ConfigError, VaultError
from automemory.memory import AutoMemory
from automemory.synchronizer.toolkit import SectionPatch, ToolRefused, VaultToolkit
from automemory.vault.sections import parse
from automemory.vault.store import Store

NOW = datetime(2026, 5, 28, 14, 5, tzinfo=UTC)
TODAY, EARLIER = "daily/2026-05-28", "daily/2026-05-26"
NOTE = f"{TODAY}/fix-login/fix-login.md"
Open = Callable[..., VaultToolkit]
Files = Callable[[], dict[str, str]]
FIRST = (
    "---\ntitle: Fix the login\ndescription: It loops.\nstatus: active\n---\n\n"
    "## Objective\nStop the loop.\n\n"
    "## Plan\n1. look\n2. mend\n\n## Progress\n- Looked at it\n\n"
    "## Findings\n- The domain is wrong\n\n"
    "## Decisions\n- Mend the domain, since it is simple\n\n## Next\n- [ ] mend\n"
)


@pytest.fixture
def open_kit(vault: Path) -> Iterator[Open]:
    """Opens toolkits over the test's vault, at five past two on 2026-05-28 (UTC)."""
    store = Store(vault, sync=False)

    def open_one(now: datetime = NOW, **options: Any) -> VaultToolkit:
        return VaultToolkit(vault, store=store, timezone="UTC", clock=lambda: now, **options)

    yield open_one
    store.close()


def put(vault: Path, path: str, text: str | bytes) -> Path:
    place = vault / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(text.encode() if isinstance(text, str) else text)
    return place


def event(
    name: str, day: str, *, title: str = "", status: str = "active", extra: str = "", body: str = ""
) -> str:
    title = title or name.replace("-", " ")
    return (
        f"---\nname: {name}\ntitle: {title}\ndescription: Of old.\nstatus: {status}\n"
        f"created: {day}\nupdated: {day}\n{extra}---\n\n{body}## Turns\n"
    )


def test_a_new_note_is_a_workspace(open_kit: Open, files: Files) -> None:
    """4.2: no `thread`, so that no stream takes it for its active event; an index line; progress is dated."""
    kit = open_kit()
    told = kit.write(NOTE, FIRST)
    assert told.startswith(f"created {NOTE}")
    assert files() == {
        "daily/2026-05-28.md": f"# 2026-05-28\n\n## Events\n- [[{NOTE}|fix-login]]\n",
        NOTE: (
            "---\nname: fix-login\ntitle: Fix the login\ndescription: It loops.\nstatus: active\n"
            "created: 2026-05-28\nupdated: 2026-05-28\n---\n\n"
            + FIRST.partition("---\n\n")[2].replace("- Looked", "- 2026-05-28 14:05 Looked")
        ),
    }
    record = kit.records[0]
    assert (record.tool, record.ok, record.path, record.how) == ("write", True, NOTE, "created")
    assert kit.workspace == f"{TODAY}/fix-login/"


def test_a_note_written_whole_is_merged(open_kit: Open, vault: Path) -> None:
    """B78: overwriting with only the new part loses nothing; Plan and Next are replaced, Objective stays."""
    kit = open_kit()
    kit.write(NOTE, FIRST)
    kit.write(
        NOTE, "## Objective\nOther.\n\n## Plan\nNew.\n\n## Progress\n- Mended it\n\n## Next\n- [x] mend", True
    )
    found = parse((vault / NOTE).read_text("utf-8"))
    assert found["Objective"] == "Stop the loop."
    assert found["Plan"] == "New."
    assert found["Progress"] == "- 2026-05-28 14:05 Looked at it\n- 2026-05-28 14:05 Mended it"
    assert found["Findings"] == "- The domain is wrong"
    assert found["Next"] == "- [x] mend"
    assert kit.records[-1].how == "updated"


def test_a_change_of_scope_changes_the_objective(open_kit: Open, vault: Path) -> None:
    kit = open_kit()
    kit.write(NOTE, FIRST)
    kit.write(NOTE, "## Objective\nReplace the login.", True, scope_changed=True)
    assert parse((vault / NOTE).read_text("utf-8"))["Objective"] == "Replace the login."


def test_a_note_that_is_there_is_not_written_by_accident(open_kit: Open, files: Files) -> None:
    """The model takes it for new: it is told to read it first; nothing changes."""
    open_kit().write(NOTE, FIRST)
    before = files()
    with pytest.raises(ToolRefused, match="overwrite=true, which merges"):
        open_kit().write(NOTE, "## Plan\nAnother")
    assert files() == before


def test_the_same_again_later_adds_nothing(open_kit: Open, files: Files) -> None:
    """Progress without a time is known by its words: a run that is repeated does not double it."""
    open_kit().write(NOTE, FIRST)
    before = files()
    open_kit(NOW + timedelta(hours=2)).write(NOTE, FIRST, True)
    open_kit(NOW + timedelta(hours=2)).write(NOTE, before[NOTE], True)
    assert files() == before


def test_turns_cannot_be_changed(open_memory: Callable[..., AutoMemory], open_kit: Open, vault: Path) -> None:
    """4.2: what a model writes below `## Turns`, or of a turn's markers, changes no byte there."""
    memory = open_memory("fix login")
    path = memory.record([{"role": "user", "content": "Fix it", "timestamp": NOW.isoformat()}]).event.path
    before = (vault / path).read_bytes()
    whole = before.decode().replace("> Fix it", "> Never said") + "\n## Plan\nB\n"
    open_kit().write(
        path, whole.replace("## Turns", "## Findings\n- ## Turns\n- <!-- /turn x -->\n\n## Turns"), True
    )
    after = (vault / path).read_bytes()
    assert after.endswith(before[before.index(b"## Turns") :])
    assert b"- \\## Turns\n" in after and b"\\<!-- /turn" in after
    assert b"thread: main" in after
    memory.record([{"role": "user", "content": "And now?", "timestamp": NOW.isoformat()}])
    assert len((vault / path).read_bytes()) > len(after)


@pytest.mark.parametrize(("slug", "title"), [("fix-login", ""), ("something-else", "Fix the login")])
def test_a_task_of_an_earlier_day_is_inherited(open_kit: Open, vault: Path, slug: str, title: str) -> None:
    """2.5, decided by code: its slug or title is that of an active event; Objective and Plan are copied."""
    old = event(
        "fix-login",
        "2026-05-26",
        title="Fix the login",
        body="## Objective\nOld goal\n\n## Plan\nOld plan\n\n## Findings\n- x\n\n",
    )
    source = put(vault, f"{EARLIER}/fix-login/fix-login.md", old)
    kit = open_kit()
    kit.write(f"{TODAY}/{slug}/{slug}.md", f"---\ntitle: {title or 'Mend'}\n---\n## Plan\nNew plan\n")
    text = (vault / f"{TODAY}/{slug}/{slug}.md").read_text("utf-8")
    assert 'inherits: "[[daily/2026-05-26/fix-login/fix-login.md]]"' in text
    assert "Continues [[daily/2026-05-26/fix-login/fix-login.md|fix-login]]." in text
    assert parse(text) == {"Objective": "Old goal", "Plan": "New plan"}
    assert kit.records[0].how == "inherited"
    assert source.read_text("utf-8") == old


@pytest.mark.parametrize(
    ("day", "options"),
    [("2026-05-26", {"status": "completed"}), ("2026-05-20", {}), ("2026-05-26", {"extra": "agent: ada\n"})],
)
def test_what_is_done_old_or_anothers_is_not_inherited(
    open_kit: Open, vault: Path, day: str, options: dict[str, str]
) -> None:
    put(vault, f"daily/{day}/fix-login/fix-login.md", event("fix-login", day, **options))
    kit = open_kit()
    kit.write(NOTE, FIRST)
    assert kit.records[0].how == "created"
    assert "inherits" not in (vault / NOTE).read_text("utf-8")


def test_a_second_note_of_the_day_for_a_task_is_refused(open_kit: Open) -> None:
    """An unstable slug does not part a task in two."""
    open_kit().write(NOTE, FIRST)
    with pytest.raises(ToolRefused, match=f"'{NOTE}' is today's note"):
        open_kit().write(f"{TODAY}/login/login.md", "---\ntitle: Fix the Login\n---\n## Plan\nB\n")


def test_frontmatter_counts_for_title_description_and_status(open_kit: Open, vault: Path) -> None:
    """4.2: whatever else a model writes there is not taken; what a person wrote there stays."""
    kit = open_kit()
    kit.write(NOTE, FIRST)
    text = (vault / NOTE).read_text("utf-8")
    (vault / NOTE).write_text(text.replace("status:", "rating: '5' # mine\nstatus:"), "utf-8")
    kit.write(
        NOTE,
        "---\nname: x\nthread: main\nclosed: now\ncreated: 2000-01-01\ntitle: Fix: it\n"
        "status: Completed\n---\n",
        True,
    )
    head = (vault / NOTE).read_text("utf-8").partition("\n---\n")[0]
    assert head == (
        '---\nname: fix-login\ntitle: "Fix: it"\ndescription: It loops.\n'
        "rating: '5' # mine\nstatus: completed\ncreated: 2026-05-28\nupdated: 2026-05-28"
    )


def test_a_note_in_a_fence_and_with_unknown_sections(open_kit: Open, vault: Path) -> None:
    """Models wrap files in fences and invent headings: the first is taken off, the second is told."""
    told = open_kit().write(NOTE, "```markdown\n# My title\n\n## plan:\nA\n\n## Summary\nB\n```\n")
    assert "left out, since no sections of a summary note: Summary" in told
    assert parse((vault / NOTE).read_text("utf-8")) == {"Plan": "A"}
    assert "title: My title" in (vault / NOTE).read_text("utf-8")


def test_links_are_live_only_where_they_resolve(open_kit: Open, vault: Path) -> None:
    put(vault, "resource/r.md", "x")
    open_kit().write(
        NOTE, "## Plan\nSee [[resource/r.md]], [[nowhere]] and #tag.\n\n## Findings\n- [[resource/r]]\n"
    )
    found = parse((vault / NOTE).read_text("utf-8"))
    assert found == {
        "Plan": "See [[resource/r.md]], [\\[nowhere]] and \\#tag.",
        "Findings": "- [[resource/r]]",
    }


def test_files_of_the_folder_are_named_at_every_write(open_kit: Open, vault: Path) -> None:
    """4.1: files of any type that an agent or a person put there, and none of what is no material."""
    folder = f"{TODAY}/fix-login"
    put(vault, f"{folder}/trace.md", "no\n# Stack trace #1\n")
    put(vault, f"{folder}/my report [1].pdf", b"x" * 1500)
    put(vault, f"{folder}/logs/run.log", "x")
    for name in (
        ".hidden",
        "x.tmp",
        "~$a.docx",
        "turns.md",
        "progress.md",
        "fix-login.sync-conflict-20260528.md",
        "fix-login 2.md",
    ):
        put(vault, f"{folder}/{name}", "x")
    kit = open_kit()
    kit.write(NOTE, "## Materials\n- [[trace]] — what it threw\n- [[made-up]] — a lie\n")
    lines = [
        "- [logs/run.log](logs/run.log) — LOG, 1 B",
        "- [my report (1).pdf](my%20report%20%5B1%5D.pdf) — PDF, 1.5 kB",
        f"- [[{folder}/trace.md|trace]] — what it threw",
    ]
    assert parse((vault / NOTE).read_text("utf-8"))["Materials"].split("\n") == lines
    assert "no such file: [[made-up]]" in kit.records[0].result
    put(vault, f"{folder}/later.csv", "a,b")
    kit.write(NOTE, "## Plan\nB", True)
    assert parse((vault / NOTE).read_text("utf-8"))["Materials"].split("\n") == [
        *lines,
        "- [later.csv](later.csv) — CSV, 3 B",
    ]


def test_a_person_names_a_material_in_their_own_way(open_kit: Open, vault: Path) -> None:
    """B80: a short link, or one without description, is that file's entry; it is not added a second time."""
    kit = open_kit()
    put(vault, f"{TODAY}/fix-login/trace.md", "# Trace\n")
    put(vault, f"{TODAY}/fix-login/a.png", b"x")
    put(
        vault,
        NOTE,
        event("fix-login", "2026-05-28", body="## Materials\n* [[trace]]\n* see [a](./a.png)!\n\n"),
    )
    before = (vault / NOTE).read_bytes()
    kit.write(NOTE, "## Objective\nX", True)
    assert parse((vault / NOTE).read_text("utf-8"))["Materials"] == "* [[trace]]\n* see [a](./a.png)!"
    assert before.endswith(b"## Turns\n") and (vault / NOTE).read_bytes().endswith(b"## Turns\n")


def test_a_material_never_overwrites(open_kit: Open, vault: Path, files: Files) -> None:
    """B78: a taken name gets a number, also with overwrite; the same text again is the same file."""
    kit = open_kit()
    kit.write(NOTE, "## Plan\nA\n\n## Materials\n- [[auth-error.md]] — the first error\n")
    material = f"{TODAY}/fix-login/auth-error.md"
    kit.write(material, "# Auth error\n\nboom")
    kit.write(material, "# Auth error\n\nboom", True)
    told = kit.write(material, "other", True)
    assert "auth-error-2.md (auth-error.md was taken)" in told
    assert files()[material] == "# Auth error\n\nboom\n"
    assert files()[material.replace(".md", "-2.md")] == "other\n"
    assert parse(files()[NOTE])["Materials"].split("\n") == [
        f"- [[{material}|auth-error]] — the first error",
        f"- [[{material.replace('.md', '-2.md')}|auth-error-2]] — other (Markdown, 6 B)",
    ]
    assert [record.how for record in kit.records] == ["created", "material", "material", "material"]


def test_a_material_is_safe_markdown(open_kit: Open, files: Files) -> None:
    """Code and headings as written; no frontmatter, no link that leads nowhere, nothing that runs."""
    kit = open_kit()
    kit.write(NOTE, "## Plan\nA")
    kit.write(
        f"{TODAY}/fix-login/x.md",
        "---\nthread: main\n---\n# T\n```py\n[[x]]\n```\n[[x]]\n```dataviewjs\nx\n```",
    )
    text = files()[f"{TODAY}/fix-login/x.md"]
    assert text == "\\---\nthread: main\n\\---\n# T\n```py\n[[x]]\n```\n\\[\\[x]]\n```\\dataviewjs\nx\n```\n"


@pytest.mark.parametrize(
    ("path", "match"),
    [
        ("daily/2026-05-28.md", "day index"),
        ("daily/2026-05-28/x.md", "fix-login/fix-login.md"),
        ("daily/notes.md", "workspace"),
        ("resource/r.md", "outside daily"),
        (f"{TODAY}/fix-login/sub/x.md", "workspace"),
        (f"{TODAY}/fix-login/x.pdf", "Markdown"),
        (f"{TODAY}/fix-login/turns.md", "descriptive"),
        (f"{TODAY}/other/other.md", "not this run's workspace"),
        (f"{EARLIER}/old/old.md", "not this run's workspace"),
        ("daily/2026-13-40/x/x.md", "workspace"),
    ],
)
def test_what_is_no_file_of_the_workspace_is_not_written(
    open_kit: Open, vault: Path, files: Files, path: str, match: str
) -> None:
    """4.2: the refusal says what to do instead, and is recorded."""
    put(vault, f"{EARLIER}/old/old.md", event("old", "2026-05-26"))
    kit = open_kit()
    kit.write(NOTE, FIRST)
    before = files()
    with pytest.raises(ToolRefused, match=match):
        kit.write(path, "## Plan\nX", True)
    assert files() == before
    assert not kit.records[-1].ok and re.search(match, kit.records[-1].result)


def test_other_days_are_not_written(open_kit: Open, vault: Path, files: Files) -> None:
    """Unconfined, only folders of today in the vault's zone."""
    path = put(vault, f"{EARLIER}/old/old.md", event("old", "2026-05-26")).relative_to(vault).as_posix()
    before = files()
    for kit in (open_kit(), open_kit(NOW + timedelta(days=1))):
        with pytest.raises(ToolRefused, match="of another day"):
            kit.write(path, "## Plan\nX", True)
        with pytest.raises(ToolRefused, match="of another day"):
            kit.property_update(path, status="completed")
    assert files() == before


def test_a_confined_run_writes_its_folder_only(open_kit: Open, vault: Path) -> None:
    """Also one of an earlier day, which is what its host gave."""
    path = f"{EARLIER}/old/old.md"
    put(vault, path, event("old", "2026-05-26", extra="thread: main\n"))
    kit = open_kit(workspace=f"{EARLIER}/old/")
    with pytest.raises(ToolRefused, match="not this run's workspace"):
        kit.write(NOTE, FIRST)
    kit.write(path, "## Plan\nX", True)
    assert parse((vault / path).read_text("utf-8"))["Plan"] == "X"
    assert "updated: 2026-05-26" in (vault / path).read_text("utf-8")
    kit.renew()
    assert kit.records == () and kit.workspace == ""
    kit.write(NOTE, FIRST)


@pytest.mark.parametrize("workspace", ["x", "daily/x/y/", "daily/2026-05-28/", "daily/2026-05-28/../x"])
def test_a_workspace_that_is_none_is_a_wrong_argument(open_kit: Open, workspace: str) -> None:
    with pytest.raises(ConfigError, match="daily/<date>/<name>/"):
        open_kit(workspace=workspace)


def test_the_model_proposes_a_name_and_code_disposes(open_kit: Open, vault: Path) -> None:
    """1.2: a folder that is not there yet gets a slug, with the agent's prefix."""
    kit = open_kit(agent_id="ada")
    kit.write(f"{TODAY}/Fix the Login!/Fix the Login!.md", "## Plan\nA")
    path = f"{TODAY}/ada_fix-the-login/ada_fix-the-login.md"
    assert kit.records[0].path == path
    assert "agent: ada" in (vault / path).read_text("utf-8")
    kit.write(f"{TODAY}/fix-the-login/fix-the-login.md", "## Plan\nB", True)
    assert kit.records[1].path == path


def test_other_agents_events_are_refused(open_kit: Open, vault: Path, files: Files) -> None:
    """1.1: an agent never writes into another agent's event, nor into one of nobody's."""
    put(vault, f"{TODAY}/bob_x/bob_x.md", event("bob_x", "2026-05-28", extra="agent: bob\n"))
    put(vault, f"{TODAY}/y/y.md", event("y", "2026-05-28"))
    before = files()
    for agent, path in (("ada", "bob_x/bob_x"), ("ada", "y/y"), (None, "bob_x/bob_x")):
        kit = open_kit(agent_id=agent)
        with pytest.raises(ToolRefused, match="belongs to"):
            kit.write(f"{TODAY}/{path}.md", "## Plan\nX", True)
        with pytest.raises(ToolRefused, match="belongs to"):
            kit.property_update(f"{TODAY}/{path}.md", status="completed")
        with pytest.raises(ToolRefused, match="belongs to"):
            kit.write(f"{TODAY}/{path.partition('/')[0]}/z.md", "text")
    assert files() == before


def test_property_update_changes_the_named_lines_only(open_kit: Open, vault: Path) -> None:
    """B58, B60: every other byte stays, CRLF and byte order mark too."""
    text = "\ufeff" + event("fix-login", "2026-05-28", extra="# mine\nodd:   'x'\n").replace("\n", "\r\n")
    put(vault, NOTE, text)
    kit = open_kit()
    kit.property_update(NOTE, status="completed", title="New: title")
    expected = text.replace("status: active", "status: completed").replace(
        "title: fix login", 'title: "New: title"'
    )
    assert (vault / NOTE).read_bytes().decode() == expected
    assert kit.records[0].tool == "property:update"
    assert kit.property_read(NOTE)["status"] == "completed"
    kit.property_update(NOTE, status="active", priority="high")
    assert "priority: high\r\n" in (vault / NOTE).read_bytes().decode()
    kit.write(NOTE, "## Plan\nA", True)


@pytest.mark.parametrize(
    ("fields", "match"),
    [
        *(({key: "x"}, "kept by itself") for key in ("name", "created", "updated", "thread", "agent")),
        *(({key: "x"}, "kept by itself") for key in ("inherits", "closed", "closed_by", "summary_by")),
        ({"status": "done"}, "'active', or 'completed'"),
        ({"title": " "}, "empty"),
        ({"x": None}, "nothing can be removed"),
        ({"tags": "a"}, "holds a list"),
        ({"a: b\nc": "x"}, "no name for a field"),
        ({}, "no field is given"),
    ],
)  # fmt: skip
def test_fields_that_are_not_the_models(
    open_kit: Open, vault: Path, files: Files, fields: dict[str, Any], match: str
) -> None:
    put(vault, NOTE, event("fix-login", "2026-05-28", extra="tags: [a, b]\n"))
    before = files()
    with pytest.raises(ToolRefused, match=match):
        open_kit().property_update(NOTE, **fields)
    assert files() == before


@pytest.mark.parametrize("head", ["name: [x", "- a\n- b", "a: 1\na: 2"])
def test_broken_frontmatter(open_kit: Open, vault: Path, head: str) -> None:
    """B58: fields are refused with a clear error, sections still merge, no second block appears."""
    put(vault, NOTE, f"---\n{head}\n---\n\nMine.\n")
    kit = open_kit()
    for call in (lambda: kit.property_update(NOTE, status="active"), lambda: kit.property_read(NOTE)):
        with pytest.raises(ToolRefused, match="is broken"):
            call()
    assert "frontmatter stays as it is" in kit.write(NOTE, "---\ntitle: X\n---\n## Plan\nA", True)
    assert (vault / NOTE).read_text("utf-8") == f"---\n{head}\n---\n\nMine.\n\n## Plan\nA\n"


def test_a_closed_events_description_is_final(open_kit: Open, vault: Path) -> None:
    """4.3: the close writes last; its line in the day index stays true."""
    extra = "thread: main\nclosed: 2026-05-28T10:00:00+00:00\nclosed_by: switch\n"
    put(vault, NOTE, event("fix-login", "2026-05-28", extra=extra))
    kit = open_kit()
    assert "final" in kit.write(NOTE, "---\ndescription: New.\n---\n## Plan\nA", True)
    with pytest.raises(ToolRefused, match="final"):
        kit.property_update(NOTE, description="New.")
    assert "description: Of old." in (vault / NOTE).read_text("utf-8")


def test_secrets_are_masked_in_what_is_written_and_shown(open_kit: Open, vault: Path, files: Files) -> None:
    """B73: in the note, its fields, materials, what a model reads, and the records."""
    key = "sk-proj-abcdefghijklmnopqrstuvwx123456"
    put(vault, "resource/r.md", f"---\nk: {key}\n---\nkey {key}\n")
    kit = open_kit(redact=lambda text: text.replace("Rumpel", "[name]"))
    kit.write(NOTE, f"---\ntitle: With {key}\n---\n## Findings\n- {key} of Rumpel\n")
    kit.write(f"{TODAY}/fix-login/m.md", f"{key} Rumpel")
    kit.property_update(NOTE, note=f"{key} Rumpel")
    shown = [kit.read("resource/r.md"), str(kit.property_read("resource/r.md")), str(kit.records)]
    with pytest.raises(ToolRefused, match="holds a secret"):
        kit.write(f"{TODAY}/fix-login/{key}.md", "text")
    with pytest.raises(VaultError) as refused:
        kit.read(f"../{key}")
    texts = [*shown, str(refused.value), *(text for path, text in files().items() if "resource" not in path)]
    assert not any(key in text or "Rumpel" in text for text in texts)


def test_reads_and_lists_are_bounded(open_kit: Open, vault: Path) -> None:
    """A long file is cut and says so; a binary one is named; a full folder is cut."""
    put(vault, "resource/long.md", "words " * 50_000)
    put(vault, "resource/x.png", b"\x89PNG\0\0")
    for number in range(300):
        put(vault, f"resource/many/{number}.md", "x")
    kit = open_kit()
    text = kit.read("resource/long.md")
    assert len(text) < 21_000 and "300000 bytes long" in text
    with pytest.raises(ToolRefused, match=r"image/png, 6 bytes"):
        kit.read("resource/x.png")
    assert len(kit.list("resource/many")) == 201
    assert kit.list("resource") == ["resource/long.md", "resource/many/", "resource/x.png"]
    assert kit.stat("resource/x.png")["size"] == 6
    assert kit.stat("resource/none") == {"path": "resource/none", "kind": "nothing"}
    assert all(len(record.result) <= 200 for record in kit.records)


def test_floods_are_cut(open_kit: Open, vault: Path) -> None:
    told = open_kit().write(NOTE, "## Plan\n" + "words " * 100_000)
    assert "cut at 40000 characters" in told
    assert (vault / NOTE).stat().st_size < 50_000


def test_a_patch_is_written_by_the_same_way(open_kit: Open, vault: Path) -> None:
    """4.2: strategy "patch" has the same merging, guards and records."""
    kit = open_kit()
    patch = SectionPatch("Fix the login", "It loops.", "", {"Progress": "Looked", "Turns": "x"})
    record = kit.apply_patch(patch)
    assert (record.tool, record.how, record.path) == (
        "write",
        "created",
        f"{TODAY}/fix-the-login/fix-the-login.md",
    )
    again = kit.apply_patch(SectionPatch("Fix the login", sections={"Progress": "Mended"}), kit.workspace)
    assert again.how == "updated"
    assert parse((vault / record.path).read_text("utf-8"))["Progress"].count("\n") == 1
    assert open_kit().apply_patch(SectionPatch("fix the LOGIN", sections={"Plan": "x"})).path == record.path
    with pytest.raises(ToolRefused, match="there is nothing in it"):
        kit.apply_patch(SectionPatch(sections={"Plan": "  "}), kit.workspace)


async def test_async_twins(open_kit: Open) -> None:
    kit = open_kit()
    assert (await kit.awrite(NOTE, FIRST)).startswith("created")
    await kit.aproperty_update(NOTE, status="completed")
    assert (await kit.aproperty_read(NOTE))["status"] == "completed"
    assert "## Plan" in await kit.aread(NOTE)
    assert (await kit.astat(NOTE))["kind"] == "file"
    assert await kit.alist("daily") == ["daily/2026-05-28/", "daily/2026-05-28.md"]
    assert (await kit.aapply_patch(SectionPatch(sections={"Plan": "B"}))).how == "updated"


def test_the_vaults_zone_says_what_today_is(vault: Path) -> None:
    kit = VaultToolkit(
        vault, timezone="Asia/Shanghai", clock=lambda: datetime(2026, 5, 28, 20, 0, tzinfo=UTC)
    )
    kit.write("daily/2026-05-29/x/x.md", "## Progress\n- a\n- 09:30 b\n- 2026-05-28 11:00 c\n")
    lines = parse((vault / "daily/2026-05-29/x/x.md").read_text("utf-8"))["Progress"]
    assert lines == "- 2026-05-29 04:00 a\n- 2026-05-29 09:30 b\n- 2026-05-28 11:00 c"

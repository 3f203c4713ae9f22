"""Paths that a model chooses: none leads out of the vault, harmless names work, and no refusal ends a run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool

from automemory.errors import VaultError
from automemory.synchronizer.toolkit import VaultToolkit
from automemory.vault.store import Store

NOW = datetime(2026, 5, 28, 14, 5, tzinfo=UTC)
TODAY = "daily/2026-05-28"
TOOLS = ["list", "stat", "read", "write", "property_read", "property_update"]
ESCAPES = [
    "../x",
    "daily/../../x",
    f"{TODAY}/../../../x",
    "/etc/passwd",
    "//server/share",
    "C:\\x",
    "C:/x",
    "D:x",
    "~",
    "~/x",
    "%2e%2e/x",
    "daily/%2e%2e%2f%2e%2e/x",
    "%252e%252e/x",
    "daily\\..\\..\\x",
    "daily/x\0.md",
    "daily/.. /x",
    "daily/.../x",
    ".automemory/state.db",
    "daily/.hidden/x.md",
    ".obsidian/app.json",
    "\ud800.md",
    "x" * 5_000,
]


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    place = tmp_path / "outside"
    place.mkdir()
    (place / "secret.md").write_text("---\nk: secret\n---\nsecret", "utf-8")
    return place


@pytest.fixture
def kit(vault: Path) -> Iterator[VaultToolkit]:
    store = Store(vault, sync=False)
    yield VaultToolkit(vault, store=store, timezone="UTC", clock=lambda: NOW)
    store.close()


def call(kit: VaultToolkit, tool: str, path: Any) -> Any:
    extra: dict[str, Any] = {
        "write": {"content": "## Plan\nX", "overwrite": True},
        "property_update": {"status": "active"},
    }
    return getattr(kit, tool)(path, **extra.get(tool, {}))


def everything(folder: Path) -> dict[str, bytes]:
    found = (p for p in sorted(folder.rglob("*")) if p.is_file() and ".automemory" not in p.parts)
    return {str(p): p.read_bytes() for p in found}


@pytest.mark.parametrize("path", ESCAPES)
def test_no_path_leads_out(kit: VaultToolkit, outside: Path, path: str) -> None:
    """B71: refused with a sentence, recorded, and nothing is made anywhere; by each of the six tools."""
    before = everything(outside.parent)
    for tool in TOOLS:
        with pytest.raises(VaultError, match=r"\w+: \w+|relative"):
            call(kit, tool, path)
        record = kit.records[-1]
        assert not record.ok and record.tool.replace(":", "_") == tool
        assert all(len(str(value)) < 200 for value in record.arguments.values())
    assert everything(outside.parent) == before


@pytest.mark.parametrize("path", [None, 3, ["daily"], {"a": 1}])
def test_a_path_that_is_no_text(kit: VaultToolkit, path: Any) -> None:
    for tool in TOOLS:
        with pytest.raises(VaultError, match="no text"):
            call(kit, tool, path)


@pytest.mark.parametrize("tool", ["read", "write", "property_read", "property_update", "stat", "list"])
def test_no_link_leads_out(kit: VaultToolkit, vault: Path, outside: Path, tool: str) -> None:
    """B71: symbolic links out of the vault or into its hidden folders are not followed, nor listed."""
    kit.write(f"{TODAY}/x/x.md", "## Plan\nA")
    folder = vault / TODAY / "x"
    (folder / "out.md").symlink_to(outside / "secret.md")
    (folder / "away").symlink_to(outside)
    (folder / "home").symlink_to(vault / ".automemory")
    (vault / TODAY / "y").symlink_to(outside)
    before = everything(outside)
    for name in ("x/out.md", "x/away/secret.md", "x/home/state.db", "y/y.md"):
        with pytest.raises(VaultError):
            call(kit, tool, f"{TODAY}/{name}")
    assert everything(outside) == before
    assert kit.list(f"{TODAY}/x") == [f"{TODAY}/x/home/", f"{TODAY}/x/x.md"]
    assert "secret" not in kit.write(f"{TODAY}/x/x.md", "## Plan\nB", True) + (folder / "x.md").read_text(
        "utf-8"
    )


def test_a_link_inside_the_vault_is_no_way_round_the_guards(kit: VaultToolkit, vault: Path) -> None:
    """A place is judged by where it is, not by how it is called."""
    kit.write(f"{TODAY}/x/x.md", "## Plan\nA")
    (vault / "resource").mkdir()
    (vault / TODAY / "r").symlink_to(vault / "resource")
    (vault / TODAY / "x" / "up.md").symlink_to(vault / "daily/2026-05-28.md")
    for path in (f"{TODAY}/r/r.md", f"{TODAY}/x/up.md"):
        with pytest.raises(VaultError, match=r"outside daily|day index"):
            kit.write(path, "text", True)
    assert not list((vault / "resource").iterdir())


def test_daily_itself_may_be_a_link(kit: VaultToolkit, vault: Path) -> None:
    """People keep their days elsewhere in the vault."""
    (vault / "journal/days").mkdir(parents=True)
    (vault / "daily").symlink_to(vault / "journal/days")
    kit.write(f"{TODAY}/x/x.md", "## Plan\nA")
    assert (vault / "journal/days/2026-05-28/x/x.md").exists()
    assert kit.records[0].path == f"{TODAY}/x/x.md"


@pytest.mark.parametrize(
    "name", ["report..final.md", "[...slug].md", "a b (1).md", "部署 笔记.md", "x..md", "#1.md"]
)
def test_legal_odd_names_work(kit: VaultToolkit, vault: Path, name: str) -> None:
    """B71: over-blocking kills runs on harmless names."""
    kit.write(f"{TODAY}/x/x.md", "## Plan\nA")
    path = f"{TODAY}/x/{name}"
    kit.write(path, "# Said\n")
    assert kit.records[-1].path == path and (vault / path).read_text("utf-8") == "# Said\n"
    assert kit.read(path) == "# Said\n"
    assert kit.stat(path)["kind"] == "file"
    assert path in kit.list(f"{TODAY}/x")
    assert kit.property_read(path) == {}
    assert (vault / TODAY / "x/x.md").read_text("utf-8").count("— Said (Markdown, 7 B)") == 1


def test_a_persons_odd_folder_works(kit: VaultToolkit, vault: Path) -> None:
    """B71: a note that is there keeps its name, whatever it is."""
    path = f"{TODAY}/[...Slug]/[...Slug].md"
    (vault / path).parent.mkdir(parents=True)
    (vault / path).write_text("---\ntitle: x\n---\n", "utf-8")
    kit.write(path, "## Plan\nA", True)
    kit.property_update(path, status="active")
    assert (vault / path).read_text("utf-8").endswith("## Plan\nA\n")
    assert kit.records[-1].path == path


@settings(deadline=None, max_examples=60)
@given(
    path=st.text(max_size=40)
    | st.lists(st.sampled_from(["..", "daily", "2026-05-28", "a", ".md", "~"])).map("/".join)
)
def test_any_path_is_done_or_refused(tmp_path_factory: pytest.TempPathFactory, path: str) -> None:
    """No path raises anything else, and nothing is ever made outside `daily/`."""
    root = tmp_path_factory.getbasetemp() / "any"
    store = Store(root / "vault", sync=False)
    kit = VaultToolkit(root / "vault", store=store, timezone="UTC", clock=lambda: NOW)
    for tool in TOOLS:
        try:
            call(kit, tool, path)
        except VaultError as error:
            assert str(error)
    store.close()
    assert {entry.name for entry in root.iterdir()} == {"vault"}
    assert {entry.name for entry in (root / "vault").iterdir()} <= {"daily", ".automemory"}


def test_a_pipe_or_a_loop_in_the_vault_stops_nothing(kit: VaultToolkit, vault: Path) -> None:
    """What is no file is not opened, which might never return."""
    kit.write(f"{TODAY}/x/x.md", "## Plan\nA")
    folder = vault / TODAY / "x"
    if hasattr(os, "mkfifo"):
        os.mkfifo(folder / "pipe.md")
    (folder / "loop").symlink_to(folder / "loop")
    (folder / "again").symlink_to(folder)
    kit.write(f"{TODAY}/x/x.md", "## Plan\nB", True)
    assert kit.list("daily", recursive=True)
    with pytest.raises(VaultError):
        kit.read(f"{TODAY}/x/pipe.md")


def named(tools: list[BaseTool]) -> dict[str, BaseTool]:
    return {tool.name: tool for tool in tools}


def ask(tool: BaseTool, **arguments: Any) -> ToolMessage:
    message = tool.invoke({"type": "tool_call", "id": "1", "name": tool.name, "args": arguments})
    assert isinstance(message, ToolMessage)
    return message


def test_the_tools_of_a_model(kit: VaultToolkit, vault: Path) -> None:
    """4.2: six tools and no others, named without colons; those that read alone are four."""
    assert list(named(kit.tools())) == TOOLS
    assert list(named(kit.tools(read_only=True))) == ["list", "stat", "read", "property_read"]
    tools = named(kit.tools())
    path = f"{TODAY}/x/x.md"
    assert ask(tools["write"], path=path, content="## Plan\nA").text.startswith("created")
    assert (
        ask(tools["property_update"], path=path, status="completed", fields={"prio": 1}, mood="good").status
        == "success"
    )
    shown = ask(tools["property_read"], path=path).text
    assert '"status": "completed"' in shown and shown.endswith('"prio": "1", "mood": "good"}')
    assert ask(tools["list"]).text == "daily/"
    assert "nothing" in ask(tools["stat"], path="resource").text


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read", {"path": "../x"}),
        ("write", {"path": f"{TODAY}/x/x.md"}),
        ("write", {"content": "x"}),
        ("write", {"path": ["a"], "content": {"b": 1}}),
        ("property_update", {"path": f"{TODAY}/x/x.md", "name": "y"}),
        ("list", {"recursive": "perhaps"}),
        ("stat", {}),
    ],
)
def test_a_refusal_is_a_tool_message(kit: VaultToolkit, tool: str, arguments: dict[str, Any]) -> None:
    """B71: the agent's run survives, the model is told what to do, and the call is on record."""
    message = ask(named(kit.tools())[tool], **arguments)
    assert message.status == "error" and len(message.text) > 20
    assert [(record.ok, record.tool.replace(":", "_")) for record in kit.records] == [(False, tool)]


def test_a_disk_that_fails_is_a_tool_message(vault: Path) -> None:
    vault.write_text("a file", "utf-8")
    message = ask(named(VaultToolkit(vault).tools())["read"], path="x.md")
    assert message.status == "error" and "give a folder" in message.text


def test_closing_lets_go_and_a_call_opens_again(kit: VaultToolkit, vault: Path) -> None:
    kit.write(f"{TODAY}/x/x.md", "## Plan\nA")
    kit.close()
    kit.close()
    assert kit.workspace == f"{TODAY}/x/"
    with pytest.raises(VaultError, match="not this run's workspace"):
        kit.write(f"{TODAY}/y/y.md", "## Plan\nA")


@pytest.mark.parametrize("make", [lambda kit: kit.alist("../x"), lambda kit: kit.awrite("/x", "y")])
async def test_async_twins_refuse_too(kit: VaultToolkit, make: Callable[[VaultToolkit], Any]) -> None:
    with pytest.raises(VaultError):
        await make(kit)

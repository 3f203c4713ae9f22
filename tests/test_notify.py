"""Acknowledgements are told as notes change: once, soon, and only what is one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from pathlib import Path

import pytest

from automemory.decision import NotifyCandidate
from automemory.errors import VaultError
from automemory.memory import AutoMemory
from automemory.notify import Acknowledgement, awatch_acks, watch_acks
from automemory.vault.reader import Reader

INDEX, NOTE = "daily/2026-05-28.md", "daily/2026-05-28/deploy/deploy.md"


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """Five resources, of which `first` is acknowledged."""
    vault = tmp_path / "vault"
    for name in ("first", "a", "b", "c", "last"):
        put(vault, f"resource/{name}.md", "x")
    put(vault, INDEX, "[[resource/first]]\n")
    put(vault, NOTE, "---\nname: deploy\n---\n")
    return vault


def put(vault: Path, path: str, text: str) -> None:
    (vault / path).parent.mkdir(parents=True, exist_ok=True)
    (vault / path).write_text(text, encoding="utf-8")


def add(vault: Path, path: str, text: str) -> None:
    with (vault / path).open("a", encoding="utf-8") as file:
        file.write(text)


async def names(watched: AsyncIterator[Acknowledgement], count: int) -> list[str]:
    """The next resources, by their stems."""
    async with asyncio.timeout(20):
        return sorted([Path((await anext(watched)).resource).stem for _ in range(count)])


async def test_what_is_acknowledged_from_now_on_is_told(vault: Path) -> None:
    """In a note that is there, a new note, and a folder that is moved in. Each comes once."""
    async with aclosing(awatch_acks(vault, known=())) as watched:
        assert await names(watched, 1) == ["first"]
        add(vault, NOTE, "\nSee [[resource/a]] and again [[a]], and [[resource/first]].\n")
        assert await names(watched, 1) == ["a"]
        put(vault, "daily/2026-05-29/new/sub/words.md", "[[a]] [[resource/b.md]]")
        assert await names(watched, 1) == ["b"]
        put(vault.parent, "aside/more/more.md", "[[resource/c.md]]")
        (vault.parent / "aside").rename(vault / "daily/2026-05-30")
        assert await names(watched, 1) == ["c"]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (NOTE, "\n> [!user]\n> [[resource/a.md]]\n"),
        (NOTE, "\n> [!tool]- cat\n> ````text\n> [[resource/a.md]]\n> ````\n"),
        (NOTE, "\n```\n[[resource/a.md]]\n```\n"),
        (NOTE, "\n\\[[resource/a.md]] [\\[resource/a.md]]\n"),
        (NOTE, "\n<!-- [[resource/a.md]] -->\n"),
        (NOTE, "\nresource/a.md\n"),
        (NOTE, "\n[[resource/nothing.md]]\n"),
        (INDEX, f"- [[{NOTE}|deploy]] — All done.\n"),
        (".automemory/state.md", "[[resource/a.md]]"),
        ("resource/other.md", "[[resource/a.md]]"),
    ],
)
async def test_nothing_else_is_told(vault: Path, path: str, text: str) -> None:
    """B64: quotes, tool output, code, escapes, comments, ignored offers, dead links, the index's lines."""
    async with aclosing(awatch_acks(vault, known=())) as watched:
        assert await names(watched, 1) == ["first"]
        add(vault, path, text) if (vault / path).exists() else put(vault, path, text)
        add(vault, INDEX, "[[resource/last]]\n")
        assert await names(watched, 1) == ["last"]


async def test_link_taken_back_is_not_told_and_told_again_when_it_returns(vault: Path) -> None:
    async with aclosing(awatch_acks(vault, known=())) as watched:
        assert await names(watched, 1) == ["first"]
        put(vault, INDEX, "[[resource/a]]\n")
        assert await names(watched, 1) == ["a"]
        put(vault, INDEX, "[[resource/first]]\n")
        assert await names(watched, 1) == ["first"]
        (vault / INDEX).unlink()
        put(vault, NOTE, "[[resource/b]]\n")
        assert await names(watched, 1) == ["b"]
    assert [found.resource for found in Reader(vault).acknowledged()] == ["resource/b.md"]


async def test_resource_that_comes_after_its_link_is_told_then(vault: Path) -> None:
    async with aclosing(awatch_acks(vault, known=())) as watched:
        assert await names(watched, 1) == ["first"]
        add(vault, INDEX, "[[resource/later]] [[resource/a]]\n")
        assert await names(watched, 1) == ["a"]
        put(vault, "resource/later.md", "x")
        assert await names(watched, 1) == ["later"]


async def test_known_resources_are_no_news(vault: Path) -> None:
    """So a program that was down goes on where it stopped."""
    add(vault, INDEX, "[[resource/a]] [[resource/b]]\n")
    async with aclosing(
        awatch_acks(vault, known=["resource/first.md", "resource/b.md", "gone.md"])
    ) as watched:
        assert await names(watched, 1) == ["a"]


async def test_acknowledgement_tells_where(vault: Path) -> None:
    """As `Reader.acknowledged` does."""
    async with aclosing(awatch_acks(vault, known=())) as watched:
        async with asyncio.timeout(20):
            assert [await anext(watched)] == Reader(vault).acknowledged()


def test_sync_twin_tells_the_same_and_stops(vault: Path) -> None:
    """It runs in a thread of its own; an event ends it."""
    stop, found = threading.Event(), []
    for acknowledgement in watch_acks(vault, known=(), stop_event=stop):
        found.append(acknowledgement.resource)
        if acknowledgement.resource == "resource/first.md":
            add(vault, NOTE, "[[resource/a]]\n")
        else:
            stop.set()
    assert found == ["resource/first.md", "resource/a.md"]


async def test_async_twin_stops(vault: Path) -> None:
    stop = asyncio.Event()
    found = []
    async for acknowledgement in awatch_acks(vault, known=(), stop_event=stop):
        found.append(acknowledgement.resource)
        stop.set()
    assert found == ["resource/first.md"]


async def test_what_was_acknowledged_before_is_no_news(vault: Path) -> None:
    """Without `known`, only what happens from now on is told; new links come until the first one is told."""
    async with aclosing(awatch_acks(vault)) as watched, asyncio.timeout(20):
        waiting, number = asyncio.ensure_future(anext(watched)), 0
        while not (await asyncio.wait([waiting], timeout=0.1))[0]:
            put(vault, f"resource/new-{number}.md", "x")
            add(vault, INDEX, f"[[new-{number}]]\n")
            number += 1
        assert "new-" in waiting.result().resource


async def test_waiting_can_be_cancelled(vault: Path) -> None:
    async with aclosing(awatch_acks(vault, known=())) as watched:
        assert await names(watched, 1) == ["first"]
        waiting = asyncio.ensure_future(anext(watched))
        await asyncio.wait([waiting], timeout=0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting


async def test_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(VaultError, match="no folder"):
        next(watch_acks(tmp_path / "nothing"))
    with pytest.raises(VaultError, match="no folder"):
        await anext(awatch_acks(tmp_path / "nothing"))


def test_conversation_acknowledges_what_it_links_to_and_nothing_it_was_offered(
    vault: Path, open_memory: Callable[..., AutoMemory]
) -> None:
    """B64: of two offers the agent links to one; a tool mentions the other, the user's code a third."""
    memory = open_memory("deploy")
    turn = [
        {
            "role": "user",
            "content": "Deploy.\n```\n[[resource/c.md]]\n```",
            "timestamp": "2026-05-29T10:00:00Z",
        },
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "1", "name": "cat", "args": {"path": "x"}}],
        },
        {"role": "tool", "content": "[[resource/b.md]]", "tool_call_id": "1"},
        {"role": "assistant", "content": "As [[resource/a.md|the notes]] say."},
    ]
    memory.record(turn, notify=[NotifyCandidate("resource/a.md", "A"), NotifyCandidate("resource/b.md", "B")])
    memory.close_event()
    found, first = Reader(vault).acknowledged()
    assert [found.resource, first.resource] == ["resource/a.md", "resource/first.md"]
    assert [(place.date, place.at and place.at.hour) for place in found.places] == [("2026-05-29", 10)]

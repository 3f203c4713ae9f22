"""Who links to what, and which resources are acknowledged."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from automemory.errors import VaultError
from automemory.vault.layout import event_path
from automemory.vault.note import new_note
from automemory.vault.reader import Reader

TURN = "### 14:03:22\n<!-- turn id=5f at=2026-05-28T14:03:22+08:00 n=2 by=local -->\n"
SAID = """
> [!user]
> see [\\[resource/said.md]]

> [!tool]- cat
> ````text
> [[resource/tool.md]]
> ````
"""


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """Three resources, and an event on each of three days, of the same name."""
    for name in ("login", "said", "tool", "mine"):
        put(tmp_path, f"resource/{name}.md", "Words.\n")
    for day in ("2026-05-26", "2026-05-27", "2026-05-28"):
        put(tmp_path, event_path(day, "deploy"), new_note({"name": "deploy", "thread": "main"}, "", ""))
        put(tmp_path, f"daily/{day}.md", f"# {day}\n\n## Events\n- [[{event_path(day, 'deploy')}|deploy]]\n")
    return tmp_path


def put(vault: Path, path: str, text: str) -> None:
    (vault / path).parent.mkdir(parents=True, exist_ok=True)
    (vault / path).write_text(text, encoding="utf-8", newline="")


def add(vault: Path, path: str, text: str) -> None:
    with (vault / path).open("a", encoding="utf-8", newline="") as file:
        file.write(text)


def linking(vault: Path, ref: str, *, quoted: bool = False) -> list[str]:
    return [place.path for place in Reader(vault).backlinks(ref, quoted=quoted)]


def resources(vault: Path, **days: str) -> list[str]:
    return [found.resource for found in Reader(vault).acknowledged(**days)]


# --- backlinks


@pytest.mark.parametrize(
    "ref",
    ["daily/2026-05-27/deploy/deploy.md", "[[daily/2026-05-27/deploy/deploy|x]]", "2026-05-27/deploy"],
)
async def test_event_of_a_common_name_has_its_own_backlinks(vault: Path, ref: str) -> None:
    """B57: the same slug on three days; each link leads to its own day, whatever form it has."""
    put(vault, "daily/2026-05-28/next/next.md", "---\ninherits: [[daily/2026-05-27/deploy/deploy]]\n---\n")
    add(
        vault,
        "daily/2026-05-28.md",
        "\nMine: see [that](2026-05-27/deploy/deploy.md#turns), not [[deploy]].\n",
    )
    found = Reader(vault).backlinks(ref)
    assert [(place.path, place.line, place.date) for place in found] == [
        ("daily/2026-05-27.md", 4, "2026-05-27"),
        ("daily/2026-05-28.md", 6, "2026-05-28"),
        ("daily/2026-05-28/next/next.md", 2, "2026-05-28"),
    ]
    assert await Reader(vault).abacklinks(ref) == found


def test_quoted_links_count_only_if_asked_for(vault: Path) -> None:
    note = event_path("2026-05-28", "deploy")
    add(vault, note, f"{TURN}{SAID}<!-- /turn 5f -->\n")
    assert linking(vault, "resource/tool.md") == linking(vault, "resource/said.md") == []
    [place] = Reader(vault).backlinks("resource/said.md", quoted=True)
    assert (place.path, place.quoted, place.at and place.at.hour) == (note, True, 14)
    assert linking(vault, "resource/tool.md", quoted=True) == [note]


@pytest.mark.parametrize("spelling", ["NFC", "NFD"])
def test_both_unicode_forms_are_one_name(vault: Path, spelling: str) -> None:
    """B70, B66: a file that a system decomposed is found by a link that did not, and the other way round."""
    other = "NFD" if spelling == "NFC" else "NFC"
    path = unicodedata.normalize(spelling, "resource/café 部署.md")
    put(vault, path, "x")
    add(vault, "daily/2026-05-28.md", unicodedata.normalize(other, "[[resource/café 部署]]\n"))
    assert linking(vault, path) == ["daily/2026-05-28.md"]
    assert [unicodedata.normalize(spelling, found) for found in resources(vault)] == [path]


@pytest.mark.parametrize(
    ("link", "found"),
    [
        ("login", "resource/login.md"),
        ("Resource/LOGIN.md", "resource/login.md"),
        ("./notes.txt", "daily/2026-05-28/deploy/notes.txt"),
        ("notes.txt", "daily/2026-05-28/deploy/notes.txt"),
        ("../../2026-05-27.md", "daily/2026-05-27.md"),
        ("2026-05-27", "daily/2026-05-27.md"),
        ("twice", ""),
        ("one/twice", "resource/one/twice.md"),
        ("v1.2", "resource/v1.2.md"),
        ("deploy", "daily/2026-05-28/deploy/deploy.md"),
        ("../../../../outside", ""),
        ("/etc/passwd", ""),
        (".automemory/state", ""),
        ("resource", ""),
        ("gone", ""),
        ("a\0b", ""),
        ("x" * 300, ""),
    ],
)
def test_short_and_relative_links_lead_to_the_one_file_that_is_meant(
    vault: Path, link: str, found: str
) -> None:
    """B57, B71: beside the note first, then the only file of the vault with that end of its path."""
    from automemory.vault.places import Places
    from automemory.vault.resolver import Resolver

    for path in (
        "resource/one/twice.md",
        "resource/two/twice.md",
        "resource/v1.2.md",
        ".automemory/state.md",
    ):
        put(vault, path, "x")
    put(vault, "daily/2026-05-28/deploy/notes.txt", "x")
    put(vault.parent, "outside.md", "x")
    resolver = Resolver(Places(vault))
    assert (resolver.resolve(link, event_path("2026-05-28", "deploy")) or "") == found


@pytest.mark.parametrize("ref", ["nothing", "resource/nothing.md", "deploy", "../x.md", ""])
def test_backlinks_of_nothing_are_refused(vault: Path, ref: str) -> None:
    with pytest.raises(VaultError):
        Reader(vault).backlinks(ref)


# --- acknowledged


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (event_path("2026-05-28", "deploy"), f"{TURN}Refs: [[resource/login.md]]\n{SAID}<!-- /turn 5f -->\n"),
        (
            event_path("2026-05-28", "deploy"),
            f"{TURN}As in [[resource/login.md]].\n{SAID}<!-- /turn 5f -->\n",
        ),
        (event_path("2026-05-28", "deploy"), "\nA person: ![[login]]\n"),
        ("daily/2026-05-28.md", "\n- [ ] read [[resource/login|the report]]\n"),
        ("daily/2026-05-28/deploy/progress.md", "## Progress\n\n- [text](../../../resource/login.md)\n"),
        ("daily/2026-05-28/merge (conflict resolution)/plan.md", "[[resource/login.md]]"),
        ("daily/2026-05-28/no-event/some words.md", "[[resource/login.md]]"),
        ("daily/2026-05-28/deploy/sub/folder/deep.md", "\ufeff---\r\nsource: [[resource/login]]\r\n---\r\n"),
        ("daily/2026-05-28/broken/broken.md", "---\nbad: [\n---\n[[resource/login.md]]\n"),
    ],
)
async def test_resource_is_acknowledged_by_a_live_link(vault: Path, path: str, text: str) -> None:
    """In a summary note, a view, a material, a day index; by `Refs`, a patch, a property, a person's line."""
    add(vault, path, text) if (vault / path).exists() else put(vault, path, text)
    [found] = Reader(vault).acknowledged()
    assert (found.resource, found.date) == ("resource/login.md", "2026-05-28")
    assert [place.path for place in found.places] == [path]
    assert [place.at is not None for place in found.places] == ["<!-- turn" in text]
    assert await Reader(vault).aacknowledged() == [found]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (event_path("2026-05-28", "deploy"), f"{TURN}{SAID}<!-- /turn 5f -->\n"),
        (event_path("2026-05-28", "deploy"), "\n```\n[[resource/login.md]]\n```\n"),
        (event_path("2026-05-28", "deploy"), "\n<!-- offered: [[resource/login.md]] -->\n"),
        (event_path("2026-05-28", "deploy"), "\n\\[[resource/login.md]] and [\\[resource/login.md]]\n"),
        (event_path("2026-05-28", "deploy"), "\nresource/login.md, offered and ignored\n"),
        (event_path("2026-05-28", "deploy"), "\n[[resource/does-not-exist.md]]\n"),
        (event_path("2026-05-28", "deploy"), "\n[[../outside.md]] [[.automemory/x.md]] [[resource]]\n"),
        (event_path("2026-05-28", "deploy"), "\n[[2026-05-27]] [[daily/2026-05-27/deploy/deploy]]\n"),
        (event_path("2026-05-28", "deploy"), "\n[the day before](../../2026-05-27.md)\n"),
        ("daily/2026-05-28/deploy/deploy (conflict).md", "[[resource/login.md]]"),
        ("daily/2026-05-28/deploy/deploy.sync-conflict-20260528-1.md", "[[resource/login.md]]"),
        ("daily/2026-05-28/deploy (Ann's conflicted copy 2026-05-29)/deploy.md", "[[resource/login.md]]"),
        ("daily/2026-05-28/deploy/.automemory-1-1.tmp", "[[resource/login.md]]"),
        ("daily/2026-05-28/deploy/.hidden.md", "[[resource/login.md]]"),
        ("daily/2026-05-28/deploy/page.html", "[[resource/login.md]]"),
        ("resource/other.md", "[[resource/login.md]]"),
        ("digest/digest.md", "[[resource/login.md]]"),
    ],
)
def test_nothing_else_acknowledges(vault: Path, path: str, text: str) -> None:
    """B64: quotes, tool output, code, comments, escapes, dead links; copies, hidden files, other layers."""
    put(vault, ".automemory/x.md", "x")
    put(vault.parent, "outside.md", "x")
    add(vault, path, text) if (vault / path).exists() else put(vault, path, text)
    assert resources(vault) == []


def test_link_that_is_removed_acknowledges_no_more(vault: Path) -> None:
    """It is derived, so there is nothing to take back."""
    index = vault / "daily/2026-05-28.md"
    before = index.read_text(encoding="utf-8")
    add(vault, "daily/2026-05-28.md", "[[resource/login]]\n")
    assert resources(vault) == ["resource/login.md"]
    index.write_text(before, encoding="utf-8")
    assert resources(vault) == []


def test_acknowledgements_of_some_days(vault: Path) -> None:
    """A resource comes with all its places, in order, and its first day."""
    for day in ("2026-05-28", "2026-05-26"):
        add(vault, f"daily/{day}.md", "[[resource/login]]\n")
        add(vault, event_path(day, "deploy"), "[[resource/mine.md]]\n")
    assert resources(vault, since="2026-05-27", until="2026-05-27") == []
    assert resources(vault, until="2026-05-27") == ["resource/login.md", "resource/mine.md"]
    login, mine = Reader(vault).acknowledged()
    assert [place.path for place in login.places] == ["daily/2026-05-26.md", "daily/2026-05-28.md"]
    assert mine.date == "2026-05-26" and len(mine.places) == 2


def test_links_between_folders_are_followed_nowhere_and_end(
    vault: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """B71: loops, links out of the vault, and what cannot be read do no harm."""
    outside = tmp_path_factory.mktemp("outside")
    put(outside, "note.md", "[[resource/login.md]]")
    day = vault / "daily/2026-05-28"
    (day / "loop").symlink_to(vault / "daily")
    (day / "self").symlink_to("self")
    (day / "away").symlink_to(outside)
    (day / "deploy/away.md").symlink_to(outside / "note.md")
    (day / "deploy/folder.md").mkdir()
    (day / "empty").mkdir()
    (day / "deploy/latin.md").write_bytes(b"caf\xe9 [[resource/mine]]")
    assert resources(vault) == ["resource/mine.md"]
    assert linking(vault, "resource/login.md") == []

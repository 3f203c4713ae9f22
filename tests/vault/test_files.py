"""Where a vault path lies: with links followed, and never outside."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from automemory.errors import PathEscape
from automemory.vault.files import resolve


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path.resolve() / "vault"
    (folder / "daily/2026-05-28/plan").mkdir(parents=True)
    (folder / "daily/2026-05-28/plan/plan.md").touch()
    return folder


@pytest.mark.parametrize(
    "path", ["daily", "daily/2026-05-28/plan/plan.md", "daily/2026-05-29/new/new.md", "daily.md/x"]
)
def test_a_path_without_links_is_its_own_place(root: Path, path: str) -> None:
    """It is not resolved step by step, which says the same, whether or not something lies there."""
    (root / "daily.md").touch()
    assert resolve(root, path) == root / path == (root / path).resolve()


@pytest.mark.parametrize("link", ["daily/2026-05-28/plan", "daily/2026-05-28", "daily"])
def test_a_link_anywhere_on_the_way_is_followed(root: Path, tmp_path: Path, link: str) -> None:
    """B71: inside the vault it leads to another place, outside it is refused."""
    inside, outside = root / "resource", tmp_path / "outside"
    (root / link).rename(inside)
    (root / link).symlink_to(inside)
    rest = "daily/2026-05-28/plan/plan.md".removeprefix(link).strip("/")
    assert resolve(root, f"{link}/{rest}") == inside / rest
    inside.rename(outside)
    (root / link).unlink()
    (root / link).symlink_to(outside)
    for path in (f"{link}/{rest}", f"{link}/nothing-here"):
        with pytest.raises(PathEscape):
            resolve(root, path)


def test_links_that_go_round_in_a_circle_are_refused_or_stay_inside(root: Path) -> None:
    (root / "daily/one").symlink_to(root / "daily/two")
    (root / "daily/two").symlink_to(root / "daily/one")
    with suppress(PathEscape):
        assert resolve(root, "daily/one/x.md").is_relative_to(root)

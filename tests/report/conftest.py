"""Reports with words in them that try to be more than words."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from automemory.cli import main, terminal

pytest.importorskip("plotly")

EVIL = (
    "</script><script>window.stolen=1</script><img src=x onerror=window.stolen=2>${title}\u2028&lt;b&gt;'\""
)
WORDS = [
    f"Fix the login form in login.py, it refuses an empty password {EVIL}",
    "Does login.py refuse a very long password as well?",
    f"Now something else: book me a flight from Berlin to Rome on Friday {EVIL}",
    "What is the cheapest flight on that day?",
]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "browser: looks at a page in Chromium; skipped where there is none")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings from outside, and standard streams as they were."""
    alone(tmp_path, monkeypatch)


def alone(folder: Path, patch: pytest.MonkeyPatch) -> None:
    patch.chdir(folder)
    for name in [name for name in os.environ if name.startswith("AUTOMEMORY_")]:
        patch.delenv(name)
    patch.setattr(terminal, "prepare_streams", lambda: None)


@pytest.fixture(scope="session")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two conversations with labels: one boundary to hit, one that is none to miss."""
    turns = [{"role": "user", "text": words} for words in WORDS]
    lines = [
        json.dumps(
            {"id": f"{name} {EVIL}", "turns": turns, "boundaries": boundaries, "family": "<i>kind</i>"}
        )
        for name, boundaries in (("one", [2]), ("two", [1, 3]))
    ]
    path = tmp_path_factory.mktemp("labelled") / "labelled.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8", newline="")
    return path


@pytest.fixture(scope="session")
def evaluated(labelled: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of an evaluation."""
    page = tmp_path_factory.mktemp("evaluated") / "page.html"
    with pytest.MonkeyPatch.context() as patch:
        alone(page.parent, patch)
        assert main(["eval", str(labelled), "--report", str(page)]) == 0
    return page


@pytest.fixture(scope="session")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a replay."""
    folder = tmp_path_factory.mktemp("replayed")
    saved, page = folder / "talk.json", folder / "page.html"
    talk = [
        {"role": role, "content": words, "timestamp": f"2026-03-05T10:0{n}:00Z"}
        for n, words in enumerate(WORDS)
        for role in ("user", "assistant")
    ]
    saved.write_text(json.dumps(talk), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        alone(folder, patch)
        assert main(["replay", str(saved), "--vault", str(folder / "v"), "--report", str(page)]) == 0
    return page

"""The page as a document: whole, readable without scripts, and with nothing of a conversation alive in it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest

from automemory.cli import main
from automemory.cli.common import USAGE
from automemory.report import html, page
from automemory.report.html import Html, json_block, tag


class Document(HTMLParser):
    """What a browser makes of a page, as far as the tests ask."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.blocks: list[str] = []
        self.text = ""
        self._inside = ""
        self.feed(path.read_bytes().decode("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag == "script":
            self._inside = "block" if dict(attrs).get("type") == "application/json" else "script"
            (self.blocks if self._inside == "block" else self.scripts).append("")
        elif tag == "style":
            self._inside = "style"

    def handle_endtag(self, tag: str) -> None:
        if tag in {"script", "style"}:
            self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "block":
            self.blocks[-1] += data
        elif self._inside == "script":
            self.scripts[-1] += data
        elif not self._inside:
            self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def ids(self) -> list[str]:
        return [str(attributes["id"]) for _, attributes in self.elements if "id" in attributes]


@pytest.fixture(params=["evaluated", "replayed"])
def made(request: pytest.FixtureRequest) -> Path:
    found: Path = request.getfixturevalue(request.param)
    return found


def test_words_of_a_conversation_are_text(made: Path) -> None:
    """No element, attribute or script comes from them; they can be read as they were said."""
    found = Document(made)
    assert not found.all("img")
    assert not [attributes for _, attributes in found.elements if any(k.startswith("on") for k in attributes)]
    assert "<img src=x onerror=window.stolen=2>${title}" in found.text
    assert len(found.scripts) == 2
    assert all("stolen" not in script for script in found.scripts)
    assert found.blocks
    assert all(json.loads(block) for block in found.blocks)


def test_only_the_pages_own_scripts_may_run(made: Path) -> None:
    """Should anything slip through, the browser refuses it; and nothing is loaded from anywhere."""
    found = Document(made)
    policy = next(m["content"] for m in found.all("meta") if m.get("http-equiv") == "Content-Security-Policy")
    digests = {base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in found.scripts}
    assert set(re.findall(r"'sha256-([^']+)'", policy or "")) == digests
    assert (policy or "").startswith("default-src 'none';")
    assert not [attributes for attributes in found.all("script") if "src" in attributes]
    assert not found.all("link")


def test_a_page_can_be_read_without_seeing_it(made: Path) -> None:
    """Headings without gaps, named regions and plots, tables beside plots, links that lead somewhere."""
    found = Document(made)
    assert found.all("html")[0]["lang"] == "en"
    levels = [int(name[1]) for name, _ in found.elements if re.fullmatch("h[1-6]", name)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    plots = [attributes for attributes in found.all("div") if attributes.get("class") == "plot"]
    assert plots
    assert all(plot["role"] == "img" and plot["aria-label"] for plot in plots)
    assert {plot["data-figure"] for plot in plots} <= set(found.ids)
    assert all(th.get("scope") for th in found.all("th"))
    assert all(a["href"] and a["href"][1:] in found.ids for a in found.all("a"))
    assert len(found.ids) == len(set(found.ids))


def test_an_evaluation_shows_hits_misses_and_false_cuts(evaluated: Path) -> None:
    """By words and marks, not by colour alone, each with a link to its turn."""
    text = Document(evaluated).text
    for expected in ("Missed boundaries (2)", "False cuts (1)", "Hits (1)", "✓ hit", "✕ false cut"):
        assert expected in text
    for expected in ("Threshold sweep", "Calibration", "Cascade: recall against calls", "As a table"):
        assert expected in text
    assert "<i>kind</i>: 2 conversations, 8 turns, 3 boundaries" in text


def test_a_replay_shows_events_and_who_decided(replayed: Path) -> None:
    text = Document(replayed).text
    for expected in ("new event", "by local", "2026-03-05 10:00:00+00:00", "Decisions, by who made them"):
        assert expected in text


def test_what_is_too_much_is_counted_and_said(
    labelled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page stays usable: the first conversations in full, the others in a table."""
    monkeypatch.setattr(page, "MAX_TURNS", 3)
    assert main(["eval", str(labelled), "--report", "small.html"]) == 0
    text = Document(tmp_path / "small.html").text
    assert "Shown in full: the first 3 of 8 turns, in 1 of 2 conversations." in text
    assert "Conversations not shown in full" in text
    assert "two" in text


@pytest.mark.parametrize("target", ["none/page.html", "."])
def test_a_page_that_could_not_be_written_is_told_first(
    labelled: Path, capsys: pytest.CaptureFixture[str], target: str
) -> None:
    """Before anything is decided, not after hours of it."""
    assert main(["eval", str(labelled), "--report", target, "--predictions", "p.jsonl"]) == USAGE
    assert "cannot be written" in capsys.readouterr().err
    assert not Path("p.jsonl").exists()


def test_without_the_plotting_library_it_is_named(
    labelled: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("automemory.report.writing.find_spec", lambda name: None)
    assert main(["eval", str(labelled), "--report", "page.html"]) == USAGE
    assert "pip install 'automemory[report]'" in capsys.readouterr().err


def test_html_is_escaped_unless_it_is_html() -> None:
    assert tag("p", "<b>", None, 3, tag("i", "&"), class_='"x"', hidden=True, id=None, open=False) == (
        '<p class="&quot;x&quot;" hidden>&lt;b&gt;3<i>&amp;</i></p>'
    )
    assert isinstance(html.join("a"), Html)
    assert "</script>" not in json_block({"a": "</script><!--"}, "x")[:-9]

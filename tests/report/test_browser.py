"""The page in a real browser: it draws, runs nothing of a conversation, and fits a phone."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.browser
SIZES = {"desk": {"width": 1280, "height": 900}, "phone": {"width": 375, "height": 800}}
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api")
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip("no Chromium here")
    with playwright.sync_playwright() as running:
        started = running.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(params=["evaluated", "replayed"])
def made(request: pytest.FixtureRequest) -> Path:
    found: Path = request.getfixturevalue(request.param)
    return found


def opened(browser: Any, made: Path, size: str, **options: Any) -> tuple[Any, list[str]]:
    """The page with everything on it opened and drawn, and what its console said."""
    said: list[str] = []
    found = browser.new_page(viewport=SIZES[size], **options)
    found.on("console", lambda message: said.append(message.text))
    found.on("pageerror", lambda error: said.append(str(error)))
    found.on(
        "request", lambda request: said.append(request.url) if not request.url.startswith("file:") else None
    )
    found.goto(made.as_uri())
    found.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    for plot in found.query_selector_all("[data-figure]"):
        plot.scroll_into_view_if_needed()
        plot.wait_for_selector(".main-svg", state="attached")
    found.wait_for_function("!document.querySelector('[data-figure]:not([data-drawn])')")
    return found, said


@pytest.mark.parametrize(("size", "scheme"), [("desk", "light"), ("phone", "dark")])
def test_it_draws_fits_and_is_quiet(browser: Any, made: Path, size: str, scheme: str) -> None:
    """Every plot is drawn; nothing is wider than the screen, complained about, fetched or stolen."""
    found, said = opened(browser, made, size, color_scheme=scheme)
    assert said == []
    assert found.evaluate("document.documentElement.scrollWidth") == SIZES[size]["width"]
    assert found.evaluate("window.stolen") is None
    assert found.query_selector("img") is None
    found.close()


def test_a_link_opens_what_it_leads_to(browser: Any, evaluated: Path) -> None:
    """Also a turn in a conversation that is folded away."""
    found = browser.new_page()
    found.goto(evaluated.as_uri())
    link = found.query_selector_all(".columns li a")[-1]
    target = found.query_selector(link.get_attribute("href"))
    found.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = false; })")
    link.click()
    target.wait_for_element_state("visible")
    found.close()


def test_it_can_be_read_without_scripts(browser: Any, made: Path) -> None:
    """The timeline and the tables are there; a note says where the plots are."""
    context = browser.new_context(java_script_enabled=False)
    found = context.new_page()
    found.goto(made.as_uri())
    text = found.inner_text("body")
    assert "The plots need scripts" in text
    assert "Does login.py refuse a very long password as well?" in text
    context.close()

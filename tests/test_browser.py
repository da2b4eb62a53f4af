"""The pages in a real browser: wide and narrow, offline, without an error or a dead link.

They need Chromium (Debian's ``chromium``) and are skipped where there is none.
"""

import shutil
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest

from helpers.run import artifacts, pages, project

CHROMIUM = shutil.which("chromium")
NOTEBOOKS = sorted((project.root() / "notebooks").glob("0[1-9]_*.ipynb"))
pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(not CHROMIUM, reason="no browser: install Debian's package chromium"),
]


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    """The pages of a run that left what the stored notebooks hold."""
    folder = tmp_path_factory.mktemp("run")
    for notebook in NOTEBOOKS:
        artifacts.write_bytes(folder / "notebooks" / notebook.name, notebook.read_bytes())
    artifacts.write_text(
        folder / "logs" / "10_failed.ipynb",
        '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}',
    )
    pages.write(folder)
    return folder / "pages"


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


def opened(browser, path, width):
    """A page, and what it complained of or asked the network for."""
    page, complaints = browser.new_page(viewport={"width": width, "height": 900}), []
    page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda r: complaints.append(r.url) if r.url.startswith("http") else None)
    page.goto(path.as_uri())
    return page, complaints


@pytest.mark.parametrize("width", [1400, 390])
def test_every_page_fits_its_window_and_is_silent_and_offline(book, browser, width):
    for path in sorted(book.glob("*.html")):
        page, complaints = opened(browser, path, width)
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width + 1, f"{path.name} is {wide} pixels wide in a window of {width}"
        assert not complaints, f"{path.name}: {complaints[:3]}"
        page.close()


def test_no_link_is_broken(book, browser):
    for path in sorted(book.glob("*.html")):
        page, _ = opened(browser, path, 1400)
        for link in set(page.eval_on_selector_all("a[href]", "all => all.map(a => a.href)")):
            address = urlparse(link)
            if address.scheme != "file":
                continue
            target = Path(unquote(address.path))
            assert target.exists(), f"{path.name} leads to {link}"
            if address.fragment and target == path:
                found = page.evaluate(
                    "id => !!document.getElementById(id)", unquote(address.fragment)
                )
                assert found, f"{path.name} has no place {link}"
        page.close()


def test_one_reads_from_the_first_page_to_the_last_by_next(book, browser):
    page, _ = opened(browser, book / "index.html", 1400)
    seen = []
    while (following := page.locator("a.right-next")).count():
        page.goto(following.first.evaluate("link => link.href"))
        seen.append(Path(urlparse(page.url).path).stem)
    assert seen[: len(NOTEBOOKS)] == [notebook.stem for notebook in NOTEBOOKS]


def test_a_failed_notebook_is_named_and_not_linked(book, browser):
    page, _ = opened(browser, book / "index.html", 1400)
    assert "10_failed failed" in page.inner_text("main")
    assert not page.locator("a[href*='10_failed.html']").count()


def test_the_pages_have_a_dark_side_a_search_and_a_skip_link(book, browser):
    page, _ = opened(browser, book / f"{NOTEBOOKS[2].stem}.html", 1400)
    colour = "getComputedStyle(document.body).backgroundColor"
    page.evaluate("document.documentElement.dataset.theme = 'light'")
    light = page.evaluate(colour)
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    assert page.evaluate(colour) != light
    assert page.locator("#pst-skip-link").count() == 1
    page.goto((book / "search.html").as_uri() + "?q=mosaic")
    page.wait_for_selector("#search-results li")

"""The pages and JupyterLab in a real browser.

The pages: wide and narrow, offline, without an error or a dead link. JupyterLab: the start page, a
notebook with each kind of widget, and a save that changes nothing. All need Chromium (Debian's
``chromium``) and are skipped where there is none.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from urllib.parse import unquote, urlparse

import nbformat
import pytest

from helpers import store
from helpers.suite import notebooks, pages

CHROMIUM = shutil.which("chromium")
NOTEBOOKS = notebooks.lessons()
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
        store.write_bytes(folder / "notebooks" / notebook.name, notebook.read_bytes())
    store.write_text(
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


def test_a_figure_is_enlarged_by_a_click_on_a_phone(book, browser):
    page, _ = opened(browser, book / "03_contextualized_mosaics.html", 390)
    figure = page.locator("figure img").first
    before = figure.bounding_box()["width"]
    figure.click()
    assert figure.bounding_box()["width"] > 1.8 * before
    assert page.evaluate("document.documentElement.scrollWidth") <= 391, "the page does not widen"
    figure.click()
    assert figure.bounding_box()["width"] == before


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_pages_can_be_read_by_everybody(book, browser, theme):
    """By axe-core: contrast, alternative texts, names of controls; nothing serious."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    for path in sorted(book.glob("*.html")):
        page, _ = opened(browser, path, 1300)
        page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
        page.wait_for_timeout(300)  # colours fade from one theme to the other
        faults = [
            (fault["id"], fault["nodes"][0]["html"][:200])
            for fault in axe.run(page).response["violations"]
            if fault["impact"] in ("serious", "critical")
        ]
        assert not faults, f"{path.name}: {faults}"
        page.close()


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """JupyterLab on copies of the notebooks, as `make lab` starts it: address and folder."""
    folder, settings = (tmp_path_factory.mktemp(name) for name in ("lab", "settings"))
    for notebook in (store.root() / "notebooks").glob("*.ipynb"):
        shutil.copy(notebook, folder)
    chosen = {"notebook-extension/tracker": {"windowingMode": "none"}}  # every cell is in the page
    chosen["apputils-extension/notification"] = {"fetchNews": "false", "checkForUpdates": False}
    for plugin, values in chosen.items():
        path = settings / "@jupyterlab" / f"{plugin}.jupyterlab-settings"
        store.write_text(path, json.dumps(values))
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--port={port}"]
    command += ["--IdentityProvider.token=", f"--ServerApp.root_dir={folder}"]
    server = subprocess.Popen(
        command,
        env={**os.environ, "JUPYTERLAB_SETTINGS_DIR": str(settings)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    address = f"http://localhost:{port}/lab"
    deadline = time.monotonic() + 60
    while True:
        try:
            urllib.request.urlopen(address)
            break
        except OSError:
            assert server.poll() is None and time.monotonic() < deadline, "JupyterLab did not start"
            time.sleep(0.5)
    yield address, folder
    server.terminate()
    server.wait()


def in_lab(browser, lab, notebook):
    """A notebook open in JupyterLab, its kernel ready."""
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.goto(f"{lab[0]}/tree/{notebook}.ipynb?reset")
    page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=60_000)
    page.wait_for_selector("text=Python 3 (ipykernel) | Idle", timeout=60_000)
    return page


def run_all(page, seconds):
    """Run all cells, and wait until none is waiting."""
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.locator(".lm-Menu-itemLabel:text-is('Run All Cells')").click()
    prompts = "[...document.querySelectorAll('.jp-InputPrompt')]"
    waiting = "prompt => prompt.innerText.includes('*')"
    page.wait_for_function(f"() => {prompts}.some({waiting})", timeout=60_000)
    page.wait_for_function(f"() => !{prompts}.some({waiting})", timeout=1000 * seconds)


def test_a_save_in_lab_changes_nothing(browser, lab):
    page = in_lab(browser, lab, "01_datasets")
    page.locator(".jp-Cell").first.click()
    page.keyboard.press("Control+s")
    page.wait_for_timeout(3000)
    stored = store.root() / "notebooks" / "01_datasets.ipynb"
    saved = lab[1] / stored.name
    assert saved.stat().st_mtime > stored.stat().st_mtime
    assert json.loads(saved.read_text()) == json.loads(stored.read_text())


def test_the_start_page_runs_in_lab_and_shows_its_figures(browser, lab):
    page = in_lab(browser, lab, "00_start_here")
    run_all(page, 60)
    captions = page.locator(".jp-OutputArea figcaption")
    assert captions.count() == 4
    for picture in page.locator(".jp-OutputArea figure img").all():
        assert len(picture.get_attribute("alt")) > 20


@pytest.mark.parametrize("notebook", ["07_focus_bias_pairs", "09_bias_building_blocks"])
def test_a_menu_changes_what_is_shown(browser, lab, notebook):
    page = in_lab(browser, lab, notebook)
    run_all(page, 400)
    output = page.locator(".jp-OutputArea:has(select)").first
    before = output.inner_html()
    menu = output.locator("select").first
    names = menu.locator("option").all_inner_texts()
    menu.select_option(
        label=next(n for n in names if n != menu.evaluate("m => m.selectedOptions[0].text"))
    )
    if output.locator("button").count():  # it waits until it is asked to show
        output.locator("button").first.click()
    page.wait_for_function(
        "([area, before]) => area.innerHTML !== before",
        arg=[output.element_handle(), before],
        timeout=60_000,
    )
    assert "Error" not in output.inner_text(), output.inner_text()
    page.close()


def test_whoever_runs_all_cells_sees_a_failure_at_the_end(browser, lab):
    begin = ["seed: int = 0", "from helpers.suite.parameters import check", "check(globals())"]
    sources = ["\n".join(begin), "1 / 0", "print('never')", "print('nor this')"]
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": notebooks.KERNEL})
    nbformat.write(notebook, lab[1] / "failing.ipynb")
    page = in_lab(browser, lab, "failing")
    run_all(page, 60)
    expect = pytest.importorskip("playwright.sync_api").expect
    last = page.locator(".jp-CodeCell").last.locator(".jp-OutputArea-output")
    said = "Not run, for cell [2] failed: ZeroDivisionError: division by zero"
    expect(last).to_contain_text(said, timeout=60_000)
    page.wait_for_timeout(3000)
    page.locator(".jp-CodeCell .cm-content").last.click()
    page.keyboard.press("Control+Enter")  # what is run later is run
    expect(last).to_have_text("nor this", timeout=60_000)

"""Lessons in JupyterLab, in a real browser; skipped where there is no Chromium."""

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request

import nbformat
import pytest

from helpers import store

CHROMIUM = shutil.which("chromium")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(not CHROMIUM, reason="needs Debian's package chromium"),
]
SETTINGS = {
    "notebook-extension/tracker": {
        "windowingMode": "none"
    },  # all cells are in the page
    "apputils-extension/notification": {"fetchNews": "false"},
}
LESSONS_WITH_MENUS = ["02_cross_evaluation.ipynb", "07_focus_bias_pairs.ipynb"]


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"]
        )
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """Start JupyterLab; return its address and the folder of its notebooks."""
    folder = tmp_path_factory.mktemp("lab")
    settings = tmp_path_factory.mktemp("settings")
    for plugin, values in SETTINGS.items():
        path = settings / "@jupyterlab" / f"{plugin}.jupyterlab-settings"
        store.write_text(path, json.dumps(values))
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    options = [f"--port={port}", f"--ServerApp.root_dir={folder}"]
    options += ["--no-browser", "--allow-root", "--IdentityProvider.token="]
    server = subprocess.Popen(
        [sys.executable, "-m", "jupyterlab", *options],
        env={**os.environ, "JUPYTERLAB_SETTINGS_DIR": str(settings)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    address = f"http://localhost:{port}/lab"
    wait_for(address, server)
    yield address, folder
    server.kill()
    server.wait()


def wait_for(address, server):
    """Wait up to a minute until the server answers."""
    deadline = time.monotonic() + 60
    while True:
        try:
            urllib.request.urlopen(address)
            return
        except OSError:
            assert server.poll() is None, "JupyterLab ended"
            assert time.monotonic() < deadline, "JupyterLab did not start"
            time.sleep(0.5)


def run_all(lab, browser, notebook, name):
    """Open a notebook in JupyterLab, run all of its cells, and return the page."""
    address, folder = lab
    nbformat.write(notebook, folder / name)
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.goto(f"{address}/tree/{name}?reset")
    page.wait_for_selector("text=Python 3 (ipykernel) | Idle", timeout=60_000)
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.locator(".lm-Menu-itemLabel:text-is('Run All Cells')").click()
    return page


def wait_for_output(page, text):
    """Wait until the page shows a text as the output of a cell."""
    output = page.locator(".jp-OutputArea-output", has_text=text)
    output.first.wait_for(timeout=400_000)


def test_run_all_goes_on_after_an_exercise_and_stops_at_an_ordinary_error(lab, browser):
    check = nbformat.v4.new_code_cell("assert False, 'the hint'")
    check.metadata.tags = ["raises-exception"]
    ordinary = ["print('it went on')", "1 / 0", "print('it did not stop')"]
    cells = [check, *map(nbformat.v4.new_code_cell, ordinary)]
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3 (ipykernel)"}}
    notebook = nbformat.v4.new_notebook(cells=cells, metadata=kernel)
    page = run_all(lab, browser, notebook, "errors.ipynb")
    wait_for_output(page, "AssertionError: the hint")
    wait_for_output(page, "it went on")
    wait_for_output(page, "ZeroDivisionError")
    page.wait_for_timeout(3000)
    last_prompt = page.locator(".jp-CodeCell .jp-InputPrompt").last
    assert last_prompt.inner_text() == "[ ]:"


@pytest.mark.parametrize("lesson", LESSONS_WITH_MENUS)
def test_a_menu_changes_what_a_lesson_shows(lesson, lab, browser):
    notebook = nbformat.read(store.root() / "notebooks" / lesson, as_version=4)
    has_menu = ["interactive(" in cell.source for cell in notebook.cells]
    notebook.cells = notebook.cells[: has_menu.index(True) + 1]
    page = run_all(lab, browser, notebook, lesson)
    output = page.locator(".jp-OutputArea:has(select)").first
    output.wait_for(timeout=400_000)
    before = output.inner_html()
    menu = output.locator("select").first
    chosen = menu.evaluate("menu => menu.selectedIndex")
    menu.select_option(index=0 if chosen else 1)
    output.locator("button").first.click()
    page.wait_for_function(
        "([area, before]) => area.innerHTML !== before",
        arg=[output.element_handle(), before],
        timeout=60_000,
    )
    assert "Error" not in output.inner_text()

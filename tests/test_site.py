"""The site of a run and of the stored lessons, as files and in Chromium."""

import json
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from importlib.metadata import version
from urllib.parse import unquote, urlparse

import nbformat
import pandas as pd
import pytest

from helpers import overview, site, store

CHROMIUM = shutil.which("chromium")
LESSON = "03_contextualized_mosaics"
SERIOUS = ("serious", "critical")
OUTSIDE = re.compile(r"(https?:)?//")
LOADS_OUTSIDE = re.compile(r"""(url\(|@import)\s*["']?(https?:)?//""")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.*is deprecated"),  # inside Sphinx's extensions
]
in_browser = pytest.mark.skipif(not CHROMIUM, reason="Chromium is not installed")


class Page(HTMLParser):
    """The attributes of all tags of a page."""

    def __init__(self, path):
        super().__init__()
        self.tags = []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))


def lesson(title, *outputs):
    """Make a lesson after papermill's banner; it links to a lesson that did not run."""
    opening = f"# {title}\n\n> Why $\\frac{{a}}{{b}}$? See [05](05_c.ipynb)."
    cells = [
        nbformat.v4.new_markdown_cell("An Exception was encountered"),
        nbformat.v4.new_markdown_cell(opening),
        nbformat.v4.new_code_cell("1", outputs=list(outputs)),
    ]
    return nbformat.writes(nbformat.v4.new_notebook(cells=cells))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Build the site of a run in which one lesson ended and two failed."""
    folder = tmp_path_factory.mktemp("run")
    finding = {"id": "contexts/own-set", "subject": "", "verdict": "inconclusive"}
    judged = nbformat.v4.new_output(
        "display_data", {"text/plain": "-"}, metadata={"findings": [finding]}
    )
    error = nbformat.v4.new_output(
        "error", ename="ValueError", evalue="no <x>", traceback=["ValueError: no <x>"]
    )
    store.write_text(folder / "notebooks" / "01_a.ipynb", lesson("First", judged))
    store.write_text(folder / "logs" / "02_b.ipynb", lesson("Second", error))
    store.write_text(folder / "logs" / "03_c.ipynb", "")
    store.write_text(folder / "tables" / "01_a" / "rates.csv", "x,y\n1,2\n")
    site.build(folder)
    return folder


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """Build the site of the stored lessons; return its pages and Sphinx's warnings."""
    folder = tmp_path_factory.mktemp("outputs")
    command = [sys.executable, "-m", "helpers.site"]
    environment = os.environ | {"SUITE_OUTPUTS": str(folder)}
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env=environment
    )
    return folder / "stored" / "pages", done.stderr


def test_the_start_page_comes_first_and_names_the_lessons_that_failed(run):
    for index in (run / "index.html", run / "pages" / "index.html"):
        assert re.search(r'url=.*\b00_start_here.html"', index.read_text())
    start = (run / "pages" / "00_start_here.html").read_text()
    assert "lessons of the run failed" in start
    assert re.search(r'href="02_b.html">\s*02 Second', start) and "03_c" in start


def test_a_failed_lesson_shows_its_error(run):
    page = (run / "pages" / "02_b.html").read_text()
    assert "Second" in page and "no &lt;x&gt;" in page


def test_formulas_are_mathml(run):
    assert "<mfrac>" in (run / "pages" / "01_a.html").read_text()


def test_a_page_tells_what_made_the_run_and_leads_to_findings_and_tables(run):
    assert pd.read_csv(run / "scorecard.csv")["notebook"].tolist() == ["01_a"]
    assert json.loads((run / "run.json").read_text())["torch"] == version("torch")
    page = (run / "pages" / "run.html").read_text()
    assert version("torch") in page and "inconclusive: 1" in page
    for name in ("scorecard.csv", "rates.csv"):
        [link] = re.findall(rf'href="(_downloads/[^"]*{name})"', page)
        assert (run / "pages" / link).is_file()


def test_a_run_without_a_notebook_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="Execute the lessons with `make run`"):
        site.build(tmp_path)


def test_the_stored_site_is_built_without_warnings(stored):
    assert not re.findall(r".*(?:WARNING|ERROR).*", stored[1])


def test_the_stored_site_links_the_lessons_in_their_order(stored):
    tags = Page(stored[0] / "00_start_here.html").tags
    links = [tag["href"] for name, tag in tags if "internal" in tag.get("class", "")]
    lessons = [f"{path.stem}.html" for path in overview.lessons()]
    assert [link for link in dict.fromkeys(links) if link in lessons] == lessons


def test_the_stored_site_loads_nothing_from_outside(stored):
    loaded = [
        tag.get("src") or tag.get("href") or ""
        for path in stored[0].rglob("*.html")
        for name, tag in Page(path).tags
        if name in ("script", "link", "img", "iframe")
    ]
    assert len(loaded) > 100
    assert not [address for address in loaded if OUTSIDE.match(address)]
    for style in stored[0].rglob("*.css"):
        assert not LOADS_OUTSIDE.search(style.read_text()), style


def test_links_of_the_stored_site_lead_somewhere(stored):
    tags = {path.resolve(): Page(path).tags for path in stored[0].rglob("*.html")}
    ids = {
        page: {attributes.get("id") for _, attributes in tags[page]} for page in tags
    }
    assert stored[0].resolve() / "guide" / "your_table.html" in tags
    for page in tags:
        for name, attributes in tags[page]:
            address = urlparse(attributes.get("href", ""))
            if name != "a" or address.scheme:
                continue
            path = unquote(address.path)
            target = (page.parent / path).resolve() if path else page
            assert target.exists(), (page, path)
            place = unquote(address.fragment)
            assert not place or place in ids[target], (page, path, place)


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api").sync_playwright().start()
    yield playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
    playwright.stop()


@pytest.fixture
def open_page(browser, stored):
    """Open a page of the stored site in a window of some width."""

    def open_page(name, width=1280):
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.goto((stored[0] / f"{name}.html").as_uri())
        return page

    return open_page


@in_browser
def test_every_page_fits_wide_and_narrow_windows(stored, open_page):
    names = {path.stem for path in stored[0].glob("*.html")}
    for name in sorted(names - {"index"}):  # which leads to another page
        page = open_page(name)
        for width in (1280, 390):
            page.set_viewport_size({"width": width, "height": 900})
            wide = page.evaluate("document.documentElement.scrollWidth")
            assert wide <= width + 1, f"{name} is {wide} pixels wide"
        page.close()


@in_browser
@pytest.mark.parametrize("name", [LESSON, "13_audit_your_table"])
def test_printed_sentences_wrap(open_page, name):
    printed = open_page(name, 390).locator(".output.stream pre")
    assert printed.count() > 3
    assert printed.evaluate_all("all => all.every(e => e.scrollWidth <= e.clientWidth)")


@in_browser
def test_a_figure_opens_at_full_size_by_mouse_and_keyboard(open_page):
    page = open_page(LESSON, 390)
    figure = page.locator("figure img").first
    full_size = figure.evaluate("image => image.naturalWidth")
    assert figure.bounding_box()["width"] < full_size
    enlarged = page.locator("dialog img")
    figure.click()
    assert enlarged.bounding_box()["width"] == full_size
    page.keyboard.press("Escape")
    enlarged.wait_for(state="detached")
    figure.press("Enter")
    enlarged.click()
    enlarged.wait_for(state="detached")


@in_browser
def test_the_search_finds_a_lesson(open_page):
    page = open_page("search")
    page.goto(f"{page.url}?q=mosaic")
    page.wait_for_selector(f"#search-results a[href^='{LESSON}']")


@in_browser
def test_a_printed_page_cuts_nothing_off(open_page):
    page = open_page(LESSON, 680)  # the width of A4 without its margins
    page.emulate_media(media="print")
    printed = page.locator("main figure img, main .output pre, main table")
    assert printed.count() > 10
    edges = "all => all.map(e => e.getBoundingClientRect().right)"
    assert max(printed.evaluate_all(edges)) <= 681


@in_browser
@pytest.mark.parametrize(
    "name, theme",
    [
        ("00_start_here", "light"),
        ("00_start_here", "dark"),
        ("02_cross_evaluation", "light"),
    ],
)
def test_axe_finds_no_serious_fault(open_page, name, theme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = open_page(name)
    page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
    page.wait_for_timeout(300)  # colours fade from one theme to the other
    faults = axe.run(page).response["violations"]
    assert not [fault["id"] for fault in faults if fault["impact"] in SERIOUS]

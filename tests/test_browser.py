"""The pages, wide and narrow, offline, without an error or a dead link, in a real browser.
All need Chromium (Debian's ``chromium``) and are skipped where there is none."""

import shutil
from pathlib import Path
from urllib.parse import quote, unquote, urlparse

import pytest

from helpers import store
from helpers.suite import notebooks, pages

CHROMIUM = shutil.which("chromium")
NOTEBOOKS = notebooks.lessons()
LESSONS = {notebook.stem for notebook in NOTEBOOKS}
pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(
        not CHROMIUM, reason="no browser: install Debian's package chromium"
    ),
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
        chromium = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"]
        )
        yield chromium
        chromium.close()


def opened(browser, path, width=1400):
    """A page, and what it complained of or asked the network for."""
    page, complaints = browser.new_page(viewport={"width": width, "height": 900}), []
    page.on(
        "console",
        lambda line: complaints.append(line.text) if line.type == "error" else None,
    )
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "request",
        lambda r: complaints.append(r.url) if r.url.startswith("http") else None,
    )
    page.goto(path.as_uri())
    return page, complaints


def broken(page, path):
    """Links of a page that lead nowhere."""
    for link in set(
        page.eval_on_selector_all("a[href]", "all => all.map(a => a.href)")
    ):
        address = urlparse(link)
        target, place = Path(unquote(address.path)), unquote(address.fragment)
        if address.scheme == "file":
            here = place and target == path
            lost = here and not page.evaluate(
                "id => !!document.getElementById(id)", place
            )
            if lost or not target.exists():
                yield link


# marks words of each look thrice, colour on ground and size, whose contrast axe-core then judges
ONCE = """() => {
  const seen = {};
  for (const one of document.querySelectorAll('body *')) {
    const words = [...one.childNodes].some(node => node.nodeType === 3 && node.data.trim());
    if (!words || !one.checkVisibility()) continue;
    let under = one, ground;
    do ground = getComputedStyle(under).backgroundColor;
    while (ground === 'rgba(0, 0, 0, 0)' && (under = under.parentElement));
    const own = getComputedStyle(one);
    const look = [own.color, ground, own.fontSize, own.fontWeight, one.tagName === 'A'].join();
    seen[look] = (seen[look] || 0) + 1;
    one.toggleAttribute('data-once', seen[look] <= 3);
  }
  const rules = {'color-contrast': '[data-once]', 'link-in-text-block': 'a[href][data-once]'};
  axe.configure({rules: Object.entries(rules).map(([id, selector]) => ({id, selector}))});
  return Object.keys(seen);
}"""


def test_every_page_fits_its_window_and_can_be_read_by_everybody_offline(book, browser):
    """Wide and narrow, without an error or a dead link; by axe-core contrast, alternative texts and
    names of controls, light and dark: nothing serious."""
    axe, looks = (
        pytest.importorskip("axe_playwright_python.sync_playwright").Axe(),
        set(),
    )
    for path in sorted(book.glob("*.html")):
        page, complaints = opened(browser, path)
        for width in (1400, 390, 1300):
            page.set_viewport_size({"width": width, "height": 900})
            wide = page.evaluate("document.documentElement.scrollWidth")
            assert wide <= width + 1, (
                f"{path.name} is {wide} pixels wide in a window of {width}"
            )
            if width == 1400 and path.stem in LESSONS:
                top = page.locator("main figure img").first.bounding_box()["y"]
                assert top < 1200, f"{path.name}: the first figure is {top} pixels down"
        assert "| :" not in page.inner_text("main"), (
            f"{path.name} shows a table as its Markdown"
        )
        assert not [*broken(page, path)], path.name
        assert not complaints, (
            f"{path.name}: {complaints[:3]}"
        )  # axe itself asks for style sheets
        colours, faults = {"runOnly": ["color-contrast", "link-in-text-block"]}, []
        page.evaluate(axe.axe_script)
        for theme, rules in {
            "light": {},
            "dark": colours,
        }.items():  # a theme changes colours
            page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
            page.wait_for_timeout(300)  # they fade from one theme to the other
            new = {*page.evaluate(ONCE)} - looks
            looks |= new
            if rules and not new:  # a page before had all of its looks in the dark
                continue
            judged = page.evaluate(
                "rules => axe.run(rules)", rules | {"resultTypes": ["violations"]}
            )
            faults += [
                (theme, fault["id"], fault["nodes"][0]["html"][:200])
                for fault in judged["violations"]
                if fault["impact"] in ("serious", "critical")
            ]
        assert not faults, f"{path.name}: {faults}"
        page.close()


def test_the_first_page_names_what_failed_and_one_reads_on_to_the_last_by_next(
    book, browser
):
    page, _ = opened(browser, book / "index.html")
    assert "10_failed failed" in page.inner_text("main")
    assert not page.locator("a[href*='10_failed.html']").count(), "it is not linked"
    seen = []
    while (following := page.locator("a.right-next")).count():
        page.goto(following.first.evaluate("link => link.href"))
        seen.append(Path(urlparse(page.url).path).stem)
    assert seen[: len(NOTEBOOKS) + 1] == ["00_start_here", *sorted(LESSONS)]


def test_the_pages_outline_what_has_the_focus_and_have_a_search(book, browser):
    page, _ = opened(browser, book / f"{NOTEBOOKS[2].stem}.html")
    page.locator("nav a.reference").first.focus()
    page.keyboard.press("Tab")
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid", "what has the focus is outlined"
    searched = {"mosaic": "03_", "GradCAM": "05_gradcam", "demographic parity": "13_"}
    for words, lesson in searched.items():
        page.goto((book / "search.html").as_uri() + f"?q={quote(words)}")
        page.wait_for_selector(f"#search-results li > a[href^='{lesson}']")


def test_a_figure_is_enlarged_by_a_click_on_a_phone(book, browser):
    page, _ = opened(browser, book / "03_contextualized_mosaics.html", 390)
    figure = page.locator("figure.first img").first
    before = figure.bounding_box()["width"]
    figure.click()
    assert figure.bounding_box()["width"] > 1.8 * before
    assert page.evaluate("document.documentElement.scrollWidth") <= 391, (
        "the page does not widen"
    )
    figure.click()
    assert figure.bounding_box()["width"] == before
    panels = page.locator(".output figure").first
    assert panels.locator("img").bounding_box()["width"] > 1.8 * before, (
        "its words can be read"
    )
    for place in (panels, page.locator(".output.text_html:has(td)").first):
        sign = place.evaluate("place => getComputedStyle(place, '::before').content")
        assert "scroll" in sign, "what is wider than a phone says that it scrolls"


def test_a_printed_lesson_holds_its_text_and_nothing_is_cut_at_the_papers_edge(
    book, browser
):
    page, _ = opened(
        browser, book / "03_contextualized_mosaics.html", 680
    )  # A4 less its margins
    page.emulate_media(media="print")
    cut = "e => e.scrollWidth > e.clientWidth + 1 || e.getBoundingClientRect().right > innerWidth"
    printed = "main figure img, main table, main .output pre"
    assert page.locator(printed).count() > 10
    assert not page.eval_on_selector_all(printed, f"all => all.filter({cut}).length")
    assert not [fold for fold in page.locator("details").all() if fold.is_visible()]
    pdf = page.pdf(prefer_css_page_size=True, outline=True, tagged=True)
    heads = page.locator("main h2").all_inner_texts()[1:4]
    assert len(heads) == 3 and all(
        f"/Title ({head.rstrip('#')})".encode() in pdf for head in heads
    )

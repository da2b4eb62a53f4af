"""Keep every exhibit of the papers: each has a tagged cell that shows our number for it.

``data/exhibits/*.csv`` has one row per exhibit. Its tag names one cell or several of a
lesson, and `numbers` lists those of our numbers that the cells print.
"""

import html
import json
import re

import pandas as pd
import pytest

from helpers import store

NUMBER = re.compile(r"(?<![\w.])[-−]?\d+(?:,\d{3})*(?:\.\d+)?%?")
EXHIBITS = pd.concat(
    pd.read_csv(path, keep_default_na=False, dtype=str).assign(paper=path.stem)
    for path in sorted((store.root() / "data" / "exhibits").glob("*.csv"))
)


def tagged_cells(row) -> list[dict]:
    """Return the cells of a lesson that have the tag of an exhibit."""
    notebook = json.loads(
        (store.root() / "notebooks" / f"{row.notebook}.ipynb").read_text()
    )
    return [
        cell
        for cell in notebook["cells"]
        if row.tag in cell["metadata"].get("tags", [])
    ]


def printed_text(cell: dict) -> str:
    """Return the text that a stored cell printed, without images and markup."""
    texts = []
    for output in cell.get("outputs", []):
        texts.append("".join(output.get("text", "")))
        for kind, data in output.get("data", {}).items():
            if kind in ("text/plain", "text/markdown", "text/html"):
                without_images = re.sub(r'base64,[^"]+', "", "".join(data))
                texts.append(html.unescape(re.sub(r"<[^>]+>", " ", without_images)))
    return "\n".join(texts)


def to_number(text: str) -> float:
    return float(text.replace("−", "-").replace(",", "").rstrip("%"))


@pytest.mark.parametrize("row", list(EXHIBITS.itertuples()), ids=lambda row: row.tag)
def test_an_exhibit_has_a_cell_that_shows_its_numbers(row):
    cells = tagged_cells(row)
    assert cells, f"no cell of {row.notebook} has the tag {row.tag}"
    printed = "\n".join(map(printed_text, cells))
    shown = {to_number(number) for number in NUMBER.findall(printed)}
    missing = [
        number for number in row.numbers.split() if to_number(number) not in shown
    ]
    assert not missing, f"{row.notebook} no longer shows {missing}"


def test_exhibits_are_listed_once_and_most_with_a_number():
    assert EXHIBITS["tag"].is_unique
    assert (EXHIBITS["numbers"] != "").sum() >= 45


@pytest.mark.parametrize("paper", EXHIBITS["paper"].unique())
def test_each_exhibit_that_a_lesson_lists_is_kept(paper):
    path = store.root() / "data" / "paper" / f"{paper}_counterparts.csv"
    if not path.is_file():
        pytest.skip(f"no lesson lists the exhibits of {paper}")
    kept = EXHIBITS.loc[EXHIBITS["paper"] == paper, "exhibit"]
    for exhibit in pd.read_csv(path)["exhibit"]:
        assert kept.str.contains(rf"{exhibit}\b").any(), exhibit

"""README and 00 begin with the same findings, whose numbers are those of the stored lessons."""

import re

import nbformat
import numpy as np
import pandas as pd
import pytest
from front import PICTURE, README, age, readme
from PIL import Image

from helpers import store
from helpers.focus import claims
from helpers.suite import notebooks


def test_readme_has_the_numbers_of_today():
    text = README.read_text()
    assert text == readme(text), "make picture writes them anew"


def test_the_three_findings_are_those_of_the_recorded_tables():
    first, second, third = notebooks.three().data.splitlines()
    pairs = pd.read_csv(store.root() / "data/context_worlds.csv")
    assert pairs["pair"].nunique() == 60 and "In 60 pairs of drawn worlds" in first
    stored = notebooks.findings([notebooks.NOTEBOOKS / "05b_dose_and_worlds.ipynb"])
    measured = stored.set_index(["id", "subject"])["estimate"]
    ways = "context alone, logits, less other contexts", "mosaics, flips, raw"
    four = [
        measured[f"suite/contexts/{what}", of]
        for of in ways
        for what in ("power", "alarms")
    ]
    assert re.findall(r"(\d+)%", first) == [f"{100 * one:.0f}" for one in four]
    trials = claims.judged(store.recorded_table("eyespot_trials.csv"))
    full, none = (trials[trials["bias_strength"] == at] for at in (1, 0))
    learned = full[full["learned"]]
    assert f"{learned['detected'].mean():.0%} of {len(learned)} trials" in second
    assert f"{none['detected'].mean():.0%} of {len(none)}." in second
    rng, medians = np.random.default_rng(0), []
    for groups in (2, 60):
        member = rng.integers(0, groups, (800, 1000))
        positive = rng.random((800, 1000)) < 0.1
        shares = [
            [row[by == g].mean() for g in np.unique(by)]
            for row, by in zip(positive, member, strict=True)
        ]
        medians.append(np.median([min(one) / max(one) for one in shares]))
    number = float(re.search(r"by (0\.\d+) lower", third)[1])
    assert number == pytest.approx(medians[0] - medians[1], abs=0.03)


def test_00_shows_them_before_any_list():
    cells = nbformat.read(store.root() / "notebooks/00_start_here.ipynb", 4).cells
    first = next(cell for cell in cells if cell.cell_type == "code")
    shown = first.outputs[-1].data["text/markdown"]
    assert shown == notebooks.three().data


def test_the_picture_shows_the_first_page_of_today():
    with Image.open(PICTURE) as image:
        assert image.text.get("made of") == age(), "make picture draws it anew"


def test_what_readme_links_to_is_there():
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", README.read_text())
    assert len(links) > 10
    missing = [link for link in links if not (store.root() / link).exists()]
    assert not missing

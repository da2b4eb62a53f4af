"""Class pairs: means and errors by loops, the null by simulation, planted pairs found."""

from __future__ import annotations

from itertools import permutations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.figures import focus as figures
from helpers.focus import pairs
from helpers.focus.mosaics import IMAGES

CLASSES = ("ant", "bee", "cat", "dog")


def images(classes=CLASSES, each=12):
    return pd.DataFrame({"class": np.repeat(classes, each), "split": "test"})


def noisy(design, rng, *, mean=0.7, of_image=0.08, own=0.05):
    """Focus of each mosaic: a mean, what its four images add, its own noise."""
    quality = rng.normal(0, of_image, 1000)
    value = mean + quality[design[IMAGES].to_numpy()].sum(1) / 4
    value = value + rng.normal(0, own, len(design))
    same = {"training": 0, "architecture": "one", "set": "C"}
    return design.assign(focus=value, method="made", **same)


@pytest.fixture(scope="module")
def rated():
    design = pairs.design(images(), CLASSES, per_pair=7, seed=3)
    made = noisy(design, np.random.default_rng(0))
    made.loc[[0, 5, 9], "focus"] = np.nan
    return made


def test_means_are_those_of_a_loop(rated):
    table = pairs.ranked(rated).set_index(["target", "outer"])
    for target, outer in permutations(CLASSES, 2):
        values = [
            row["focus"]
            for row in rated.to_dict("records")
            if (row["target"], row["outer"]) == (target, outer)
        ]
        known = [value for value in values if value == value]
        row = table.loc[(target, outer)]
        assert row["focus"] == pytest.approx(sum(known) / len(known))
        assert row["undefined"] == len(values) - len(known) and row["mosaics"] == len(values)
        others = [pairs.of_pair(rated, target, o)["focus"].mean() for o in CLASSES if o != target]
        assert row["others"] == pytest.approx((sum(others) - row["focus"]) / 2)


@pytest.mark.parametrize("of_image", [0.0, 0.15])
def test_false_alarms_come_at_the_nominal_rate_where_all_pairs_are_alike(of_image, monkeypatch):
    """Images of different quality, and no pair unlike another: about 5% have p < .05."""
    monkeypatch.setattr("gc.collect", lambda: 0)  # statsmodels asks for it at every correction
    rng, p = np.random.default_rng(7), []
    for seed in range(60):
        design = pairs.design(images(CLASSES[:3], 14), CLASSES[:3], per_pair=14, seed=seed)
        made = noisy(design, rng, mean=0.5, of_image=of_image)
        p += pairs.ranked(made)["p"].tolist()
    assert 0.015 <= np.mean(np.array(p) < 0.05) <= 0.09
    assert 0.4 <= np.mean(p) <= 0.6


def test_two_classes_have_nothing_to_compare_with():
    design = pairs.design(images(CLASSES[:2]), CLASSES[:2], per_pair=8)
    table = pairs.ranked(noisy(design, np.random.default_rng(0)))
    assert table["p"].isna().all() and table["others"].isna().all() and table["rank"].max() == 2


def test_undefined_pairs_are_counted_and_not_ranked(rated):
    lost = (rated["target"] == "cat") & (rated["outer"] == "dog")
    table = pairs.ranked(rated.assign(focus=rated["focus"].mask(lost)))
    last = table.iloc[-1]
    assert (last["target"], last["outer"], last["undefined"]) == ("cat", "dog", 7)
    assert np.isnan(last[["focus", "p", "p_adjusted", "rank"]].astype(float)).all()
    assert table["p_adjusted"].notna().sum() == 11


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**31), st.integers(1, 5))
def test_extremes_are_the_ends_of_the_sorted_mosaics(seed, n):
    rng = np.random.default_rng(seed)
    design = pairs.design(images(each=5), CLASSES, per_pair=5, seed=seed)
    made = noisy(design, rng)
    ends = pairs.extremes(made, "ant", "dog", n)
    values = sorted(pairs.of_pair(made, "ant", "dog")["focus"])
    k = min(n, 2)
    assert ends["focus"].tolist() == values[::-1][:k] + values[::-1][-k:]
    assert ends["kind"].tolist() == ["best"] * k + ["worst"] * k


def test_what_cannot_be_ranked_is_refused(rated):
    with pytest.raises(ValueError, match="by one method"):
        pairs.ranked(pd.concat([rated, rated.assign(method="other")]))
    with pytest.raises(ValueError, match="of two classes"):
        pairs.ranked(rated.assign(outer="bee + cat"))
    with pytest.raises(ValueError, match="0 mosaics"):
        pairs.extremes(rated, "ant", "ant", 1)


@pytest.mark.parametrize("n", [2, 4, 12])
def test_a_matrix_of_pairs_writes_every_value_once_and_frames_the_planted_pair(n):
    names, rng = [f"class number {i}" for i in range(n)], np.random.default_rng(0)
    rows = [(a, b, rng.uniform(0.4, 1)) for a, b in permutations(names, 2)]
    table = pd.DataFrame(rows, columns=["target", "outer", "focus"])
    table = table.assign(rank=table["focus"].rank()).sort_values("focus", ignore_index=True)
    planted = tuple(table.loc[1, ["target", "outer"]])
    table.loc[0, ["focus", "rank"]] = np.nan
    figure = figures.pair_matrix(table, names, planted)
    written = [text.get_text() for ax in figure.axes for text in ax.texts]
    ranks = {2: "\n(2.)", 3: "\n(3.)"}
    values = [f"{row.focus:.2f}{ranks.get(row.rank, '')}" for row in table[1:].itertuples()]
    assert sorted(written) == sorted([*values, "none"])
    [frame] = figure.axes[0].patches
    middle = frame.get_x() + 0.47, frame.get_y() + 0.46
    assert middle == pytest.approx((names.index(planted[1]), names.index(planted[0])))
    plt.close(figure)

"""Means of Focus over runs and shared images, and ranked pairs: coverage and the null by simulation,
errors by loops."""

from __future__ import annotations

from functools import cache
from itertools import permutations, product

import numpy as np
import pandas as pd
import pytest

from helpers import focus
from helpers.focus import means
from helpers.focus.means import Means, contrast
from helpers.focus.mosaics import IMAGES, TARGETS

CLASSES = tuple("abcd")
ANIMALS = ("ant", "bee", "cat", "dog")


def images(classes=ANIMALS, each=12):
    return pd.DataFrame({"class": np.repeat(classes, each), "split": "test"})


def noisy(design, rng, *, mean=0.7, of_image=0.08, own=0.05):
    """Focus of each mosaic: a mean, what its four images add, its own noise."""
    quality = rng.normal(0, of_image, 1000)
    value = mean + quality[design[IMAGES].to_numpy()].sum(1) / 4
    value = value + rng.normal(0, own, len(design))
    same = {"run": 0, "architecture": "one", "set": "C"}
    return design.assign(focus=value, method="made", **same)


@cache
def designed(seed, per_class, each):
    table = pd.DataFrame({"class": np.repeat(CLASSES, each)})
    return focus.design(table, CLASSES, per_class=per_class, seed=seed)


def simulated(
    *seeds,
    runs=5,
    architectures=1,
    run=0.03,  # standard deviations: of a run,
    image=0.05,  # of an image as a target and, of two thirds of it, as another,
    both=0.04,  # of an image in one run,
    mosaic=0.05,  # of a mosaic,
    alone=0.03,  # and of a mosaic in one run
    per_class=12,
    each=25,
):
    """Simulate a Focus of 0.6 with effects of runs, images, mosaics and their combinations.

    There is one dataset per seed. Ten datasets share a design, each with its own images.
    """
    parts = []
    for dataset, seed in enumerate(seeds):
        design = designed(seed % 60, per_class, each)
        rng = np.random.default_rng(seed)
        shown = design[IMAGES].to_numpy()
        role = design[TARGETS].to_numpy().astype(int)
        n_images = len(CLASSES) * each

        def of_images(deviations, rng=rng, shown=shown, role=role, n=n_images):
            effects = rng.normal(0, deviations, (n, 2))
            return effects[shown, role].sum(1) / 2

        shared = 0.6 + of_images((image / 1.5, image))
        shared = shared + rng.normal(0, mosaic, len(design))
        for architecture, number in product(range(architectures), range(runs)):
            value = shared + rng.normal(0, run) + of_images(both)
            value = value + rng.normal(0, alone, len(design))
            part = design.assign(focus=value, run=number, architecture=architecture)
            part["world"] = dataset
            part["mosaic"] += dataset * len(design)
            part[IMAGES] += dataset * n_images
            parts.append(part)
    table = pd.concat(parts, ignore_index=True)
    return table.assign(method="made", set="C", seconds=0.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "world",
    [
        {},
        {"runs": 10, "run": 0.1},
        {"image": 0.15, "run": 0.0, "both": 0.0},
        {"architectures": 3, "run": 0.06, "per_class": 3},
    ],
    ids=str,
)
def test_intervals_cover(world):
    """95% intervals of 600 datasets cover in 93 to 97%, give or take two standard errors."""
    hits = []
    for first in range(0, 600, 100):
        rated = simulated(*range(first, first + 100), **world)
        # datasets share no image: each is estimated as if alone
        means = Means.of(rated, ["world", "target"])
        weights = pd.Series(1 / len(CLASSES), means.focus.index)
        for _, weights_of_dataset in weights.groupby("world"):
            _, low, high = means.contrast(weights_of_dataset).interval()
            hits.append(low <= 0.6 <= high)
    assert 0.93 - 0.018 <= np.mean(hits) <= 0.97 + 0.014


def test_errors_are_those_of_loops():
    design = focus.design(images(CLASSES, 9), CLASSES, per_pair=7, seed=3)
    shared = noisy(design, np.random.default_rng(9))
    parts = []
    for t in range(3):
        own = 0.3 * noisy(design, np.random.default_rng(t))["focus"]
        parts.append(shared.assign(run=t, focus=shared["focus"] + own))
    rated = pd.concat(parts)  # with the same index thrice, as concatenated ratings have
    weights = {("a", "b"): 1.0, ("a", "c"): -0.5, ("a", "d"): -0.5}
    contrast = Means.of(rated, means.PAIR).contrast(pd.Series(weights))
    assert contrast.error**2 == pytest.approx(variance_by_loop(rated, weights))


def test_paired_differences_see_what_single_intervals_do_not():
    first = simulated(0, mosaic=0.0, alone=0.0)
    second = first.assign(focus=first["focus"] - 0.01, method="other")
    both = pd.concat([first, second])
    difference = contrast(both, {"made": 1, "other": -1})
    assert difference.estimate == pytest.approx(0.01)
    assert difference.p < 0.01
    summary = focus.summary(both)
    assert summary["mean_low"][0] < summary["mean"][1]


def test_undefined_are_counted_and_left_out():
    rated = simulated(0)
    rated.loc[:9, "focus"] = np.nan
    [row] = focus.summary(rated).to_dict("records")
    assert (row["undefined"], row["mosaics"], row["runs"]) == (10, 48, 5)
    assert row["mean"] == pytest.approx(rated["focus"].mean())


@pytest.fixture(scope="module")
def rated():
    design = focus.design(images(), ANIMALS, per_pair=7, seed=3)
    made = noisy(design, np.random.default_rng(0))
    made.loc[[0, 5, 9], "focus"] = np.nan
    return made


def test_means_are_those_of_a_loop(rated):
    table = means.ranked(rated).set_index(["target", "outer"])
    for target, outer in permutations(ANIMALS, 2):
        values = means.of_pair(rated, target, outer)["focus"]
        known = values.dropna()
        row = table.loc[(target, outer)]
        assert row["focus"] == pytest.approx(sum(known) / len(known))
        assert row["undefined"] == len(values) - len(known)
        others = []
        for animal in set(ANIMALS) - {target, outer}:
            others.append(means.of_pair(rated, target, animal)["focus"].mean())
        assert row["others"] == pytest.approx(np.mean(others))


def test_the_false_positive_rate_is_nominal_where_all_pairs_are_alike():
    """Images differ in quality, but pairs are alike: about 5% have p < 0.05."""
    rng = np.random.default_rng(7)
    table = images(ANIMALS[:3], 14)
    p = []
    for seed in range(60):
        design = focus.design(table, ANIMALS[:3], per_pair=14, seed=seed)
        rated = noisy(design, rng, mean=0.5, of_image=0.15)
        p += means.ranked(rated)["p"].tolist()
    assert 0.015 <= np.mean(np.array(p) < 0.05) <= 0.09
    assert 0.4 <= np.mean(p) <= 0.6


def shared_sum(part, shown):
    """Sum the products of all couples of mosaics that share an image."""
    total = 0.0
    for a, b in product(part, part):
        if shown[a] & shown[b]:
            total += part[a] * part[b]
    return total


def variance_by_loop(rated, weights):
    """Variance of a contrast of cells, by loops over couples of mosaics."""
    value = {(r["run"], r["mosaic"]): r["focus"] for r in rated.to_dict("records")}
    runs = sorted(rated["run"].unique())
    cell = {}
    shown = {}
    mosaics = {pair: [] for pair in weights}
    roles = {pair: [set(), set()] for pair in weights}
    for row in rated[rated["run"] == 0].to_dict("records"):
        pair = row["target"], row["outer"]
        if pair not in weights:
            continue
        cell[row["mosaic"]] = pair
        shown[row["mosaic"]] = {row[name] for name in IMAGES}
        mosaics[pair].append(row["mosaic"])
        for image, is_target in zip(IMAGES, TARGETS, strict=True):
            roles[pair][row[is_target]].add(row[image])
    scale = {}
    for pair, weight in weights.items():
        n = min(len(mosaics[pair]), *map(len, roles[pair]))
        scale[pair] = weight / len(mosaics[pair]) * np.sqrt(n / (n - 1))

    middle = {m: np.mean([value[t, m] for t in runs]) for m in cell}
    mean_of_run = {}
    mean_of_cell = {}
    for pair, numbers in mosaics.items():
        mean_of_cell[pair] = np.mean([middle[m] for m in numbers])
        for t in runs:
            mean_of_run[t, pair] = np.mean([value[t, m] for m in numbers])

    part = {m: scale[c] * (middle[m] - mean_of_cell[c]) for m, c in cell.items()}
    squares = sum(deviation**2 for deviation in part.values())
    of_images = max(shared_sum(part, shown), squares)
    sums = [sum(w * mean_of_run[t, c] for c, w in weights.items()) for t in runs]
    of_runs = np.var(sums, ddof=1) / len(runs)
    rest = 0.0
    for t in runs:
        part = {}
        for m, c in cell.items():
            deviation = value[t, m] - mean_of_run[t, c] - middle[m] + mean_of_cell[c]
            part[m] = scale[c] * deviation
        rest += shared_sum(part, shown) / (len(runs) * (len(runs) - 1))
    return max(of_runs + of_images - rest, of_runs, of_images)


def test_a_mosaic_counts_in_a_comparison_where_both_methods_are_defined():
    rated = simulated(0)
    rated.loc[:9, "focus"] = np.nan
    both = pd.concat([rated, simulated(0).assign(focus=0.5, method="other")])
    difference = contrast(both, {"made": 1, "other": -1})
    assert difference.estimate == pytest.approx(rated["focus"].mean() - 0.5)

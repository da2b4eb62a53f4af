"""Means of Focus over runs and shared images, and ranked pairs: coverage and the null by simulation,
errors by loops."""

from __future__ import annotations

from functools import cache
from itertools import permutations, product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from helpers import focus
from helpers.figures import focus as figures
from helpers.focus import means
from helpers.focus.means import CHANCE, Means, contrast, mean
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

    There is one dataset per seed. Ten datasets share a design, each with its own images."""
    networks, worlds = [*product(range(architectures), range(runs))], len(seeds)
    designs = [designed(seed % 60, per_class, each) for seed in seeds]
    values = []
    for seed, made in zip(seeds, designs, strict=True):
        rng, at, role = np.random.default_rng(seed), *_cells(made)

        def of_images(spread, rng=rng, at=at, role=role):
            return rng.normal(0, spread, (len(CLASSES) * each, 2))[at, role].sum(1) / 2

        base = 0.6 + of_images((image / 1.5, image)) + rng.normal(0, mosaic, len(made))
        own = [
            rng.normal(0, run) + of_images(both) + rng.normal(0, alone, len(made))
            for _ in networks
        ]
        values.append(base + own)
    made = pd.concat(designs, ignore_index=True)
    made["world"] = world = np.repeat(range(worlds), len(made) // worlds)
    made["mosaic"] += world * (len(made) // worlds)
    made[IMAGES] += world[:, None] * len(CLASSES) * each
    rows = np.hstack(values)  # networks by mosaics
    parts = [
        made.assign(focus=row, run=number, architecture=architecture)
        for row, (architecture, number) in zip(rows, networks, strict=True)
    ]
    return pd.concat(parts, ignore_index=True).assign(
        method="made", set="C", seconds=0.0
    )


def _cells(made):
    return made[IMAGES].to_numpy(), made[TARGETS].to_numpy().astype(int)


@pytest.mark.slow
@pytest.mark.parametrize(
    "world",
    [
        {},
        {"runs": 10, "run": 0.1},
        {"image": 0.15, "run": 0.0, "both": 0.0},
        {"per_class": 60},
        {"per_class": 3},
        {"architectures": 3, "run": 0.06, "per_class": 3},
    ],
    ids=str,
)
def test_intervals_cover(world):
    """95% intervals of 600 datasets cover in 93 to 97%, give or take two standard errors."""
    found = []
    for first in range(0, 600, 100):
        rated = simulated(*range(first, first + 100), **world)
        means = Means.of(
            rated, ["world", "target"]
        )  # datasets share nothing: as if alone
        share = pd.Series(1 / len(CLASSES), means.focus.index)
        found += [means.contrast(part) for _, part in share.groupby("world")]
        alone = mean(rated[rated["world"] == 99])
        assert found[-1].interval() == pytest.approx(alone.interval())
    covered = np.mean(
        [low <= 0.6 <= high for _, low, high in (m.interval() for m in found)]
    )
    assert 0.93 - 0.018 <= covered <= 0.97 + 0.014, covered


def by_loop(rated, weights):
    """Estimate and variance of a contrast of cells, by loops over couples of mosaics."""
    value = {(r["run"], r["mosaic"]): r["focus"] for r in rated.to_dict("records")}
    runs, first = sorted(rated["run"].unique()), rated[rated["run"] == 0]
    rows = [r for r in first.to_dict("records") if (r["target"], r["outer"]) in weights]
    cell = {r["mosaic"]: (r["target"], r["outer"]) for r in rows}
    shown = {r["mosaic"]: {r[name] for name in IMAGES} for r in rows}
    of, scale = {c: [m for m in cell if cell[m] == c] for c in weights}, {}
    for c, mosaics in of.items():
        roles = [set(), set()]
        for r, number in product([r for r in rows if r["mosaic"] in mosaics], range(4)):
            roles[r[TARGETS[number]]].add(r[IMAGES[number]])
        n = min(len(mosaics), *map(len, roles))
        scale[c] = weights[c] / len(mosaics) * np.sqrt(n / (n - 1))

    def over_shared(deviation):
        part = {m: scale[cell[m]] * deviation(m) for m in cell}
        shared = sum(
            part[a] * part[b] for a, b in product(cell, cell) if shown[a] & shown[b]
        )
        return shared, sum(one**2 for one in part.values())

    middle = {m: np.mean([value[t, m] for t in runs]) for m in cell}
    means = {(t, c): np.mean([value[t, m] for m in of[c]]) for t in runs for c in of}
    overall = {c: np.mean([middle[m] for m in mosaics]) for c, mosaics in of.items()}
    of_images = max(over_shared(lambda m: middle[m] - overall[cell[m]]))
    sums = [sum(w * means[t, c] for c, w in weights.items()) for t in runs]
    of_runs, rest = np.var(sums, ddof=1) / len(runs), 0.0
    for t in runs:
        alone = {
            m: value[t, m] - means[t, cell[m]] - middle[m] + overall[cell[m]]
            for m in cell
        }
        rest += over_shared(alone.get)[0] / (len(runs) * (len(runs) - 1))
    estimate = sum(w * overall[c] for c, w in weights.items())
    return estimate, max(of_runs + of_images - rest, of_runs, of_images)


def test_errors_are_those_of_loops():
    design = focus.design(images(CLASSES, 9), CLASSES, per_pair=7, seed=3)
    shared, parts = noisy(design, np.random.default_rng(9)), []
    for t in range(3):
        own = 0.3 * noisy(design, np.random.default_rng(t))["focus"]
        parts.append(shared.assign(run=t, focus=shared["focus"] + own))
    rated = pd.concat(parts)  # with the same index thrice, as concatenated ratings have
    weights = {("a", "b"): 1.0, ("a", "c"): -0.5, ("a", "d"): -0.5}
    found = Means.of(rated, means.PAIR).contrast(pd.Series(weights))
    estimate, variance = by_loop(rated, weights)
    assert found.estimate == pytest.approx(estimate)
    assert found.error**2 == pytest.approx(variance)


def test_paired_differences_see_what_single_intervals_do_not():
    first = simulated(0, mosaic=0.0, alone=0.0)
    second = first.assign(focus=first["focus"] - 0.01, method="other")
    both = pd.concat([first, second])
    found = contrast(both, {"made": 1, "other": -1})
    assert found.estimate == pytest.approx(0.01) and found.p < 0.01
    ends = focus.summary(both)
    assert ends["mean_low"][0] < ends["mean"][1]
    middle = contrast(both, {"other": 1, "made": -0.5, CHANCE: -0.5})
    assert middle.estimate == pytest.approx(
        second["focus"].mean() - first["focus"].mean() / 2 - 0.25
    )


def test_undefined_are_counted_and_left_out():
    rated = simulated(0)
    rated.loc[:9, "focus"] = np.nan
    [row] = focus.summary(rated).to_dict("records")
    assert (row["undefined"], row["mosaics"], row["runs"]) == (10, 48, 5)
    assert row["mean"] == pytest.approx(rated["focus"].mean())
    both = pd.concat([rated, simulated(0).assign(focus=0.5, method="other")])
    gap = contrast(both, {"made": 1, "other": -1})
    assert gap.estimate == pytest.approx(rated["focus"].mean() - 0.5), (
        "a mosaic counts with both"
    )
    [row] = focus.summary(rated.assign(focus=np.nan)).to_dict("records")
    assert (
        row["undefined"] == 240 and np.isnan(row["mean"]) and np.isnan(row["mean_low"])
    )


def test_methods_are_compared_on_the_networks_that_both_explain():
    """LRP may refuse one: it is then left out of the comparison, not of the rating."""
    first = simulated(0, architectures=2)
    second = first[first["architecture"] == 1].assign(method="other", focus=0.5)
    gap = contrast(pd.concat([first, second]), {"made": 1, "other": -1})
    assert gap.estimate == pytest.approx(
        first["focus"][first["architecture"] == 1].mean() - 0.5
    )


@pytest.fixture(scope="module")
def rated():
    design = focus.design(images(), ANIMALS, per_pair=7, seed=3)
    made = noisy(design, np.random.default_rng(0))
    made.loc[[0, 5, 9], "focus"] = np.nan
    return made


def test_means_are_those_of_a_loop(rated):
    table = means.ranked(rated).set_index(["target", "outer"])
    for target, outer in permutations(ANIMALS, 2):
        values = means.of_pair(rated, target, outer)["focus"].tolist()
        known = [value for value in values if value == value]
        row = table.loc[(target, outer)]
        assert row["focus"] == pytest.approx(sum(known) / len(known))
        assert row["undefined"] == len(values) - len(known) and row["mosaics"] == len(
            values
        )
        others = [
            means.of_pair(rated, target, o)["focus"].mean()
            for o in ANIMALS
            if o != target
        ]
        assert row["others"] == pytest.approx((sum(others) - row["focus"]) / 2)


@pytest.mark.parametrize("of_image", [0.0, 0.15])
def test_the_false_positive_rate_is_nominal_where_all_pairs_are_alike(of_image):
    """Images differ in quality, but pairs are alike: about 5% have p < 0.05."""
    rng, p = np.random.default_rng(7), []
    for seed in range(60):
        design = focus.design(
            images(ANIMALS[:3], 14), ANIMALS[:3], per_pair=14, seed=seed
        )
        made = noisy(design, rng, mean=0.5, of_image=of_image)
        p += means.ranked(made)["p"].tolist()
    assert 0.015 <= np.mean(np.array(p) < 0.05) <= 0.09
    assert 0.4 <= np.mean(p) <= 0.6


def test_a_matrix_of_pairs_writes_every_value_once_and_frames_the_injected_pair():
    names, rng = [f"class number {i}" for i in range(4)], np.random.default_rng(0)
    rows = [(a, b, rng.uniform(0.4, 1)) for a, b in permutations(names, 2)]
    table = pd.DataFrame(rows, columns=["target", "outer", "focus"])
    table = table.assign(rank=table["focus"].rank()).sort_values(
        "focus", ignore_index=True
    )
    injected = tuple(table.loc[1, ["target", "outer"]])
    table.loc[0, ["focus", "rank"]] = np.nan
    figure = figures.pair_matrix(table, names, injected)
    written = [text.get_text() for ax in figure.axes for text in ax.texts]
    ranks = {2: "\n(2.)", 3: "\n(3.)"}
    values = [
        f"{row.focus:.2f}{ranks.get(row.rank, '')}" for row in table[1:].itertuples()
    ]
    assert sorted(written) == sorted([*values, "none"])
    [frame] = figure.axes[0].patches
    middle = frame.get_x() + 0.47, frame.get_y() + 0.46
    assert middle == pytest.approx((names.index(injected[1]), names.index(injected[0])))
    plt.close(figure)

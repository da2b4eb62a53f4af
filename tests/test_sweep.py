"""Rates and AUC over many pairs of synthetic datasets, against other computations."""

from itertools import product

import nbformat
import numpy as np
import pandas as pd
import pytest
import scipy.stats
import torch
from statsmodels.stats.proportion import proportion_confint

from helpers import store
from helpers.contexts import counterparts, sweep
from helpers.contexts.calibration import flag_contexts
from helpers.data import world
from sweeps import context_worlds

CLASSES = ("bench", "mug", "plane")
MEASURES = [
    sweep.BEST,
    "mean colour, decisions, raw",
    "mosaics, flips, raw",
    "pasting, decisions, raw",
    "GradCAM, relevance, raw",
    "mosaics, logits, minus other contexts",
    "pasting, logits, minus other contexts",
]


class Corner(torch.nn.Module):
    """Class 2 where the upper left pixel is blue rather than red, class 0 elsewhere."""

    def __init__(self):
        super().__init__()
        self.device = torch.nn.Parameter(
            torch.zeros(1)
        )  # models.logits asks where it is

    def forward(self, images):
        blue = images[:, 2, 0, 0].float() - images[:, 0, 0, 0].float()
        return torch.stack([-blue, 0 * blue - 9, blue, 0 * blue - 9], 1)


def made(effect, *, pairs=40, seed=0):
    """Return pairs of datasets in which every measure has the given effect of the strength."""
    rng = np.random.default_rng(seed)
    rows = []
    for pair, runs, name in product(range(pairs), (5, 1), CLASSES):
        injected = rng.uniform(0, 1)
        for which, strength in (("biased", injected), ("unbiased", 0)):
            row = {
                "pair": pair,
                "dataset": which,
                "runs": runs,
                "context_class": name,
                "bias_strength": strength,
                "reliance": strength + rng.normal(0, 0.01),
            }
            rows.append(row | {m: effect(strength, rng) for m in MEASURES})
    return pd.DataFrame(rows)


def rising(strength, rng):
    return rng.normal() + 6 * strength


def five(recorded):
    return recorded[recorded["runs"] == 5]


def test_thresholds_equal_a_loop_over_the_other_half():
    effects = np.random.default_rng(0).normal(size=(14, 2, 2)) + np.array(
        [[[1, 0], [0, 0]]]
    )
    flags = flag_contexts(effects)
    for pair, context, which in np.ndindex(effects.shape):
        null = [effects[n, :, 1] for n in range(14) if n % 2 != pair % 2]
        away = []
        for n, of in product(range(len(null)), range(2)):
            rest = [one[of] for k, one in enumerate(null) if k != n]
            away.append(abs(null[n][of] - np.mean(rest)) / np.std(rest, ddof=1))
        own = [one[context] for one in null]
        z = (effects[pair, context, which] - np.mean(own)) / np.std(own, ddof=1)
        wanted = np.sign(z) if abs(z) > np.quantile(away, 0.95) else 0
        assert flags[pair, context, which] == wanted
    assert (flag_contexts(np.ones((10, 3, 2))) == 0).all()


def test_thresholds_flag_a_twentieth_of_unbiased_contexts():
    """Sixty pairs, as recorded, in 200 tables of noise."""
    rng = np.random.default_rng(1)
    flagged = [
        np.abs(flag_contexts(rng.normal(3, 7, (60, 4, 2)))).mean() for _ in range(200)
    ]
    assert 0.045 < np.mean(flagged) < 0.065


def test_auc_is_mann_whitneys_and_the_rank_correlation_is_spearmans():
    worlds = five(made(rising))
    areas = sweep.auc_by_context(worlds, MEASURES[:1]).set_index("context_class")
    ranks = sweep.rank_correlations(worlds, MEASURES[:1], "reliance").set_index(
        "context_class"
    )
    for name in CLASSES:
        part = worlds[worlds["context_class"] == name]
        biased = part.loc[part["bias_strength"] >= sweep.MEDIUM, MEASURES[0]]
        unbiased = part.loc[part["dataset"] == "unbiased", MEASURES[0]]
        u = scipy.stats.mannwhitneyu(biased, unbiased).statistic
        row = areas.loc[name]
        assert row["auc"] == pytest.approx(u / (len(biased) * len(unbiased)))
        assert row["low"] <= row["auc"] <= row["high"] and row["pairs"] == 40
        rho = scipy.stats.spearmanr(part[MEASURES[0]], part["reliance"]).statistic
        assert ranks.loc[name, "rank_correlation"] == pytest.approx(rho)
    for table, column in ((areas, "auc"), (ranks, "rank_correlation")):
        assert table.loc[sweep.ALL, column] == pytest.approx(
            table.loc[[*CLASSES], column].mean()
        )


def test_one_measure_is_better_by_the_areas_difference_with_obuchowskis_error():
    """Clustered ROC curves (*Biometrics* 53, 1997): the contexts of a pair are one cluster."""
    worlds = five(made(rising)).query("context_class == 'bench'")
    noise = np.random.default_rng(1).normal(0, 3, len(worlds))
    worlds = worlds.assign(**{MEASURES[1]: worlds[MEASURES[0]] + noise})
    lesson = nbformat.read(
        store.root() / "notebooks/05b_dose_and_worlds.ipynb", as_version=4
    )
    [cell] = [cell for cell in lesson.cells if cell.id == "05b-better"]
    space = {
        "several": worlds,
        "recorded": worlds.assign(runs=1),
        "SIMPLER": MEASURES[:2],
    }
    exec(cell.source, space := {**vars(sweep), **space, "sweep": sweep})
    ours, places = space["better"][MEASURES[1]], []
    for measure in MEASURES[:2]:
        rows = worlds.set_index("pair")
        biased = rows.query("bias_strength >= 0.33")[measure]
        unbiased = rows.query("dataset == 'unbiased'")[measure]
        wins = (biased.to_numpy()[:, None] > unbiased.to_numpy()).astype(float)
        places.append(
            [
                pd.Series(wins.mean(1), biased.index),
                pd.Series(wins.mean(0), unbiased.index),
            ]
        )
    x, y = (one - other for one, other in zip(*places, strict=True))
    gap = x.mean()
    sums = (
        pd.DataFrame({"x": (x - gap) / len(x), "y": (y - gap) / len(y)})
        .fillna(0)
        .sum(axis=1)
    )
    pairs = worlds["pair"].nunique()
    error = np.sqrt(pairs / (pairs - 1) * (sums**2).sum())
    half = error * scipy.stats.t.ppf(0.975, pairs - 1)
    assert ours.estimate == pytest.approx(gap) and ours.estimate > 0.05
    assert ours[1:] == pytest.approx((gap - half, gap + half), rel=0.05)


def test_error_and_detection_rates_average_over_pairs():
    worlds = five(made(rising))
    rates = sweep.rates(worlds, MEASURES[:1]).set_index("kind")
    flags = flag_contexts(sweep.by_pair(worlds, MEASURES[0]))
    strength = sweep.by_pair(worlds, "bias_strength")[..., 0]
    assert rates.loc[sweep.FPR, "share"] == pytest.approx((flags[..., 1] != 0).mean())
    reports = (flags[..., 1] != 0).any(1)
    low, high = proportion_confint(reports.sum(), 40, method="wilson")
    assert rates.loc[sweep.FWER, "share"] == pytest.approx(reports.mean())
    assert rates.loc[sweep.FWER, "low"] == pytest.approx(low, abs=0.02)
    assert rates.loc[sweep.FWER, "high"] == pytest.approx(high, abs=0.02)
    strong = [
        np.mean(row[of_row >= sweep.STRONG] > 0)
        for row, of_row in zip(flags[..., 0], strength, strict=True)
        if (of_row >= sweep.STRONG).any()
    ]
    assert rates.loc[sweep.STRONG_BIAS, "share"] == pytest.approx(np.mean(strong))
    assert rates.loc[sweep.STRONG_BIAS, "pairs"] == len(strong)


def test_the_rule_by_intervals_counts_false_positives_in_counterparts():
    worlds = five(made(rising))
    unbiased = worlds["dataset"] == "unbiased"
    signs = np.random.default_rng(0).integers(-1, 2, len(worlds))
    worlds[f"direction: {MEASURES[0]}"] = signs
    row = counterparts.by_interval(worlds, MEASURES[:1]).iloc[0]
    flagged = (pd.Series(signs, worlds.index) != 0)[unbiased]
    assert row["fpr"] == pytest.approx(flagged.mean())
    assert row["fwer"] == pytest.approx(flagged.groupby(worlds["pair"]).any().mean())
    change = counterparts.changes(worlds, MEASURES[:1])
    assert (change["low"] > 0).all() and (change["rises"] + change["falls"] == 40).all()


def test_reliance_is_found_by_hand_for_a_network_that_sees_the_ground_alone():
    """It names the class of the corner's context: at the border every pixel is ground."""
    table = context_worlds.measure_reliance([Corner()], 48, 3).set_index(
        "context_class"
    )
    drawn = {
        "size": 48,
        "seed": 500_003,
        "per_class": 240,
        "splits": ["test"],
        "marked": None,
    }
    own, other = (
        world.image_set("C", context_bias=bias, **drawn) for bias in (1.0, 0.0)
    )
    of = {}
    for which, images in {"own": own, "other": other}.items():
        red, _, blue = images.images[:, :, 0, 0].float().T
        of[which] = np.where(blue > red, images.classes[2], images.classes[0])
    home = own.table.groupby("class")["context"].first()
    for name in table.index:
        more = (of["own"] == name) * 1.0 - (of["other"] == name)
        need = more[other.table["class"] == name].mean()
        pull = -more[other.table["context"] == home[name]].mean()
        found = table.loc[name, ["need", "pull", "reliance"]].tolist()
        assert found == pytest.approx([need, pull, (need + pull) / 2])

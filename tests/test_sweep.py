"""Rates and AUC over many pairs of synthetic datasets, against other computations."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import torch
from statsmodels.stats.proportion import proportion_confint

from helpers.contexts import sweep
from helpers.contexts.calibration import flag_contexts
from helpers.data import world
from sweeps import context_baselines

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
        # models.logits asks where the parameters are
        self.device = torch.nn.Parameter(torch.zeros(1))

    def forward(self, images):
        red, _, blue = images[:, :, 0, 0].float().T
        more_blue = blue - red
        never = torch.full_like(blue, -1000)
        return torch.stack([-more_blue, never, more_blue, never], dim=1)


def made(effect, *, pairs=40, seed=0):
    """Return pairs of datasets in which every measure has an effect of the strength."""
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
            for measure in MEASURES:
                row[measure] = effect(strength, rng)
            rows.append(row)
    return pd.DataFrame(rows)


def rising(strength, rng):
    return rng.normal() + 6 * strength


def five(recorded):
    return recorded[recorded["runs"] == 5]


def test_thresholds_equal_a_loop_over_the_other_half():
    rng = np.random.default_rng(0)
    effects = rng.normal(size=(14, 2, 2))  # pair, context, biased or unbiased
    effects[:, 0, 0] += 1
    flags = flag_contexts(effects)
    for pair, context, which in np.ndindex(effects.shape):
        other_half = [n for n in range(14) if n % 2 != pair % 2]
        distances = []
        for n, other_context in product(other_half, range(2)):
            rest = [effects[k, other_context, 1] for k in other_half if k != n]
            distance = effects[n, other_context, 1] - np.mean(rest)
            distances.append(abs(distance) / np.std(rest, ddof=1))
        null = effects[other_half, context, 1]
        distance = effects[pair, context, which] - null.mean()
        z = distance / null.std(ddof=1)
        expected = 0
        if abs(z) > np.quantile(distances, 0.95):
            expected = np.sign(z)
        assert flags[pair, context, which] == expected


def test_thresholds_flag_a_twentieth_of_unbiased_contexts():
    """Sixty pairs, as recorded, in 200 tables of noise."""
    rng = np.random.default_rng(1)
    flagged = []
    for _ in range(200):
        effects = rng.normal(3, 7, (60, 4, 2))
        flags = flag_contexts(effects)
        flagged.append(np.mean(flags != 0))
    assert 0.045 < np.mean(flagged) < 0.065


def test_one_measure_is_better_by_the_areas_difference_with_obuchowskis_error():
    """The contexts of a pair are one cluster (Obuchowski, *Biometrics* 53, 1997)."""
    worlds = five(made(rising)).query("context_class == 'bench'")
    noise = np.random.default_rng(1).normal(0, 3, len(worlds))
    worlds[MEASURES[1]] = worlds[MEASURES[0]] + noise
    ours = sweep.auc_difference(
        worlds,
        worlds,
        (MEASURES[0], MEASURES[1]),
    )

    rows = worlds.set_index("pair")
    biased = rows[rows["bias_strength"] >= sweep.MEDIUM]
    unbiased = rows[rows["dataset"] == "unbiased"]
    of_biased = pd.Series(0.0, biased.index)  # the share of wins of each dataset
    of_unbiased = pd.Series(0.0, unbiased.index)
    for measure, sign in zip(MEASURES[:2], (1, -1), strict=True):
        effects = biased[measure].to_numpy()
        null = unbiased[measure].to_numpy()
        wins = effects[:, None] > null
        of_biased += sign * wins.mean(1)
        of_unbiased += sign * wins.mean(0)
    gap = of_biased.mean()
    deviations = (of_unbiased - gap) / len(of_unbiased)
    of_biased_pairs = (of_biased - gap) / len(of_biased)
    deviations = deviations.add(of_biased_pairs, fill_value=0)
    pairs = worlds["pair"].nunique()
    variance = pairs / (pairs - 1) * (deviations**2).sum()
    half = np.sqrt(variance) * scipy.stats.t.ppf(0.975, pairs - 1)
    assert ours.estimate == pytest.approx(gap)
    assert ours[1:] == pytest.approx((gap - half, gap + half), rel=0.05)


def test_error_and_detection_rates_average_over_pairs():
    worlds = five(made(rising))
    rates = sweep.rates(worlds, MEASURES[:1]).set_index("kind")
    flags = flag_contexts(sweep.by_pair(worlds, MEASURES[0]))
    strength = sweep.by_pair(worlds, "bias_strength")[..., 0]
    is_false = flags[..., 1] != 0
    reports = is_false.any(1)
    low, high = proportion_confint(reports.sum(), 40, method="wilson")
    assert rates.loc[sweep.FPR, "share"] == pytest.approx(is_false.mean())
    family = rates.loc[sweep.FWER, ["share", "low", "high"]].tolist()
    assert family == pytest.approx([reports.mean(), low, high], abs=0.02)
    detected = []
    for row, strengths in zip(flags[..., 0], strength, strict=True):
        is_strong = strengths >= sweep.STRONG
        if is_strong.any():
            detected.append(np.mean(row[is_strong] > 0))
    row = rates.loc[sweep.STRONG_BIAS]
    assert row["share"] == pytest.approx(np.mean(detected))
    assert row["n"] == len(detected)


def test_the_rule_by_intervals_counts_false_positives_in_counterparts():
    worlds = five(made(rising))
    signs = np.random.default_rng(0).integers(-1, 2, len(worlds))
    worlds[f"direction: {MEASURES[0]}"] = signs
    row = sweep.by_interval(worlds, MEASURES[:1]).iloc[0]
    unbiased = worlds["dataset"] == "unbiased"
    flagged = pd.Series(signs != 0, worlds.index)[unbiased]
    assert row["fpr"] == pytest.approx(flagged.mean())
    by_pair = flagged.groupby(worlds["pair"]).any()
    assert row["fwer"] == pytest.approx(by_pair.mean())


def test_reliance_is_found_by_hand_for_a_network_that_sees_the_ground_alone():
    """It predicts the class of the corner's context, where every pixel is ground."""
    reliance = context_baselines.reliance([Corner()], 48, 500_003)
    sets = {}
    predictions = {}
    for bias in (1.0, 0.0):
        images = world.image_set(
            "C",
            context_bias=bias,
            size=48,
            seed=500_003,
            per_class=240,
            splits=["test"],
            marked=None,
        )
        red, _, blue = images.images[:, :, 0, 0].float().T
        sets[bias] = images.table
        first, _, third, _ = images.classes
        predictions[bias] = np.where(blue > red, third, first)
    home = sets[1.0].groupby("class")["context"].first()
    for name in reliance.index:
        in_context = predictions[1.0] == name
        elsewhere = predictions[0.0] == name
        gain = in_context.astype(float) - elsewhere
        is_of_class = sets[0.0]["class"] == name
        is_in_context = sets[0.0]["context"] == home[name]
        need = gain[is_of_class].mean()
        pull = -gain[is_in_context].mean()
        assert reliance.loc[name, 0] == pytest.approx((need + pull) / 2)


def test_auc_is_mann_whitneys():
    worlds = five(made(rising))
    areas = sweep.auc_by_context(worlds, MEASURES[:1]).set_index("context_class")
    for name in CLASSES:
        part = worlds[worlds["context_class"] == name]
        biased = part.loc[part["bias_strength"] >= sweep.MEDIUM, MEASURES[0]]
        unbiased = part.loc[part["dataset"] == "unbiased", MEASURES[0]]
        u = scipy.stats.mannwhitneyu(biased, unbiased).statistic
        row = areas.loc[name]
        assert row["auc"] == pytest.approx(u / (len(biased) * len(unbiased)))
        assert row["low"] <= row["auc"] <= row["high"]
    mean = areas.loc[[*CLASSES], "auc"].mean()
    assert areas.loc[sweep.ALL, "auc"] == pytest.approx(mean)


def test_the_rank_correlation_is_spearmans():
    worlds = five(made(rising))
    table = sweep.rank_correlations(worlds, MEASURES[:1], "reliance")
    ours = table.set_index("context_class")["rank_correlation"]
    for name in CLASSES:
        part = worlds[worlds["context_class"] == name]
        expected = scipy.stats.spearmanr(part[MEASURES[0]], part["reliance"])
        assert ours[name] == pytest.approx(expected.statistic)

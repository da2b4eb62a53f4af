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
]


class Corner(torch.nn.Module):
    """Class 2 where the upper left pixel is blue rather than red, class 0 elsewhere."""

    def __init__(self):
        super().__init__()
        # models.logits asks where it is
        self.device = torch.nn.Parameter(torch.zeros(1))

    def forward(self, images):
        corner = images[:, :, 0, 0].float()
        blue = corner[:, 2] - corner[:, 0]
        never = torch.full_like(blue, -9)
        return torch.stack([-blue, never, blue, never], 1)


@pytest.fixture(scope="module")
def recorded():
    """Return 40 pairs of datasets in which every measure rises with the strength."""
    rng = np.random.default_rng(0)
    rows = []
    for pair, name in product(range(40), CLASSES):
        strengths = {
            "biased": rng.uniform(0, 1),
            "unbiased": 0,
        }
        for dataset, strength in strengths.items():
            row = {
                "pair": pair,
                "dataset": dataset,
                "context_class": name,
                "bias_strength": strength,
                "reliance": strength + rng.normal(0, 0.01),
            }
            for measure in MEASURES:
                row[measure] = rng.normal() + 6 * strength
            rows.append(row)
    return pd.DataFrame(rows)


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
            distance = abs(distance) / np.std(rest, ddof=1)
            distances.append(distance)
        threshold = np.quantile(distances, 0.95)
        null = effects[other_half, context, 1]
        effect = effects[pair, context, which]
        z = (effect - null.mean()) / null.std(ddof=1)
        expected = 0
        if abs(z) > threshold:
            expected = np.sign(z)
        assert flags[pair, context, which] == expected


def test_thresholds_flag_a_twentieth_of_unbiased_contexts():
    """Sixty pairs, as recorded, in 200 tables of noise."""
    rng = np.random.default_rng(1)
    flagged = []
    for _ in range(200):
        effects = rng.normal(3, 7, (60, 4, 2))
        flags = flag_contexts(effects)
        flagged.append(np.abs(flags).mean())
    assert 0.045 < np.mean(flagged) < 0.065


def test_one_measure_is_better_by_the_areas_difference_with_obuchowskis_error(
    recorded,
):
    """Clustered ROC curves (*Biometrics* 53, 1997): the contexts of a pair cluster."""
    worlds = recorded.query("context_class == 'bench'").copy()
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
    for measure, sign in zip(MEASURES, (1, -1), strict=True):
        wins = biased[measure].to_numpy()[:, None] > unbiased[measure].to_numpy()
        of_biased += sign * wins.mean(1)
        of_unbiased += sign * wins.mean(0)
    gap = of_biased.mean()
    deviations = (of_unbiased - gap) / len(of_unbiased)
    deviations = deviations.add((of_biased - gap) / len(of_biased), fill_value=0)
    pairs = worlds["pair"].nunique()
    error = np.sqrt(pairs / (pairs - 1) * (deviations**2).sum())
    half = error * scipy.stats.t.ppf(0.975, pairs - 1)
    assert ours.estimate == pytest.approx(gap)
    assert ours[1:] == pytest.approx((gap - half, gap + half), rel=0.05)


@pytest.fixture
def rates(recorded):
    """Return the rates of the first measure."""
    table = sweep.rates(recorded, MEASURES[:1])
    return table.set_index("kind")


@pytest.fixture
def flags(recorded):
    """Return the flags of the first measure, (pairs, contexts, 2)."""
    effects = sweep.by_pair(recorded, MEASURES[0])
    return flag_contexts(effects)


def test_false_positive_rates_average_over_pairs(rates, flags):
    is_false = flags[..., 1] != 0
    has_false = is_false.any(1)
    low, high = proportion_confint(has_false.sum(), 40, method="wilson")
    family = rates.loc[sweep.FWER, ["share", "low", "high"]]
    expected = [has_false.mean(), low, high]
    assert rates.loc[sweep.FPR, "share"] == pytest.approx(is_false.mean())
    assert family.tolist() == pytest.approx(expected, abs=0.02)


def test_detection_rates_average_over_pairs(recorded, rates, flags):
    strength = sweep.by_pair(recorded, "bias_strength")[..., 0]
    detected = []
    for row, strengths in zip(flags[..., 0], strength, strict=True):
        is_strong = strengths >= sweep.STRONG
        if is_strong.any():
            share = np.mean(row[is_strong] > 0)
            detected.append(share)
    of_strong = rates.loc[sweep.STRONG_BIAS]
    assert of_strong["share"] == pytest.approx(np.mean(detected))
    assert of_strong["n"] == len(detected)


def test_the_rule_by_intervals_counts_false_positives_in_counterparts(recorded):
    worlds = recorded.copy()
    signs = np.random.default_rng(0).integers(-1, 2, len(worlds))
    worlds[f"direction: {MEASURES[0]}"] = signs
    row = sweep.by_interval(worlds, MEASURES[:1]).iloc[0]
    unbiased = worlds["dataset"] == "unbiased"
    flagged = pd.Series(signs != 0, worlds.index)[unbiased]
    assert row["fpr"] == pytest.approx(flagged.mean())
    assert row["fwer"] == pytest.approx(flagged.groupby(worlds["pair"]).any().mean())


def test_reliance_is_found_by_hand_for_a_network_that_sees_the_ground_alone():
    """It names the class of the corner's context, where every pixel is background."""
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
        predictions[bias] = np.where(blue > red, images.classes[2], images.classes[0])
    home = sets[1.0].groupby("class")["context"].first()
    for name in reliance.index:
        gain = 1.0 * (predictions[1.0] == name) - (predictions[0.0] == name)
        need = gain[sets[0.0]["class"] == name].mean()
        pull = -gain[sets[0.0]["context"] == home[name]].mean()
        assert reliance.loc[name, 0] == pytest.approx((need + pull) / 2)


def test_auc_is_mann_whitneys(recorded):
    areas = sweep.auc_by_context(recorded, MEASURES[:1])
    areas = areas.set_index("context_class")
    for name in CLASSES:
        part = recorded[recorded["context_class"] == name]
        biased = part.loc[part["bias_strength"] >= sweep.MEDIUM, MEASURES[0]]
        unbiased = part.loc[part["dataset"] == "unbiased", MEASURES[0]]
        u = scipy.stats.mannwhitneyu(biased, unbiased).statistic
        row = areas.loc[name]
        assert row["auc"] == pytest.approx(u / (len(biased) * len(unbiased)))
        assert row["low"] <= row["auc"] <= row["high"]
    mean = areas.loc[[*CLASSES], "auc"].mean()
    assert areas.loc[sweep.ALL, "auc"] == pytest.approx(mean)


def test_the_rank_correlation_is_spearmans(recorded):
    table = sweep.rank_correlations(recorded, MEASURES[:1], "reliance")
    ours = table.set_index("context_class")["rank_correlation"]
    for name in CLASSES:
        part = recorded[recorded["context_class"] == name]
        rho = scipy.stats.spearmanr(part[MEASURES[0]], part["reliance"]).statistic
        assert ours[name] == pytest.approx(rho)

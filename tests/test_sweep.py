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
from helpers.contexts import sweep, twins
from helpers.contexts.calibration import clear
from helpers.data import world
from sweeps import context_worlds

CLASSES = ("bench", "mug", "plane")
MEASURES = [
    sweep.BEST,
    "mean colour, decisions, raw",
    "mosaics, flips, raw",
    "pasting, decisions, raw",
    "GradCAM, relevance, raw",
    "mosaics, logits, less other contexts",
    "pasting, logits, less other contexts",
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
    """Pairs in which every measure has the effect that a function of dose and draws gives; the
    reliance is the dose beyond chance."""
    rng = np.random.default_rng(seed)
    rows = []
    for pair, trainings, name in product(range(pairs), (5, 1), CLASSES):
        planted = rng.uniform(0.25, 1)
        for which, dose in (("biased", planted), ("twin", 0.25)):
            row = {
                "pair": pair,
                "world": which,
                "trainings": trainings,
                "context_class": name,
            }
            row |= {"dose": dose, "reliance": dose - 0.25 + rng.normal(0, 0.01)}
            rows.append(row | {m: effect(dose, name, rng) for m in MEASURES})
    return pd.DataFrame(rows)


def told(dose, name, rng):
    return rng.normal() + 8 * (dose - 0.25)


def opposite(dose, name, rng):
    """One context rises with the dose, one falls, one does nothing."""
    return rng.normal() + {"bench": 8, "mug": 0, "plane": -8}[name] * (dose - 0.25)


def five(worlds):
    return worlds[worlds["trainings"] == 5]


def test_thresholds_equal_a_loop_over_the_other_half():
    effects = np.random.default_rng(0).normal(size=(14, 2, 2)) + np.array(
        [[[1, 0], [0, 0]]]
    )
    answers = clear(effects)
    for pair, context, which in np.ndindex(effects.shape):
        null = [effects[n, :, 1] for n in range(14) if n % 2 != pair % 2]
        away = []
        for n, of in product(range(len(null)), range(2)):
            rest = [one[of] for k, one in enumerate(null) if k != n]
            away.append(abs(null[n][of] - np.mean(rest)) / np.std(rest, ddof=1))
        own = [one[context] for one in null]
        z = (effects[pair, context, which] - np.mean(own)) / np.std(own, ddof=1)
        wanted = np.sign(z) if abs(z) > np.quantile(away, 0.95) else 0
        assert answers[pair, context, which] == wanted
    assert (clear(np.ones((10, 3, 2))) == 0).all()


def test_thresholds_call_a_twentieth_of_what_was_never_planted():
    """At sixty pairs, as recorded: of 200 tables of noise, each with its own scale."""
    rng = np.random.default_rng(1)
    called = [np.abs(clear(rng.normal(3, 7, (60, 4, 2)))).mean() for _ in range(200)]
    assert 0.045 < np.mean(called) < 0.065


def test_auc_is_mann_whitneys_and_what_follows_the_reliance_is_spearmans():
    worlds = five(made(told))
    areas = sweep.told_apart(worlds, MEASURES[:1]).set_index("context_class")
    ranks = sweep.follows(worlds, MEASURES[:1], "reliance").set_index("context_class")
    for name in CLASSES:
        part = worlds[worlds["context_class"] == name]
        planted = part.loc[part["dose"] >= 0.5, MEASURES[0]]
        clean = part.loc[part["world"] == "twin", MEASURES[0]]
        u = scipy.stats.mannwhitneyu(planted, clean).statistic
        row = areas.loc[name]
        assert row["auc"] == pytest.approx(u / (len(planted) * len(clean)))
        assert row["low"] <= row["auc"] <= row["high"] and row["pairs"] == 40
        rho = scipy.stats.spearmanr(part[MEASURES[0]], part["reliance"]).statistic
        assert ranks.loc[name, "rank_correlation"] == pytest.approx(rho)
    for table, column in ((areas, "auc"), (ranks, "rank_correlation")):
        assert table.loc[sweep.ALL, column] == pytest.approx(
            table.loc[[*CLASSES], column].mean()
        )


def test_one_measure_is_better_by_the_areas_difference_with_obuchowskis_error():
    """Clustered ROC curves (*Biometrics* 53, 1997): a pair's contexts and twins belong together."""
    worlds = five(made(told)).query("context_class == 'bench'")
    noise = np.random.default_rng(1).normal(0, 3, len(worlds))
    worlds = worlds.assign(**{MEASURES[1]: worlds[MEASURES[0]] + noise})
    lesson = nbformat.read(
        store.root() / "notebooks/05b_dose_and_worlds.ipynb", as_version=4
    )
    [cell] = [cell for cell in lesson.cells if cell.id == "05b-better"]
    space = {
        "several": worlds,
        "worlds": worlds.assign(trainings=1),
        "SIMPLER": MEASURES[:2],
    }
    exec(cell.source, space := {**vars(sweep), **space, "sweep": sweep})
    ours, places = space["better"][MEASURES[1]], []
    for measure in MEASURES[:2]:
        rows = worlds.set_index("pair")
        planted, clean = (
            rows.query("dose >= .5")[measure],
            rows.query("world == 'twin'")[measure],
        )
        wins = (planted.to_numpy()[:, None] > clean.to_numpy()).astype(float)
        places.append(
            [
                pd.Series(wins.mean(1), planted.index),
                pd.Series(wins.mean(0), clean.index),
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


def test_changes_are_larger_in_biased_worlds_by_context():
    change = twins.changes(five(made(opposite)), MEASURES[:1]).set_index(
        "context_class"
    )
    assert change.loc["bench", "low"] > 0 > change.loc["plane", "high"]
    assert change.loc["bench", "rises"] + change.loc["bench", "falls"] == 40


def test_rates_are_shares_of_contexts_with_pairs_as_units():
    worlds = five(made(opposite))
    rates = sweep.rates(worlds, MEASURES[:1]).set_index("kind")
    answers = clear(sweep.by_pair(worlds, MEASURES[0]))
    doses = sweep.by_pair(worlds, "dose")[..., 0]
    assert rates.loc[sweep.A_CONTEXT, "share"] == pytest.approx(
        (answers[..., 1] != 0).mean()
    )
    pages = (answers[..., 1] != 0).any(1)
    low, high = proportion_confint(pages.sum(), 40, method="wilson")
    assert rates.loc[sweep.A_PAGE, "share"] == pytest.approx(pages.mean())
    assert rates.loc[sweep.A_PAGE, "low"] == pytest.approx(low, abs=0.02)
    assert rates.loc[sweep.A_PAGE, "high"] == pytest.approx(high, abs=0.02)
    strong = [
        np.mean(row[dose >= 0.75] > 0)
        for row, dose in zip(answers[..., 0], doses, strict=True)
        if (dose >= 0.75).any()
    ]
    assert rates.loc["found above .75", "share"] == pytest.approx(np.mean(strong))
    assert rates.loc["found above .75", "pairs"] == len(strong)
    less = (answers[..., 0] < 0)[doses >= 0.75].mean()
    assert rates.loc["found above .75", "less"] == pytest.approx(less) and less > 0


def test_intervals_off_zero_are_counted_in_the_twins():
    worlds = five(made(told))
    clean = worlds["world"] == "twin"
    signs = pd.Series(
        np.random.default_rng(0).integers(-1, 2, len(worlds)), worlds.index
    )
    worlds[f"answer: {MEASURES[0]}"] = signs
    row = twins.by_interval(worlds, MEASURES[:1]).iloc[0]
    assert row["contexts"] == pytest.approx((signs[clean] != 0).mean())
    assert row["pages"] == pytest.approx(
        (signs[clean] != 0).groupby(worlds["pair"]).any().mean()
    )
    name, word, number = row["most often"].replace(":", "").replace(" in", "").split()
    of = signs[clean & (worlds["context_class"] == name)]
    assert int(number) == (of == {"more": 1, "less": -1}[word]).sum()


def test_a_number_that_differs_between_contexts_does_not_follow_the_reliance():
    """As small planes give any map much background: pooled it would seem to."""
    level = {"bench": 0, "mug": 5, "plane": 10}
    worlds = five(made(lambda dose, name, rng: level[name] + rng.normal()))
    worlds = worlds.assign(
        reliance=worlds["reliance"] + worlds["context_class"].map(level)
    )
    pooled = scipy.stats.spearmanr(worlds[MEASURES[0]], worlds["reliance"]).statistic
    ranks = sweep.follows(worlds, MEASURES[:1], "reliance").set_index("context_class")
    assert pooled > 0.8 > 0.2 > abs(ranks.loc[sweep.ALL, "rank_correlation"])
    curve = sweep.told_apart(worlds, MEASURES[:1], truth="reliance").set_index(
        "context_class"
    )
    assert abs(curve.loc[sweep.ALL, "auc"] - 0.5) < 0.1


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

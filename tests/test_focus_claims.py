"""Judge what *Focus!* claims, on made-up ratings, controls, pairs and trials."""

import itertools

import numpy as np
import pandas as pd
import pytest
from statsmodels.stats.proportion import proportion_confint

from helpers import claims as judging
from helpers import focus
from helpers.claims import (
    INCONCLUSIVE,
    NOT_REPLICATED,
    NOT_SUPPORTED,
    REPLICATED,
    SUPPORTED,
    judge,
)
from helpers.focus import claims

LEVEL = {
    "GradCAM": 0.9,
    "LRP": 0.92,
    "SmoothGrad": 0.52,
    "LIME": 0.8,
    "GradCAM++": 0.7,
    "IG": 0.55,
}
SEEDS = 12


@pytest.fixture(scope="module")
def rated():
    classes = ("a", "b", "c")
    table = focus.design(
        pd.DataFrame({"class": np.repeat(classes, 12)}), classes, per_class=12
    )
    rng = np.random.default_rng(0)
    parts = []
    for architecture, method, run in itertools.product(("one", "two"), LEVEL, range(3)):
        noise = rng.normal(0, 0.08 if method == "LIME" else 0.03, len(table))
        value = (LEVEL[method] + rng.normal(0, 0.01) + noise).clip(0, 1)
        part = table.assign(
            method=method, focus=value, architecture=architecture, set="C", run=run
        )
        parts.append(part)
    return pd.concat(parts, ignore_index=True)


@pytest.fixture(autouse=True)
def _judged_also_where_reported_only(monkeypatch):
    """Judge claims about another quantity like the others."""
    table = judging.read().assign(same="yes")
    monkeypatch.setattr(judging, "read", lambda: table)


def verdicts(notebook, estimates):
    """Return the verdicts by claim, and by the subject of a claim that has several."""
    judged = judge(notebook, estimates)
    names = judged["id"] + (" " + judged["subject"].str.split(",").str[0]).str.rstrip()
    return dict(zip(names, judged["verdict"], strict=True))


def verdicts_of_table(name, table):
    """Return the verdicts on the claims that a table of lesson 06 answers."""
    judged = judge("06", [], {name: table})
    judged = judged.dropna(subset="estimate")
    return judged.set_index("id")["verdict"].to_dict()


def test_the_papers_tiers_agree_where_they_were_made(rated):
    found = verdicts_of_table("comparisons", claims.comparisons(rated))
    assert set(found.values()) == {REPLICATED}
    assert len(found) == 9


def test_consistent_is_judged_where_a_method_does_worst(rated):
    weak = (rated["architecture"] == "two") & (rated["method"] == "LRP")
    weaker_lrp = rated.assign(focus=rated["focus"].mask(weak, 0.6))
    table = claims.comparisons(weaker_lrp)
    [lowest] = table[table["comparison"] == "LRP, lowest"].to_dict("records")
    assert lowest["value"] == pytest.approx(0.6)
    found = verdicts_of_table("comparisons", table)
    assert found["focus/reliable/lrp"] == NOT_REPLICATED


def weaker(lrp, gradcam, networks=12):
    """Focus that falls with accuracy by known slopes."""
    rng = np.random.default_rng(1)
    accuracy = np.linspace(0.3, 1, networks)
    table = pd.DataFrame({"accuracy": accuracy, "run": range(networks)})
    table = table.assign(architecture="one", set="C")
    for method, slope in (("LRP", lrp), ("GradCAM", gradcam)):
        table[method] = 0.9 - slope * (1 - accuracy) + rng.normal(0, 0.01, networks)
    return table


@pytest.mark.parametrize(
    ("lrp", "gradcam", "verdict"),
    [(0.5, 0.2, REPLICATED), (0.5, 0.5, INCONCLUSIVE), (0.2, 0.5, NOT_REPLICATED)],
)
def test_following_accuracy_is_a_difference_of_slopes(lrp, gradcam, verdict):
    """Both rise with accuracy, and the paper claims that one rises more."""
    slopes = claims.slopes(weaker(lrp, gradcam))
    assert slopes["value"][0] == pytest.approx(lrp - gradcam, abs=0.05)
    assert verdicts_of_table("slopes", slopes)["focus/accuracy/lrp"] == verdict


def test_networks_and_not_their_cases_are_the_units():
    """Cases that repeat one network say nothing new."""
    table = weaker(0.5, 0.5)
    once = claims.slopes(table).iloc[0]
    repeated = pd.concat([table] * 4, ignore_index=True)
    again = claims.slopes(repeated).iloc[0]
    assert again["value"] == pytest.approx(once["value"])
    width = once["high"] - once["low"]
    assert again["high"] - again["low"] == pytest.approx(width, rel=0.1)
    few = weaker(0.5, 0.5, networks=4)
    assert claims.slopes(few).empty


def rows_of(table, **methods):
    """Return rows of a table by method, with this Focus plus noise."""
    rng = np.random.default_rng(0)
    parts = []
    for method, level in methods.items():
        noise = rng.normal(0, 0.01, len(table))
        parts.append(table.assign(method=method, focus=level + noise))
    return pd.concat(parts, ignore_index=True)


def test_controls_are_compared_at_the_last_map_and_lime_by_its_worst_mosaic(rated):
    one = rated.query("method == 'LRP' and run == 0 and architecture == 'one'")
    at_map = rows_of(one, **{"GradCAM": 0.7, "GradCAM++": 0.95, "IG": 0.9})
    sums = claims.weighted_sums(at_map, "at-last-map")
    judged = judge("06", [], {"at-last-map": sums})
    found = judged.dropna(subset="estimate").set_index("subject")
    assert found["verdict"].to_dict() == {
        "GradCAM": SUPPORTED,
        "GradCAM++": NOT_SUPPORTED,
    }
    assert found["estimate"]["GradCAM"] == pytest.approx(-0.2, abs=0.01)
    name = "LIME, grid on the seams, no penalty"
    row = {"name": name, "mean": 0.9, "low": 0.8, "high": 0.99}
    found = verdicts_of_table("controls", pd.DataFrame([row]))
    assert found == {"suite/focus/difull-lime": SUPPORTED}


def made(found, alarms=0):
    """Return trials with `found` detections per seed at full strength, or `alarms`."""
    rows = []
    for strength, seed, number in itertools.product(
        (0.0, 0.75, 1.0), range(SEEDS), range(10)
    ):
        detected = strength == 1 and number < found
        detected |= strength == 0 and seed * 10 + number < alarms
        row = {
            "bias_strength": strength,
            "seed": seed,
            "target": "a",
            "outer": f"b{number}",
            "detected": detected,
        }
        row |= {"first": (number + seed) % 5 < 4 * strength, "learned": strength == 1}
        row |= {"peaks_finer": 0.8 + 0.01 * (seed % 3)}
        rows.append(row | {"focus": 0.9 - 0.2 * strength + 0.01 * (seed % 2)})
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    ("found", "alarms", "verdict"),
    [(10, 0, INCONCLUSIVE), (8, 30, NOT_SUPPORTED), (10, 1, INCONCLUSIVE)],
)
def test_trials_that_share_their_networks_are_one(found, alarms, verdict):
    """In twelve sets, a share below 0.95 is possible even if all are detected."""
    estimates = claims.of_trials(made(found, alarms))
    seen = verdicts("07", estimates)
    assert seen[f"suite/focus/found {SEEDS}"] == verdict
    assert seen[f"suite/focus/alarms {SEEDS}"] == verdict
    [of_found] = [one.interval for one in estimates if one.claim == "suite/focus/found"]
    ends = proportion_confint(found / 10 * SEEDS, SEEDS, method="wilson")
    assert np.allclose(of_found, (found / 10, *ends))
    assert seen[f"focus/first {SEEDS}"] == REPLICATED
    assert seen[f"focus/remedy {SEEDS}"] == REPLICATED
    assert seen[f"suite/focus/names {SEEDS}"] == SUPPORTED

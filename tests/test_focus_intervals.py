"""Intervals of Focus: their coverage where mosaics share images, and closed forms."""

import numpy as np
import pandas as pd
import pytest

from helpers import focus
from helpers.focus import intervals
from helpers.focus.design import IMAGES, TARGETS

CLASSES = tuple("abcd")


def simulated(seed, *, target=0.05, outer=0.03, noise=0.05, per_class=60, each=25, again=0):
    """Focus with an effect of each image, in each role, and of the mosaic itself."""
    rng = np.random.default_rng([seed, again])
    table = pd.DataFrame({"class": np.repeat(CLASSES, each)})
    made = focus.design(table, CLASSES, per_class=per_class, seed=seed)
    effects = rng.normal(0, (outer, target), (len(table), 2))
    at, role = made[IMAGES].to_numpy(), made[TARGETS].to_numpy().astype(int)
    values = 0.6 + effects[at, role].sum(1) + rng.normal(0, noise, len(made))
    return made.assign(focus=values, method="made")


@pytest.mark.slow
@pytest.mark.parametrize(
    "world",
    [
        {},
        {"target": 0.0, "outer": 0.0},
        {"noise": 0.0, "outer": 0.0},
        {"per_class": 12},
        {"each": 5, "per_class": 30},
    ],
    ids=["all", "noise alone", "images alone", "few mosaics", "few images"],
)
def test_coverage(world):
    """300 worlds: 95% intervals cover in 90 to 98.5%, give or take chance."""
    means, medians = [], []
    for seed in range(300):
        rated = simulated(seed, **world)
        for found, of in ((means, intervals.mean), (medians, intervals.median)):
            _, low, high = of(rated, resamples=200, seed=seed)
            found.append(low <= 0.6 <= high)
    assert 0.885 <= np.mean(means) <= 0.993
    assert 0.865 <= np.mean(medians) <= 0.993


@pytest.mark.slow
def test_resampling_mosaics_would_be_too_narrow():
    """What is gained: intervals that resample mosaics cover far less often."""
    naive = []
    for seed in range(200):
        values = simulated(seed, per_class=100)["focus"]
        half = 1.96 * values.std() / np.sqrt(len(values))
        naive.append(abs(values.mean() - 0.6) <= half)
    assert np.mean(naive) < 0.75


def test_paired_differences_see_what_single_intervals_do_not():
    first = simulated(0, noise=0.0)
    second = first.assign(focus=first["focus"] - 0.01, method="other")
    found = intervals.differences(first, second)
    assert found["difference"] == pytest.approx(0.01) and found["p"] < 0.01
    assert found["low"] <= found["difference"] <= found["high"]
    ends = focus.summary(pd.concat([first, second]))
    assert ends["mean_low"][0] < ends["mean"][1]
    again = intervals.differences(first, first)
    assert again["difference"] == 0 and again["p"] == 1


@pytest.mark.slow
def test_p_values_keep_their_level():
    p = []
    for seed in range(200):
        rated = simulated(seed)
        p.append(intervals.differences(rated, simulated(seed, again=1), resamples=200)["p"])
    assert np.mean(np.array(p) < 0.05) < 0.1


def test_undefined_are_counted_and_left_out():
    rated = simulated(0)
    rated.loc[:9, "focus"] = np.nan
    [row] = focus.summary(rated).to_dict("records")
    assert row["undefined"] == 10 and row["mosaics"] == 240 and row["images"] == 100
    assert row["mean"] == pytest.approx(rated["focus"].mean())
    assert row["median"] == pytest.approx(rated["focus"].median())
    found = intervals.differences(rated, simulated(0))
    assert found["undefined"] == 10 and found["mosaics"] == 230
    [row] = focus.summary(rated.assign(focus=np.nan)).to_dict("records")
    assert row["undefined"] == 240 and np.isnan(row["mean"]) and np.isnan(row["mean_low"])


def test_all_equal_has_no_width():
    [row] = focus.summary(simulated(0).assign(focus=1.0)).to_dict("records")
    assert row["mean"] == row["mean_low"] == row["mean_high"] == row["median_high"] == 1


def test_groups_and_seeds():
    both = pd.concat([simulated(0).assign(model="x"), simulated(1).assign(model="y")])
    found = focus.summary(both, by=["model", "method"])
    assert found["model"].tolist() == ["x", "y"]
    pd.testing.assert_frame_equal(found, focus.summary(both, by=["model", "method"]))


def test_ratings_of_other_mosaics_are_refused():
    with pytest.raises(ValueError, match="different mosaics"):
        intervals.differences(simulated(0), simulated(1))


def test_weights_of_a_resample_are_halves_of_each_class():
    group = np.repeat(["a", "b"], [6, 7]).astype(object)
    signs = intervals._halves(group, 50, np.random.default_rng(0))
    assert set(np.unique(signs)) == {-1, 1}
    assert (signs[:6].sum(0) == 0).all() and (abs(signs[6:].sum(0)) == 1).all()

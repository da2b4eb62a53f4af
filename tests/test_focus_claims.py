"""What *Focus!* claims, judged on made-up ratings, controls, pairs and trials."""

import itertools

import numpy as np
import pandas as pd
import pytest

from helpers import focus
from helpers.focus import choices, claims, trials
from helpers.run.claims import AGREES, CONTRADICTS, FAILS, HOLDS, NO_COUNTERPART, UNDECIDED, judge

LEVEL = {"GradCAM": 0.9, "LRP": 0.92, "SmoothGrad": 0.52, "LIME": 0.8, "GradCAM++": 0.7, "IG": 0.55}
SEEDS = 12


@pytest.fixture(scope="module")
def rated():
    classes = ("a", "b", "c")
    table = focus.design(pd.DataFrame({"class": np.repeat(classes, 12)}), classes, per_class=12)
    rng, parts = np.random.default_rng(0), []
    for architecture, method, training in itertools.product(("one", "two"), LEVEL, range(3)):
        noise = rng.normal(0, 0.08 if method == "LIME" else 0.03, len(table))
        value = (LEVEL[method] + rng.normal(0, 0.01) + noise).clip(0, 1)
        part = table.assign(method=method, focus=value, seconds=0.01, architecture=architecture)
        parts.append(part.assign(set="C", training=training))
    return pd.concat(parts, ignore_index=True)


def verdicts(notebook, estimates):
    """By claim, and by what it is of where it is of several things."""
    judged = judge(notebook, estimates)
    names = judged["id"] + (" " + judged["of"].str.split(",").str[0]).str.rstrip()
    return dict(zip(names, judged["verdict"], strict=True))


def test_the_papers_tiers_agree_where_they_were_made(rated):
    estimates = claims.of_methods(rated)
    found = verdicts("06", estimates)
    assert {found[e.claim] for e in estimates} == {AGREES} and len(estimates) == 9


def test_consistent_is_judged_where_a_method_does_worst(rated):
    weak = (rated["architecture"] == "two") & (rated["method"] == "LRP")
    [lrp] = [
        e
        for e in claims.of_methods(rated.assign(focus=rated["focus"].mask(weak, 0.6)))
        if e.claim == "focus/reliable/lrp"
    ]
    assert lrp.interval[0] == pytest.approx(0.6) and lrp.note == "two on set C"
    assert verdicts("06", [lrp])["focus/reliable/lrp"] == CONTRADICTS


def test_sets_are_compared_where_there_are_several(rated):
    both = pd.concat([rated, rated.assign(set="NC", focus=1 - rated["focus"])])
    assert verdicts("06", claims.of_methods(both))["focus/other-tasks"] == CONTRADICTS


def test_other_tiers_contradict(rated):
    found = verdicts("06", claims.of_methods(rated.assign(focus=1 - rated["focus"])))
    assert found["focus/reliable/gradcam"] == CONTRADICTS
    assert found["focus/behind-gradcam/gradcam++"] == CONTRADICTS
    assert found["focus/consistent"] == AGREES, "the order is another one, and the same twice"


def test_a_method_that_is_not_rated_has_no_counterpart(rated):
    found = verdicts("06", claims.of_methods(rated[rated["method"] == "LRP"]))
    assert found["focus/reliable/lrp"] == AGREES
    assert found["focus/reliable/gradcam"] == found["focus/behind-lrp/gradcam++"] == NO_COUNTERPART


def weaker(lrp, gradcam, networks=12):
    """Focus that falls with accuracy by known slopes."""
    rng = np.random.default_rng(1)
    accuracy = np.linspace(0.3, 1, networks)
    table = pd.DataFrame({"accuracy": accuracy, "how": ["own set", "other set"] * (networks // 2)})
    table = table.assign(network=[f"n{i}" for i in range(networks)])
    for method, slope in (("LRP", lrp), ("GradCAM", gradcam)):
        table[method] = 0.9 - slope * (1 - accuracy) + rng.normal(0, 0.01, networks)
    return table


@pytest.mark.parametrize(
    ("lrp", "gradcam", "verdict"),
    [(0.5, 0.2, AGREES), (0.5, 0.5, UNDECIDED), (0.2, 0.5, CONTRADICTS)],
)
def test_following_accuracy_is_a_difference_of_slopes(lrp, gradcam, verdict):
    """Both rise with accuracy: the paper's claim is that one rises more."""
    [slopes] = claims.of_accuracy(weaker(lrp, gradcam))
    assert slopes.interval[0] == pytest.approx(lrp - gradcam, abs=0.05)
    assert verdicts("06", [slopes])["focus/accuracy/lrp"] == verdict
    assert choices.rises(weaker(lrp, gradcam))["LRP"] == pytest.approx(lrp, abs=0.05)


def test_networks_and_not_their_cases_are_the_units():
    """Cases that repeat one network say nothing new."""
    once = claims.of_accuracy(weaker(0.5, 0.5))[0].interval
    again = claims.of_accuracy(pd.concat([weaker(0.5, 0.5)] * 4))[0].interval
    assert again[0] == pytest.approx(once[0])
    assert again[2] - again[1] == pytest.approx(once[2] - once[1], rel=0.1)
    assert claims.of_accuracy(weaker(0.5, 0.5, networks=4)) == []


def rows_of(table, **methods):
    """Rows of one training and architecture by method, with this Focus plus noise."""
    rng = np.random.default_rng(0)
    own = table.assign(architecture="one", set="C", training=0)
    parts = [
        own.assign(method=m, focus=f + rng.normal(0, 0.01, len(own))) for m, f in methods.items()
    ]
    return pd.concat(parts, ignore_index=True)


def test_controls_count_what_fails_and_say_what_gives_no_map(rated):
    columns = ["control", "method", "mean", "low", "high", "expected", "holds"]
    blind = [
        ("random weights", "random_map", 0.5, 0.4, 0.6, 0.5, True),
        ("random weights", "LRP", np.nan, np.nan, np.nan, 0.5, False),
    ]
    checked = [
        ("DiFull", "LRP", 0.9, 0.8, 1, 1, False),
        ("DiFull", "IG", 1, 1, 1, 1, True),
        ("DiFull", "LIME", 0.9, 0.8, 0.95, 1, False),
    ]
    blind, checked = (pd.DataFrame(rows, columns=columns) for rows in (blind, checked))
    one = rated[(rated["method"] == "LRP") & (rated["training"] == 0)]
    one = one[one["architecture"] == "one"]
    deep = rows_of(one, GradCAM=0.7, IG=0.9).assign(control="DiFull", reads="last map")
    sums = rows_of(one, IG=0.6, LRP=0.9).assign(by_cell=0.9, right=0.9)
    estimates = claims.of_controls(blind, deep, checked, sums)
    found = verdicts("06b", estimates)
    assert found["suite/focus/blind 1"] == HOLDS
    assert estimates[0].note == "1 give no map and are not counted"
    assert found["suite/focus/difull-input 2"] == FAILS and estimates[1].interval[0] == 1
    assert found["suite/focus/difull-lime"] == found["suite/focus/difull-cam GradCAM"] == HOLDS
    assert found["suite/focus/sum IG"] == found["suite/focus/sum-cells"] == HOLDS
    assert found["suite/focus/sum LRP"] == UNDECIDED


def test_choices_are_judged_where_they_were_tried(rated):
    one = rated[(rated["method"] == "IG") & (rated["architecture"] == "one")]
    tried = pd.concat([one.assign(option="input"), one.assign(option="last map", focus=0.9)])
    tried = tried.assign(choice="layer")
    [layer] = claims.of_choices(tried)
    assert verdicts("06b", [layer])["suite/focus/layer"] == HOLDS


def ranking(**adjusted):
    """Pairs of a with b, c ..., below their null by 0.1, with these corrected p values."""
    rows = [
        {"target": "a", "outer": outer, "difference": -0.1, "p_adjusted": p}
        | {"difference_low": -0.15, "difference_high": 0.02}
        for outer, p in adjusted.items()
    ]
    return pd.DataFrame(rows)


def test_the_planted_pair_is_judged_by_its_interval_and_a_chosen_one_by_its_corrected_p():
    table = ranking(b=0.01, c=0.6)
    assert claims.of_pairs(table, ("a", "c"), None)[0].of == {"target": "a", "outer": "c"}
    assert (
        verdicts("07", claims.of_pairs(table, ("a", "b"), None))["suite/focus/pair a"] == UNDECIDED
    )
    assert verdicts("07", claims.of_pairs(table, None, None))["suite/focus/pair a"] == HOLDS
    later = ranking(c=0.6, b=0.01)
    assert verdicts("07", claims.of_pairs(later, None, None))["suite/focus/pair a"] == UNDECIDED


def test_most_of_the_wrong_relevance_is_more_than_half():
    row = {"method": "GradCAM", "share": 0.3, "low": 0.2, "high": 0.4, "area": 0.1}
    estimates = claims.of_pairs(ranking(b=1), ("a", "b"), pd.DataFrame([row]))
    assert verdicts("07", estimates)["focus/most-on-feature"] == CONTRADICTS
    unknown = claims.of_pairs(ranking(b=1), None, None)
    assert verdicts("07", unknown)["focus/most-on-feature"] == NO_COUNTERPART


def made(firsts, focus, alarms=3):
    """Trials: by dose in how many seeds the pair is first, and its Focus."""
    rng, rows = np.random.default_rng(0), []
    for dose, count in firsts.items():
        for seed, carried in itertools.product(range(SEEDS), sorted({dose, 1.0})):
            row = {"dose": dose, "seed": seed, "carried": carried, "first": seed < count}
            row |= {"first_by_difference": False, "starred": False, "alarms": alarms * (dose == 0)}
            row |= {"focus": focus[dose] + rng.normal(0, 0.01), "others": 0.9}
            row |= {"excess_gradcam": rng.normal(0, 0.01), "excess_lrp": 0.2 + 0.01 * seed}
            rows.append(row)
    return pd.DataFrame(rows)


def test_doses_are_compared_with_none_seed_by_seed_and_corrected_for_their_number():
    """Five more of twelve: McNemar's p is .06; eight more: .008, and .02 for three doses."""
    found = made({0: 1, 0.5: 6, 0.75: 7, 1: 9}, {0: 0.9, 0.5: 0.8, 0.75: 0.75, 1: 0.7})
    rates = trials.rates(trials.alike(found)).set_index("dose")
    assert rates.loc[0.5, "p"] == pytest.approx(2 / 2**5)
    assert rates.loc[1, "p_holm"] == pytest.approx(3 * 2 / 2**8)
    seen = verdicts("07", claims.of_trials(found))
    assert seen["focus/first 0.5"] == UNDECIDED and seen["focus/first 1"] == AGREES


@pytest.mark.parametrize(("alarms", "verdict"), [(3, HOLDS), (0, UNDECIDED)])
def test_stars_where_nothing_is_planted_are_more_than_the_level(alarms, verdict):
    found = verdicts("07", claims.of_trials(made({0: 2, 1: 9}, {0: 0.9, 1: 0.7}, alarms)))
    assert found[f"suite/focus/false-stars {SEEDS}"] == verdict


def test_the_remedy_is_judged_on_the_same_images_and_the_methods_apart():
    up = made({0.5: 1, 1: 9}, {0.5: 0.8, 1: 0.7})
    found = verdicts("07", claims.of_trials(up))
    assert found["focus/remedy 0.5"] == AGREES
    assert found["suite/focus/feature LRP"] == HOLDS
    assert found["suite/focus/feature GradCAM"] == UNDECIDED
    level = up.assign(focus=np.where(up["carried"] == 1, 0.7, up["focus"]))
    assert verdicts("07", claims.of_trials(level))["focus/remedy 0.5"] == CONTRADICTS


def test_without_the_world_trials_have_no_counterpart():
    judged = judge("07", [])
    assert set(judged["verdict"]) == {NO_COUNTERPART}
    assert judged["claim"][0].startswith("Planted at dose …, the pair comes first")

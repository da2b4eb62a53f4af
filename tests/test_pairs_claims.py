"""Claims about biased pairs, on made-up tables and trials whose answers are known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from helpers.focus import claims_pairs
from helpers.run.findings import FAILS, HOLDS, UNDECIDED, UNTESTED

SEEDS = 12


def verdicts(found):
    return {f.claim: f.verdict for f in found}


def made(firsts, focus, alarms=3, seeds=SEEDS):
    """Trials: by dose in how many seeds the pair is first, and its Focus."""
    rng, rows = np.random.default_rng(0), []
    for dose, count in firsts.items():
        for seed in range(seeds):
            for carried in {dose, 1.0}:
                row = {"dose": dose, "seed": seed, "carried": carried, "first": seed < count}
                row |= {"focus": focus[dose] + rng.normal(0, 0.01), "others": 0.9}
                row |= {"starred": False, "alarms": alarms if dose == 0 else 0}
                row |= {"excess_gradcam": rng.normal(0, 0.01), "excess_lrp": 0.2 + 0.01 * seed}
                rows.append(row)
    return pd.DataFrame(rows)


def test_every_dose_is_compared_with_none_and_must_convince_twice():
    found = verdicts(claims_pairs.of_trials(made({0: 2, 0.5: 4, 1: 9}, {0: 0.9, 0.5: 0.8, 1: 0.7})))
    claim = "Planted at dose {}, the pair comes first oftener than unplanted"
    assert found[claim.format(0.5)] == UNDECIDED and found[claim.format(1)] == HOLDS
    few = verdicts(claims_pairs.of_trials(made({0: 0, 1: 3}, {0: 0.9, 1: 0.7}, seeds=3)))
    assert few[claim.format(1)] == UNDECIDED  # Fisher's p is .1 whatever Newcombe's interval says


@pytest.mark.parametrize(("alarms", "expected"), [(3, FAILS), (0, HOLDS)])
def test_stars_where_nothing_is_planted_are_counted(alarms, expected):
    found = verdicts(claims_pairs.of_trials(made({0: 2, 1: 9}, {0: 0.9, 1: 0.7}, alarms)))
    assert found["Where nothing is planted, most trials have no starred pair"] == expected


def test_the_remedy_is_judged_on_the_same_images():
    claim = "Trained at dose 0.5 and not 1, the pair has more Focus on the same images"
    up = made({0.5: 1, 1: 9}, {0.5: 0.8, 1: 0.7})
    assert verdicts(claims_pairs.of_trials(up))[claim] == HOLDS
    level = up.assign(focus=np.where(up["carried"] == 1, 0.7, up["focus"]))
    assert verdicts(claims_pairs.of_trials(level))[claim] == FAILS


def test_the_methods_are_judged_apart():
    found = verdicts(claims_pairs.of_trials(made({0: 2, 1: 9}, {0: 0.9, 1: 0.7})))
    claim = "At dose 1 the wrong relevance falls on the eyespot ({})"
    assert found[claim.format("LRP")] == HOLDS and found[claim.format("GradCAM")] == UNDECIDED
    row = {"method": "LRP", "share": 0.3, "area": 0.1, "excess": 0.2, "low": 0.1, "high": 0.3}
    [one] = claims_pairs.of_feature(pd.DataFrame([row]))
    assert one.verdict == HOLDS and one.measured == 0.2
    assert claims_pairs.of_feature(None)[0].verdict == UNTESTED


def test_the_planted_pair_is_judged_and_none_where_none_is():
    row = {"target": "a", "outer": "b", "difference": -0.2}
    row |= {"p": 0.01, "p_adjusted": 0.01}
    table = pd.DataFrame([row | {"difference_low": -0.3, "difference_high": -0.1}])
    assert claims_pairs.of_ranking(table, ("a", "b"))[0].verdict == HOLDS
    assert claims_pairs.of_ranking(table, None)[0].verdict == UNTESTED


def test_the_papers_mosaics_stand_beside_the_ends_of_the_pair_shown():
    rated = pd.DataFrame({"target": "a", "outer": "b", "focus": [0.61, 0.9, np.nan, 0.4, 0.8]})
    other = pd.DataFrame({"target": ["b"], "outer": ["a"], "focus": [0.99]})
    printed = pd.DataFrame({"target": "P", "outer": "I", "mosaic": ["best", "worst"], "focus": 0.5})
    best, worst = claims_pairs.of_paper(printed, pd.concat([rated, other]), ("a", "b"))
    assert best.note.endswith("the best of a beside b has 0.90")
    assert worst.note.endswith("the worst of a beside b has 0.40")


def ranking(adjusted):
    """Three pairs below their null by 0.1, with these corrected p values."""
    rows = [
        {"target": "a", "outer": outer, "difference": -0.1, "p": p / 3, "p_adjusted": p}
        | {"difference_low": -0.15, "difference_high": -0.05}
        for outer, p in zip("bcd", adjusted, strict=True)
    ]
    return pd.DataFrame(rows)


def test_where_nothing_is_planted_the_starred_pairs_are_the_findings():
    claim = "Relevance for a falls more on {} than on the target's other outer classes"
    unknown, *starred = claims_pairs.of_ranking(ranking([0.6, 0.01, 0.02]), None)
    assert unknown.verdict == UNTESTED
    assert {f.claim: f.verdict for f in starred} == {
        claim.format("c"): HOLDS,
        claim.format("d"): HOLDS,
    }
    [_, one] = claims_pairs.of_ranking(ranking([0.6, 0.3, 0.2]), None)
    assert (one.claim, one.verdict) == (claim.format("d"), UNDECIDED), "p is not small enough"

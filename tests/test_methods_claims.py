"""Claims about methods, on made-up answers: where something is planted, and where nobody knows."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from helpers import stats
from helpers.contexts import claims_methods
from helpers.run.findings import FAILS, HOLDS, UNDECIDED, UNTESTED


def answers(planted):
    rows = [
        {"context_class": name, "planted": planted, "measure": "mosaics: logits", "effect": effect}
        | {"low": effect - 0.2, "high": effect + 0.2, "answer": "yes" if effect > 0.2 else "no"}
        for name, effect in (("cup", 0.5), ("dog", 0.1), ("cat", -0.5), ("jug", 0.4))
    ]
    return pd.DataFrame(rows)


def test_what_is_planted_is_judged_by_the_mean_over_contexts():
    overall = {"mosaics: logits": stats.Mean(0.12, 0.1, 30.0)}
    [found] = claims_methods.of_methods(answers(0.9), overall)
    assert found.measured == 0.12 and found.verdict == UNDECIDED


def test_a_smaller_effect_without_the_link_is_welchs_difference():
    rng = np.random.default_rng(0)
    first, second = rng.normal(1, 1, 12), rng.normal(0, 3, 8)
    most, least = ({"mosaics: logits": stats.mean(values)} for values in (first, second))
    [found] = claims_methods.of_doses(most, least)
    welch = scipy.stats.ttest_ind(first, second, equal_var=False).confidence_interval()
    assert (found.low, found.high) == pytest.approx((welch.low, welch.high))


def test_where_nobody_knows_every_answer_is_a_finding():
    unknown, *found = claims_methods.of_methods(answers(np.nan), {})
    assert unknown.verdict == UNTESTED
    assert [f.verdict for f in found] == [HOLDS, UNDECIDED, FAILS, HOLDS]
    assert found[0].claim == "The context of cup draws towards cup (mosaics: logits)"

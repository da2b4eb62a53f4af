"""Claims about methods, on made-up answers: where something is planted, and where nobody knows."""

import numpy as np
import pandas as pd

from helpers import claims_methods
from helpers.findings import FAILS, HOLDS, UNDECIDED, UNTESTED


def answers(planted):
    rows = [
        {"context_class": name, "planted": planted, "measure": "mosaics: logits", "effect": effect}
        | {"low": effect - 0.2, "high": effect + 0.2, "answer": "yes" if effect > 0.2 else "no"}
        for name, effect in (("cup", 0.5), ("dog", 0.1), ("cat", -0.5), ("jug", 0.4))
    ]
    return pd.DataFrame(rows)


def test_what_is_planted_is_counted():
    [found] = claims_methods.of_methods(answers(0.9))
    assert found.measured == 0.5 and found.verdict == UNDECIDED


def test_where_nobody_knows_every_answer_is_a_finding():
    unknown, *found = claims_methods.of_methods(answers(np.nan))
    assert unknown.verdict == UNTESTED
    assert [f.verdict for f in found] == [HOLDS, UNDECIDED, FAILS, HOLDS]
    assert found[0].claim == "The context of cup draws towards cup (mosaics: logits)"

"""What the other notebooks measure, as rows with groups: the suite in one bias report."""

import math

import numpy as np
import pandas as pd
import pytest

from helpers.synthesis import gaps


def parts():
    rng = np.random.default_rng(0)
    group, easy = rng.integers(0, 3, 600), rng.integers(0, 2, 600)
    rows = pd.DataFrame({"g": group.astype(str), "e": easy.astype(str)})
    rows["right"] = (rng.random(600) < 0.9 - 0.4 * (group == 2)).astype(int)
    same = rows.assign(right=rng.integers(0, 2, 600))
    return [
        gaps.Part("01_a", "said", same, "g"),
        gaps.Part("02_b", "kept", rows, "g", "e"),
    ]


def test_the_suites_report_ranks_by_evidence():
    table = gaps.one_report(parts(), draws=99)
    assert table["notebook"].tolist() == ["02_b", "01_a"]
    assert table.loc[0, "worst"] == "2" and table.loc[0, "p_holm"] == 0.02
    assert table.loc[1, "value"] < table.loc[1, "null_high"] * 1.5


def test_findings_are_ranked_by_how_far_they_are_from_their_threshold():
    columns = ["notebook", "claim", "verdict", "bound", "measured", "low", "high"]
    rows = [
        ["01", "near", "holds", 0.5, 0.6, 0.55, 0.65],
        ["02", "far", "does not hold", 0.5, 0.9, 0.85, 0.95],
        ["03", "exact", "holds", 4, 4, 4, 4],
        ["04", "none", "no counterpart here", 0.5, math.nan, math.nan, math.nan],
        ["05", "nobody", "no counterpart here", math.nan, math.nan, math.nan, math.nan],
    ]
    found = gaps.ranked(pd.DataFrame(rows, columns=columns))
    assert found["claim"].tolist() == ["exact", "far", "near", "none", "nobody"]
    assert found["evidence"].tolist()[1:3] == pytest.approx([8, 2])
    assert found["evidence"].isna().sum() == 2
    empty = gaps.ranked(pd.DataFrame(columns=columns))
    assert empty.empty


def test_rows_of_the_driving_world():
    rows = gaps.driving(frames=120)
    assert {"frame", "income", "class", "size", "right"} == set(rows)
    assert 0 < rows["right"].mean() < 1


def test_rates_at_a_limit_are_marked():
    rows = pd.DataFrame({"group": list("aabbcc"), "right": [1, 1, 0, 1, 0, 1], "id": range(6)})
    part = gaps.Part("02", "right", rows, "group", None, "id")
    assert gaps._at_limit(part, pd.Index(["a", "b"]))
    assert not gaps._at_limit(part, pd.Index(["b", "c"]))

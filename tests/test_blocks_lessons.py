"""Readings, nulls by size, claims, and that every figure of notebook 09 draws."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from helpers.blocks import blocks, counts, evidence, examples, paper, report, scores
from helpers.figures import blocks as figures


@pytest.fixture(scope="module")
def compas():
    return examples.counted(examples.tables()["compas"])


@pytest.fixture(scope="module")
def unbiased():
    return evidence.without_bias([1000, 10_000, 100_000], [2, 60], draws=60)


def test_readings_are_the_reports_cells(compas):
    found = report.readings(compas, examples.TEN, draws=50)
    for _, row in found.iterrows():
        cell = row[report.KEYS]
        assert row["value"] == blocks.bias(compas, *cell)
        assert row["low"] <= row["value"] <= row["high"]
    assert (found["p"] == 1 / 51).sum() >= 8


def test_a_worst_case_without_bias_shrinks_with_rows_and_grows_with_groups(unbiased):
    """Medians of db with 60 groups that design notes give: 1.00, 0.80, 0.32 (rate not stated)."""
    median = unbiased.pivot(index="n", columns="groups", values="median")
    assert median.loc[1000, 60] == 1
    assert 0.6 < median.loc[10_000, 60] < 0.85 and 0.25 < median.loc[100_000, 60] < 0.35
    assert (median[60] > median[2]).all() and (median.diff().dropna() < 0).all().all()


def test_rates_and_their_adjustment_by_hand():
    by, z = np.repeat(list("ab"), 10), np.tile([0, 1], 10)
    p = np.array([1, 0] * 5 + [1, 1, 0, 0, 1] * 2)
    data = counts.table(by, y_pred=p, strata=z)
    found = report.rates(data, strata=True).set_index("group")
    for g in "ab":
        of = [p[(by == g) & (z == s)].mean() for s in (0, 1)]
        assert found.loc[g, "value"] == p[by == g].mean()
        assert found.loc[g, "adjusted"] == pytest.approx(np.mean(of))
    with pytest.raises(ValueError, match="not a share of all rows"):
        report.rates(data, "tpr")


@pytest.fixture(scope="module")
def suite():
    row = {"notebook": "02_a", "groups": "class", "reading": "named right", "value": 0.6}
    row |= {"low": 0.5, "high": 0.7, "null_high": 0.2, "worst": "mug", "best": "plane"}
    return pd.DataFrame([row | {"p_holm": p, "at_limit": p < 0.1} for p in (0.01, 0.5)])


def test_every_figure_draws(compas, unbiased, suite):
    whole = report.make(examples.counted(examples.tables()["six groups"]), permutations=19)
    tied = examples.counted(examples.tables()["tied scores"])
    served, _, _ = examples.here_or_recorded()
    for figure in (
        figures.grid(whole.table("p"), whole.table("p_bh")),
        figures.grid(whole.table()),
        figures.figure_1(paper.figure_1(whole)),
        figures.null_of_worst_case(unbiased),
        figures.ten_readings(report.readings(compas, examples.TEN, draws=20)),
        figures.group_rates(served, "share", "scene"),
        figures.suite(suite),
        figures.rocs(scores.rocs(tied), ["a", "b"], 0.1),
    ):
        assert isinstance(figure, Figure)


def test_claims_are_judged_by_corrected_p(compas, unbiased, suite):
    whole = report.make(examples.counted(examples.tables()["six groups"]))
    ten = report.readings(compas, examples.TEN, draws=99)
    contrasts = pd.read_csv(examples.project.root() / examples.RECORDED[1])
    found = paper.findings(compas, whole, ten, unbiased, examples.answers(), suite, contrasts)
    assert [f.verdict for f in found[:3]] == ["holds"] * 3 and len(found) == 13
    [ratios] = [f for f in found if f.where == "paper, section 5.2"]
    assert (ratios.measured, ratios.verdict) == (2, "does not hold"), "1 - tpr changes ratios"
    assert found[4].measured == pytest.approx(0.263303 / 0.0317253, abs=1e-3), "differences alone"
    verdict = {f.claim: f.verdict for f in found[-6:]}
    assert verdict["Real night frames are served worse, with scene held fixed"] == "holds"
    rain = "Real rainy frames are served worse, with scene held fixed"
    assert verdict[rain] == "undecided", "its interval is above 0, its corrected p .06"
    assert verdict["Real snowy frames are served worse, as it is"] == "does not hold"
    with pytest.raises(FileNotFoundError, match="no file"):
        examples.here_or_recorded("none.npz")

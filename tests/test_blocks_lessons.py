"""Readings, nulls by size, claims, and that every figure of notebook 09 draws."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from helpers.blocks import blocks, claims, counts, evidence, examples, paper, report, scores
from helpers.figures import blocks as figures
from helpers.run.claims import AGREES, CONTRADICTS, FAILS, HOLDS, NO_COUNTERPART, judge


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
    found = report.rates(data).set_index("group")
    for g in "ab":
        of = [p[(by == g) & (z == s)].mean() for s in (0, 1)]
        assert found.loc[g, "value"] == p[by == g].mean()
        assert found.loc[g, "adjusted"] == pytest.approx(np.mean(of))


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
        figures.figure_1(paper.figure_1(whole)),
        figures.null_of_worst_case(unbiased),
        figures.ten_readings(report.readings(compas, examples.TEN, draws=20)),
        figures.group_rates(served, "share", "scene"),
        figures.suite(suite),
        figures.rocs(scores.rocs(tied), ["a", "b"], 0.1),
    ):
        assert isinstance(figure, Figure)


def test_claims_are_judged(compas, unbiased, suite):
    rows = examples.tables()["six groups"]
    whole = report.make(examples.counted(rows))
    given = {"predictions": rows["y_pred"], "labels": rows["y_true"]}
    snippet = paper.unireport(**given, sensitive=paper.Fork(paper.categories @ rows["group"]))
    cells = {"area": ("auc", "pairs", "abs", "max"), "abroca": ("auc", "pairs", "curve", "max")}
    crossing = examples.counted(examples.same_area())
    estimates = claims.of_compas(compas) + claims.of_report(whole, snippet)
    estimates += claims.of_answers(examples.answers(), report.readings(crossing, cells, draws=9))
    ten = report.readings(compas, examples.TEN, draws=99)
    estimates += claims.of_readings(ten, unbiased, suite)
    contrasts = pd.read_csv(examples.project.root() / examples.RECORDED[1])
    found = judge("09_any", [*estimates, *claims.of_frames(contrasts)]).set_index("id")
    paper_is_right = ["libraries", "toolkits", "snippet", "backtracking", "crossing"]
    assert (found.loc[[f"blocks/{c}" for c in paper_is_right], "verdict"] == AGREES).all()
    assert found.loc["blocks/balance", "measured"] == 2, "1 - tpr changes ratios"
    assert (found.loc[["blocks/balance", "blocks/deo"], "verdict"] == CONTRADICTS).all()
    readings = found.loc["suite/blocks/readings"]
    assert readings["measured"] == pytest.approx(0.263303 - 0.0317253, abs=1e-5)
    assert found["verdict"].eq(NO_COUNTERPART).sum() == 4 and len(found) == 18
    frames = found.loc["suite/blocks/frames"].set_index("of")["verdict"]
    assert frames["night, with scene held fixed"] == HOLDS
    assert frames["snowy, as it is"] == FAILS
    with pytest.raises(FileNotFoundError, match="no file"):
        examples.here_or_recorded("none.npz")


def test_the_p_value_of_frames_that_are_exchanged_is_that_of_shuffles():
    rng = np.random.default_rng(1)
    scene = pd.Series(rng.integers(0, 2, 900))
    inside = pd.Series(rng.random(900) < 0.2 + 0.3 * scene)
    right = pd.Series((rng.random(900) < 0.6 + 0.2 * scene - 0.08 * inside).astype(int))

    def gap(inside):
        share = right.groupby([scene, inside]).mean().unstack()
        return (scene.value_counts(normalize=True) * (share[False] - share[True])).sum()

    shuffled = [gap(inside.groupby(scene).transform(rng.permutation)) for _ in range(2000)]
    share = np.mean(np.abs(shuffled) >= abs(gap(inside)))
    assert 0.001 < share < 0.3
    found = examples._exchange_p(gap(inside), inside, right, scene)
    assert found == pytest.approx(share, abs=0.015)

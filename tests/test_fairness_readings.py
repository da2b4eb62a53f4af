"""Readings, nulls by size, a reader's CSV, the suite's rows, and that every figure draws."""

import math

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from matplotlib.figure import Figure

from helpers import fairness as fb
from helpers import plots_fairness, suite_rows
from helpers.fairness import claims, curves, explore, frames, readings, toolkits


@pytest.fixture(scope="module")
def compas():
    return toolkits.data(toolkits.examples()["compas"])


@pytest.fixture(scope="module")
def unbiased():
    return readings.without_bias([1000, 10_000, 100_000], [2, 60], draws=60)


def test_readings_are_the_reports_cells(compas):
    found = readings.readings(compas, readings.TEN, draws=50)
    for _, row in found.iterrows():
        blocks = row[["measure", "set", "comparison", "reduction"]]
        assert row["value"] == fb.bias(compas, *blocks)
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
    data = fb.table(by, predictions=p, strata=z)
    found = readings.rates(data, strata=True).set_index("group")
    for g in "ab":
        of = [p[(by == g) & (z == s)].mean() for s in (0, 1)]
        assert found.loc[g, "value"] == p[by == g].mean()
        assert found.loc[g, "adjusted"] == pytest.approx(np.mean(of))
    with pytest.raises(ValueError, match="not a share of all rows"):
        readings.rates(data, "tpr")


def test_a_readers_csv(tmp_path):
    path = tmp_path / "mine.csv"
    text = "predictions,labels,who,where\n1,1,a,x\n0,1,a,y\n1,0,b,x\n0,0,b,y\n"
    path.write_text(text)
    data = frames.read(path)
    assert data.groups.names == ("a", "b", "x", "y") and len(data) == 4
    assert frames.read(path, ["who"], min_size=3).frame()["small"].tolist() == [True, True, False]
    with pytest.raises(ValueError, match=r"mine.csv: no column 'age'; it has predictions"):
        frames.read(path, ["age"])
    clustered = frames.read(path, ["where"], cluster="who")
    assert clustered.groups.names == ("x", "y") and clustered.clusters.max() + 1 == 2
    assert frames.read(path, cluster="who").groups.names == ("x", "y")
    with pytest.raises(ValueError, match="no column 'day'"):
        frames.read(path, cluster="day")
    with pytest.raises(ValueError, match=r"none.csv: there is no such file"):
        frames.read(tmp_path / "none.csv")
    path.write_text("")
    with pytest.raises(ValueError, match=r"mine.csv: is not a CSV table"):
        frames.read(path)
    path.write_text("who,where\na,x\nb,y\n")
    with pytest.raises(ValueError, match="nothing measured"):
        frames.read(path)
    with pytest.raises(FileNotFoundError, match="no file"):
        frames.here_or_recorded(str(tmp_path / "none.npz"))


def parts():
    rng = np.random.default_rng(0)
    group, easy = rng.integers(0, 3, 600), rng.integers(0, 2, 600)
    rows = pd.DataFrame({"g": group.astype(str), "e": easy.astype(str)})
    rows["right"] = (rng.random(600) < 0.9 - 0.4 * (group == 2)).astype(int)
    same = rows.assign(right=rng.integers(0, 2, 600))
    return [
        suite_rows.Part("01_a", "said", same, "g"),
        suite_rows.Part("02_b", "kept", rows, "g", "e"),
    ]


def test_the_suites_report_ranks_by_evidence():
    table = suite_rows.one_report(parts(), draws=99)
    assert table["notebook"].tolist() == ["02_b", "01_a"]
    assert table.loc[0, "worst"] == "2" and table.loc[0, "p_holm"] == 0.02
    assert table.loc[1, "value"] < table.loc[1, "null_high"] * 1.5


def test_parts_draw_and_exchange_by_their_clusters():
    [_, part] = parts()
    copied = part.rows.loc[part.rows.index.repeat(4)].rename_axis("unit").reset_index()
    [alone] = suite_rows.one_report([part], draws=199).to_dict("records")
    more = [part._replace(rows=copied, cluster=c) for c in ("unit", None)]
    clustered, fooled = suite_rows.one_report(more[:1]), suite_rows.one_report(more[1:])
    width = [float(t["high"].iloc[0] - t["low"].iloc[0]) for t in (clustered, fooled)]
    assert width[0] == pytest.approx(alone["high"] - alone["low"], rel=0.2)
    assert width[1] < 0.65 * width[0]


def test_findings_are_ranked_by_how_far_they_are_from_their_threshold():
    columns = ["notebook", "claim", "verdict", "note", "measured", "low", "high"]
    rows = [
        ["01", "near", "holds", "above 0.5", 0.6, 0.55, 0.65],
        ["02", "far", "does not hold", "below 0.5", 0.9, 0.85, 0.95],
        ["03", "exact", "holds", "equal to 4", 4, 4, 4],
        ["04", "none", "not tested here", "no data", math.nan, math.nan, math.nan],
    ]
    found = suite_rows.ranked(pd.DataFrame(rows, columns=columns))
    assert found["claim"].tolist() == ["exact", "far", "near", "none"]
    assert found["evidence"].tolist()[1:3] == pytest.approx([8, 2])


def test_rows_of_the_driving_world():
    rows = suite_rows.driving(frames=120)
    assert {"frame", "income", "class", "size", "right"} == set(rows)
    assert 0 < rows["right"].mean() < 1


def test_every_figure_draws(compas, unbiased):
    six = toolkits.data(toolkits.examples()["six groups"])
    report = fb.report(six, ["pr", "tpr"], permutations=19)
    ten = readings.readings(compas, readings.TEN, draws=20)
    tied = toolkits.data(toolkits.examples()["tied scores"])
    rocs = dict(zip(tied.units, curves.rocs(tied).values(), strict=True))
    served, contrasts, _ = frames.here_or_recorded()
    suite = suite_rows.one_report(parts(), draws=20)
    for figure in (
        plots_fairness.grid(report),
        plots_fairness.figure_1(fb.report(six, permutations=19)),
        plots_fairness.grid(fb.report(six, ["pr"])),
        plots_fairness.null_of_worst_case(unbiased),
        plots_fairness.ten_readings(ten),
        plots_fairness.group_rates(served, "share"),
        plots_fairness.suite(suite),
        plots_fairness.rocs(rocs, ["a", "b"], 0.1),
        plots_fairness.bars(pd.Series({"a": 1.0, "b": 2.0})),
    ):
        assert isinstance(figure, Figure)
    answers = toolkits.answers()
    found = claims.findings(compas, fb.report(six), ten, unbiased, answers, suite, contrasts)
    verdicts = {f.claim: f.verdict for f in found}
    assert list(verdicts.values())[:3] == ["holds"] * 3
    [ratios] = [f for f in found if f.where == "paper, section 5.2"]
    assert (ratios.measured, ratios.verdict) == (2, "does not hold"), "1 - tpr changes ratios"
    assert len(found) == 13


@pytest.mark.slow
def test_rows_of_focus_are_every_method_on_every_network(monkeypatch, tmp_path):
    from types import SimpleNamespace

    from helpers import experiment, suite_focus

    monkeypatch.setenv("SUITE_OUTPUTS", str(tmp_path))
    asked = {"source": "world", "image_size": 64, "seed": 0, "per_class": 12, "folder": None}
    asked |= {"contexts": None, "context_of": None, "context_bias": None, "preset": "demo"}
    asked |= {"architecture": "alexnet-quarter", "epochs": 1, "mosaics": 2}
    some = SimpleNamespace(**asked, architectures=["alexnet-quarter", "resnet18-eighth"])
    rows = suite_focus.explained(experiment.images(some), some)
    assert rows.groupby(["method", "architecture"])["mosaic"].nunique().eq(8).all()
    assert rows["method"].nunique() == 4 and rows["architecture"].nunique() == 2
    assert (rows["right"] == (rows["focus"] > 0.5)).all()
    other = SimpleNamespace(**asked | {"architecture": "squeezenet1_0"})
    assert set(suite_focus.explained(experiment.images(other), other)["architecture"]) == {
        "squeezenet1_0"
    }


def test_curves_of_equal_area_cross():
    """Both areas are Φ(1/√2) but for rounding; the one between the curves is a sum by hand."""
    made = readings.same_area()
    assert made["score"].duplicated().any()
    area = scipy.stats.norm.cdf(2**-0.5)
    narrow, wide = (curve for curve in list(curves.rocs(toolkits.data(made)).values())[:2])
    for curve in (narrow, wide):
        assert np.trapezoid(curve.tpr, curve.fpr) == pytest.approx(area, abs=2e-3)
    x = np.linspace(0, 1, 100_001)
    apart = np.interp(x, narrow.fpr, narrow.tpr) - np.interp(x, wide.fpr, wide.tpr)
    assert apart.min() < -0.1 and apart.max() > 0.05, "they cross"
    by_name = fb.bias(toolkits.data(made), "auc", "pairs", "curve", "max")
    assert by_name == pytest.approx(abs(apart).mean(), abs=1e-3)


def test_a_pair_is_listed_once_where_both_directions_say_the_same():
    six = toolkits.data(toolkits.examples()["six groups"])
    report = fb.report(six, ["pr"])
    differences = explore.explain(report, "pr", "pairs", "abs", "max", top=99)["pairs"]
    assert len(differences) == 15 and differences["compared"].is_monotonic_decreasing
    signed = explore.explain(report, "pr", "pairs", "srel", "max", top=99)["pairs"]
    assert len(signed) == 30, "a share of the one is not a share of the other"


def test_rates_at_a_limit_are_marked():
    rows = pd.DataFrame({"group": list("aabbcc"), "right": [1, 1, 0, 1, 0, 1], "id": range(6)})
    part = suite_rows.Part("02", "right", rows, "group", None, "id")
    assert suite_rows._at_limit(part, pd.Index(["a", "b"]))
    assert not suite_rows._at_limit(part, pd.Index(["b", "c"]))

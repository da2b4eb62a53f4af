"""What the other notebooks measure, as rows with groups: the suite in one bias report."""

import math

import numpy as np
import pandas as pd
import pytest

from helpers.synthesis import suite_rows


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


@pytest.mark.slow
def test_rows_of_focus_are_every_method_on_every_network(monkeypatch, tmp_path):
    from types import SimpleNamespace

    from helpers.models import experiment
    from helpers.run.parameters import Images, Recipe
    from helpers.synthesis import suite_focus

    monkeypatch.setenv("SUITE_OUTPUTS", str(tmp_path))
    recipe = Recipe("alexnet-quarter", trainings=2, epochs=1)
    asked = {"preset": "demo", "seed": 0, "mosaics": 2}
    both = ["alexnet-quarter", "resnet10-eighth"]
    some = SimpleNamespace(
        **asked, model=recipe, architecture="alexnet-quarter", architectures=both
    )
    collection = experiment.images(Images("world", 64, 12), 0)
    rows = suite_focus.explained(collection, some)
    each = rows.groupby(["method", "architecture", "training"])["mosaic"].nunique()
    assert each.eq(8).all() and rows["training"].nunique() == 2
    assert rows["method"].nunique() == 4 and rows["architecture"].nunique() == 2
    assert (rows["right"] == (rows["focus"] > 0.5)).all()
    other = SimpleNamespace(**asked, model=recipe, architecture="squeezenet1_0")
    assert set(suite_focus.explained(collection, other)["architecture"]) == {"squeezenet1_0"}


def test_rates_at_a_limit_are_marked():
    rows = pd.DataFrame({"group": list("aabbcc"), "right": [1, 1, 0, 1, 0, 1], "id": range(6)})
    part = suite_rows.Part("02", "right", rows, "group", None, "id")
    assert suite_rows._at_limit(part, pd.Index(["a", "b"]))
    assert not suite_rows._at_limit(part, pd.Index(["b", "c"]))

"""Real predictions for real frames: the suite's numbers against pandas, and the recorded tables."""

import numpy as np
import pandas as pd
import pytest

from helpers.blocks import counts, examples, report
from helpers.run import project

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def file(real):
    path = real / "bdd100k" / "scene_predictions_cnn.npz"
    if not path.is_file():
        pytest.skip("no scene_predictions_cnn.npz beside the checkout")
    return path


@pytest.fixture(scope="module")
def rows(file):
    return examples.frames(file)


def test_rates_and_standardised_rates_are_those_of_pandas(rows):
    assert len(rows) == 13_097
    found = examples.served(rows).set_index("group")
    share = rows["scene"].value_counts(normalize=True)
    for by in ("time", "weather"):
        mean = rows.groupby(by)["right"].mean()
        fixed = rows.pivot_table(index=by, columns="scene", values="right", aggfunc="mean") @ share
        for group in mean.index:
            assert found.loc[group, "value"] == pytest.approx(mean[group])
            assert found.loc[group, "adjusted"] == pytest.approx(fixed[group])


def test_night_looks_served_as_well_until_the_scene_is_fixed(rows):
    """Statsmodels agrees: at night the odds of a right scene are lower, given the scene."""
    from statsmodels.stats.contingency_tables import StratifiedTable

    tables = [
        pd.crosstab(part["time"] == "night", part["right"]).to_numpy()
        for _, part in rows.groupby("scene")
    ]
    pooled = StratifiedTable(tables)
    assert pooled.test_null_odds().pvalue < 1e-4
    found = examples.contrasts(rows, draws=299).set_index(["group", "fixed"])
    assert found.loc[("night", "nothing"), "worse"] < 0.01
    assert found.loc[("night", "scene"), "low"] > 0 and found.loc[("night", "scene"), "p"] < 0.01


def test_recorded_tables_are_what_the_frames_give(file):
    *found, said = examples.here_or_recorded(str(file))
    assert said.startswith("computed from the 13,097 frames")
    for table, name in zip(found, examples.RECORDED, strict=True):
        recorded = pd.read_csv(project.root() / name)
        pd.testing.assert_frame_equal(table, recorded, check_dtype=False, atol=1e-5)


def test_the_whole_grid_with_evidence_on_real_predictions(file):
    with np.load(file) as held:
        label, said, score = (
            held[k][:, 5] for k in ("y_true", "y_pred_bin", "y_pred_proba")
        )  # is it night?
    groups = examples.frames(file)[["scene", "weather"]]
    columns = {"y_pred": said, "y_true": label, "y_score": score}
    data = counts.table(groups, **columns, intersect="joint")
    whole = report.make(data, ["acc", "tpr", "auc", "score"], permutations=19)
    assert whole.cells["value"].notna().mean() > 0.8
    cell = whole.cell("tpr", "pairs", "abs", "max")
    side = groups.agg(" & ".join, axis=1) == cell["group_i"]
    assert cell["f_i"] == pytest.approx(said[side & (label == 1)].mean())

"""Real predictions for real frames: the counts that lesson 09b reads are those of the frames."""

import blocks_frames
import pandas as pd
import pytest

from helpers import store
from helpers.blocks import counts, report

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def rows(real):
    path = real / "bdd100k" / "scene_predictions_cnn.npz"
    if not path.is_file():
        pytest.skip("no scene_predictions_cnn.npz beside the checkout")
    return blocks_frames.frames(path)


def test_rates_and_standardised_rates_are_those_of_pandas(rows):
    assert len(rows) == 13_097
    share = rows["scene"].value_counts(normalize=True)
    for by in ("time", "weather"):
        data = counts.table(rows[by], y_pred=rows["right"], strata=rows["scene"])
        ours = report.rates(data).set_index("group")
        mean = rows.groupby(by)["right"].mean()
        fixed = rows.pivot_table(index=by, columns="scene", values="right", aggfunc="mean") @ share
        for group in mean.index:
            assert ours.loc[group, "value"] == pytest.approx(mean[group])
            assert ours.loc[group, "adjusted"] == pytest.approx(fixed[group])


def test_the_counts_of_the_lesson_are_those_of_the_frames(rows):
    kept = pd.read_csv(store.root() / "data/toolkits/blocks_bdd100k_counts.csv")
    pd.testing.assert_frame_equal(blocks_frames.counted(rows), kept, check_dtype=False)

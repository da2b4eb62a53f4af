"""Real predictions for real frames: the suite's numbers against pandas, and the recorded tables."""

import blocks_frames
import pandas as pd
import pytest

from helpers.blocks import claims, counts

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def rows(real):
    path = real / "bdd100k" / "scene_predictions_cnn.npz"
    if not path.is_file():
        pytest.skip("no scene_predictions_cnn.npz beside the checkout")
    return blocks_frames.frames(path)


def test_rates_and_standardised_rates_are_those_of_pandas(rows):
    assert len(rows) == 13_097
    found = blocks_frames.served(rows).set_index("group")
    share = rows["scene"].value_counts(normalize=True)
    for by in ("time", "weather"):
        mean = rows.groupby(by)["right"].mean()
        fixed = rows.pivot_table(index=by, columns="scene", values="right", aggfunc="mean") @ share
        for group in mean.index:
            assert found.loc[group, "value"] == pytest.approx(mean[group])
            assert found.loc[group, "adjusted"] == pytest.approx(fixed[group])


def test_recorded_tables_are_what_the_frames_give(rows):
    """All values and p values, and the intervals of one group, which are drawn."""
    served, contrasts = claims.frames()
    found = blocks_frames.served(rows, 0), blocks_frames.contrasts(rows, 0)
    drawn = (["adjusted_low", "adjusted_high"], ["low", "high"])
    for table, recorded, ends in zip(found, (served, contrasts), drawn, strict=True):
        both = [one.drop(columns=ends) for one in (table, recorded)]
        pd.testing.assert_frame_equal(*both, check_dtype=False, atol=1e-5)
    data = counts.table(rows["time"], y_pred=rows["right"], strata=rows["scene"])
    recorded = contrasts.query("group == 'night' and fixed == 'scene'")[["worse", "low", "high"]]
    assert blocks_frames.ends(data, "night", "sabs") == pytest.approx(recorded.iloc[0].tolist())

"""Real predictions for real frames: the suite's numbers against pandas, and the recorded tables."""

import blocks_frames
import pandas as pd
import pytest

from helpers.blocks import examples

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
    found = blocks_frames.served(rows), blocks_frames.contrasts(rows)
    for table, recorded in zip(found, examples.frames(), strict=True):
        pd.testing.assert_frame_equal(table, recorded, check_dtype=False, atol=1e-5)

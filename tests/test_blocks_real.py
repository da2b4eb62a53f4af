"""Real predictions for real frames: the suite's numbers against pandas, and the recorded tables."""

import pandas as pd
import pytest

from helpers.blocks import examples
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


def test_recorded_tables_are_what_the_frames_give(file):
    *found, said = examples.here_or_recorded(str(file))
    assert said.startswith("computed from the 13,097 frames")
    for table, name in zip(found, examples.RECORDED, strict=True):
        recorded = pd.read_csv(project.root() / name)
        pd.testing.assert_frame_equal(table, recorded, check_dtype=False, atol=1e-5)

"""Real predictions for real frames: lesson 09b reads the counts of these frames.

python tests/test_blocks_real.py scene_predictions_cnn.npz data/toolkits/blocks_bdd100k_counts.csv
"""

import sys

import helpers  # noqa: F401  before numpy: it pins the kernels

# ruff: isort: split
import numpy as np
import pandas as pd
import pytest

from helpers import store

ATTRIBUTES = {
    "scene": ("city street", "highway", "residential"),
    "time": ("dawn or dusk", "daytime", "night"),
    "weather": ("clear", "overcast", "partly cloudy", "rainy", "snowy"),
}


def counted(path) -> pd.DataFrame:
    """Count the frames by scene, time, weather (true) and whether the scene was predicted.

    The file holds y_true and y_pred_bin, each (n, 11), in the order of ATTRIBUTES.
    """
    with np.load(path) as held:
        true, guess = held["y_true"] > 0, held["y_pred_bin"] > 0
    rows, start = {}, 0
    for name, values in ATTRIBUTES.items():
        part = true[:, start : start + len(values)]
        if not (part.sum(1) == 1).all():
            raise ValueError(f"a frame has not exactly one {name}")
        rows[name] = np.array(values)[part.argmax(1)]
        start += len(values)
    rows["correct"] = (true[:, :3] == guess[:, :3]).all(1).astype(int)
    return pd.DataFrame(rows).groupby([*rows]).size().rename("frames").reset_index()


@pytest.mark.real
def test_the_counts_of_the_lesson_are_those_of_the_frames(real):
    path = real / "bdd100k" / "scene_predictions_cnn.npz"
    if not path.is_file():
        pytest.skip("no scene_predictions_cnn.npz next to the checkout")
    kept = pd.read_csv(store.root() / "data/toolkits/blocks_bdd100k_counts.csv")
    pd.testing.assert_frame_equal(counted(path), kept, check_dtype=False)


if __name__ == "__main__":
    counted(sys.argv[1]).to_csv(sys.argv[2], index=False)

"""Count the real frames of notebook 09b; run as a script to write the counts.

python tests/blocks_frames.py scene_predictions_cnn.npz data/toolkits/blocks_bdd100k_counts.csv
"""

import sys

import helpers  # noqa: F401  before numpy: it pins the kernels

# ruff: isort: split
import numpy as np
import pandas as pd

ATTRIBUTES = {
    "scene": ("city street", "highway", "residential"),
    "time": ("dawn or dusk", "daytime", "night"),
    "weather": ("clear", "overcast", "partly cloudy", "rainy", "snowy"),
}


def frames(path) -> pd.DataFrame:
    """Scene, time and weather (true) of each frame, and right: 1 where its scene was predicted.

    The file holds y_true and y_pred_bin, each (n, 11), in the order of `ATTRIBUTES`.
    """
    with np.load(path) as held:
        true, guess = held["y_true"] > 0, held["y_pred_bin"] > 0
    table, start = {"right": (true[:, :3] == guess[:, :3]).all(1).astype(int)}, 0
    for name, values in ATTRIBUTES.items():
        part = true[:, start : start + len(values)]
        if not (part.sum(1) == 1).all():
            raise ValueError(f"a frame has not exactly one {name}")
        table[name] = np.array(values)[part.argmax(1)]
        start += len(values)
    return pd.DataFrame(table)


def counted(rows: pd.DataFrame) -> pd.DataFrame:
    """How many frames there are of each scene, time, weather and right."""
    by = ["scene", "time", "weather", "right"]
    return rows.groupby(by).size().rename("frames").reset_index()


if __name__ == "__main__":
    counted(frames(sys.argv[1])).to_csv(sys.argv[2], index=False)

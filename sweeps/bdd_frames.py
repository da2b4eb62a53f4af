"""Apply ICON2 to real frames of BDD100K and a detector, by occlusion and size.

Run ``python -m sweeps.bdd_frames data/icon2_bdd100k.csv FOLDER`` with scalabel's
sample.
"""

import sys
from pathlib import Path

import numpy as np
import pandas as pd

from helpers import store
from helpers.icon2 import (
    analyse,
    attributes,
    lesson_frames,
    match,
    sigma_null,
    verdicts,
)

CLASSES = ["car", "pedestrian"]
EXPLANATORY = ("size", "truncated", "aspect", "crowds")
BLOCK = 20  # successive frames of the one video, which are resampled together


def measure(folder: Path) -> pd.DataFrame:
    """Return AP by group and size, sigma with its null, and verdicts."""
    data = lesson_frames.read(
        folder / "track_sample_anns.json", folder / "bbox_predictions.json"
    )
    blocks = np.arange(len(data.images)) // BLOCK
    occlusion = attributes.made(data, "occlusion")
    explanatory = [attributes.made(data, name) for name in EXPLANATORY]
    matches = match(data)
    analysis = analyse(
        matches,
        occlusion,
        explanatory,
        classes=CLASSES,
        resamples=500,
        clusters=blocks,
    )
    groups = analysis.groups().rename(columns={"value": "group"})
    cells = analysis.cells().query("attribute == 'size'")
    ap = pd.concat([groups.assign(value="all sizes"), cells])
    ap = ap[["class", "group", "value", "AP", "low", "high", "boxes"]]
    null = sigma_null(matches, occlusion, permutations=999, clusters=blocks)
    null = null[["class", "sigma", "null_high", "p"]]
    rules = verdicts.table(analysis).drop(columns=verdicts.ANY_RULE)
    parts = {"AP": ap, "chance": null, "rules": rules}
    table = pd.concat(parts, names=["quantity"]).reset_index("quantity")
    return table[table["class"].isin(CLASSES)].round(3)


if __name__ == "__main__":
    store.write_text(sys.argv[1], measure(Path(sys.argv[2])).to_csv(index=False))

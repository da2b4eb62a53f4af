"""ICON2 on real frames: BDD100K's labels and a real detector's finds; by occlusion, and size.

``python -m sweeps.bdd_frames data/icon2_bdd100k.csv --folder FOLDER`` takes scalabel's sample."""

from types import SimpleNamespace

import numpy as np
import pandas as pd

from helpers import recorded
from helpers.icon2 import analyse, attributes, frames, match, sigma_null, verdicts

CLASSES, TOGETHER = (
    ("car", "pedestrian"),
    20,
)  # frames of the one video that are drawn together


def main() -> None:
    arguments = recorded.driver(__doc__, folder="bdd100k")
    files = frames.files(SimpleNamespace(frames=arguments.folder))
    data = frames.read(files["labels"], files["predictions"])
    blocks = np.arange(len(data.images)) // TOGETHER
    occlusion = attributes.made(data, "occlusion")
    others = [
        attributes.made(data, name)
        for name in ("size", "truncated", "aspect", "crowds")
    ]
    matches, settings = (
        match(data),
        {"classes": CLASSES, "resamples": 500, "clusters": blocks},
    )
    analysis = analyse(matches, occlusion, others, **settings)
    groups = (
        analysis.groups().rename(columns={"value": "group"}).assign(value="all sizes")
    )
    cells = analysis.cells().query("attribute == 'size'")
    columns = ["class", "group", "value", "AP", "low", "high", "boxes"]
    ap = pd.concat(
        [table[table["class"].isin(CLASSES)][columns] for table in (groups, cells)]
    )
    null = sigma_null(matches, occlusion, permutations=999, clusters=blocks)
    chance = null[null["class"].isin(CLASSES)][["class", "sigma", "null_high", "p"]]
    rules = verdicts.table(analysis).drop(columns=verdicts.ANY_RULE)
    parts = {"AP": ap, "chance": chance, "rules": rules}
    table = pd.concat(parts, names=["what"]).reset_index("what")
    recorded.write(arguments.file, table.round(3).to_csv(index=False))


if __name__ == "__main__":
    main()

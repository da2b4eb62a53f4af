"""Run lesson 08 on real frames of BDD100K and a detector, by occlusion.

Run ``python -m sweeps.bdd_frames data/icon2_bdd100k.csv FOLDER`` with scalabel's
sample.
"""

import json
import sys
from pathlib import Path

import pandas as pd
import papermill

from helpers import store

BLOCK = 20  # successive frames of the one video, which are resampled together
GROUPS = {False: "visible", True: "occluded"}
PARAMETERS = {
    "sensitive": "occluded",
    "further": ["truncated"],
    "cluster": "block",
    "output": "sweeps/bdd_frames",
}


def measure(folder: Path) -> pd.DataFrame:
    """Return AP by group and size, sigma with its null, and verdicts."""
    output = store.outputs() / PARAMETERS["output"]
    output.mkdir(parents=True, exist_ok=True)
    labels = folder / "track_sample_anns.json"
    names = pd.DataFrame(json.loads(labels.read_text()))["name"]
    blocks = pd.DataFrame({"image": names, "block": names.index // BLOCK})
    blocks.astype(str).to_csv(output / "blocks.csv", index=False)
    papermill.execute_notebook(
        store.root() / "notebooks" / "08_icon2.ipynb",
        output / "executed.ipynb",
        PARAMETERS
        | {
            "labels": str(labels),
            "predictions": str(folder / "bbox_predictions.json"),
            "attributes": str(output / "blocks.csv"),
        },
        progress_bar=False,
    )

    def table(name: str) -> pd.DataFrame:
        return pd.read_csv(output / "tables" / "08_icon2" / f"{name}.csv")

    groups = table("table-1-groups").rename(columns={"value": "group"})
    cells = table("cells").query("attribute == 'size'")
    ap = pd.concat([groups.assign(value="all sizes"), cells])
    ap["group"] = ap["group"].map(GROUPS)
    ap = ap[["class", "group", "value", "AP", "low", "high", "boxes"]]
    chance = table("table-1-sigmas")[["class", "sigma", "null_high", "p"]]
    rules = table("verdicts").astype({"rank": "Int64"})
    parts = {"AP": ap, "chance": chance, "rules": rules}
    both = pd.concat(parts, names=["quantity"]).reset_index("quantity")
    return both[both["class"].isin(["car", "pedestrian"])].round(3)


if __name__ == "__main__":
    store.write_text(sys.argv[1], measure(Path(sys.argv[2])).to_csv(index=False))

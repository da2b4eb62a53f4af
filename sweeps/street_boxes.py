"""Record which pedestrians of synthetic street scenes a detector detects.

Pedestrians are smaller if income is low, and the detector is worse. Run
``python -m sweeps.street_boxes data/street_boxes.csv``.
"""

import sys

import numpy as np
import pandas as pd

from helpers import store
from helpers.icon2.matching import match
from helpers.icon2.streets import SHARES_OF_B, observe, train_detector
from sweeps.rules import CATEGORY, FRAMES, SHARE_OF_B
from synthetic import street, street_causes


def measure() -> pd.DataFrame:
    """Return one row per labelled pedestrian, with its detection at an IoU of 0.5."""
    detector = train_detector(SHARE_OF_B, 0)
    strength = street_causes.STRENGTHS["size"]
    frames, things = street_causes.scenes(FRAMES, 0, "size", strength)
    observed = observe(detector, frames, things, SHARES_OF_B)
    boxes = observed.boxes
    boxes = boxes[boxes["category"] == street.KINDS.index(CATEGORY)]
    area = boxes.eval("(x2 - x1) * (y2 - y1)")
    size = pd.qcut(area, 3, labels=["small", "medium", "large"])
    income = frames["income"].astype(str).to_numpy()
    detected = match(observed, (0.5,)).taken[0]
    return pd.DataFrame(
        {
            "frame": boxes["image"],
            "income": income[boxes["image"]],
            "size": size.astype(str),
            "found": np.isin(boxes.index, detected).astype(int),
        }
    )


if __name__ == "__main__":
    store.write_text(sys.argv[1], measure().to_csv(index=False))

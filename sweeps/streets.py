"""Divide the gap of a detector between scenes and appearances, and compare with ICON2.

The synthetic street scenes differ in how much harder they are where income is low, and
in the share of appearance B in training. The true parts are measured by intervention.
Run ``python -m sweeps.streets data/streets.csv``.
"""

import sys
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from helpers.icon2 import attributes, formulas
from helpers.icon2.analysis import analyse, with_interval
from helpers.icon2.attributes import Frames
from helpers.icon2.average_precision import Options
from helpers.icon2.matching import match
from helpers.icon2.streets import SHARES_OF_B, observe, train_detector
from sweeps.appearances import ap_by_appearance
from sweeps.resume import collect
from synthetic import street

DIFFICULTIES = (0.0, 0.5, 1.0)  # how much harder the scenes of low income are
TRAINED_SHARES_OF_B = (0.5, 0.12, 0.03)  # in the images that the detector is trained on
RUNS = range(2)
FRAMES = 900
COMBINATIONS = (
    "size, time",
    "size, time, occlusion",
    "fifths of size, time",
    "fifths of size, time, occlusion",
)
MIN_BOXES = 10  # of a combination of values; a value of one attribute needs 30
RESAMPLES = 100


def with_combinations(frames: Frames) -> Frames:
    """Add the combinations of attributes to the boxes, such as "small, night"."""
    boxes = frames.boxes.copy()
    size = attributes.made(frames, "size")
    area = boxes.eval("(x2 - x1) * (y2 - y1)")
    rank = area.groupby(boxes["category"]).rank(pct=True)
    values = pd.DataFrame(
        {
            "size": np.array(size.values)[size.codes],
            "fifths of size": np.ceil(5 * rank).astype(int).astype(str),
            "time": frames.images["timeofday"].to_numpy()[boxes["image"]],
            "occlusion": boxes["occluded"].astype(str),
        }
    )
    for combination in COMBINATIONS:
        columns = combination.split(", ")
        boxes[combination] = values[columns].agg(", ".join, axis=1)
    return replace(frames, boxes=boxes)


def apply_icon2(frames: Frames) -> pd.DataFrame:
    """Return ICON2's results, one row per class, in AP points.

    For each analysis, the table holds the part of the gap between high and low income
    that it attributes to the scenes, with a 95% interval.
    """
    matches = match(frames)
    income = attributes.from_column(frames, "income")
    single = [attributes.made(frames, name) for name in attributes.OF_PAPER]
    combined = [attributes.from_column(frames, name) for name in COMBINATIONS]
    paper = analyse(matches, income, single, resamples=RESAMPLES)
    options = Options(min_boxes=MIN_BOXES)
    finer = analyse(matches, income, combined, options=options, resamples=RESAMPLES)
    first = paper.control().drop_duplicates("class")
    columns = ["class", "attribute", "proxy_sigma", "sigma", "delta"]
    rows = first[columns].to_dict("records")
    for row in rows:
        group_ap = paper.group_ap[row["class"]]
        first_part = paper.parts[row["class"], row["attribute"]]
        gap = group_ap[:, 2] - group_ap[:, 0]
        explained = gap * (1 - first_part.controlled / formulas.sigma(group_ap))
        row.update(with_interval("paper's control", explained, "paper's control_"))
        standardised = {"the first-ranked": first_part}
        for name in COMBINATIONS:
            standardised[name] = finer.parts[row["class"], name]
        for name, part in standardised.items():
            analysis = f"standardised: {name}"
            remaining = part.standardised[:, 2] - part.standardised[:, 0]
            row.update(with_interval(analysis, gap - remaining, f"{analysis}_"))
    return pd.DataFrame(rows)


def measure_world(difficulty: float, share_of_b: float, run: int) -> pd.DataFrame:
    """Return the gap, its true parts and ICON2's results, one row per class."""
    detector = train_detector(share_of_b, run)
    scenes = street.scenes(FRAMES, 5000 + run, difficulty)
    own = observe(detector, *scenes, SHARES_OF_B)
    other = observe(detector, *scenes, SHARES_OF_B[::-1])
    rows = []
    for category, ap in ap_by_appearance(own, other).items():
        row = {"difficulty": difficulty, "share_of_b": share_of_b, "run": run}
        row["class"] = category
        for part, values in formulas.divided(ap).items():
            row.update(with_interval(part, values, f"{part}_"))
        rows.append(row)
    analyses = apply_icon2(with_combinations(own))
    return pd.DataFrame(rows).merge(analyses, on="class").round(3)


def main() -> None:
    """Measure all combinations of difficulty, share and run, and write their table."""
    cases = []
    for run in RUNS:
        cases += product(DIFFICULTIES, TRAINED_SHARES_OF_B, [run])
    collect(Path(sys.argv[1]), measure_world, cases)


if __name__ == "__main__":
    main()

"""Divide the gap of a detector between scenes and appearances, and compare with ICON2.

The synthetic street scenes differ in how much harder they are where income is low, and
in the share of appearance B in training. The true parts are measured by intervention.

Run ``python -m sweeps.streets data/streets.csv``.
"""

import argparse
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from helpers.icon2 import attributes, formulas, intervention
from helpers.icon2.analysis import analyse, with_interval
from helpers.icon2.attributes import Attribute, Frames
from helpers.icon2.average_precision import Options
from helpers.icon2.intervention import CONTROL, SHARES_OF_B, TESTED_ON
from helpers.icon2.matching import match
from sweeps.resume import collect
from synthetic import street

DIFFICULTIES = (0.0, 0.5, 1.0)  # how much harder the scenes of low income are
TRAINED_SHARES_OF_B = (0.5, 0.12, 0.03)  # in the images that the detector is trained on
RUNS = range(2)
CROSSED = (
    ("size", "time"),
    ("size", "time", "occlusion"),
    ("fifths of size", "time"),
    ("fifths of size", "time", "occlusion"),
)
ANALYSES = (
    CONTROL,
    "standardised: the first-ranked",
    *(f"standardised: {', '.join(names)}" for names in CROSSED),
)
MIN_BOXES = 10  # of a combination of values; a value of one attribute needs 30


def apply_icon2(frames: Frames, resamples: int) -> pd.DataFrame:
    """Return ICON2's results, one row per class, in AP points.

    For each of the `ANALYSES`, the table holds the part of the gap between high and low
    income that the analysis attributes to the scenes, with a 95% interval.
    """
    of_paper = {name: attributes.made(frames, name) for name in attributes.OF_PAPER}
    crossings = []
    for names in CROSSED:
        parts = [of_paper.get(name) or fifths_of_size(frames) for name in names]
        crossings.append(cross(frames, *parts))
    matches = match(frames)
    income = attributes.from_column(frames, "income")
    paper = analyse(matches, income, [*of_paper.values()], resamples=resamples)
    options = Options(min_boxes=MIN_BOXES)
    finer = analyse(matches, income, crossings, options=options, resamples=resamples)
    first = paper.ranking().drop_duplicates("class")
    control = paper.control()[["class", "attribute", "sigma", "delta"]]
    table = first[["class", "attribute", "proxy_sigma"]].merge(control)
    rows = []
    for row in table.to_dict("records"):
        name = row["class"]
        estimate = paper.estimates[name]
        first_part = estimate.parts[row["attribute"]]
        gap = estimate.group_ap[:, 2] - estimate.group_ap[:, 0]
        sigma = formulas.sigma(estimate.group_ap)
        explained = [gap * (1 - formulas.controlled(first_part.cell_ap) / sigma)]
        for part in (first_part, *finer.estimates[name].parts.values()):
            remaining = part.standardised[:, 2] - part.standardised[:, 0]
            explained.append(gap - remaining)
        for analysis, values in zip(ANALYSES, explained, strict=True):
            row.update(with_interval(analysis, values, f"{analysis}_"))
        rows.append(row)
    return pd.DataFrame(rows)


def fifths_of_size(frames: Frames) -> Attribute:
    """Sort the boxes of each class into fifths, from the smallest to the largest."""
    boxes = frames.boxes
    area = (boxes["x2"] - boxes["x1"]) * (boxes["y2"] - boxes["y1"])
    rank = area.groupby(boxes["category"]).rank(pct=True)
    codes = np.ceil(5 * rank).astype(int).to_numpy() - 1
    return Attribute("fifths of size", tuple("12345"), codes, "box")


def cross(frames: Frames, *parts: Attribute) -> Attribute:
    """Return one attribute of boxes whose values are combinations of other values."""
    image = frames.boxes["image"].to_numpy()
    values = [", ".join(names) for names in product(*(part.values for part in parts))]
    codes = [part.of_boxes(image) for part in parts]
    codes = attributes.crossed(codes, [len(part.values) for part in parts])
    name = ", ".join(part.name for part in parts)
    return Attribute(name, tuple(values), codes, "box")


def measure_world(difficulty: float, share_of_b: float, run: int) -> pd.DataFrame:
    """Return the gap, its true parts and ICON2's results, one row per class."""
    detector = intervention.trained(share_of_b, run)
    frames, things = street.scenes(TESTED_ON, 5000 + run, difficulty)
    own = intervention.observed(detector, frames, things, SHARES_OF_B)
    other = intervention.observed(detector, frames, things, SHARES_OF_B[::-1])
    rows = []
    for category, ap in intervention.swapped(own, other).items():
        row = {"difficulty": difficulty, "share_of_b": share_of_b, "run": run}
        row["class"] = category
        for part, values in intervention.divided(ap).items():
            row.update(with_interval(part, values, f"{part}_"))
        rows.append(row)
    table = pd.DataFrame(rows).merge(apply_icon2(own, resamples=100), on="class")
    return table.round(3)


def main() -> None:
    """Measure all combinations of difficulty and share, and write their table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    arguments = parser.parse_args()
    cases = [
        (*world, n)
        for n in RUNS
        for world in product(DIFFICULTIES, TRAINED_SHARES_OF_B)
    ]
    collect(arguments.path, measure_world, cases)


if __name__ == "__main__":
    main()

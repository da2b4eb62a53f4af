"""Nine planted worlds, two trainings of the detector each: the gap's parts, and what ICON2 says.

``python -m sweeps.streets data/streets.csv`` takes a quarter of an hour."""

from itertools import product

import numpy as np
import pandas as pd

from helpers import recorded
from helpers.icon2 import attributes, formulas, intervention
from helpers.icon2.analysis import analyse, with_interval
from helpers.icon2.attributes import Attribute, Frames
from helpers.icon2.average_precision import Options
from helpers.icon2.intervention import CONTROL, RARE, TESTED_ON
from helpers.icon2.matching import match
from helpers.store import progress
from synthetic import street

WORLDS = list(product((0.0, 0.5, 1.0), (0.5, 0.12, 0.03)))  # harder, and rare
# How much harder the scenes of low income are: not at all, half, fully; and the share of the rare
# look in training: as frequent as the other, between, rare.
CROSSED = (
    ("size", "time"),
    ("size", "time", "occlusion"),
    ("fifths", "time"),
    ("fifths", "time", "occlusion"),
)
NAMED = [
    f"standardised: {', '.join(one)}".replace("fifths", "fifths of size")
    for one in CROSSED
]
ANALYSES = (CONTROL, "standardised: the first-ranked", *NAMED)
FEW = (
    10  # boxes that a combination needs; a single attribute's value needs the usual 30
)


def icon2_says(world: Frames, resamples: int = 0) -> pd.DataFrame:
    """What ICON2 says of each class: what ranks first, its control, and of each of the `ANALYSES`
    the part of the gap between high and low income that it puts down to the scenes, in AP points:
    of the control the gap times the share of sigma that goes; else how far the gap is lowered."""
    five = [attributes.made(world, name) for name in attributes.OF_PAPER]
    known = {one.name: one for one in [*five, fifths(world)]}
    crossings = [crossed(world, *(known[one] for one in of)) for of in CROSSED]
    matches, income = match(world), attributes.from_column(world, "income")
    paper = analyse(matches, income, five, resamples=resamples)
    few = Options(min_boxes=FEW)
    finer = analyse(matches, income, crossings, options=few, resamples=resamples)
    falls = paper.control()[["class", "attribute", "sigma", "delta"]]
    first = paper.ranking().drop_duplicates("class")[
        ["class", "attribute", "proxy_sigma"]
    ]
    rows = []
    for row in first.merge(falls).to_dict("records"):
        one = paper.estimates[row["class"]]
        top, further = (
            one.parts[row["attribute"]],
            finer.estimates[row["class"]].parts.values(),
        )
        left = formulas.controlled(top.cell_ap) / formulas.sigma(one.group_ap)
        gap = one.group_ap[:, 2] - one.group_ap[:, 0]
        parts = [gap * (1 - left)]
        for part in (top, *further):
            parts.append(gap - (part.standardised[:, 2] - part.standardised[:, 0]))
        for name, values in zip(ANALYSES, parts, strict=True):
            row |= with_interval(name, values, f"{name}_")
        rows.append(row)
    return pd.DataFrame(rows)


def fifths(world: Frames) -> Attribute:
    """The fifth of its class's boxes that each box is in, from the smallest to the largest."""
    boxes = world.boxes
    area = (boxes["x2"] - boxes["x1"]) * (boxes["y2"] - boxes["y1"])
    rank = area.groupby(boxes["category"]).rank(pct=True)
    codes = np.ceil(5 * rank).astype(int).to_numpy() - 1
    return Attribute("fifths", tuple("12345"), codes, "box")


def crossed(world: Frames, *several: Attribute) -> Attribute:
    """Attributes as one of boxes, whose values are the combinations of theirs."""
    image = world.boxes["image"].to_numpy()
    values = tuple(", ".join(one) for one in product(*(a.values for a in several)))
    sizes = [len(a.values) for a in several]
    codes = attributes.crossed([one.of_boxes(image) for one in several], sizes)
    return Attribute(", ".join(a.name for a in several), values, codes, "box")


def measured(harder: float, rare: float, training: int) -> pd.DataFrame:
    """Intervene in one of the `WORLDS`, with one training of its detector; a row a class: the gap
    and its parts in AP points, with 95% intervals, and what :func:`icon2_says`."""
    detector = intervention.trained(rare, training)
    frames, things = street.scenes(TESTED_ON, 5000 + training, harder)
    own, other = (
        intervention.observed(detector, frames, things, share)
        for share in (RARE, RARE[::-1])
    )
    rows = []
    for category, ap in intervention.swapped(own, other).items():
        row = {"harder": harder, "rare": rare, "training": training, "class": category}
        for part, values in intervention.divided(ap).items():
            row |= with_interval(part, values, f"{part}_")
        rows.append(row)
    return pd.DataFrame(rows).merge(icon2_says(own, resamples=100), on="class")


def main() -> None:
    arguments = recorded.driver(
        __doc__, trainings=2, worlds=len(WORLDS)
    )  # the first of them
    trainings, worlds = range(arguments.trainings), WORLDS[: arguments.worlds]
    cases = [(*world, n) for n in trainings for world in worlds]
    recorded.in_parts(
        arguments.file, measured, progress(cases, desc="worlds"), digits=3
    )


if __name__ == "__main__":
    main()

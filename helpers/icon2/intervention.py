"""How much of a gap is due to scenes and how much to looks, measured on a detector by intervention.

No data set can tell this, but a rendered street can. The same layouts are rendered twice: with the
looks of their own income group, and with those of the opposite one. Together with the two groups'
layouts that gives the four combinations of scenes and looks.

``python -m helpers.icon2.intervention data/streets.csv`` measures nine planted worlds with two
trainings of each detector and records them.
"""

import argparse
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from helpers import recorded
from helpers.icon2 import attributes, formulas
from helpers.icon2.analysis import analyse, with_interval
from helpers.icon2.attributes import Attribute, Frames
from helpers.icon2.matching import match
from helpers.icon2.options import Options
from helpers.models import detector as detectors
from helpers.models.detector import Detector
from helpers.store import progress
from helpers.worlds.driving import street

WORLDS = list(product((0.0, 0.5, 1.0), (0.5, 0.12, 0.03)))  # harder, and rare
# How much harder the scenes of low income are: not at all, half, fully; and the share of the rare
# look in training: as frequent as the other, between, rare.
RARE = (0.9, 0.5, 0.1)  # share of the rare look in the test frames of each income group
TRAINED_ON, TESTED_ON = 600, 900  # frames
CELLS = ("low, own", "high, own", "low, other", "high, other")  # whose layouts, in whose looks
CONTROL, FIRST = "paper's control", "standardised: the first-ranked"
CROSSED = {  # what else groups are standardised by
    "standardised: size, time": ("size", "time"),
    "standardised: size, time, occlusion": ("size", "time", "occlusion"),
    "standardised: fifths of size, time": ("fifth", "time"),
    "standardised: fifths of size, time, occlusion": ("fifth", "time", "occlusion"),
}
ANALYSES = (CONTROL, FIRST, *CROSSED)
FEW = 10  # boxes that a combination needs; a single attribute's value needs the usual 30


def trained(rare: float, seed: int, folder: Path | None = None) -> Detector:
    """A detector trained on street frames of equal scenes, `rare` of them with the rare look.

    It is trained once and then found in the store (default: the project's).
    """
    table, things = street.scenes(TRAINED_ON, 1000 + seed)
    images, boxes = street.render(table, street.dressed(table, things, rare))
    given = {"seed": seed, "folder": folder or store.networks()}
    return detectors.trained(torch.from_numpy(images), boxes, street.KINDS, **given)


def observed(
    detector: Detector, frames: pd.DataFrame, things: pd.DataFrame, rare: Sequence[float]
) -> Frames:
    """The frames with their looks, their boxes, and what a detector finds."""
    images, boxes = street.render(frames, street.dressed(frames, things, rare))
    found = detectors.detect(detector, torch.from_numpy(images))
    found["category"] = pd.Index(street.KINDS).get_indexer(found["category"])
    return Frames(frames, boxes, found, street.KINDS)


def swapped(own: Frames, other: Frames, resamples: int = 200) -> dict[str, np.ndarray]:
    """AP (1 + resamples, 4) of each class, in 0..1, of the four combinations in `CELLS`.

    `own` and `other` are the same frames in the looks of their own group and of the opposite one.
    Resamples draw layouts, each in both of its renderings. Precision is normalised (Eq. 3).
    """
    groups = own.images["income"].astype(str)
    names = [*(groups + ", own"), *(groups + ", other")]
    codes = pd.Index(CELLS).get_indexer(names)  # the middle group is in none
    boxes, found = (
        pd.concat([one, two.assign(image=two["image"] + len(groups))], ignore_index=True)
        for one, two in ((own.boxes, other.boxes), (own.detections, other.detections))
    )
    images = pd.concat([own.images] * 2, ignore_index=True)
    matches = match(Frames(images, boxes, found, own.classes))
    layouts = np.tile(np.arange(len(groups)), 2)
    cell = Attribute("cell", CELLS, codes, "image")
    analysis = analyse(matches, cell, [], resamples=resamples, clusters=layouts)
    return {name: estimate.group_ap for name, estimate in analysis.estimates.items()}


def divided(ap: np.ndarray) -> dict[str, np.ndarray]:
    """The gap, high less low income, and its two parts, from AP (..., 4) of `CELLS`.

    Each part is the change of AP when one cause is brought from the low group's to the high
    group's, the mean over both states of the other cause (Shapley's division for two causes). The
    parts sum to the gap.
    """
    low, high, low_in_other, high_in_other = np.moveaxis(ap, -1, 0)
    return {
        "gap": high - low,
        "scenes": (high - low_in_other + high_in_other - low) / 2,
        "looks": (high - high_in_other + low_in_other - low) / 2,
    }


def icon2_says(world: Frames, resamples: int = 0) -> pd.DataFrame:
    """What ICON2 says of each class without any intervention.

    Columns class, attribute (of the paper's five, the top-ranked), proxy_sigma, sigma, delta (what
    the paper's control says of it), and for each of the `ANALYSES`, with ``_low`` and ``_high``,
    the part of the gap between high and low income that it puts down to the scenes, in AP points.
    Of the paper's control that is the share of sigma by which sigma falls, times the gap; of the
    others how far standardising lowers the gap.
    """
    five = [attributes.made(world, name) for name in attributes.OF_PAPER]
    known = {one.name: one for one in [*five, fifths(world)]}
    crossings = [crossed(world, *(known[one] for one in of)) for of in CROSSED.values()]
    matches, income = match(world), attributes.from_column(world, "income")
    found = analyse(matches, income, five, resamples=resamples)
    few = Options(min_boxes=FEW)
    finer = analyse(matches, income, crossings, options=few, resamples=resamples)
    falls = found.control()[["class", "attribute", "sigma", "delta"]]
    first = found.ranking().drop_duplicates("class")[["class", "attribute", "proxy_sigma"]]
    rows = []
    for row in first.merge(falls).to_dict("records"):
        one = found.estimates[row["class"]]
        top, further = one.parts[row["attribute"]], finer.estimates[row["class"]].parts.values()
        left = formulas.controlled(top.cell_ap) / formulas.sigma(one.group_ap)
        gap = one.group_ap[:, 2] - one.group_ap[:, 0]
        parts = [gap * (1 - left)]
        for part in (top, *further):
            parts.append(gap - (part.standardised[:, 2] - part.standardised[:, 0]))
        for name, values in zip(ANALYSES, parts, strict=True):
            row |= with_interval(name, values, f"{name}_")
        rows.append(row)
    return pd.DataFrame(rows)


def measured(harder: float, rare: float, training: int) -> pd.DataFrame:
    """Intervene in one of the `WORLDS`, with one training of its detector.

    A row a class: harder, rare, training, class, the gap and its parts in AP points with 95%
    intervals (``gap gap_low gap_high scenes ...``), and what :func:`icon2_says`.
    """
    detector = trained(rare, training)
    frames, things = street.scenes(TESTED_ON, 5000 + training, harder)
    own, other = (observed(detector, frames, things, share) for share in (RARE, RARE[::-1]))
    rows = []
    for category, ap in swapped(own, other).items():
        row = {"harder": harder, "rare": rare, "training": training, "class": category}
        for part, values in divided(ap).items():
            row |= with_interval(part, values, f"{part}_")
        rows.append(row)
    return pd.DataFrame(rows).merge(icon2_says(own, resamples=100), on="class")


def fifths(world: Frames) -> Attribute:
    """The fifth of its class's boxes that each box is in, from the smallest to the largest."""
    boxes = world.boxes
    area = (boxes["x2"] - boxes["x1"]) * (boxes["y2"] - boxes["y1"])
    rank = area.groupby(boxes["category"]).rank(pct=True)
    codes = np.ceil(5 * rank).astype(int).to_numpy() - 1
    return Attribute("fifth", tuple("12345"), codes, "box")


def crossed(world: Frames, *several: Attribute) -> Attribute:
    """Attributes as one of boxes, whose values are the combinations of theirs.

    ICON2 controls one attribute at a time (the paper's appendix A names this as a limit).
    """
    image = world.boxes["image"].to_numpy()
    codes = np.array([one.of_boxes(image) for one in several])
    place = np.ravel_multi_index(np.maximum(codes, 0), [len(a.values) for a in several])
    values = tuple(", ".join(one) for one in product(*(a.values for a in several)))
    name = ", ".join(a.name for a in several)
    return Attribute(name, values, np.where((codes >= 0).all(0), place, -1), "box")


def scores(record: pd.DataFrame, bounds: Mapping[str, float] | None = None) -> pd.DataFrame:
    """How near each of the `ANALYSES` comes to what the intervention says is due to the scenes.

    From rows of :func:`measured`. ``error`` is the mean absolute error (AP points), ``within`` the
    share of rows whose 95% interval holds the intervention's part, ``right`` the share in which a
    part above the ``bound`` means that the scenes have a part beyond doubt. Without `bounds` each
    analysis gets the one, in half points, that is right most often (the lowest of several).
    """
    truth, caused, rows = record["scenes"], record["scenes_low"] > 0, []
    for name in ANALYSES:
        part = record[name]
        right = {b: ((part > b) == caused).mean() for b in np.arange(0, 10, 0.5)}
        bound = max(right, key=right.get) if bounds is None else bounds[name]
        within = (record[f"{name}_low"] <= truth) & (truth <= record[f"{name}_high"])
        row = {"analysis": name, "rows": len(record), "error": (part - truth).abs().mean()}
        rows.append(row | {"within": within.mean(), "bound": bound, "right": right[bound]})
    return pd.DataFrame(rows)


def main() -> None:
    """``python -m helpers.icon2.intervention FILE``: measure what is not there yet."""
    parser = argparse.ArgumentParser(description="Measure planted streets by intervention.")
    parser.add_argument("file", type=Path, help="CSV to write; rows that it has are kept")
    parser.add_argument("--trainings", type=int, default=2)
    parser.add_argument("--worlds", type=int, default=len(WORLDS), help="only the first of them")
    asked = parser.parse_args()
    found = pd.read_csv(asked.file) if asked.file.is_file() else pd.DataFrame()
    keys = ["harder", "rare", "training"]
    done = set(found[keys].itertuples(index=False, name=None)) if len(found) else set()
    wanted = [
        (*world, training)
        for training in range(asked.trainings)
        for world in WORLDS[: asked.worlds]
    ]
    for world in progress([one for one in wanted if one not in done], desc="worlds"):
        found = pd.concat([found, measured(*world)], ignore_index=True)
        recorded.write(asked.file, found.round(3).to_csv(index=False))


if __name__ == "__main__":
    main()

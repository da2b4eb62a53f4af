"""How much of a gap is due to scenes and how much to looks, measured on a detector by intervention.

No data set can tell this, but a rendered street can. The same layouts are rendered twice: with the
looks that their own income group has, and with those of the opposite group. Together with the two
groups' layouts that gives the four combinations of scenes and looks, and the gap between low and
high income is divided between its two causes.

``python -m helpers.icon2.intervention data/streets.csv`` measures four planted worlds with two
trainings of each detector, and records them.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from helpers.icon2 import attributes, formulas
from helpers.icon2.analysis import POINTS, analyse
from helpers.icon2.attributes import Attribute
from helpers.icon2.matching import IOU_THRESHOLDS, match
from helpers.models import detector as detectors
from helpers.models.detector import Detector
from helpers.run import artifacts, project
from helpers.run.progress import progress
from helpers.worlds.driving import DrivingWorld, street

WORLDS = {  # how much harder the scenes of low income are, and the rare look's share in training
    "nothing": (0.0, 0.5),
    "scenes": (1.0, 0.5),
    "training": (0.0, 0.03),
    "both": (1.0, 0.03),
}
RARE = (0.9, 0.5, 0.1)  # share of the rare look in the test frames of each income group
TRAINED_ON, TESTED_ON = 600, 900  # frames
MEASURES = {"AP": IOU_THRESHOLDS, "AP50": (0.5,)}
CELLS = ("low, own", "high, own", "low, other", "high, other")  # whose layouts, in whose looks


def trained(
    rare: float, seed: int, store: Path | None = None, frames: int = TRAINED_ON
) -> Detector:
    """A detector trained on street frames of equal scenes, `rare` of them with the rare look.

    It is trained once and then found in the store (default: the project's).
    """
    table, things = street.scenes(frames, 1000 + seed)
    images, boxes = street.render(table, street.dressed(table, things, rare))
    given = {"seed": seed, "store": store or project.store()}
    return detectors.trained(torch.from_numpy(images), boxes, street.KINDS, **given)


def observed(
    detector: Detector, frames: pd.DataFrame, things: pd.DataFrame, rare: Sequence[float]
) -> DrivingWorld:
    """The frames with their looks, their boxes, and what a detector finds."""
    images, boxes = street.render(frames, street.dressed(frames, things, rare))
    found = detectors.detect(detector, torch.from_numpy(images))
    found["category"] = pd.Index(street.KINDS).get_indexer(found["category"])
    return DrivingWorld(frames, boxes, found, street.KINDS)


def swapped(
    own: DrivingWorld, other: DrivingWorld, measure: str = "AP", resamples: int = 200, seed: int = 0
) -> dict[str, np.ndarray]:
    """AP (1 + resamples, 4) of each class, in points, of the four combinations in `CELLS`.

    `own` and `other` are the same frames in the looks of their own group and of the opposite one.
    Resamples draw layouts, each in both of its renderings. Precision is normalised (Eq. 3).
    """
    groups = own.images["income"].astype(str)
    names = [*(groups + ", own"), *(groups + ", other")]
    codes = pd.Index(CELLS).get_indexer(names)  # the middle group is in none
    cell = Attribute("cell", CELLS, codes.astype(np.int64), "image")
    both = {}
    for kind in ("boxes", "detections"):
        second = getattr(other, kind)
        second = second.assign(image=second["image"] + len(groups))
        both[kind] = pd.concat([getattr(own, kind), second], ignore_index=True)
    world = DrivingWorld(
        pd.concat([own.images] * 2, ignore_index=True), **both, classes=own.classes
    )
    layouts = np.tile(np.arange(len(groups)), 2)
    drawn = {"resamples": resamples, "seed": seed, "clusters": layouts}
    found = analyse(match(world, MEASURES[measure]), cell, [], **drawn)
    return {name: POINTS * estimate.group_ap for name, estimate in found.estimates.items()}


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


def icon2_says(world: DrivingWorld, resamples: int = 0, seed: int = 0) -> pd.DataFrame:
    """What ICON2 says of each class without any intervention.

    Returns
    -------
    DataFrame
        class, attribute (of the paper's five, the top-ranked), proxy_sigma, sigma; how far sigma
        falls, in AP points: delta (the paper's, within strata of that attribute),
        standardised_delta (ours, of the same) and together (ours, of size and time at once, see
        :func:`crossed`); with resamples also delta_low, delta_high and so on.
    """
    known = {name: attributes.made(world, name) for name in attributes.OF_PAPER}
    both = crossed(world, known["size"], known["time"])
    income = attributes.from_column(world, "income")
    asked = (match(world), income, [*known.values(), both])
    found = analyse(*asked, resamples=resamples, seed=seed)
    ranking = found.ranking()
    ranking = ranking[ranking["attribute"] != both.name].drop_duplicates("class")
    falls = found.control().rename(columns={"low": "delta_low", "high": "delta_high"})
    falls = falls.drop(columns=["controlled", "standardised", "strata", "covered"])
    together = falls[falls["attribute"] == both.name]
    together = together[["class", "standardised_delta", "standardised_low", "standardised_high"]]
    together.columns = ["class", "together", "together_low", "together_high"]
    first = ranking[["class", "attribute", "proxy_sigma"]].merge(falls, on=["class", "attribute"])
    return first.merge(together, on="class")


def measured(name: str, training: int, store: Path | None = None) -> pd.DataFrame:
    """Intervene in one of the `WORLDS`, with one training of its detector.

    A row a class and measure (AP or AP50, in points): world, training, class, measure, the gap and
    its parts with 95% intervals (``gap gap_low gap_high scenes ...``), and with AP what
    :func:`icon2_says`.
    """
    harder, rare = WORLDS[name]
    detector = trained(rare, training, store)
    frames, things = street.scenes(TESTED_ON, 5000 + training, harder)
    own, other = (observed(detector, frames, things, share) for share in (RARE, RARE[::-1]))
    rows = []
    for measure in MEASURES:
        for category, ap in swapped(own, other, measure).items():
            row = {"world": name, "training": training, "class": category, "measure": measure}
            for part, values in divided(ap).items():
                low, high = formulas.interval(values)
                row |= {part: values[0], f"{part}_low": low, f"{part}_high": high}
            rows.append(row)
    said = icon2_says(own, resamples=100).assign(measure="AP")
    return pd.DataFrame(rows).merge(said, on=["class", "measure"], how="left")


def crossed(world: DrivingWorld, first: Attribute, second: Attribute) -> Attribute:
    """Two attributes as one of boxes, whose values are the combinations of theirs.

    ICON2 controls one attribute at a time (the paper's appendix A names this as a limit).
    """
    image = world.boxes["image"].to_numpy()
    one, two = (a.codes[image] if a.level == "image" else a.codes for a in (first, second))
    codes = np.where((one >= 0) & (two >= 0), one * len(second.values) + two, -1)
    values = tuple(f"{a}, {b}" for a in first.values for b in second.values)
    return Attribute(f"{first.name} and {second.name}", values, codes, "box")


def main() -> None:
    """``python -m helpers.icon2.intervention FILE``: measure what the file does not have yet."""
    parser = argparse.ArgumentParser(description="Measure planted streets by intervention.")
    parser.add_argument("file", type=Path, help="CSV to write; rows that it has are kept")
    parser.add_argument("--trainings", type=int, default=2)
    asked = parser.parse_args()
    found = pd.read_csv(asked.file) if asked.file.is_file() else pd.DataFrame()
    done = set(zip(found["world"], found["training"], strict=True)) if len(found) else set()
    wanted = [(name, training) for training in range(asked.trainings) for name in WORLDS]
    for name, training in progress([one for one in wanted if one not in done], desc="worlds"):
        found = pd.concat([found, measured(name, training)], ignore_index=True)
        artifacts.write_text(asked.file, found.round(3).to_csv(index=False))


if __name__ == "__main__":
    main()

"""Apply ICON2's rules to synthetic street scenes in which the right verdict is known.

The groups of income differ in one injected cause, and a trained detector may be worse
for one of them. The strengths of the causes were chosen on seed 100 alone.

Run ``python -m sweeps.rules data/rules.csv``, and with ``--boxes`` for
``data/street_boxes.csv``.
"""

import argparse
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from helpers.icon2 import attributes, intervention, verdicts
from helpers.icon2.analysis import POINTS, analyse
from helpers.icon2.attributes import Frames
from helpers.icon2.average_precision import PAPER, PER_IMAGE, Part
from helpers.icon2.formulas import cochrans_q, proxy, sigma
from helpers.icon2.matching import match
from sweeps.resume import collect
from synthetic import street

SEEDS = range(8)
FRAMES, CATEGORY, RESAMPLES = 900, "pedestrian", 40
SHARE_OF_B = 0.12  # share of appearance B in the images that the detector is trained on
SAME_FOR_ALL = 0.5  # share of B in the test images where the detector is not worse
# change of a cause from one group to the next, in log-odds (of the size: log distance)
STRENGTH = {"size": 0.2, "occlusion": 3.0, "time": 2.5, "weather": 3.0}
HARMLESS = (0.25, 0.5, 0.75, 1.0, 1.5)  # strengths of "scene", which is not harder
READINGS = {"Eq. 3": PAPER, "N and F per image": PER_IMAGE}

trained_detector = cache(intervention.trained)


def list_scenarios() -> Iterator[tuple[str, str, float, bool]]:
    """Yield name, cause and strength of each kind, and if the detector is worse."""
    yield verdicts.NEITHER, "scene", HARMLESS[-1], False
    yield verdicts.WORSE, "none", 0.0, True
    for strength in HARMLESS:
        yield verdicts.BESIDE, "scene", strength, True
    for cause, strength in STRENGTH.items():
        yield verdicts.HARDER, cause, strength, False
        yield verdicts.BOTH, cause, strength, True


def inject_cause(
    seed: int, cause: str, strength: float
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Lay out scenes whose groups differ in one cause: low income has more of it."""
    frames, things = street.scenes(FRAMES, 7000 + seed)
    rng = np.random.default_rng(seed)
    shift = strength * (1 - frames["income"].cat.codes.to_numpy())

    def draw(share: float) -> np.ndarray:
        return rng.random(len(frames)) < expit(logit(share) + shift)

    if cause == "time":
        frames["timeofday"] = np.where(draw(0.4), "night", "daytime")
    elif cause == "weather":
        wet = np.where(rng.random(len(frames)) < 0.2, "rainy", "snowy")
        frames["weather"] = np.where(draw(0.3), wet, "clear")
    elif cause == "scene":
        frames["scene"] = np.where(draw(0.5), "city street", "residential")
    elif cause == "size":
        things["distance"] *= np.exp(shift)[things["frame"]]
    elif cause == "occlusion":
        things["aside"] = hide_pedestrians(things, shift, rng)
    return frames, things


def hide_pedestrians(
    things: pd.DataFrame, shift: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Move some pedestrians half behind a nearer car; return all positions in metres.

    The share that is moved, of those with such a car, is 0.3, shifted in log-odds.
    """
    positions = things["aside"].to_numpy().copy()
    chance = rng.random(len(things))
    covered = rng.uniform(0.45, 0.7, len(things))
    side = rng.choice([-1, 1], len(things))
    half_car = street.METRES["car"][0] / 2
    half_pedestrian = street.METRES[CATEGORY][0] / 2
    for frame, part in things.groupby("frame"):
        cars = part[part["kind"] == "car"]
        pedestrians = part[part["kind"] == CATEGORY]
        share = expit(logit(0.3) + shift[frame])
        for row, distance in pedestrians["distance"].items():
            nearer = cars[cars["distance"] < distance]
            if chance[row] >= share or nearer.empty:
                continue
            car = nearer.iloc[0]
            edge = (car["aside"] + side[row] * half_car) / car["distance"] * distance
            beyond = half_pedestrian * (1 - 2 * covered[row])
            positions[row] = edge + side[row] * beyond
    return positions


def measure_scenario(
    seed: int, scenario: str, cause: str, strength: float, worse: bool
) -> pd.DataFrame:
    """Return the verdicts of all rules, one row per attribute and reading."""
    detector = trained_detector(SHARE_OF_B, seed % 2)
    share_of_b = intervention.SHARES_OF_B if worse else [SAME_FOR_ALL] * 3
    layout = inject_cause(seed, cause, strength)
    frames = intervention.observed(detector, *layout, share_of_b)
    confounder = cause if scenario in (verdicts.HARDER, verdicts.BOTH) else "none"
    table = apply_rules(frames, seed)
    table["seed"] = seed
    table["scenario"] = scenario
    table["confounder"] = confounder
    table["strength"] = strength
    table["truth"] = table["attribute"].map(verdicts.truth(scenario, confounder))
    return table.round(4)


def apply_rules(frames: Frames, seed: int) -> pd.DataFrame:
    """Apply the rules to the paper's attributes, by each reading of Equation 3.

    `proxy_within` is sigma of ProxyAP with all effects estimated within the groups.
    """
    matches = match(frames)
    income = attributes.from_column(frames, "income")
    explanatory = [attributes.made(frames, name) for name in attributes.OF_PAPER]
    tables = []
    for reading, options in READINGS.items():
        analysis = analyse(
            matches,
            income,
            explanatory,
            classes=[CATEGORY],
            options=options,
            resamples=RESAMPLES,
            seed=seed,
        )
        estimate = analysis.estimates[CATEGORY]
        table = verdicts.table(analysis).drop(columns="class")
        for name, part in estimate.parts.items():
            expected = proxy(effects_within_groups(part), part.cell_boxes[0])
            table.loc[table["attribute"] == name, "proxy_within"] = sigma(expected)
        table["proxy_within"] *= POINTS
        ap = estimate.group_ap
        table["sigma"] = POINTS * sigma(ap[0])
        table["gap"] = POINTS * (ap[0, 2] - ap[0, 0])
        table["p_gap"] = cochrans_q(ap)
        table["reading"] = reading
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def effects_within_groups(part: Part) -> np.ndarray:
    """Fit the effect of each value on AP within the groups, up to a constant (E,).

    It is a least squares fit of AP by value and group, weighted by the number of boxes.
    """
    ap, boxes = part.cell_ap[0], part.cell_boxes[0]
    known = ~np.isnan(ap)
    value, group = np.nonzero(known)
    dummies = np.hstack([np.eye(ap.shape[0])[value], np.eye(ap.shape[1])[group]])
    weight = np.sqrt(boxes[known])
    fitted = np.linalg.lstsq(dummies * weight[:, None], ap[known] * weight, rcond=None)
    return np.where(known.any(1), fitted[0][: len(ap)], np.nan)


def detected_boxes(seed: int) -> pd.DataFrame:
    """Return the labelled pedestrians, and whether each is detected at an IoU of 0.5.

    Where income is low, pedestrians are smaller and the detector is worse.
    """
    detector = trained_detector(SHARE_OF_B, seed % 2)
    frames, things = inject_cause(seed, "size", STRENGTH["size"])
    observed = intervention.observed(detector, frames, things, intervention.SHARES_OF_B)
    boxes = observed.boxes
    boxes = boxes[boxes["category"] == street.KINDS.index(CATEGORY)]
    area = (boxes["x2"] - boxes["x1"]) * (boxes["y2"] - boxes["y1"])
    detected = match(observed, (0.5,)).taken[0]
    table = pd.DataFrame({"frame": boxes["image"]})
    table["income"] = frames["income"].astype(str).to_numpy()[boxes["image"]]
    table["size"] = pd.qcut(area, 3, labels=["small", "medium", "large"]).astype(str)
    table["found"] = np.isin(boxes.index, detected).astype(int)
    return table


def main() -> None:
    """Measure all kinds of data with the given seeds, and write their table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    parser.add_argument("--boxes", action="store_true", help="the boxes of seed 0")
    arguments = parser.parse_args()
    if arguments.boxes:
        collect(arguments.path, detected_boxes, [(0,)])
    else:
        cases = [
            (n, *scenario) for n in arguments.seeds for scenario in list_scenarios()
        ]
        collect(arguments.path, measure_scenario, cases)


if __name__ == "__main__":
    main()

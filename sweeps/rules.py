"""Planted streets, a trained detector on them, and what ICON2's rules say: with a known answer.

``python -m sweeps.rules data/rules.csv`` takes half an hour of one core; stopped, it goes on."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from helpers import recorded
from helpers.icon2 import attributes, intervention, verdicts
from helpers.icon2.analysis import POINTS, analyse
from helpers.icon2.attributes import Frames
from helpers.icon2.average_precision import PAPER, PER_IMAGE, Part
from helpers.icon2.formulas import cochrans_q, proxy, sigma
from helpers.icon2.matching import match
from helpers.store import progress
from synthetic import street

FRAMES, CATEGORY, RESAMPLES = 900, "pedestrian", 40
RARE_IN_TRAINING, ALIKE = (
    0.12,
    0.5,
)  # share of the rare look: in training; in all groups alike
# How far a cause moves from a group to the next: log-odds, but for size the log of the distance.
# Tried on the seed 100 alone.
STRENGTH = {"size": 0.2, "occlusion": 3.0, "time": 2.5, "weather": 3.0}
OTHER_SCENES = 1.5  # scene differs between groups, and is not harder
DOSES = (0.25, 0.5, 0.75, 1.0)  # lesser ones, where the detector is worse
READINGS = {"Eq. 3": PAPER, "N and F per image": PER_IMAGE}


def kinds() -> Iterator[tuple[str, str, float, bool]]:
    """Each kind of world: name, what differs between the groups, how far, is the detector worse?"""
    yield verdicts.NEITHER, "scene", OTHER_SCENES, False
    yield verdicts.WORSE, "none", 0.0, True
    for dose in (*DOSES, OTHER_SCENES):
        yield verdicts.BESIDE, "scene", dose, True
    for cause, strength in STRENGTH.items():
        yield verdicts.HARDER, cause, strength, False
        yield verdicts.BOTH, cause, strength, True


def planted(
    seed: int, cause: str, strength: float
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Scenes whose groups differ in one cause alone: low income has more of it."""
    frames, things = street.scenes(FRAMES, 7000 + seed)
    rng = np.random.default_rng(seed)
    moved = strength * (1 - frames["income"].cat.codes.to_numpy())

    def more(share: float) -> np.ndarray:
        return rng.random(len(frames)) < expit(logit(share) + moved)

    if cause == "time":
        frames["timeofday"] = np.where(more(0.4), "night", "daytime")
    elif cause == "weather":
        wet = np.where(rng.random(len(frames)) < 0.2, "rainy", "snowy")
        frames["weather"] = np.where(more(0.3), wet, "clear")
    elif cause == "scene":
        frames["scene"] = np.where(more(0.5), "city street", "residential")
    elif cause == "size":
        things["distance"] *= np.exp(moved)[things["frame"]]
    elif cause == "occlusion":
        things["aside"] = hidden(things, moved, rng)
    return frames, things


def hidden(
    things: pd.DataFrame, moved: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Where things stand, metres, once some pedestrians are half behind a nearer car: 0.3 of those
    that have one, with log-odds `moved`."""
    aside, chance = things["aside"].to_numpy().copy(), rng.random(len(things))
    covered, side = (
        rng.uniform(0.45, 0.7, len(things)),
        rng.choice([-1, 1], len(things)),
    )
    half = {kind: wide / 2 for kind, (wide, _, _) in street.METRES.items()}
    for frame, part in things.groupby("frame"):
        cars, walkers = part[part["kind"] == "car"], part[part["kind"] == CATEGORY]
        share = expit(logit(0.3) + moved[frame])
        for row, walker in walkers[chance[walkers.index] < share].iterrows():
            for car in cars[cars["distance"] < walker["distance"]].head(1).itertuples():
                edge = (
                    (car.aside + side[row] * half["car"])
                    / car.distance
                    * walker["distance"]
                )
                aside[row] = edge + side[row] * half[CATEGORY] * (1 - 2 * covered[row])
    return aside


def ask(seed: int) -> pd.DataFrame:
    """What every rule says of one world of each kind, by attribute and reading. The kinds have
    their layouts in common, and every second seed a training."""
    detector, tables = intervention.trained(RARE_IN_TRAINING, seed % 2), []
    for world, cause, strength, worse in kinds():
        looks = intervention.RARE if worse else ALIKE
        frames = intervention.observed(detector, *planted(seed, cause, strength), looks)
        confounder = cause if world in (verdicts.HARDER, verdicts.BOTH) else "none"
        made = {
            "seed": seed,
            "world": world,
            "confounder": confounder,
            "strength": strength,
        }
        truth = verdicts.truth(world, confounder)
        for table in answers(frames, seed):
            tables.append(table.assign(**made, truth=table["attribute"].map(truth)))
    return pd.concat(tables, ignore_index=True)


def answers(frames: Frames, seed: int) -> Iterator[pd.DataFrame]:
    """What the rules say of each of the paper's attributes, from which numbers, by each reading.
    ``proxy_within`` is sigma of ProxyAP with the effect of every value taken within the groups."""
    matches, income = match(frames), attributes.from_column(frames, "income")
    five = [attributes.made(frames, name) for name in attributes.OF_PAPER]
    settings = {"classes": [CATEGORY], "resamples": RESAMPLES, "seed": seed}
    for reading, options in READINGS.items():
        analysis = analyse(matches, income, five, options=options, **settings)
        estimate, gap = (
            analysis.estimates[CATEGORY],
            analysis.estimates[CATEGORY].group_ap,
        )
        parts = {
            name: proxy(within(p), p.cell_boxes[0])
            for name, p in estimate.parts.items()
        }
        spread = {name: POINTS * sigma(ap) for name, ap in parts.items()}
        about = {
            "sigma": POINTS * sigma(gap[0]),
            "gap": POINTS * (gap[0, 2] - gap[0, 0]),
        }
        about |= {"p_gap": cochrans_q(gap), "reading": reading}
        table = verdicts.table(analysis).drop(columns="class")
        yield table.assign(proxy_within=table["attribute"].map(spread), **about)


def within(part: Part) -> np.ndarray:
    """How far each value moves AP within the groups (E,), up to a constant, by least squares."""
    ap, boxes = part.cell_ap[0], part.cell_boxes[0]
    known = ~np.isnan(ap)
    cells = np.hstack(
        [np.eye(n)[at] for n, at in zip(ap.shape, np.nonzero(known), strict=True)]
    )
    weight = np.sqrt(boxes[known])
    effects = np.linalg.lstsq(cells * weight[:, None], ap[known] * weight, rcond=None)[
        0
    ]
    return np.where(known.any(1), effects[: len(ap)], np.nan)


def found_boxes(seed: int) -> pd.DataFrame:
    """The labelled boxes of a world whose detector is worse and whose things are smaller where
    income is low, and whether each is found at an IoU of .5."""
    frames, things = planted(seed, "size", STRENGTH["size"])
    detector = intervention.trained(RARE_IN_TRAINING, seed % 2)
    world = intervention.observed(detector, frames, things, intervention.RARE)
    boxes = world.boxes[world.boxes["category"] == street.KINDS.index(CATEGORY)]
    area = (boxes["x2"] - boxes["x1"]) * (boxes["y2"] - boxes["y1"])
    hits = match(world, (0.5,)).taken[0]
    columns = {
        "frame": boxes["image"],
        "income": frames["income"].astype(str).to_numpy()[boxes["image"]],
        "size": pd.qcut(area, 3, labels=["small", "medium", "large"]).astype(str),
        "right": np.isin(boxes.index, hits).astype(int),
    }
    return pd.DataFrame(columns)


def main() -> None:
    arguments = recorded.driver(
        __doc__, seeds=range(8), boxes=False
    )  # True: street_boxes.csv
    if arguments.boxes:
        return recorded.in_parts(arguments.file, found_boxes, [(0,)], digits=0)
    seeds = ((seed,) for seed in progress(arguments.seeds, desc="seeds"))
    recorded.in_parts(arguments.file, ask, seeds, digits=4)


if __name__ == "__main__":
    main()

"""What the real detector of the rendered streets finds, as numbers for the simulated detector.

``python -m helpers.icon2.calibration data/detection_law.csv data/street_recalls.csv`` measures the
numbers on one training of the detector, and compares the two detectors on the layouts of another.
"""

import argparse
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import statsmodels.api as sm
from scipy.special import logit

from helpers import stats
from helpers.icon2 import attributes
from helpers.icon2.analysis import analyse
from helpers.icon2.attributes import Attribute
from helpers.icon2.intervention import RARE, TESTED_ON, observed, trained
from helpers.icon2.matching import IOU_THRESHOLDS, match
from helpers.icon2.options import PER_IMAGE
from helpers.run import artifacts
from helpers.worlds.driving import CORNERS, DrivingWorld, detected, of_frames, street, terms

REAL, ANOTHER, SIMULATED = "real detector", "its other training", "simulated detector"


def law(frames: DrivingWorld) -> pd.DataFrame:
    """The numbers of the simulated detector, measured on what a real one finds in `frames`.

    Of each class, with the :func:`helpers.worlds.driving.terms` of its boxes: a logistic regression
    of being found at an IoU of .5; linear regressions of the logit of the score and of the log of
    the corners' error (root mean square, as a share of the side) of what is found, on the same
    terms and (``ease``) on the logit of being found; the share that is found twice; a Poisson
    regression of the false positives for each box, and their scores.

    Returns
    -------
    DataFrame
        class, outcome, term, value, error (standard error; NaN where none is given), n.
    """
    rows = []
    for name in frames.classes:
        for outcome, term, value, error, n in _of_class(frames, name):
            row = {"class": name, "outcome": outcome, "term": term, "value": value}
            rows.append(row | {"error": error, "n": n})
    return pd.DataFrame(rows)


def _of_class(frames: DrivingWorld, name: str) -> list[tuple]:
    """The rows of one class: outcome, term, value, standard error and number."""
    boxes = frames.boxes[frames.boxes["category"] == frames.classes.index(name)]
    known, found = terms(frames.images, boxes), match(frames, (0.5,)).rows(name)
    hits, rest = found[found["hit"]], found[~found["hit"]]
    seen = boxes.index.isin(hits["box"]).astype(float)
    fit = sm.GLM(seen, known, sm.families.Binomial()).fit()
    chance = fit.fittedvalues
    spread = np.sqrt(max(_alike(seen - chance, chance * (1 - chance), boxes["image"]), 0))
    rows = [*_terms("found", fit), ("found", "spread", spread, np.nan, len(boxes))]
    ours = frames.detections.loc[hits["row"], CORNERS].to_numpy()
    theirs = boxes.loc[hits["box"], CORNERS].to_numpy()
    sides = np.tile(theirs[:, 2:] - theirs[:, :2], 2)
    error = np.log(np.sqrt((((ours - theirs) / sides) ** 2).mean(1)))
    ease = sm.add_constant(logit(chance).loc[hits["box"]].rename("ease"))
    most = np.exp(np.quantile(error, 0.99))  # a box that is farther off may be inverted
    rows.append(("error", "most", most, np.nan, len(error)))
    for outcome, values in (("score", logit(hits["score"].to_numpy())), ("error", error)):
        by_terms = sm.OLS(values, known.loc[hits["box"]]).fit()
        rows += _terms(outcome, by_terms) + _terms(outcome, sm.OLS(values, ease).fit())[1:]
        rows.append((outcome, "sd", np.sqrt(by_terms.scale), np.nan, len(values)))
    left = replace(frames, detections=frames.detections.loc[rest["row"]].reset_index(drop=True))
    again = match(left, (0.5,)).rows(name)
    twice = again["box"].isin(hits["box"]) & again["hit"]
    rows.append(("twice", "share", twice.sum() / len(hits), np.nan, len(hits)))
    false = again[~twice]
    number = np.bincount(false["image"], minlength=len(frames.images))
    light = pd.DataFrame({"intercept": 1.0} | of_frames(frames.images))
    scale = np.full(len(number), len(boxes) / len(number))
    rows += _terms("false", sm.GLM(number, light, sm.families.Poisson(), exposure=scale).fit())
    scores = logit(false["score"])
    mean = ("score", scores.mean(), scores.sem(), len(false))
    return [*rows, ("false", *mean), ("false", "sd", scores.std(), np.nan, len(false))]


def _terms(outcome: str, fit) -> list[tuple]:
    return [
        (outcome, name, fit.params[name], fit.bse[name], int(fit.nobs)) for name in fit.params.index
    ]


def _alike(residual: np.ndarray, variance: np.ndarray, image: pd.Series) -> float:
    """Variance, in logits, of what boxes of one image share: from products of pairs of them."""

    def pairs(values: np.ndarray) -> float:
        return (np.bincount(image, values) ** 2).sum() - (values**2).sum()

    return pairs(residual) / pairs(variance)


def compared(frames: Mapping[str, DrivingWorld]) -> pd.DataFrame:
    """What each detector finds on the same layouts, by class and value of each attribute.

    Columns ``detector class attribute value`` (``all`` for the whole class), ``times of share low
    high`` (boxes that are found at an IoU of .5, with Wilson intervals), and AP in points: ``AP50``
    and ``AP`` (IoU .5 to .95), with N and F counted per image.
    """
    parts = []
    for detector, world in frames.items():
        known = [attributes.made(world, name) for name in ("size", "occlusion", "time", "weather")]
        whole = Attribute("all", ("all",), np.zeros(len(world.images), int), "image")
        exact, mean = (
            analyse(
                match(world, among), whole, [whole, *known], options=PER_IMAGE, standardise=False
            )
            for among in ((0.5,), IOU_THRESHOLDS)
        )
        on = ["class", "attribute", "value"]
        table = mean.values()[[*on, "AP"]].assign(AP50=exact.values()["AP"], detector=detector)
        kind = np.array(world.classes)[world.boxes["category"]]
        found = np.isin(np.arange(len(kind)), match(world, (0.5,)).taken[0])
        for one in (whole, *known):
            codes = one.of_boxes(world.boxes["image"].to_numpy())
            value = np.array(one.values)[codes]
            rows = pd.DataFrame(
                {"class": kind, "attribute": one.name, "value": value, "found": found}
            )
            counts = rows.groupby(on)["found"].agg(times="sum", of="count").reset_index()
            parts.append(table.merge(counts))
    every = pd.concat(parts, ignore_index=True)
    low, high = stats.wilson(every["times"], every["of"])
    return every.assign(share=every["times"] / every["of"], low=low, high=high)


def seen(detector: int, layouts: int) -> DrivingWorld:
    """What a training of the detector, on both looks equally, finds on layouts of equal scenes."""
    frames, things = street.scenes(TESTED_ON, 5000 + layouts)
    return observed(trained(0.5, detector), frames, things, RARE)


def main() -> None:
    """``python -m helpers.icon2.calibration LAW RECALLS``: measure the law, then check it."""
    parser = argparse.ArgumentParser(description="Calibrate the simulated detector.")
    parser.add_argument("law", type=Path, help="CSV to write: the numbers of the detector")
    parser.add_argument("recalls", type=Path, help="CSV to write: the detectors on other layouts")
    asked = parser.parse_args()
    table, real = law(seen(0, 0)).round(4), seen(1, 1)
    given = real.images, real.boxes, real.classes, np.random.default_rng(0)
    found = detected(*given, measured=table)
    frames = {REAL: real, ANOTHER: seen(0, 1), SIMULATED: replace(real, detections=found)}
    artifacts.write_text(asked.law, table.to_csv(index=False))
    artifacts.write_text(asked.recalls, compared(frames).round(4).to_csv(index=False))


if __name__ == "__main__":
    main()

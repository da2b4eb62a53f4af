"""What the real detector of the rendered streets finds, as numbers for the simulated detector.

``python -m sweeps.detection_law data`` measures them on one training, and compares both.
"""

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import statsmodels.api as sm
from scipy.special import logit

from helpers import recorded, stats
from helpers.icon2 import attributes
from helpers.icon2.analysis import analyse
from helpers.icon2.attributes import Attribute, Frames
from helpers.icon2.average_precision import PER_IMAGE
from helpers.icon2.intervention import RARE, TESTED_ON, observed, trained
from helpers.icon2.matching import match
from helpers.worlds.driving import street
from helpers.worlds.driving.drive import CORNERS, MEASURED, detected, of_frames, terms

REAL, SIMULATED = "real detector, second training", "simulated detector"
ANOTHER = "real detector, first training"
ASKED = ("size", "occlusion", "time", "weather")


def law(frames: Frames) -> pd.DataFrame:
    """The numbers of the simulated detector, from what a real one finds in `frames`, by class.

    Found at an IoU of .5: a logistic regression on :func:`helpers.worlds.driving.drive.terms`. The
    logit of the score and the log of the corners' error (as a share of the sides) of what is found:
    linear regressions on these terms, and (``ease``) on the logit of being found. Also the share
    that is found twice, and a Poisson regression of the false positives for each box."""
    columns = ["class", "outcome", "term", "value", "error", "n"]
    rows = [(name, *row) for name in frames.classes for row in _of_class(frames, name)]
    return pd.DataFrame(rows, columns=columns)


def _of_class(frames: Frames, name: str) -> list[tuple]:
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
    rows.append(("false", "score", scores.mean(), scores.sem(), len(false)))
    return [*rows, ("false", "sd", scores.std(), np.nan, len(false))]


def _terms(outcome: str, fit) -> list[tuple]:
    return [
        (outcome, name, fit.params[name], fit.bse[name], int(fit.nobs)) for name in fit.params.index
    ]


def _alike(residual: np.ndarray, variance: np.ndarray, image: pd.Series) -> float:
    """Variance, in logits, of what boxes of one image share: from products of pairs of them."""

    def pairs(values: np.ndarray) -> float:
        return (np.bincount(image, values) ** 2).sum() - (values**2).sum()

    return pairs(residual) / pairs(variance)


def compared(frames: Mapping[str, Frames]) -> pd.DataFrame:
    """What each detector finds on the same layouts, by class and value of each attribute: ``times
    of share low high`` of boxes, at an IoU of .5; AP in points, with N and F counted per image."""
    parts, on = [], ["class", "attribute", "value"]
    for detector, world in frames.items():
        whole = Attribute("all", ("all",), np.zeros(len(world.images), int), "image")
        known = [whole, *(attributes.made(world, name) for name in ASKED)]
        exact, every = match(world, (0.5,)), match(world)
        ap50, ap = (
            analyse(some, whole, known, options=PER_IMAGE, standardise=False).values()
            for some in (exact, every)
        )
        image = world.boxes["image"].to_numpy()
        boxes = pd.DataFrame({a.name: np.array(a.values)[a.of_boxes(image)] for a in known})
        boxes["class"] = np.array(world.classes)[world.boxes["category"]]
        boxes["found"] = np.isin(np.arange(len(boxes)), exact.taken[0])
        by = boxes.melt(["class", "found"], var_name="attribute").groupby(on)["found"]
        table = ap[[*on, "AP"]].assign(AP50=ap50["AP"], detector=detector)
        parts.append(table.merge(by.agg(times="sum", of="count").reset_index()))
    found = pd.concat(parts, ignore_index=True)
    low, high = stats.wilson(found["times"], found["of"])
    return found.assign(share=found["times"] / found["of"], low=low, high=high)


def seen(detector: int, layouts: int) -> Frames:
    """What a training of the detector, on both looks equally, finds on layouts of equal scenes."""
    frames, things = street.scenes(TESTED_ON, 5000 + layouts)
    return observed(trained(0.5, detector), frames, things, RARE)


def main(folder: Path) -> None:
    """Measure the law, and check it on other layouts; both tables go to `folder`."""
    table, real = law(seen(0, 0)).round(4), seen(1, 1)
    given = real.images, real.boxes, real.classes, np.random.default_rng(0)
    found = detected(*given, measured=table)
    frames = {REAL: real, SIMULATED: replace(real, detections=found), ANOTHER: seen(0, 1)}
    recorded.write(folder / MEASURED.name, table.to_csv(index=False))
    recorded.write(folder / "street_recalls.csv", compared(frames).round(4).to_csv(index=False))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

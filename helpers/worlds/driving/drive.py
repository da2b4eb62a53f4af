"""Frames, boxes and detections drawn from the law."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import expit

from helpers.worlds.driving import law as stated
from helpers.worlds.driving.law import CLASSES, GROUPS, Law

WIDTH, HEIGHT = 1280, 720
CORNERS = ["x1", "y1", "x2", "y2"]


@dataclass(frozen=True)
class DrivingWorld:
    """What was drawn, as tables; boxes and detections give the number of their image and class.

    `images` has ``name video income weather scene timeofday`` (income is low, middle or high),
    `boxes` ``image category x1 y1 x2 y2 occluded truncated ignore``, and `detections` ``image
    category x1 y1 x2 y2 score``.
    """

    images: pd.DataFrame
    boxes: pd.DataFrame
    detections: pd.DataFrame
    classes: tuple[str, ...]


def make(
    n_images: int = 1000,
    seed: int = 0,
    law: Law | None = None,
    classes: tuple[str, ...] = CLASSES,
) -> DrivingWorld:
    """Draw a driving world, in which a third of the frames falls into each income group.

    `seed` and `law` decide the world: by default income has nothing to do with anything. Each class
    has its share of BDD100K's boxes.
    """
    law, rng = law or Law(), np.random.default_rng(seed)
    group = rng.permutation(np.arange(n_images) % 3) - 1  # -1, 0, 1
    images = _images(rng, group, law)
    boxes, ease = _boxes(rng, images, group, law, classes)
    detections = _detections(rng, images, boxes, ease, classes)
    return DrivingWorld(images, boxes, detections, tuple(classes))


def _images(rng, group: np.ndarray, law: Law) -> pd.DataFrame:
    """The frames, of what each income group's law makes likely."""
    numbers = range(len(group))
    dark = _tilted(stated.TIME, {"night": -1.0}, law.tilt("time"), group)
    bad = _tilted(stated.WEATHER, {"rainy": -1.0, "snowy": -1.0}, law.tilt("weather"), group)
    return pd.DataFrame(
        {
            "name": [f"planted-{i:06d}.jpg" for i in numbers],
            "video": [f"planted-{i:06d}" for i in numbers],
            "income": pd.Categorical.from_codes(group + 1, GROUPS, ordered=True),
            "weather": _chosen(rng, stated.WEATHER, bad),
            "scene": _chosen(rng, stated.SCENE, _tilted(stated.SCENE, {}, 0.0, group)),
            "timeofday": _chosen(rng, stated.TIME, dark),
        }
    )


def _tilted(shares: dict, towards: dict, strength: float, group: np.ndarray) -> np.ndarray:
    """Probabilities (n, values): log-odds moved by `towards` times strength and group."""
    move = np.array([towards.get(name, 0.0) for name in shares])
    odds = np.array(list(shares.values())) * np.exp(strength * group[:, None] * move)
    return odds / odds.sum(1, keepdims=True)


def _chosen(rng, shares: dict, probability: np.ndarray) -> pd.Categorical:
    code = (rng.random((len(probability), 1)) > np.cumsum(probability, 1)[:, :-1]).sum(1)
    return pd.Categorical.from_codes(code, list(shares))


def _counts(rng, expected: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Image and class of each thing, from expected numbers (n images, classes)."""
    number = rng.poisson(expected)
    image, category = np.nonzero(number)
    times = number[image, category]
    return np.repeat(image, times), np.repeat(category, times)


def _boxes(rng, images, group, law, classes) -> tuple[pd.DataFrame, np.ndarray]:
    """The labelled boxes, and the logit of each being detected."""
    n = len(images)
    busy = rng.gamma(stated.SPREAD, 1 / stated.SPREAD, (n, len(classes)))
    image, category = _counts(rng, busy * stated.BOXES * [stated.SHARES[c] for c in classes])
    shares = _tilted(
        stated.SIZE_SHARES, {"small": -1.0, "large": 1.0}, law.tilt("size"), group[image]
    )
    size = _chosen(rng, stated.SIDES, shares).codes
    drawn = _placed(rng, image, category, size, classes)
    odds = np.log(stated.OCCLUDED / (1 - stated.OCCLUDED)) - law.tilt("occlusion") * group[image]
    drawn["occluded"] = rng.random(len(image)) < expit(odds)
    drawn["truncated"] = rng.random(len(image)) < stated.TRUNCATED
    drawn["ignore"] = False
    ease = stated.DETECTED + np.array(list(stated.BY_SIZE.values()))[size]
    ease += stated.BY_OCCLUSION * drawn["occluded"].to_numpy()
    per_image = images["timeofday"].map(stated.BY_TIME).astype(float).to_numpy()
    per_image = per_image + images["weather"].map(stated.BY_WEATHER).astype(float).to_numpy()
    per_image += law.inequity * group + rng.normal(0, stated.BY_IMAGE, n)
    return drawn, ease + per_image[image]


def _placed(rng, image, category, size, classes) -> pd.DataFrame:
    """Boxes of the sizes asked for, somewhere in the image."""
    low, high = np.array(list(stated.SIDES.values())).T
    side = np.exp(rng.uniform(np.log(low)[size], np.log(high)[size]))
    aspect = np.array([stated.ASPECT.get(name, 1.0) for name in classes])[category]
    aspect = aspect * np.exp(rng.normal(0, 0.2, len(side)))
    width, height = side * np.sqrt(aspect), side / np.sqrt(aspect)
    x, y = rng.random(len(side)) * (WIDTH - width), rng.random(len(side)) * (HEIGHT - height)
    corners = dict(zip(CORNERS, (x, y, x + width, y + height), strict=True))
    return pd.DataFrame({"image": image, "category": category} | corners)


def _detections(rng, images, drawn, ease, classes) -> pd.DataFrame:
    """Boxes that are found, some of them twice, with blurred corners; and false positives."""
    hit = np.flatnonzero(rng.random(len(ease)) < expit(ease))
    hit = np.concatenate([hit, hit[rng.random(len(hit)) < stated.DUPLICATES]])
    intercept, slope, sd = stated.SCORE
    true = drawn.iloc[hit][["image", "category", *CORNERS]].reset_index(drop=True)
    side = np.sqrt((true.x2 - true.x1) * (true.y2 - true.y1)).to_numpy()
    error = stated.CORNER * side + stated.CORNER_PIXELS
    true[CORNERS] += rng.normal(0, 1, (len(true), 4)) * error[:, None]
    true["score"] = expit(
        intercept + slope * (ease[hit] - stated.DETECTED) + rng.normal(0, sd, len(hit))
    )
    dark, wet = images.timeofday.eq("night"), images.weather.isin(["rainy", "snowy"])
    more = stated.FALSE_AT_NIGHT**dark * stated.FALSE_IN_BAD_WEATHER**wet * stated.FALSE
    shares = np.array([stated.SHARES[c] for c in classes])
    image, category = _counts(rng, more.to_numpy(float)[:, None] * stated.BOXES * shares)
    size = rng.choice(len(stated.SIDES), len(image), p=list(stated.SIZE_SHARES.values()))
    false = _placed(rng, image, category, size, classes)
    false["score"] = expit(rng.normal(*stated.FALSE_SCORE, len(false)))
    return pd.concat([true, false], ignore_index=True)

"""Frames and boxes drawn from the stated law, and what a simulated detector finds in them.
It is a formula with numbers of the real one (:mod:`sweeps.detection_law`)."""

from functools import cache

import numpy as np
import pandas as pd
from scipy.special import expit

from helpers import store
from helpers.worlds.driving import law as stated
from helpers.worlds.driving.law import CLASSES, GROUPS, Law

WIDTH, HEIGHT = 1280, 720
CORNERS = ["x1", "y1", "x2", "y2"]
MEASURED = store.root() / "data" / "detection_law.csv"
# Classes that the rendered streets do not have are found as the class that is most like them.
LIKE = {
    "traffic light": "traffic sign",
    "bus": "truck",
    "motorcycle": "pedestrian",
    "bicycle": "pedestrian",
}


def make(
    n_images: int = 1000,
    seed: int = 0,
    law: Law | None = None,
    classes: tuple[str, ...] = CLASSES,
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame, tuple[str, ...]]:
    """Draw a driving world: tables of images, boxes and detections, and the classes.

    A third of the frames falls into each income group; by default income has nothing to do with
    anything. Each class has its share of BDD100K's boxes."""
    law, rng = law or Law(), np.random.default_rng(seed)
    group = rng.permutation(np.arange(n_images) % 3) - 1  # -1, 0, 1
    images = _images(rng, group, law)
    boxes = _boxes(rng, group, law, classes)
    detections = detected(images, boxes, classes, rng, law.inequity * group)
    return images, boxes, detections, tuple(classes)


def terms(images: pd.DataFrame, boxes: pd.DataFrame) -> pd.DataFrame:
    """What the detection of each box depends on: ``intercept size occluded night rainy snowy``.
    The size is log2 of the side (root of the area) over 64 pixels, in frames 1280 pixels wide."""
    frames = images.iloc[boxes["image"]]
    scale = WIDTH / frames["width"].to_numpy() if "width" in frames else 1.0
    area = (boxes["x2"] - boxes["x1"]) * (boxes["y2"] - boxes["y1"])
    found = {"intercept": 1.0, "size": np.log2(scale * np.sqrt(area) / 64)}
    found["occluded"] = boxes["occluded"].astype(float)
    return pd.DataFrame(found | of_frames(frames), index=boxes.index)


def of_frames(frames: pd.DataFrame) -> dict[str, np.ndarray]:
    """The terms of a frame; dawn and dusk count as day, and overcast skies as clear ones."""
    known = {name: frames["weather"].eq(name).to_numpy(float) for name in ("rainy", "snowy")}
    return {"night": frames["timeofday"].eq("night").to_numpy(float)} | known


def detected(
    images: pd.DataFrame,
    boxes: pd.DataFrame,
    classes: tuple[str, ...],
    rng: np.random.Generator,
    shift: np.ndarray | float = 0.0,
    measured: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """What the simulated detector finds: ``image category x1 y1 x2 y2 score``.

    `shift` (n images,) moves the logit of being found, and scores and corners as far. `measured`
    holds the detector's numbers (default: recorded)."""
    shift = np.broadcast_to(shift, len(images))
    law = (_recorded() if measured is None else measured).set_index(["class", "outcome", "term"])
    of_class = dict(list(boxes.groupby("category")))
    parts = [
        _detected(images, of_class[number], law["value"].loc[LIKE.get(name, name)], rng, shift)
        for number, name in enumerate(classes)
        if number in of_class
    ]
    return pd.concat(parts, ignore_index=True)


def _detected(images, boxes, law, rng, shift) -> pd.DataFrame:
    """Detections of one class: boxes that are found, some of them twice, and false positives."""
    known, moved = terms(images, boxes), shift[boxes["image"]]
    corners = boxes[["image", "category", *CORNERS]].reset_index(drop=True)
    odds = known @ law["found"][known.columns] + moved
    odds += rng.normal(0, law["found", "spread"], len(images))[boxes["image"]]
    hit = np.flatnonzero(rng.random(len(boxes)) < expit(odds))
    twice = hit[rng.random(len(hit)) < law["twice", "share"]]
    place = np.concatenate([hit, twice])

    def drawn(outcome: str) -> np.ndarray:
        mean = known @ law[outcome][known.columns] + law[outcome, "ease"] * moved
        return mean.to_numpy()[place] + rng.normal(0, law[outcome, "sd"], len(place))

    true, way = corners.iloc[place], rng.normal(0, 1, (len(place), 4))
    error = np.exp(drawn("error")).clip(max=law["error", "most"])
    way *= (error / np.sqrt((way**2).mean(1)))[:, None]
    before = true[CORNERS].to_numpy()
    true = true.assign(score=drawn("score"))
    true[CORNERS] = before + way * np.tile(before[:, 2:] - before[:, :2], 2)
    light = pd.DataFrame({"intercept": 1.0} | of_frames(images))
    rate = np.exp(light @ law["false"][light.columns])
    image = np.repeat(np.arange(len(images)), rng.poisson(rate * len(boxes) / len(images)))
    false = corners.iloc[rng.integers(len(boxes), size=len(image))].assign(image=image)
    found = pd.concat([true, false], ignore_index=True)
    score = found["score"].to_numpy().copy()
    weak = np.arange(len(found)) >= len(hit)  # found again, or false
    score[weak] = rng.normal(law["false", "score"], law["false", "sd"], weak.sum())
    return found.assign(score=expit(score))


@cache
def _recorded() -> pd.DataFrame:
    return pd.read_csv(MEASURED)


def _images(rng, group: np.ndarray, law: Law) -> pd.DataFrame:
    """The frames, of what each income group's law makes likely."""
    numbers = range(len(group))
    dark = _tilted(stated.TIME, {"night": -1.0}, law.tilt("time"), group)
    bad = _tilted(stated.WEATHER, {"rainy": -1.0, "snowy": -1.0}, law.tilt("weather"), group)
    street = _tilted(stated.SCENE, {"city street": -1.0}, law.tilt("scene"), group)
    return pd.DataFrame(
        {
            "name": [f"planted-{i:06d}.jpg" for i in numbers],
            "video": [f"planted-{i:06d}" for i in numbers],
            "income": pd.Categorical.from_codes(group + 1, GROUPS, ordered=True),
            "weather": _chosen(rng, stated.WEATHER, bad),
            "scene": _chosen(rng, stated.SCENE, street),
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


def _boxes(rng, group, law, classes) -> pd.DataFrame:
    """The labelled boxes."""
    shares = [stated.SHARES[name] for name in classes]
    busy = rng.gamma(stated.SPREAD, 1 / stated.SPREAD, (len(group), len(classes)))
    number = rng.poisson(busy * stated.BOXES * shares)
    image, category = np.nonzero(number)
    times = number[image, category]
    image, category = np.repeat(image, times), np.repeat(category, times)
    sizes = _tilted(
        stated.SIZE_SHARES, {"small": -1.0, "large": 1.0}, law.tilt("size"), group[image]
    )
    drawn = _placed(rng, image, category, _chosen(rng, stated.SIDES, sizes).codes, classes)
    odds = np.log(stated.OCCLUDED / (1 - stated.OCCLUDED)) - law.tilt("occlusion") * group[image]
    drawn["occluded"] = rng.random(len(image)) < expit(odds)
    drawn["truncated"] = rng.random(len(image)) < stated.TRUNCATED
    return drawn.assign(ignore=False)


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

"""Frames, boxes and detections by a formula, in milliseconds: many, for tests and benchmarks.
What income changes is stated; no network finds anything here."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit

from helpers.worlds.driving import CLASSES, GROUPS

# Share of the boxes of each class, close to BDD100K's validation set, and width over height.
SHARES = {
    "car": 0.555,
    "pedestrian": 0.072,
    "truck": 0.023,
    "traffic sign": 0.189,
    "traffic light": 0.145,
    "bus": 0.0086,
    "motorcycle": 0.0024,
    "bicycle": 0.0054,
}
ASPECT = {"car": 1.3, "pedestrian": 0.4, "truck": 1.2, "traffic sign": 1.2, "traffic light": 0.5}
BOXES = 18.0  # boxes an image on average, all classes
SPREAD = 2.0  # shape of the gamma that an image's expected number of boxes is drawn from

WEATHER = {"clear": 0.55, "overcast": 0.2, "rainy": 0.15, "snowy": 0.1}
SCENE = {"city street": 0.6, "highway": 0.25, "residential": 0.15}
TIME = {"daytime": 0.55, "dawn/dusk": 0.1, "night": 0.35}

# Side (square root of the area, pixels) of small, medium and large boxes: COCO's bounds.
SIDES = {"small": (12.0, 32.0), "medium": (32.0, 96.0), "large": (96.0, 280.0)}
SIZE_SHARES = {"small": 0.45, "medium": 0.4, "large": 0.15}
OCCLUDED = 0.45  # share of boxes occluded
TRUNCATED = 0.08

CONFOUNDERS = ("size", "occlusion", "time", "weather", "scene")  # the last changes no detection


@dataclass(frozen=True)
class Law:
    """What income changes: the scenes of its groups, or how well their boxes are found, or nothing.

    `confounding` is how far the confounder's log-odds (size, occlusion, time, weather or scene)
    move between neighbouring income groups: at 0.5 the low-income group's odds of a small box are e
    times those of the high-income group. `inequity` is how far the logit of being detected moves
    between them, on boxes that look the same; positive: worse in low-income scenes."""

    confounding: float = 0.0
    confounder: str = "size"
    inequity: float = 0.0

    def __post_init__(self) -> None:
        if self.confounder not in CONFOUNDERS:
            raise ValueError(
                f"confounder={self.confounder!r} is not known; allowed: {', '.join(CONFOUNDERS)}"
            )

    def tilt(self, attribute: str) -> float:
        """Strength with which income moves an attribute."""
        return self.confounding if attribute == self.confounder else 0.0


WIDTH, HEIGHT = 1280, 720
CORNERS = ["x1", "y1", "x2", "y2"]
MEASURED = Path(__file__).with_name("drawn.csv")  # the formula's numbers, of a trained detector
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
    dark = _tilted(TIME, {"night": -1.0}, law.tilt("time"), group)
    bad = _tilted(WEATHER, {"rainy": -1.0, "snowy": -1.0}, law.tilt("weather"), group)
    street = _tilted(SCENE, {"city street": -1.0}, law.tilt("scene"), group)
    return pd.DataFrame(
        {
            "name": [f"planted-{i:06d}.jpg" for i in numbers],
            "video": [f"planted-{i:06d}" for i in numbers],
            "income": pd.Categorical.from_codes(group + 1, GROUPS, ordered=True),
            "weather": _chosen(rng, WEATHER, bad),
            "scene": _chosen(rng, SCENE, street),
            "timeofday": _chosen(rng, TIME, dark),
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
    shares = [SHARES[name] for name in classes]
    busy = rng.gamma(SPREAD, 1 / SPREAD, (len(group), len(classes)))
    number = rng.poisson(busy * BOXES * shares)
    image, category = np.nonzero(number)
    times = number[image, category]
    image, category = np.repeat(image, times), np.repeat(category, times)
    sizes = _tilted(SIZE_SHARES, {"small": -1.0, "large": 1.0}, law.tilt("size"), group[image])
    drawn = _placed(rng, image, category, _chosen(rng, SIDES, sizes).codes, classes)
    odds = np.log(OCCLUDED / (1 - OCCLUDED)) - law.tilt("occlusion") * group[image]
    drawn["occluded"] = rng.random(len(image)) < expit(odds)
    drawn["truncated"] = rng.random(len(image)) < TRUNCATED
    return drawn.assign(ignore=False)


def _placed(rng, image, category, size, classes) -> pd.DataFrame:
    """Boxes of the sizes asked for, somewhere in the image."""
    low, high = np.array(list(SIDES.values())).T
    side = np.exp(rng.uniform(np.log(low)[size], np.log(high)[size]))
    aspect = np.array([ASPECT.get(name, 1.0) for name in classes])[category]
    aspect = aspect * np.exp(rng.normal(0, 0.2, len(side)))
    width, height = side * np.sqrt(aspect), side / np.sqrt(aspect)
    x, y = rng.random(len(side)) * (WIDTH - width), rng.random(len(side)) * (HEIGHT - height)
    corners = dict(zip(CORNERS, (x, y, x + width, y + height), strict=True))
    return pd.DataFrame({"image": image, "category": category} | corners)

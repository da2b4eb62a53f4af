"""Frames, boxes and detections by a formula, in milliseconds: many, for tests and benchmarks.
No network finds anything here."""

import numpy as np
import pandas as pd
from scipy.special import expit

from helpers.icon2.attributes import CORNERS
from helpers.icon2.formats import CLASSES
from synthetic.street import GROUPS

# Share of the boxes of each class, close to BDD100K's validation set, and width over height.
SHARES = {"car": 0.555, "pedestrian": 0.072, "truck": 0.023, "traffic sign": 0.189}
SHARES |= {
    "traffic light": 0.145,
    "bus": 0.0086,
    "motorcycle": 0.0024,
    "bicycle": 0.0054,
}
ASPECT = {
    "car": 1.3,
    "pedestrian": 0.4,
    "truck": 1.2,
    "traffic sign": 1.2,
    "traffic light": 0.5,
}
BOXES = 18.0  # an image on average, all classes; their number is a gamma's Poisson
WEATHER = {"clear": 0.55, "overcast": 0.2, "rainy": 0.15, "snowy": 0.1}
SCENE = {"city street": 0.6, "highway": 0.25, "residential": 0.15}
TIME = {"daytime": 0.55, "dawn/dusk": 0.1, "night": 0.35}
# Ends and shares of the sides (root of the area, pixels) of small, medium and large boxes.
LOW, HIGH, SIZES = (
    np.array([12.0, 32, 96]),
    np.array([32.0, 96, 280]),
    np.array([0.45, 0.4, 0.15]),
)
WIDTH, HEIGHT = 1280, 720


def make(n_images=1000, seed=0, confounding=0.0, classes=CLASSES):
    """Tables of images, boxes and detections, and the classes. A third of the frames falls into
    each income group; `confounding` is how far the log-odds of a small box, over a medium one, and
    of a medium one, over a large one, rise from a group to the next poorer one."""
    rng = np.random.default_rng(seed)
    group = rng.permutation(np.arange(n_images) % 3)
    images = pd.DataFrame({"name": [f"planted-{i:06d}.jpg" for i in range(n_images)]})
    images["video"] = images["name"].str.removesuffix(".jpg")
    images["income"] = pd.Categorical.from_codes(group, GROUPS, ordered=True)
    for name, shares in {"weather": WEATHER, "scene": SCENE, "timeofday": TIME}.items():
        images[name] = pd.Categorical(
            rng.choice(list(shares), n_images, p=list(shares.values()))
        )
    shares = [SHARES[name] for name in classes]
    busy = rng.gamma(2, 1 / 2, (n_images, len(classes)))
    times = rng.poisson(busy * BOXES * shares).ravel()
    image, category = np.indices(busy.shape).reshape(2, -1).repeat(times, axis=1)
    odds = SIZES * np.exp(confounding * (1 - group[image])[:, None] * [1, 0, -1])
    odds = np.cumsum(odds, 1) / odds.sum(1, keepdims=True)
    size = (rng.random((len(image), 1)) > odds[:, :2]).sum(1)
    side = np.exp(rng.uniform(np.log(LOW)[size], np.log(HIGH)[size]))
    aspect = np.array([ASPECT.get(name, 1.0) for name in classes])[category]
    aspect = aspect * np.exp(rng.normal(0, 0.2, len(side)))
    width, height = side * np.sqrt(aspect), side / np.sqrt(aspect)
    x, y = (
        rng.random(len(side)) * (WIDTH - width),
        rng.random(len(side)) * (HEIGHT - height),
    )
    corners = dict(zip(CORNERS, (x, y, x + width, y + height), strict=True))
    boxes = pd.DataFrame({"image": image, "category": category} | corners)
    boxes["occluded"], boxes["truncated"] = rng.random((2, len(side))) < [
        [0.45],
        [0.08],
    ]
    boxes["ignore"] = False
    return images, boxes, _detected(rng, images, boxes, side), tuple(classes)


def _detected(rng, images, boxes, side):
    """Large boxes in the open by day are found more often, more surely and more exactly. A sixth of
    the detections are false; frames differ."""
    night = images["timeofday"].eq("night").to_numpy()[boxes["image"]]
    ease = 2 + np.log2(side / 64) - 2 * boxes["occluded"].to_numpy() - 0.5 * night
    ease += rng.normal(0, 0.5, len(images))[boxes["image"]]
    hit = np.flatnonzero(rng.random(len(boxes)) < expit(ease))
    true = boxes[["image", "category", *CORNERS]].iloc[hit].reset_index(drop=True)
    error = rng.normal(0, 0.08, (len(hit), 4)) * np.exp(-ease[hit] / 4)[:, None]
    true[CORNERS] += error * side[hit, None]
    false = true.iloc[rng.integers(len(hit), size=len(hit) // 5)]
    false = false.assign(image=rng.integers(len(images), size=len(false)))
    score = np.r_[rng.normal(ease[hit], 1), rng.normal(-1, 1, len(false))]
    return pd.concat([true, false], ignore_index=True).assign(score=expit(score))

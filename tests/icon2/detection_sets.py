"""Synthetic labels and detections of two groups, where the truth is known."""

import numpy as np
import pandas as pd

from helpers.icon2 import Frames
from helpers.icon2.attributes import CORNERS

WIDTH = 640
HEIGHT = 480
KINDS = (
    "smaller boxes",
    "smaller boxes and other classes",
    "smaller boxes and crowded images",
)


def detection_set(
    seed,
    kind=KINDS[0],
    n_images=140,
    n_classes=76,
    per_image=7,
    shift=0.9,
    slope=1.1,
    loss=0.0,
    share=0.45,
):
    """Draw labels and detections.

    The chance to be found depends on the size and the class of a box, by a logistic
    curve. In the group "indoor", the logarithm of the side is smaller by `shift`, and
    in two of the kinds classes are others or images hold more boxes. The detector
    treats both groups alike unless `loss` is above 0: then it loses that share of the
    boxes that it would find in "indoor".
    """
    rng = np.random.default_rng(seed)
    indoor = rng.random(n_images) < share
    expected = np.full(n_images, float(per_image))
    if kind == KINDS[2]:
        expected[indoor] *= 2.2
    n_boxes = 1 + rng.poisson(expected - 1)
    image = np.repeat(np.arange(n_images), n_boxes)
    inside = indoor[image]
    frequency = 1 / np.arange(1, n_classes + 1)
    frequency = frequency / frequency.sum()
    chances = {False: frequency, True: frequency}
    if kind == KINDS[1]:
        tilt = np.exp(rng.normal(0, 0.8, n_classes))
        tilt = tilt * frequency
        chances[True] = tilt / tilt.sum()
    category = np.empty(len(image), int)
    for place in (False, True):
        rows = inside == place
        category[rows] = rng.choice(n_classes, rows.sum(), p=chances[place])
    in_image = rng.normal(0, 0.3, n_images)  # boxes of one image are alike
    log_side = rng.normal(4.2, 0.6, len(image))
    log_side += in_image[image] - shift * inside
    side = np.exp(np.clip(log_side, 1.5, 5.5))
    log_ratio = rng.normal(0, 0.25, len(image))
    ratio = np.exp(log_ratio)
    sides = np.column_stack([side * ratio, side / ratio])
    sides = np.minimum(sides, [WIDTH - 20, HEIGHT - 20])
    room = [WIDTH, HEIGHT] - sides
    low = rng.random((len(image), 2)) * room
    boxes = pd.DataFrame(np.hstack([low, low + sides]), columns=CORNERS)
    extent = sides[:, 0] * sides[:, 1]
    boxes = boxes.assign(
        image=image,
        category=category,
        ignore=False,
        area=extent,
        extent=extent,
    )

    hardness = rng.normal(0, 0.7, n_classes)
    luck = rng.normal(0, 0.4, n_images)  # images are easy or hard, in both groups
    logit = 0.9 + 2 * slope * (np.log(side) - 3.9)
    logit += hardness[category] + luck[image]
    chance = 1 / (1 + np.exp(-logit))
    chance = np.where(inside, chance * (1 - loss), chance)
    found = rng.random(len(image)) < chance
    detections = boxes.loc[found, ["image", "category", *CORNERS]]
    error = rng.normal(0, 0.05, (found.sum(), 4))
    detections[CORNERS] += error * side[found, None]
    strength = logit[found] / 6 + 0.5
    strength += rng.normal(0, 0.2, found.sum())
    detections = detections.assign(score=np.clip(strength, 0.05, 0.99))

    number = rng.poisson(2, n_images).sum()
    corner = rng.random((number, 2)) * [WIDTH - 80, HEIGHT - 80]
    far_corner = corner + rng.uniform(10, 80, (number, 2))
    false = pd.DataFrame(np.hstack([corner, far_corner]), columns=CORNERS)
    false = false.assign(
        image=rng.integers(n_images, size=number),
        category=rng.choice(n_classes, number, p=chances[False]),
        score=rng.uniform(0.05, 0.6, number),
    )
    detections = pd.concat([detections, false], ignore_index=True)
    width = detections["x2"] - detections["x1"]
    height = detections["y2"] - detections["y1"]
    detections["extent"] = width * height
    names = [f"{one:05}.jpg" for one in range(n_images)]
    place = np.where(indoor, "indoor", "outdoor")
    images = pd.DataFrame({"name": names, "place": place})
    classes = tuple(f"k{number}" for number in range(n_classes))
    return labelled_only(Frames(images, boxes, detections, classes))


def labelled_only(frames):
    """Keep the classes that have a box, most boxes first, as files are read."""
    counts = frames.boxes["category"].value_counts()
    number = {old: new for new, old in enumerate(counts.index)}
    tables = []
    for table in (frames.boxes, frames.detections):
        table = table[table["category"].isin(number)]
        tables.append(
            table.assign(category=table["category"].map(number)).reset_index(drop=True)
        )
    classes = tuple(frames.classes[old] for old in counts.index)
    return Frames(frames.images, *tables, classes)

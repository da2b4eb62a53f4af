"""Average precision of the cells of a class, from matches and weights of images.

A cell is a set of boxes of one class, with the images whose false positives count for
it.
"""

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import pydantic
from pydantic import PositiveInt

from helpers.icon2 import formulas
from helpers.icon2.attributes import Attribute
from helpers.icon2.matching import Matches


@pydantic.dataclasses.dataclass(frozen=True, config={"extra": "forbid"})
class Options:
    """Choices that the paper leaves open; the defaults are its reading.

    `precision` is R N / (R N + F) with one N for the values compared (``normalised``,
    Eq. 3), with each value's own (``raw``, Eq. 2), or with N and F ``per image``: Eq. 3
    fixes N and not F. N is the mean `number` of boxes of the values ``compared`` (those
    within one value of a confounder), or of ``all cells``. `false_positives` of an
    attribute of boxes count for each value (``hoiem``), or for their own (``coco``, of
    size alone).
    """

    precision: Literal["normalised", "raw", "per image"] = "normalised"
    number: Literal["compared", "all cells"] = "compared"
    false_positives: Literal["hoiem", "coco"] = "hoiem"
    # whose false positives count: of images with a box of the value, or the class
    images: Literal["with the value", "with the class", "all"] = "with the value"
    # over a confounder's values: sigma (Table 2), or the variance (section 3.2.2)
    averaged: Literal["sigma", "variance"] = "sigma"
    # below which a cell is not estimable; the paper judges by eye
    min_boxes: PositiveInt = 30


PAPER = Options()
PER_IMAGE = Options(precision="per image")
# one cell of all boxes and images
WHOLE = Options(precision="raw", images="all", min_boxes=1)
ROUNDING = 1e-12  # of sums of weights that are not whole numbers


def evaluate(
    of_class: Matches,
    attributes: Sequence[Attribute],
    weights: np.ndarray,
    options: Options,
    formula: Callable = formulas.average_precision,
    box_weights: np.ndarray | None = None,
    boxes: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Compute AP and numbers of boxes of all cells of a class.

    Cells are all combinations of the values of `attributes`, the last attribute
    fastest. The values of the last attribute are compared, within those of the others.

    Parameters
    ----------
    of_class : Matches
        The matches of one class.
    attributes : sequence of Attribute
    weights : array of shape (R, n images)
        How often each image counts.
    options : Options
    formula : callable
        Computes AP; lesson 08 passes its own.
    box_weights : array of shape (R, n boxes) or (n boxes,), optional
        How often a box counts, with the detection that took it, in each such image.
    boxes : array of shape (R, C), optional
        Numbers of boxes from which N of Eq. 3 follows. By default, they are counted.

    Returns
    -------
    ap, boxes : arrays of shape (R, values of the first attribute, ...)
        AP is the mean over IoU thresholds from 0 to 1, and NaN in cells with too few
        boxes. Boxes are weighted by images.
    """
    in_images, in_boxes, in_detections = _cells(of_class, attributes, options)
    of_image = weights[:, of_class.boxes["image"]]
    of_box = of_image if box_weights is None else of_image * box_weights
    positives = of_box @ in_boxes.T.astype(float)
    if boxes is None:
        boxes = of_image @ in_boxes.T.astype(float)
    number = positives
    if options.precision != "raw":
        images = np.ones(boxes.shape)
        if options.precision == "per image":
            images = weights @ in_images.T.astype(float)
        n_compared = len(attributes[-1].values)
        if options.number == "all cells":
            n_compared = len(in_boxes)
        number = images * _mean_number(
            boxes / np.maximum(images, formulas.TINY), n_compared
        )
    if box_weights is not None or (weights % 1).any():
        positives = positives * (1 - ROUNDING)
    # a false positive has the weight of its image, and a hit that of its box
    source_weights = np.hstack([weights, of_box])
    in_sources = np.hstack([in_images, in_boxes])
    image = of_class.detections["image"].to_numpy()
    is_hit = of_class.taken >= 0
    sources = np.where(
        is_hit,
        of_class.n_images + of_class.taken,
        image,
    )
    ap = np.full(boxes.shape, np.nan)
    for cell in np.flatnonzero(in_boxes.sum(axis=1) >= options.min_boxes):
        counts = in_sources[cell][sources] & (is_hit | in_detections[cell])
        ranked = []  # the detections of the cell at each threshold
        for every_source, counted in zip(sources, counts, strict=True):
            source = every_source[np.flatnonzero(counted)]
            ranked.append((source, source >= of_class.n_images))
        for row in np.flatnonzero(positives[:, cell]):
            total = positives[row, cell], number[row, cell]
            points = [
                formula(hit, *total, source_weights[row, source])
                for source, hit in ranked
            ]
            ap[row, cell] = np.mean(points) / 100
    shape = len(weights), *[len(attribute.values) for attribute in attributes]
    return ap.reshape(shape), boxes.reshape(shape)


def _cells(
    of_class: Matches, attributes: Sequence[Attribute], options: Options
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return which images, boxes and false positives count for each cell (C, n)."""
    row = of_class.detections["row"].to_numpy()
    image = of_class.boxes["image"].to_numpy()
    labelled = ~of_class.boxes["ignore"].to_numpy()
    in_images = np.ones((1, of_class.n_images), bool)
    in_boxes = labelled[None]
    in_detections = np.ones((1, len(row)), bool)
    for attribute in attributes:
        value = np.arange(len(attribute.values))[:, None]
        in_boxes = _crossed(in_boxes, of_class.codes(attribute) == value)
        is_image = is_detection = value >= 0  # all of them
        if attribute.level == "image":
            is_image = attribute.codes == value
        elif options.false_positives == "coco" and attribute.of_detection is not None:
            is_detection = attribute.of_detection[row] == value
        in_images = _crossed(in_images, is_image)
        in_detections = _crossed(in_detections, is_detection)
    if options.images != "all":
        for cell, boxes in zip(in_images, in_boxes, strict=True):
            shown = boxes if options.images == "with the value" else labelled
            cell &= np.bincount(image[shown], minlength=len(cell)) > 0
    return in_images, in_boxes, in_detections


def _crossed(cells: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Divide each cell (C, n) by the values (E, n) of another attribute (C x E, n)."""
    return np.concatenate(cells[:, None] & values)


def _mean_number(boxes: np.ndarray, n_compared: int) -> np.ndarray:
    """Return the mean number of boxes (R, C) over the cells compared that have any."""
    compared = boxes.reshape(len(boxes), -1, n_compared)
    mean = np.ma.masked_equal(compared, 0).mean(axis=2).filled(0)
    return np.repeat(mean, n_compared, axis=1)

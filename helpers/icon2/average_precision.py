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
    # whose false positives count: of images with a box of the value, or of all
    images: Literal["with the value", "all"] = "with the value"
    # over a confounder's values: sigma (Table 2), or the variance (section 3.2.2)
    averaged: Literal["sigma", "variance"] = "sigma"
    # below which a cell is not estimable; the paper judges by eye
    min_boxes: PositiveInt = 30


PAPER = Options()
PER_IMAGE = Options(precision="per image")
# of all boxes in all images, as COCO's evaluator
LIKE_COCO = Options("raw", false_positives="coco", images="all", min_boxes=1)
ROUNDING = 1e-12  # of sums of weights


def evaluate(
    of_class: Matches,
    attributes: Sequence[Attribute],
    weights: np.ndarray,
    options: Options,
    formula: Callable = formulas.average_precision,
    box_weights: np.ndarray | None = None,
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
    box_weights : array of shape (R, n boxes), optional
        How often a box counts, with the detection that took it. By default, as often as
        its image.

    Returns
    -------
    ap, boxes : arrays of shape (R, values of the first attribute, ...)
        AP (points) is the mean over IoU thresholds, and NaN in cells with too few
        boxes. Boxes are weighted.
    """
    shape = len(weights), *[len(attribute.values) for attribute in attributes]
    cells = list(np.ndindex(shape[1:]))
    in_images, in_boxes, in_detections = _members(of_class, attributes, cells, options)
    if box_weights is None:
        box_weights = weights[:, of_class.boxes["image"]]
    boxes = (box_weights @ in_boxes.T).reshape(shape)
    images = np.ones(shape)
    if options.precision == "per image":
        images = np.maximum(weights @ in_images.T, formulas.TINY).reshape(shape)
    number = boxes
    if options.precision != "raw":
        # N is the mean over the compared cells that have boxes
        axes = -1 if options.number == "compared" else tuple(range(1, len(shape)))
        compared = np.ma.masked_equal(boxes / images, 0)
        number = images * compared.mean(axis=axes, keepdims=True).filled(0)
    # Sums of such weights are rounded, and recall could end just below a step that it
    # reaches. Slightly fewer boxes prevent this.
    positives = boxes
    if (box_weights != box_weights.round()).any():
        positives = boxes * (1 - ROUNDING)
    # The source of a detection is what gives it its weight: the box that it took, or
    # for a false positive its image. Images are numbered first, and then boxes.
    source_weights = np.hstack([weights, box_weights])
    in_sources = np.hstack([in_images, in_boxes])
    is_hit = of_class.taken >= 0
    image = of_class.detections["image"].to_numpy()
    sources = np.where(is_hit, of_class.n_images + of_class.taken, image)
    ap = np.full(shape, np.nan)
    for i, cell in enumerate(cells):
        if in_boxes[i].sum() < options.min_boxes:
            continue
        is_counted = in_sources[i][sources] & (is_hit | in_detections[i])
        ranked = [  # the detections of the cell at each threshold
            (hit[counted], source[counted])
            for hit, source, counted in zip(is_hit, sources, is_counted, strict=True)
        ]
        for row in np.flatnonzero(positives[:, *cell]):
            total = positives[row, *cell], number[row, *cell]
            points = [
                formula(hit, *total, source_weights[row, source])
                for hit, source in ranked
            ]
            ap[row, *cell] = np.mean(points)  # over the thresholds
    return ap, boxes


def _members(
    of_class: Matches,
    attributes: Sequence[Attribute],
    cells: Sequence[tuple[int, ...]],
    options: Options,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return which images, boxes and false positives count for each cell (C, n)."""
    image = of_class.boxes["image"].to_numpy()
    is_labelled = ~of_class.boxes["ignore"].to_numpy()
    row = of_class.detections["row"].to_numpy()
    in_images = np.ones((len(cells), of_class.n_images), bool)
    in_boxes = np.tile(is_labelled, (len(cells), 1))
    in_detections = np.ones((len(cells), len(row)), bool)
    for attribute, codes in zip(attributes, np.transpose(cells), strict=True):
        code = codes[:, None]  # of each cell
        in_boxes &= attribute.of_boxes(image, of_class.boxes.index) == code
        if attribute.level == "image":
            in_images &= attribute.codes == code
        elif options.false_positives == "coco" and attribute.of_detection is not None:
            in_detections &= attribute.of_detection[row] == code
    if options.images == "with the value":
        for images, boxes in zip(in_images, in_boxes, strict=True):
            images &= np.bincount(image[boxes], minlength=len(images)) > 0
    return in_images, in_boxes, in_detections

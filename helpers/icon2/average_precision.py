"""Average precision of many cells at once, from matches and image weights.

A cell is a set of boxes of one class, with the images whose false positives count for
it. The detections of each cell are selected once. Average precision is then computed
for each resample's weights.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import pydantic
from pydantic import PositiveInt

from helpers import store
from helpers.icon2 import formulas
from helpers.icon2.attributes import Attribute
from helpers.icon2.matching import ClassMatches

RECALLS = np.linspace(0.0, 1.0, 101)
TINY = 1e-300  # keeps 0 / 0 at 0


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
WHOLE = Options(precision="raw", images="all")  # one cell of all boxes and images


@dataclass(frozen=True)
class Formulas:
    """Name the formulas of ICON2 that an analysis uses; lesson 08 passes its own."""

    average_precision: Callable = formulas.average_precision
    sigma: Callable = formulas.sigma
    shares: Callable = formulas.shares
    proxy: Callable = formulas.proxy
    controlled: Callable = formulas.controlled
    standard_weights: Callable = formulas.standard_weights

    @cached_property
    def edited(self) -> Callable | None:
        """Return average precision if it differs from the package's, or None."""
        formula = self.average_precision
        is_same = store.same_function(formula, formulas.average_precision)
        return None if is_same else formula


PLAIN = Formulas()  # the package's


class Cell:
    """Hold the hits and false positives of one cell.

    Parameters
    ----------
    image : array of shape (n,)
        The image of each detection of the class, by falling score.
    box : array of shape (thresholds, n)
        The box that each detection took.
    is_hit, is_false : bool arrays of shape (thresholds, n)
        Whether a detection took a box of the cell, or is a false positive.
    """

    def __init__(
        self,
        image: np.ndarray,
        box: np.ndarray,
        is_hit: np.ndarray,
        is_false: np.ndarray,
    ) -> None:
        self.every_detection = image, box, is_hit, is_false
        # false positives at all thresholds are summed once, for all thresholds
        always_false = is_false.all(axis=0)
        varies = (is_hit | is_false).any(axis=0) & ~always_false
        self.always_false_image = image[always_false]
        self.always_false_before = np.cumsum(always_false)[varies]
        self.image = image[varies]
        self.box = box[:, varies]
        self.is_hit = is_hit[:, varies]
        self.is_false = is_false[:, varies]

    def average_precision(
        self,
        weights: np.ndarray,
        boxes: float,
        number: float,
        box_weights: np.ndarray | None,
        rounding: float,
    ) -> np.ndarray:
        """Compute AP at each threshold (thresholds,), as lesson 08 does.

        A recall counts as reached if it is missed by no more than `rounding`.
        """
        weight = weights[self.image]
        hits = weight * self.is_hit
        if box_weights is not None:
            hits = hits * box_weights[self.box]
        always_false = np.cumsum(weights[self.always_false_image])
        false_positives = np.append(0, always_false)[self.always_false_before]
        false_positives = false_positives + np.cumsum(weight * self.is_false, axis=1)
        recall = np.cumsum(hits, axis=1) / boxes
        true_positives = recall * number
        detected = np.maximum(true_positives + false_positives, TINY)
        precision = true_positives / detected
        highest = np.maximum.accumulate(precision[:, ::-1], axis=1)[:, ::-1]
        reached = RECALLS.searchsorted(recall + rounding, side="right")
        newly_reached = np.diff(reached, axis=1, prepend=0)
        return (highest * newly_reached).sum(axis=1) / len(RECALLS)

    def by_formula(
        self,
        formula: Callable,
        weights: np.ndarray,
        boxes: float,
        number: float,
        box_weights: np.ndarray | None,
    ) -> list[float]:
        """Compute AP at each threshold by a formula of the detections, in points."""
        image, *by_threshold = self.every_detection
        ap = []
        for box, is_hit, is_false in zip(*by_threshold, strict=True):
            weight = weights[image]
            if box_weights is not None:
                weight = np.where(is_hit, weight * box_weights[box], weight)
            drawn = (is_hit | is_false) & (weight > 0)
            points = formula(is_hit[drawn], boxes, number, weight[drawn])
            ap.append(points / 100)
        return ap


class Curves:
    """Compute the average precision of the cells of one class.

    Cells are all combinations of the values of `attributes`, the last attribute
    fastest. The values of the last attribute are compared, within those of the others.
    """

    def __init__(
        self,
        of_class: ClassMatches,
        attributes: Sequence[Attribute],
        options: Options,
        formula: Callable | None = None,
    ) -> None:
        values = [range(len(attribute.values)) for attribute in attributes]
        combinations = list(itertools.product(*values))
        self.options = options
        self.formula = formula
        self.n_cells = len(combinations)
        self.n_compared = len(values[-1]) if values else 1
        self.box_image = of_class.box_image
        self.box_cell = np.full(len(self.box_image), -1)
        self.images = np.empty((of_class.n_images, self.n_cells), bool)
        self.cells = []
        is_labelled = ~of_class.box_ignored
        codes = [of_class.codes(attribute) for attribute in attributes]
        took_none = of_class.taken < 0
        for cell, combination in enumerate(combinations):
            is_inside = is_labelled.copy()
            for code, value in zip(codes, combination, strict=True):
                is_inside &= code == value
            self.box_cell[is_inside] = cell
            images = np.full(of_class.n_images, options.images == "all")
            if options.images == "with the value":
                images[self.box_image[is_inside]] = True
            if options.images == "with the class":
                images[self.box_image[is_labelled]] = True
            counts = np.ones(len(of_class.detection_row), bool)
            for attribute, value in zip(attributes, combination, strict=True):
                if attribute.level == "image":
                    images &= attribute.codes == value
                by_detection = attribute.of_detection
                if options.false_positives == "coco" and by_detection is not None:
                    counts &= by_detection[of_class.detection_row] == value
            counts &= images[of_class.detection_image]
            self.images[:, cell] = images
            is_hit = np.append(is_inside, False)[of_class.taken]
            is_false = took_none & counts
            image = of_class.detection_image
            self.cells.append(Cell(image, of_class.taken, is_hit, is_false))

    def positives(
        self, weights: np.ndarray, box_weights: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the weight of the boxes of each cell (C,)."""
        weight = weights[self.box_image]
        if box_weights is not None:
            weight = weight * box_weights
        return np.bincount(self.box_cell + 1, weight, self.n_cells + 1)[1:]

    def mean(
        self,
        weights: np.ndarray,
        boxes: np.ndarray,
        box_weights: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return the mean over thresholds (C,), with N of Eq. 3 from the `boxes`."""
        number = None
        if self.options.precision != "raw":
            images = np.ones(self.n_cells)
            if self.options.precision == "per image":
                images = weights @ self.images
            number = self._mean_number(boxes, images) * images
        return self.average_precision(weights, number, box_weights).mean(axis=1)

    def _mean_number(self, boxes: np.ndarray, images: np.ndarray) -> np.ndarray:
        """Return the mean number of boxes per image of the cells compared (C,)."""
        density = np.divide(boxes, images, out=np.zeros(self.n_cells), where=images > 0)
        n_compared = self.n_compared
        if self.options.number == "all cells":
            n_compared = self.n_cells
        compared = density.reshape(-1, n_compared)
        n_known = np.maximum((compared > 0).sum(axis=1), 1)
        return np.repeat(compared.sum(axis=1) / n_known, n_compared)

    def average_precision(
        self,
        weights: np.ndarray,
        number: np.ndarray | None = None,
        box_weights: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return average precision (C, thresholds), from 0 to 1; NaN without a box.

        `weights` are of images, and `box_weights` of boxes and of what took them.
        `number` (C,) is N of Eq. 3; the default is that of Eq. 2.
        """
        boxes = self.positives(weights, box_weights)
        if number is None:
            number = boxes
        are_counts = box_weights is None and not (weights % 1).any()
        rounding = 0 if are_counts else 1e-12
        n_thresholds = len(self.cells[0].is_hit)
        ap = np.full((self.n_cells, n_thresholds), np.nan)
        for place in np.flatnonzero(boxes):
            cell = self.cells[place]
            how = weights, boxes[place], number[place], box_weights
            if self.formula is None:
                ap[place] = cell.average_precision(*how, rounding)
            else:
                ap[place] = cell.by_formula(self.formula, *how)
        return ap


def evaluate(
    of_class: ClassMatches,
    attributes: Sequence[Attribute],
    weights: np.ndarray,
    options: Options,
    formulas: Formulas = PLAIN,
) -> tuple[np.ndarray, np.ndarray]:
    """Compute AP and numbers of boxes of all cells of a class.

    Parameters
    ----------
    of_class : ClassMatches
    attributes : sequence of Attribute
        Whose values are combined; those of the last are compared.
    weights : array of shape (R, n images)
        How often each image counts.
    options : Options
    formulas : Formulas

    Returns
    -------
    ap, boxes : arrays of shape (R, C)
        AP is from 0 to 1, and NaN in cells with too few boxes.
    """
    curves = Curves(of_class, attributes, options, formulas.edited)
    boxes = np.array([curves.positives(weight) for weight in weights])
    ap = [curves.mean(*row) for row in zip(weights, boxes, strict=True)]
    each_once = np.ones(of_class.n_images)
    is_rare = curves.positives(each_once) < options.min_boxes
    return np.where(is_rare, np.nan, ap), boxes

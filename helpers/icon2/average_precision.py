"""Average precision of many cells at once, from the table of matches and image weights.

A cell is a set of boxes of one class with the images whose false positives count for
it. Matches are arranged once, and average precision then needs a few passes for each
resample's weights.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args, get_type_hints

import numpy as np
import pydantic
from pydantic import PositiveInt

from helpers import store
from helpers.icon2 import formulas
from helpers.icon2.attributes import Attribute, crossed
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


CHOICES = {
    name: get_args(kind)
    for name, kind in get_type_hints(Options).items()
    if get_args(kind)
}
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
    def edited(self) -> bool:
        """Return whether average precision is another function than the package's."""
        return not store.same_function(
            self.average_precision, formulas.average_precision
        )

    def curves(
        self, of_class: ClassMatches, attributes: Sequence[Attribute], options: Options
    ):
        """Return what computes the average precision of all cells of one class."""
        if self.edited:
            return CurvesByFormula(
                of_class, attributes, options, self.average_precision
            )
        return Curves(of_class, attributes, options)


class Curves:
    """Arrange the matches of one class by cell, threshold and falling score.

    Cells are all combinations of the attributes' values, the last attribute fastest.
    """

    # `images` (n images, C) says which images count for a cell. `start` is where each
    # curve begins. `event_before` counts the cell's detections up to and with the
    # event, `event_hit` says whether it took a box of the cell, and `event_counted`
    # whether it counts for the cell.

    def __init__(
        self, of_class: ClassMatches, attributes: Sequence[Attribute], options: Options
    ):
        of_box, self.images, counted = _cells(of_class, attributes, options)
        self.options, self.n_thresholds = options, of_class.n_thresholds
        self.n_cells = len(counted)
        self.box_row = np.flatnonzero(of_box >= 0)
        self.box_image, self.box_cell = (
            of_class.box_image[self.box_row],
            of_box[self.box_row],
        )
        detection, event_cell = of_class.event_detection, of_box[of_class.event_box]
        begins, parts = np.cumsum([0, *counted.sum(1)], dtype=np.int32)[:-1], []
        for cell, inside in enumerate(counted):
            event = np.flatnonzero(inside[detection] | (event_cell == cell))
            own = detection[event]
            before = begins[cell] + np.cumsum(inside, dtype=np.int32)[own]
            images = of_class.detection_image[inside], of_class.detection_image[own]
            kinds = event_cell[event] == cell, inside[own]
            sizes = np.bincount(
                of_class.event_threshold[event], minlength=self.n_thresholds
            )
            parts.append((*images, of_class.event_box[event], before, *kinds, sizes))
        (
            self.counted_image,
            self.event_image,
            self.event_box,
            self.event_before,
            self.event_hit,
            self.event_counted,
            sizes,
        ) = map(np.concatenate, zip(*parts, strict=True))
        self.counted_start = np.repeat(begins, self.n_thresholds)
        self.start = np.cumsum([0, *sizes])

    def positives(self, weights, box_weights=None) -> np.ndarray:
        """Return the weight of the boxes of each cell, float64 (C,)."""
        weight = weights[self.box_image]
        if box_weights is not None:
            weight = weight * box_weights[self.box_row]
        return np.bincount(self.box_cell, weight, self.n_cells)

    def mean(self, weights, boxes, strata: int = 1, box_weights=None) -> np.ndarray:
        """Return the mean over thresholds (C,), with N of Eq. 3 by stratum."""
        options, normal = self.options, None
        if options.precision != "raw":
            strata = 1 if options.number == "all cells" else strata
            images = (
                weights @ self.images
                if options.precision == "per image"
                else np.ones(len(boxes))
            )
            density = np.divide(
                boxes, images, out=np.zeros_like(boxes), where=images > 0
            )
            compared = density.reshape(strata, -1)
            number = compared.sum(1) / np.maximum((compared > 0).sum(1), 1)
            normal = np.repeat(number, len(boxes) // strata) * images
        return self.average_precision(weights, normal, box_weights).mean(1)

    def average_precision(self, weights, normal=None, box_weights=None) -> np.ndarray:
        """Return average precision (C, T) over 101 recalls; NaN without a box.

        `weights` are of images, `box_weights` of boxes and what took them; `normal`
        (C,) is N of Eq. 3.
        """
        positives = self.positives(weights, box_weights)
        ratio = (
            np.ones(self.n_cells)
            if normal is None
            else normal / np.maximum(positives, TINY)
        )
        own, ratio = (
            np.repeat(of_cell, self.n_thresholds) for of_cell in (positives, ratio)
        )
        exact = box_weights is None and not (weights % 1).any()
        needed = _whole(own) if exact else RECALLS * own[:, None] * (1 - 1e-12)
        curve = self._precision(weights, ratio, box_weights)
        ap = _at_recalls(*curve, self.start, needed)
        ap[own == 0] = np.nan
        return ap.reshape(self.n_cells, self.n_thresholds)

    def _precision(self, weights, ratio, box_weights):
        """Return the true positives up to each event, and the precision there."""
        begin, sizes = self.start[:-1], np.diff(self.start)
        weight = weights[self.event_image]
        gain = weight * self.event_hit
        if box_weights is not None:
            gain = gain * box_weights[self.event_box]
        hits = _cumulated(gain)
        taken = _cumulated(weight * self.event_counted)
        drawn = _cumulated(weights[self.counted_image])
        false = drawn[self.event_before] - taken[1:]
        false += np.repeat(taken[begin] - drawn[self.counted_start], sizes)
        false = np.maximum(false, 0)
        true = hits[1:] - np.repeat(hits[begin], sizes)
        true *= np.repeat(ratio, sizes)
        return hits, true / np.maximum(false + true, TINY)


class CurvesByFormula(Curves):
    """Curves whose average precision is a function of the detections of one cell.

    This is slower than `Curves` by far, and serves an edited cell of lesson 08.
    """

    def __init__(
        self, of_class: ClassMatches, attributes, options: Options, formula: Callable
    ):
        super().__init__(of_class, attributes, options)
        self.formula = formula
        of_box, _, counted = _cells(of_class, attributes, options)
        # by cell and threshold: image, hit and box of each, by falling score
        self.detections = {}
        for threshold in range(self.n_thresholds):
            events = of_class.event_threshold == threshold
            box = np.full(len(of_class.detection_image), -1)
            box[of_class.event_detection[events]] = of_class.event_box[events]
            for cell, inside in enumerate(counted):
                hit = (box >= 0) & (of_box[box] == cell)
                false = (box < 0) & inside
                at = np.flatnonzero(hit | false)
                self.detections[cell, threshold] = (
                    of_class.detection_image[at],
                    hit[at],
                    box[at],
                )

    def average_precision(self, weights, normal=None, box_weights=None) -> np.ndarray:
        """Return average precision (C, T), as `Curves` has it."""
        positives = self.positives(weights, box_weights)
        number = positives if normal is None else normal
        ap = np.full((self.n_cells, self.n_thresholds), np.nan)
        for (cell, threshold), (image, hit, box) in self.detections.items():
            if positives[cell] == 0:
                continue
            weight = weights[image].astype(float)
            if box_weights is not None:
                weight = np.where(hit, weight * box_weights[box], weight)
            drawn = weight > 0
            found = self.formula(
                hit[drawn], positives[cell], number[cell], weight[drawn]
            )
            ap[cell, threshold] = found / 100
        return ap


def _at_recalls(hits, precision, start, needed) -> np.ndarray:
    """Return the mean over 101 recalls of the best precision at or above each."""
    base, end = hits[start[:-1]], start[1:]
    at = np.searchsorted(hits[1:], (base[:, None] + needed).ravel()).reshape(
        needed.shape
    )
    at[:, 0] = start[:-1]
    reached = at < end[:, None]
    at = np.minimum(at, end[:, None])
    padded = np.append(precision, 0.0)
    best = np.maximum.reduceat(padded, np.column_stack([at, end]).ravel())
    best = best.reshape(len(end), -1)[:, :-1] * reached
    return np.maximum.accumulate(best[:, ::-1], axis=1).mean(1)


def _cells(of_class, attributes, options) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the cell of each box of a class, -1 for none, and what counts for cells.

    These are images (n images, C), and detections (C, n) that take no box.
    """
    sizes = [1, *(len(a.values) for a in attributes)]
    places = np.indices(sizes).reshape(len(sizes), -1)[
        1:
    ]  # code of each attribute in each cell
    labelled = np.where(of_class.box_ignored, -1, 0)
    of_box = crossed([labelled, *(of_class.codes(a) for a in attributes)], sizes)
    images = np.full((of_class.n_images, math.prod(sizes)), options.images == "all")
    if options.images == "with the value":
        images[of_class.box_image[of_box >= 0], of_box[of_box >= 0]] = True
    elif options.images == "with the class":
        images[of_class.box_image[labelled == 0]] = True
    for attribute, place in zip(attributes, places, strict=True):
        if attribute.level == "image":
            images &= attribute.codes[:, None] == place
    counted = np.take(np.ascontiguousarray(images.T), of_class.detection_image, axis=1)
    for attribute, place in zip(attributes, places, strict=True):
        if options.false_positives == "coco" and attribute.of_detection is not None:
            counted &= attribute.of_detection[of_class.detection_row] == place[:, None]
    return of_box, images, counted


def _cumulated(values: np.ndarray) -> np.ndarray:
    total = np.empty(len(values) + 1)
    total[0] = 0.0
    np.cumsum(values, out=total[1:])
    return total


PLAIN = Formulas()  # the package's


def _whole(positives: np.ndarray) -> np.ndarray:
    """Return the smallest counts (S, 101) that reach each recall in floating point."""
    total = np.maximum(positives, 1)[:, None]
    count = np.ceil(RECALLS * total)
    count -= (count - 1) / total >= RECALLS
    count += count / total < RECALLS
    return count


@dataclass(frozen=True)
class Part:
    """Hold what one explanatory attribute contributes; AP is NaN if not estimable."""

    values: tuple[str, ...]
    ap: np.ndarray  # (R, E): weightings, values
    boxes: np.ndarray
    cell_ap: np.ndarray  # (R, E, A): within each value of the sensitive attribute
    cell_boxes: np.ndarray
    standardised: (
        np.ndarray
    )  # (R, A): every group reweighted to the common distribution of e


@dataclass(frozen=True)
class Estimate:
    """All average precisions of ICON2 for one class."""

    overall: float  # of all groups together
    group_ap: np.ndarray  # (R, A): weightings, sensitive values
    group_boxes: np.ndarray
    parts: dict[str, Part]  # by the attribute's name


def estimate(
    of_class, sensitive, explanatory, weights, options, standardise, map, formulas=PLAIN
) -> Estimate:
    """Compute AP of every cell, for each row of weights (R, n images)."""

    def part(explaining: Attribute) -> Part:
        ap, boxes = evaluate(
            of_class, (explaining,), weights, options, formulas=formulas
        )
        strata = len(explaining.values)
        both = (explaining, sensitive)
        cells = evaluate(of_class, both, weights, options, strata, formulas)
        cell_ap, cell_boxes = (one.reshape(len(weights), strata, -1) for one in cells)
        usable = ~np.isnan(cell_ap[0]).any(1) & standardise
        kept = cell_boxes * usable[:, None]
        adjusted = _standardised(
            of_class, sensitive, explaining, weights, options, kept, formulas
        )
        return Part(explaining.values, ap, boxes, cell_ap, cell_boxes, adjusted)

    overall = formulas.curves(of_class, (), WHOLE).average_precision(weights[0])
    groups = evaluate(of_class, (sensitive,), weights, options, formulas=formulas)
    parts = dict(
        zip([a.name for a in explanatory], map(part, explanatory), strict=True)
    )
    return Estimate(float(overall.mean()), *groups, parts)


def evaluate(
    of_class, attributes, weights, options, strata: int = 1, formulas=PLAIN
) -> tuple[np.ndarray, ...]:
    """Return AP and boxes (R, C) of combined values, compared by stratum."""
    curves = formulas.curves(of_class, attributes, options)
    boxes = np.array([curves.positives(weight) for weight in weights])
    ap = np.array(
        [curves.mean(w, b, strata) for w, b in zip(weights, boxes, strict=True)]
    )
    few = np.bincount(curves.box_cell, minlength=curves.n_cells) < options.min_boxes
    ap[:, few] = np.nan
    return ap, boxes


def _standardised(
    of_class, sensitive, explaining, weights, options, boxes, formulas
) -> np.ndarray:
    """Return AP of each group (R, A) as if all had the same distribution of e.

    This is the distribution in the `boxes` (R, E, A) of all groups together. AP is NaN
    without boxes.
    """
    ap = np.full((len(weights), len(sensitive.values)), np.nan)
    if not boxes[0].any():
        return ap
    curves = formulas.curves(of_class, (sensitive,), options)
    of_images = explaining.level == sensitive.level == "image"
    both = explaining, sensitive
    codes = [a.codes if of_images else of_class.codes(a) for a in both]
    for r, weight in enumerate(weights):
        ratio = formulas.standard_weights(boxes[r])
        ratio = np.vstack([ratio, np.zeros(len(sensitive.values))])[
            *codes
        ]  # last: of no e
        # false positives are weighted, too, where images have both attributes
        by_image, by_box = (weight * ratio, None) if of_images else (weight, ratio)
        ap[r] = curves.mean(by_image, boxes[r].sum(0), box_weights=by_box)
    return ap

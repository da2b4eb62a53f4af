"""Average precision of many cells at once, from the table of matches and image weights.

A cell is a set of boxes of one class with the images whose false positives count for it. Matches
are arranged once, and average precision then needs a few passes for each resample's weights."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, get_args, get_type_hints

import numpy as np
import pydantic
from pydantic import PositiveInt

from helpers.icon2.attributes import Attribute
from helpers.icon2.matching import ClassMatches

RECALLS = np.linspace(0.0, 1.0, 101)
TINY = 1e-300  # keeps 0 / 0 at 0
EVENTS_AT_ONCE = 500_000  # about; small arrays stay in the cache


@pydantic.dataclasses.dataclass(frozen=True, config={"extra": "forbid"})
class Options:
    """How ICON2 is computed: choices that the paper leaves open; the defaults are its reading.

    `precision` is R N / (R N + F) with one N for the values compared (``normalised``, Eq. 3), with
    each value's own (``raw``, Eq. 2), or with N and F ``per image``: Eq. 3 fixes N and not F. N is
    the mean `number` of boxes of the values ``compared`` (those within one value of a confounder),
    or of ``all cells``. `false_positives` of an attribute of boxes count for each value
    (``hoiem``), or for their own (``coco``, of size alone).
    """

    precision: Literal["normalised", "raw", "per image"] = "normalised"
    number: Literal["compared", "all cells"] = "compared"
    false_positives: Literal["hoiem", "coco"] = "hoiem"
    # whose false positives count: images that have a box with the value, or the class, or all
    images: Literal["with the value", "with the class", "all"] = "with the value"
    # over a confounder's values: sigma (Table 2), or the variance (3.2.2), whose root is taken
    averaged: Literal["sigma", "variance"] = "sigma"
    min_boxes: PositiveInt = 30  # below which a cell is not estimable; the paper judges by eye


CHOICES = {name: get_args(kind) for name, kind in get_type_hints(Options).items() if get_args(kind)}
PAPER = Options()
PER_IMAGE = Options(precision="per image")


@dataclass(frozen=True)
class Cells:
    """Which boxes and which false positives belong to which cell, for one class."""

    of_box: np.ndarray  # (n boxes of the class,): the cell of each, -1 for none
    images: np.ndarray  # (n images, C): which count for a cell
    counted: np.ndarray  # (C, n detections of the class): which that take no box count for a cell


def whole(of_class: ClassMatches) -> Cells:
    """One cell: all boxes of a class in all images."""
    of_box = np.zeros(len(of_class.box_row), int)
    images = np.ones((of_class.n_images, 1), bool)
    return Cells(of_box, images, images.T[:, of_class.detection_image])


def cells(of_class: ClassMatches, attributes: Sequence[Attribute], options: Options) -> Cells:
    """Cells of all combinations of the attributes' values for one class, the last one fastest."""
    sizes = [len(a.values) for a in attributes]
    places = np.indices(sizes).reshape(len(sizes), -1)  # code of each attribute in each cell
    codes = np.array([of_class.codes(a) for a in attributes])
    of_box = np.ravel_multi_index(tuple(np.maximum(codes, 0)), sizes)
    of_box = np.where((codes >= 0).all(0), of_box, -1)
    images = np.zeros((of_class.n_images, places.shape[1]), bool)
    labelled = ~of_class.box_ignored
    if options.images == "with the value":
        inside = labelled & (of_box >= 0)
        images[of_class.box_image[inside], of_box[inside]] = True
    elif options.images == "with the class":
        images[of_class.box_image[labelled]] = True
    else:
        images[:] = True
    for attribute, place in zip(attributes, places, strict=True):
        if attribute.level == "image":
            images &= attribute.codes[:, None] == place
    counted = np.take(np.ascontiguousarray(images.T), of_class.detection_image, axis=1)
    for attribute, place in zip(attributes, places, strict=True):
        if options.false_positives == "coco" and attribute.of_detection is not None:
            counted &= attribute.of_detection[of_class.detection_row] == place[:, None]
    return Cells(of_box, images, counted)


class Curves:
    """The matches of one class, the events, arranged by cell, threshold and falling score."""

    # `start` is where each curve begins; `event_before` counts the cell's detections up to and with
    # the event; `event_hit`: did it take a box of the cell? `event_counted`: is it counted for the
    # cell? (None: all)

    def __init__(self, of_class: ClassMatches, chosen: Cells) -> None:
        of_box = np.where(of_class.box_ignored, -1, chosen.of_box)
        self.n_cells, self.n_thresholds = chosen.images.shape[1], of_class.n_thresholds
        self.box_row = np.flatnonzero(of_box >= 0)
        self.box_image, self.box_cell = of_class.box_image[self.box_row], of_box[self.box_row]
        event_cell = of_box[of_class.event_box]
        parts = [
            _one_cell(of_class, counted, event_cell == c)
            for c, counted in enumerate(chosen.counted)
        ]
        counted, images, boxes, before, hit, inside, sizes = zip(*parts, strict=True)
        self.counted_image = np.concatenate(counted)
        begins = np.cumsum([0, *map(len, counted)], dtype=np.int32)[:-1]
        self.counted_start = np.repeat(begins, self.n_thresholds)
        self.event_before = np.concatenate([b + s for b, s in zip(before, begins, strict=True)])
        self.event_image, self.event_box = np.concatenate(images), np.concatenate(boxes)
        self.event_hit = None if all(map(np.all, hit)) else np.concatenate(hit)
        self.event_counted = None if all(map(np.all, inside)) else np.concatenate(inside)
        self.start = np.cumsum([0, *np.concatenate(sizes)])

    def positives(self, weights, box_weights=None) -> np.ndarray:
        """Weight of the boxes of each cell, float64 (C,)."""
        weight = weights[self.box_image]
        if box_weights is not None:
            weight = weight * box_weights[self.box_row]
        return np.bincount(self.box_cell, weight, self.n_cells)

    def average_precision(self, weights, normal=None, box_weights=None) -> np.ndarray:
        """Average precision (C, T) over 101 recalls as in COCO; NaN for a cell without a box.

        `weights` are of images, `box_weights` of boxes and what took them; `normal` (C,) is N of
        Eq. 3."""
        positives = self.positives(weights, box_weights)
        ratio = np.ones(self.n_cells) if normal is None else normal / np.maximum(positives, TINY)
        own, ratio = (np.repeat(of_cell, self.n_thresholds) for of_cell in (positives, ratio))
        exact = box_weights is None and not (weights % 1).any()
        needed = _whole(own) if exact else RECALLS * own[:, None] * (1 - 1e-12)
        drawn = _cumulated(weights[self.counted_image])
        found = np.empty(len(own))
        pieces = np.unique(self.start[:-1] // EVENTS_AT_ONCE, return_index=True)[1]
        for first, last in pairwise([*pieces, len(own)]):
            at, start = slice(first, last), self.start[first : last + 1]
            curve = self._precision(at, start, weights, drawn, ratio[at], box_weights)
            found[at] = _at_recalls(*curve, start - start[0], needed[at])
        found[own == 0] = np.nan
        return found.reshape(self.n_cells, self.n_thresholds)

    def _precision(self, at, start, weights, drawn, ratio, box_weights):
        """True positives up to each event of some curves, and precision there."""
        events, sizes, start = slice(start[0], start[-1]), np.diff(start), start - start[0]
        weight = weights[self.event_image[events]]
        gain = weight if self.event_hit is None else weight * self.event_hit[events]
        if box_weights is not None:
            gain = gain * box_weights[self.event_box[events]]
        hits = _cumulated(gain)
        inside = weight if self.event_counted is None else weight * self.event_counted[events]
        taken = hits if inside is gain else _cumulated(inside)
        false = drawn[self.event_before[events]]
        false -= taken[1:]
        false += np.repeat(taken[start[:-1]] - drawn[self.counted_start[at]], sizes)
        true = hits[1:] - np.repeat(hits[start[:-1]], sizes)
        true *= np.repeat(ratio, sizes)
        np.maximum(false, 0, out=false)
        false += true
        np.maximum(false, TINY, out=false)
        return hits, np.divide(true, false, out=true)


def _at_recalls(hits, precision, start, needed) -> np.ndarray:
    """Mean over 101 recalls of the best precision at that recall or beyond, of each curve."""
    base, end = hits[start[:-1]], start[1:]
    at = np.searchsorted(hits[1:], (base[:, None] + needed).ravel()).reshape(needed.shape)
    at[:, 0] = start[:-1]
    reached = at < end[:, None]
    at = np.minimum(at, end[:, None])
    padded = np.append(precision, 0.0)
    best = np.maximum.reduceat(padded, np.column_stack([at, end]).ravel())
    best = best.reshape(len(end), -1)[:, :-1] * reached
    return np.maximum.accumulate(best[:, ::-1], axis=1).mean(1)


def _one_cell(of_class: ClassMatches, counted: np.ndarray, hit: np.ndarray) -> tuple:
    """Images of counted detections; of matches image, box, detections before, hit and counted."""
    inside = counted[of_class.event_detection]
    chosen = np.flatnonzero(inside | hit)
    detection = of_class.event_detection[chosen]
    return (
        of_class.detection_image[counted],
        of_class.detection_image[detection],
        of_class.event_box[chosen],
        np.cumsum(counted, dtype=np.int32)[detection],
        hit[chosen],
        inside[chosen],
        np.bincount(of_class.event_threshold[chosen], minlength=of_class.n_thresholds),
    )


def _cumulated(values: np.ndarray) -> np.ndarray:
    total = np.empty(len(values) + 1)
    total[0] = 0.0
    np.cumsum(values, out=total[1:])
    return total


def _whole(positives: np.ndarray) -> np.ndarray:
    """Smallest count k with k / positives >= recall as floating point has it (S, 101)."""
    total = np.maximum(positives, 1)[:, None]
    count = np.ceil(RECALLS * total)
    count -= (count - 1) / total >= RECALLS
    count += count / total < RECALLS
    return count


@dataclass(frozen=True)
class Part:
    """What one explanatory attribute contributes; AP is NaN where not estimable."""

    values: tuple[str, ...]
    ap: np.ndarray  # (R, E): weightings, values
    boxes: np.ndarray
    cell_ap: np.ndarray  # (R, E, A): within each value of the sensitive attribute
    cell_boxes: np.ndarray
    standardised: np.ndarray  # (R, A): every group reweighted to the common distribution of e


@dataclass(frozen=True)
class Estimate:
    """All of ICON2's average precisions for one class."""

    overall: float  # of all groups together
    group_ap: np.ndarray  # (R, A): weightings, sensitive values
    group_boxes: np.ndarray
    parts: dict[str, Part]  # by the attribute's name


def estimate(of_class, sensitive, explanatory, weights, options, standardise, map) -> Estimate:
    """AP over all thresholds of every cell, for each row of weights (R, n images)."""

    def part(explaining: Attribute) -> Part:
        ap, boxes = evaluate(of_class, (explaining,), weights, options)
        strata, both = len(explaining.values), (explaining, sensitive)
        found = evaluate(of_class, both, weights, options, strata)
        cell_ap, cell_boxes = (one.reshape(len(weights), strata, -1) for one in found)
        usable = ~np.isnan(cell_ap[0]).any(1) & standardise
        given = (of_class, sensitive, explaining, weights, options)
        adjusted = _standardised(*given, cell_boxes, usable)
        return Part(explaining.values, ap, boxes, cell_ap, cell_boxes, adjusted)

    overall = Curves(of_class, whole(of_class)).average_precision(weights[0]).mean()
    groups = evaluate(of_class, (sensitive,), weights, options)
    names = [attribute.name for attribute in explanatory]
    return Estimate(float(overall), *groups, dict(zip(names, map(part, explanatory), strict=True)))


def evaluate(of_class, attributes, weights, options, strata: int = 1) -> list[np.ndarray]:
    """AP and boxes (R, C) of attributes' combined values, compared within each of `strata` runs."""
    chosen = cells(of_class, attributes, options)
    arranged = Curves(of_class, chosen)
    ap, boxes = np.empty((2, len(weights), arranged.n_cells))
    for r, weight in enumerate(weights):
        boxes[r] = arranged.positives(weight)
        normal = _normal(boxes[r], weight @ chosen.images, strata, options)
        ap[r] = arranged.average_precision(weight, normal).mean(1)
    few = np.bincount(arranged.box_cell, minlength=arranged.n_cells) < options.min_boxes
    ap[:, few] = np.nan
    return [ap, boxes]


def _standardised(of_class, sensitive, explaining, weights, options, boxes, usable) -> np.ndarray:
    """AP of each group (R, A) as if all had the distribution of e that they have together."""
    found = np.full((len(weights), len(sensitive.values)), np.nan)
    if not usable.any():
        return found
    chosen = cells(of_class, (sensitive,), options)
    arranged = Curves(of_class, chosen)
    of_images = explaining.level == sensitive.level == "image"
    for r, weight in enumerate(weights):
        kept = boxes[r] * usable[:, None]
        common = kept.sum(1) / max(kept.sum(), TINY)
        within = kept / np.maximum(kept.sum(0), TINY)  # P(e|a)
        ratio = np.divide(common[:, None], within, out=np.zeros_like(within), where=within > 0)
        ratio = np.vstack([ratio, np.zeros(len(sensitive.values))])  # last: of no e
        if of_images:  # false positives are weighted, too
            by_image, by_box = weight * ratio[explaining.codes, sensitive.codes], None
        else:
            group = of_class.codes(sensitive)
            by_image, by_box = weight, ratio[of_class.codes(explaining), group]
        normal = _normal(boxes[r][usable].sum(0), by_image @ chosen.images, 1, options)
        found[r] = arranged.average_precision(by_image, normal, by_box).mean(1)
    return found


def _normal(boxes, images, strata: int, options: Options) -> np.ndarray | None:
    """N of Eq. 3 for each cell (C,), or None for precision as it is."""
    if options.precision == "raw":
        return None
    strata = 1 if options.number == "all cells" else strata
    images = np.ones(len(boxes)) if options.precision == "normalised" else images
    density = np.divide(boxes, images, out=np.zeros_like(boxes), where=images > 0)
    compared = density.reshape(strata, -1)
    mean = compared.sum(1) / np.maximum((compared > 0).sum(1), 1)
    return np.repeat(mean, len(boxes) // strata) * images

"""Average precision of every cell that ICON2 asks for, for one class and any image weights."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from helpers.icon2.attributes import Attribute
from helpers.icon2.average_precision import Curves, cells, whole
from helpers.icon2.matching import ClassMatches
from helpers.icon2.options import Options


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


def estimate(
    of_class: ClassMatches,
    sensitive: Attribute,
    explanatory: Sequence[Attribute],
    weights: np.ndarray,
    options: Options,
    standardise: bool,
    map: Callable,
) -> Estimate:
    """Average precision over all thresholds of every cell, for each row of `weights`.

    Row 0 of the weights (R, n images) is the data as they are, whose counts decide what is
    estimable. `map` may be a pool's, to work on several explanatory attributes at once.
    """

    def part(explaining: Attribute) -> Part:
        ap, boxes = evaluate(of_class, (explaining,), weights, options)
        cell_ap, cell_boxes = within(of_class, sensitive, explaining, weights, options)
        usable = ~np.isnan(cell_ap[0]).any(1) & standardise
        adjusted = _standardised(
            of_class, sensitive, explaining, weights, options, cell_boxes, usable
        )
        return Part(explaining.values, ap, boxes, cell_ap, cell_boxes, adjusted)

    overall = Curves(of_class, whole(of_class)).average_precision(weights[0]).mean()
    groups = evaluate(of_class, (sensitive,), weights, options)
    names = [attribute.name for attribute in explanatory]
    return Estimate(float(overall), *groups, dict(zip(names, map(part, explanatory), strict=True)))


def evaluate(of_class, attributes, weights, options, strata: int = 1) -> list[np.ndarray]:
    """AP and boxes (R, C) of the combined values of some attributes.

    Cells are compared within each of `strata` equal runs of them.
    """
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


def within(of_class, sensitive, explaining, weights, options) -> list[np.ndarray]:
    """AP and boxes (R, E, A) of every sensitive value within every explanatory value."""
    strata = len(explaining.values)
    found = evaluate(of_class, (explaining, sensitive), weights, options, strata)
    return [part.reshape(len(weights), strata, -1) for part in found]


def _standardised(
    of_class, sensitive, explaining, weights, options, boxes: np.ndarray, usable: np.ndarray
) -> np.ndarray:
    """AP of each group (R, A) as if all had the distribution of e that they have together.

    Boxes weigh P(e) / P(e|a), and so do the detections that took them. False positives weigh by
    their image where a and e are attributes of images; where one is of boxes they weigh one. Only
    values of e in which every group is estimable take part.
    """
    found = np.full((len(weights), len(sensitive.values)), np.nan)
    if not usable.any():
        return found
    chosen = cells(of_class, (sensitive,), options)
    arranged = Curves(of_class, chosen)
    of_images = explaining.level == sensitive.level == "image"
    for r, weight in enumerate(weights):
        ratio = _ratios(boxes[r], usable)
        if of_images:
            by_image, by_box = weight * ratio[explaining.codes, sensitive.codes], None
        else:
            group = of_class.codes(sensitive)
            by_image, by_box = weight, ratio[of_class.codes(explaining), group]
        normal = _normal(boxes[r][usable].sum(0), by_image @ chosen.images, 1, options)
        found[r] = arranged.average_precision(by_image, normal, by_box).mean(1)
    return found


def _ratios(boxes: np.ndarray, usable: np.ndarray) -> np.ndarray:
    """P(e) / P(e|a) as (E + 1, A); zero for what is left out, and in the last row for no e."""
    kept = boxes * usable[:, None]
    common = kept.sum(1) / max(kept.sum(), 1e-300)
    within = kept / np.maximum(kept.sum(0), 1e-300)
    ratio = np.divide(common[:, None], within, out=np.zeros_like(within), where=within > 0)
    return np.vstack([ratio, np.zeros(boxes.shape[1])])


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

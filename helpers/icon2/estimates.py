"""Average precision of every cell that ICON2 asks for, for one class and any image weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from helpers.icon2 import formulas
from helpers.icon2.attributes import Attribute
from helpers.icon2.average_precision import Cells, Curves, curves, whole
from helpers.icon2.cells import Factor, cells, factor, joint, name_of, values_of
from helpers.icon2.matching import ClassMatches
from helpers.icon2.options import Options


@dataclass(frozen=True)
class Part:
    """What one explanatory factor contributes; R is the number of weightings.

    `ap` and `boxes` (R, E) are of each value, NaN where not estimable; `cell_ap` and `cell_boxes`
    (R, E, A) within each value of the sensitive attribute; `standardised` (R, A) is AP with every
    group reweighted to the common distribution of e.
    """

    name: str
    values: list[str]
    ap: np.ndarray
    boxes: np.ndarray
    cell_ap: np.ndarray
    cell_boxes: np.ndarray
    standardised: np.ndarray


@dataclass(frozen=True)
class Estimate:
    """All of ICON2's average precisions for one class; R is the number of weightings.

    `overall` is AP over all groups, for the data as they are; `group_ap` and `group_boxes` (R, A)
    are of each group.
    """

    name: str
    overall: float
    group_ap: np.ndarray
    group_boxes: np.ndarray
    parts: list[Part]


def estimate(
    of_class: ClassMatches,
    sensitive: Attribute,
    explanatory: Sequence[Attribute | Sequence[Attribute]],
    weights: np.ndarray,
    options: Options,
    standardise: bool,
    map: Callable,
) -> Estimate:
    """Average precision over all thresholds of every cell, for each row of `weights`.

    Row 0 of the weights (R, n images) is the data as they are, whose counts decide what is
    estimable. `map` may be a pool's, to work on several explanatory attributes at once.
    """
    asked = _Asked(of_class, sensitive, weights, options)
    parts = list(map(lambda e: _part(asked, factor(e), standardise), explanatory))
    group_ap, group_boxes = asked.evaluate((sensitive,), 1)
    overall = asked.overall()
    return Estimate(of_class.name, overall, group_ap, group_boxes, parts)


def group_ap(of_class: ClassMatches, sensitive: Attribute, options: Options) -> np.ndarray:
    """AP of each sensitive value (A,), for the data as they are."""
    asked = _Asked(of_class, sensitive, np.ones((1, of_class.n_images)), options)
    return asked.evaluate((sensitive,), 1)[0][0]


def controlled(
    of_class: ClassMatches, sensitive: Attribute, explaining: Factor, options: Options
) -> float:
    """Mean sigma over the sensitive values within the values of a factor (3.2.2)."""
    asked = _Asked(of_class, sensitive, np.ones((1, of_class.n_images)), options)
    strata = len(values_of(explaining))
    cell_ap = asked.evaluate((*explaining, sensitive), strata)[0]
    return float(formulas.controlled(cell_ap.reshape(1, strata, -1), options.ddof)[0])


def _part(asked: _Asked, explaining: Factor, standardise: bool) -> Part:
    ap, boxes = asked.evaluate(explaining, 1)
    n_values, n_groups = ap.shape[1], len(asked.sensitive.values)
    cell_ap, cell_boxes = asked.evaluate((*explaining, asked.sensitive), n_values)
    shape = (-1, n_values, n_groups)
    cell_ap, cell_boxes = cell_ap.reshape(shape), cell_boxes.reshape(shape)
    usable = ~np.isnan(cell_ap[0]).any(1) & standardise
    adjusted = asked.standardised(explaining, cell_boxes, usable)
    return Part(
        name_of(explaining), values_of(explaining), ap, boxes, cell_ap, cell_boxes, adjusted
    )


@dataclass(frozen=True)
class _Asked:
    of_class: ClassMatches
    sensitive: Attribute
    weights: np.ndarray
    options: Options

    def overall(self) -> float:
        arranged = curves(self.of_class, whole(self.of_class))
        kind = self.options.interpolation
        return float(arranged.average_precision(self.weights[0], interpolation=kind).mean())

    def evaluate(self, attributes: Factor, strata: int) -> tuple[np.ndarray, np.ndarray]:
        """AP and boxes (R, C); cells are compared within each of `strata` equal runs of them."""
        chosen = cells(self.of_class, attributes, self.options)
        arranged = curves(self.of_class, chosen)
        ap, boxes = np.empty((2, len(self.weights), len(chosen)))
        for r, weight in enumerate(self.weights):
            boxes[r] = arranged.positives(weight)
            normal = _normal(boxes[r], weight @ chosen.images, strata, self.options)
            ap[r] = arranged.average_precision(
                weight, normal, interpolation=self.options.interpolation
            ).mean(1)
        few = np.bincount(arranged.box_cell, minlength=len(chosen)) < self.options.min_boxes
        ap[:, few] = np.nan
        return ap, boxes

    def standardised(self, explaining: Factor, boxes: np.ndarray, usable: np.ndarray) -> np.ndarray:
        """AP of each group (R, A) as if all had the distribution of e that they have together.

        Boxes weigh P(e) / P(e|a), and so do the detections that took them. False positives weigh
        by their image where e is an attribute of images; where it is one of boxes they have no e,
        and weigh one. Only values of e in which every group is estimable take part.
        """
        n_groups = len(self.sensitive.values)
        found = np.full((len(self.weights), n_groups), np.nan)
        if not usable.any():
            return found
        of_images = all(a.level == "image" for a in explaining)
        grouped = cells(self.of_class, (self.sensitive,), self.options)
        code = cells(self.of_class, explaining, self.options).of_box
        sizes = [len(a.values) for a in explaining]
        image_code = joint([a.codes for a in explaining], sizes) if of_images else None
        arranged = [self._alone(grouped, a) for a in range(n_groups)]
        for r, weight in enumerate(self.weights):
            ratio = _ratios(boxes[r], usable)
            by_image = self._by_image(weight, ratio, image_code)
            seen = [w @ grouped.images[:, a] for a, w in enumerate(by_image)]
            normal = _normal(boxes[r][usable].sum(0), np.array(seen), 1, self.options)
            for a, one in enumerate(arranged):
                found[r, a] = one.average_precision(
                    by_image[a],
                    None if normal is None else normal[a : a + 1],
                    ratio[code, a] if image_code is None else None,
                    self.options.interpolation,
                ).mean()
        return found

    def _by_image(self, weight, ratio, image_code) -> list[np.ndarray]:
        """Weights of images for each group."""
        groups = range(ratio.shape[1])
        return [weight if image_code is None else weight * ratio[image_code, a] for a in groups]

    def _alone(self, grouped: Cells, a: int) -> Curves:
        """Curves of one group's cell by itself."""
        own = replace(
            grouped,
            of_box=np.where(grouped.of_box == a, 0, -1),
            images=grouped.images[:, a : a + 1],
            bucket=None if grouped.bucket is None else grouped.bucket[a : a + 1],
        )
        return curves(self.of_class, own)


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
    if options.precision == "normalised":
        return np.repeat(_mean(boxes.reshape(strata, -1)), len(boxes) // strata)
    density = np.divide(boxes, images, out=np.zeros_like(boxes), where=images > 0)
    mean = np.repeat(_mean(density.reshape(strata, -1)), len(boxes) // strata)
    return mean * images


def _mean(numbers: np.ndarray) -> np.ndarray:
    """Mean of the positive numbers of each row."""
    return numbers.sum(1) / np.maximum((numbers > 0).sum(1), 1)

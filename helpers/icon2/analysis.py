"""Rank confounders, control for them (section 3), and tabulate the results.

Average precision is in points (0 to 100) in every table, from 0 to 1 in arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from helpers import stats
from helpers.icon2.attributes import Attribute
from helpers.icon2.average_precision import (
    PAPER,
    PLAIN,
    WHOLE,
    Curves,
    Formulas,
    Options,
    evaluate,
)
from helpers.icon2.matching import ClassMatches, Matches

POINTS = 100.0
ALL = "all classes"
LEVEL = 0.95  # of the intervals


def image_weights(
    n_images: int, resamples: int, seed: int = 0, clusters=None
) -> np.ndarray:
    """Return how often each image counts (1 + resamples, n images), first all once."""
    cluster = np.arange(n_images)
    if clusters is not None:
        _, cluster = np.unique(clusters, return_inverse=True)
    number = int(cluster.max()) + 1
    drawn = stats.cluster_bootstrap(number, resamples, np.random.default_rng(seed))
    return np.vstack([np.ones(number), drawn])[:, cluster]


def interval(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the 95% percentiles of the resamples; NaN where one is missing."""
    if len(values) < 3:
        return np.full((2, *values.shape[1:]), np.nan)
    return np.quantile(values[1:], [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)


@dataclass(frozen=True)
class Part:
    """Hold what one explanatory attribute contributes; AP is NaN if not estimable.

    Attributes
    ----------
    values : tuple of str
    ap, boxes : arrays of shape (1 + resamples, values)
    cell_ap, cell_boxes : arrays of shape (1 + resamples, values, groups)
        Those of each group within each value.
    standardised : array of shape (1 + resamples, groups)
        AP of each group as if all groups had the same shares of the values.
    """

    values: tuple[str, ...]
    ap: np.ndarray
    boxes: np.ndarray
    cell_ap: np.ndarray
    cell_boxes: np.ndarray
    standardised: np.ndarray


@dataclass(frozen=True)
class Estimate:
    """Hold all average precisions of ICON2 for one class.

    Attributes
    ----------
    overall : float
        Of all groups together.
    group_ap, group_boxes : arrays of shape (1 + resamples, groups)
    parts : dict of str to Part
        By the name of the explanatory attribute.
    """

    overall: float
    group_ap: np.ndarray
    group_boxes: np.ndarray
    parts: dict[str, Part]


def analyse(
    matches: Matches,
    sensitive: Attribute,
    explanatory: Sequence[Attribute],
    *,
    classes: Iterable[str] | None = None,
    options: Options = PAPER,
    resamples: int = 0,
    seed: int = 0,
    clusters: np.ndarray | None = None,
    formulas: Formulas = PLAIN,
) -> Analysis:
    """Run ICON2 (section 3) for some classes.

    Parameters
    ----------
    matches : Matches
    sensitive : Attribute
        It defines the groups. It is an attribute of images or of boxes.
    explanatory : sequence of Attribute
        Possible confounders, of images or of boxes.
    classes : iterable of str, optional
        The default is all classes.
    options : Options
    resamples : int
        Bootstrap resamples of images for the 95% intervals, 0 for none.
    seed : int
        Of the resamples.
    clusters : array of shape (n images,), optional
        Images with the same entry are resampled together.
    formulas : Formulas
        A lesson passes its own.

    Returns
    -------
    Analysis
    """
    weights = image_weights(matches.n_images, resamples, seed, clusters)
    estimates = {}
    for name in classes or matches.classes:
        of_class = matches.of(name)
        whole = Curves(of_class, (), WHOLE, formulas.edited)
        overall = whole.average_precision(weights[0]).mean()
        ap, boxes = evaluate(of_class, [sensitive], weights, options, formulas)
        parts = {}
        for attribute in explanatory:
            parts[attribute.name] = _part(
                of_class, sensitive, attribute, weights, options, formulas
            )
        estimates[name] = Estimate(float(overall), ap, boxes, parts)
    return Analysis(sensitive, estimates, options, formulas)


def _part(
    of_class: ClassMatches,
    sensitive: Attribute,
    explaining: Attribute,
    weights: np.ndarray,
    options: Options,
    formulas: Formulas,
) -> Part:
    """Compute AP by an explanatory attribute alone, by group, and standardised."""
    ap, boxes = evaluate(of_class, [explaining], weights, options, formulas)
    both = [explaining, sensitive]
    shape = len(weights), len(explaining.values), len(sensitive.values)
    cell_ap, cell_boxes = evaluate(of_class, both, weights, options, formulas)
    cell_ap = cell_ap.reshape(shape)
    cell_boxes = cell_boxes.reshape(shape)
    has_all_groups = ~np.isnan(cell_ap[0]).any(axis=1)
    standardised = np.full((len(weights), len(sensitive.values)), np.nan)
    if has_all_groups.any():
        curves = Curves(of_class, [sensitive], options, formulas.edited)
        # false positives are weighted, too, where images have both attributes
        of_images = explaining.level == sensitive.level == "image"
        codes = [a.codes if of_images else of_class.codes(a) for a in both]
        known = cell_boxes * has_all_groups[:, None]
        for row, (weight, known_boxes) in enumerate(zip(weights, known, strict=True)):
            ratio = formulas.standard_weights(known_boxes)
            ratio = np.pad(ratio, [(0, 1), (0, 1)])  # the last are for code -1
            ratio = ratio[*codes]
            in_groups = known_boxes.sum(axis=0)
            if of_images:
                standardised[row] = curves.mean(weight * ratio, in_groups)
            else:
                standardised[row] = curves.mean(weight, in_groups, ratio)
    return Part(explaining.values, ap, boxes, cell_ap, cell_boxes, standardised)


@dataclass(frozen=True)
class Analysis:
    """Tabulate the estimates of each class; row 0 of an array is before its resamples.

    Tables name the ``class``, ``attribute``, ``value`` and ``group``; ``low`` and
    ``high`` are the 95% interval. Those of AP have ``AP low high boxes``, and NaN where
    AP is not estimable.
    """

    sensitive: Attribute
    estimates: dict[str, Estimate]
    options: Options = PAPER
    formulas: Formulas = PLAIN

    def groups(self) -> pd.DataFrame:
        """Return AP of every class and group (Table 1), first the classes' mean."""
        tables = []
        for name, e in self.with_mean().items():
            axes = {
                "class": [name],
                "overall": [POINTS * e.overall],
                "value": self.sensitive.values,
            }
            tables.append(_table(axes, "AP", POINTS * e.group_ap, e.group_boxes))
        return pd.concat(tables, ignore_index=True)

    def sigmas(self) -> pd.DataFrame:
        """Return sigma of AP over the groups, as ``class sigma low high``."""
        rows = []
        for name, e in self.with_mean().items():
            sigma = self.formulas.sigma(e.group_ap)
            rows.append({"class": name} | with_interval("sigma", sigma))
        return pd.DataFrame(rows)

    def values(self) -> pd.DataFrame:
        """Return AP of every explanatory value (Figures 2 and 3, above)."""
        tables = []
        for axes, part in self._parts("value"):
            tables.append(_table(axes, "AP", POINTS * part.ap, part.boxes))
        return pd.concat(tables, ignore_index=True)

    def shares(self) -> pd.DataFrame:
        """Return P(e|a) by boxes, ``share`` from 0 to 1 (Figures 2 and 3, below)."""
        tables = []
        for axes, part in self._parts("value", "group"):
            shares = self.formulas.shares(part.cell_boxes)
            tables.append(_table(axes, "share", shares))
        return pd.concat(tables, ignore_index=True)

    def cells(self) -> pd.DataFrame:
        """Return AP of every group within every explanatory value (Figures 4 and 5)."""
        tables = []
        for axes, part in self._parts("value", "group"):
            ap = POINTS * part.cell_ap
            tables.append(_table(axes, "AP", ap, part.cell_boxes))
        return pd.concat(tables, ignore_index=True)

    def ranking(self) -> pd.DataFrame:
        """Rank explanatory attributes by sigma of ProxyAP, highest first (Algorithm 1).

        What is not estimable has no rank. ``first`` is the share of resamples in which
        an attribute ranks first.
        """
        tables = []
        for name, e in self.estimates.items():
            spread = {}
            for attribute, part in e.parts.items():
                proxy_ap = self.formulas.proxy(part.ap, part.cell_boxes)
                spread[attribute] = POINTS * self.formulas.sigma(proxy_ap)
            drawn = pd.DataFrame(spread)
            axes = {"class": [name], "attribute": list(spread)}
            table = _table(axes, "proxy_sigma", drawn.to_numpy())
            sigma = table["proxy_sigma"]
            rank = sigma.rank(ascending=False, method="first").astype("Int64")
            table.insert(1, "rank", rank)
            firsts = drawn[1:].fillna(-1).idxmax(axis=1)
            often = pd.Series([(firsts == attribute).mean() for attribute in spread])
            table["first"] = often.where(sigma.notna())
            tables.append(
                table.sort_values("proxy_sigma", ascending=False, kind="stable")
            )
        return pd.concat(tables, ignore_index=True)

    def control(self) -> pd.DataFrame:
        """Return sigma before and after control by strata and standardising (Table 2).

        Columns ``class attribute sigma controlled delta low high`` (Delta = sigma -
        controlled), ``standardised standardised_delta`` with its ends
        ``standardised_delta_low`` and ``standardised_delta_high``, ``strata`` (values
        of e in which all groups are estimable, of how many), ``covered`` (share of
        boxes).
        """
        rows = []
        for axes, part in self._parts():
            [name], [attribute] = axes.values()
            before = self.formulas.sigma(self.estimates[name].group_ap)
            within = self.formulas.controlled(part.cell_ap, self.options.averaged)
            after = self.formulas.sigma(part.standardised)
            usable = ~np.isnan(part.cell_ap[0]).any(axis=1)
            boxes = part.cell_boxes[0]
            row = {"class": name, "attribute": attribute}
            row["sigma"] = POINTS * before[0]
            row["controlled"] = POINTS * within[0]
            row |= with_interval("delta", before - within)
            row["standardised"] = POINTS * after[0]
            row |= with_interval(
                "standardised_delta", before - after, "standardised_delta_"
            )
            row["strata"] = f"{usable.sum()} of {len(usable)}"
            row["covered"] = boxes[usable].sum() / max(boxes.sum(), 1)
            rows.append(row)
        return pd.DataFrame(rows)

    def estimable(self) -> list[str]:
        """List the classes with an estimable AP in every group."""
        return [
            name
            for name, e in self.estimates.items()
            if not np.isnan(e.group_ap[0]).any()
        ]

    def with_mean(self) -> dict[str, Estimate]:
        """Return all estimates; first the mean over estimable classes."""
        kept = [self.estimates[name] for name in self.estimable()]
        if len(kept) < 2:
            return self.estimates
        overall = np.mean([e.overall for e in kept])
        ap = np.mean([e.group_ap for e in kept], axis=0)
        boxes = np.sum([e.group_boxes for e in kept], axis=0)
        return {ALL: Estimate(overall, ap, boxes, {})} | self.estimates

    def _parts(self, *axes: str) -> Iterator[tuple[dict, Part]]:
        """Yield what each attribute contributes, with the axes of its table."""
        for name, e in self.estimates.items():
            for attribute, part in e.parts.items():
                known = {"value": part.values, "group": self.sensitive.values}
                both = {"class": [name], "attribute": [attribute]}
                yield both | {axis: known[axis] for axis in axes}, part


def with_interval(name: str, values: np.ndarray, prefix: str = "") -> dict[str, float]:
    """Return the estimate, row 0, and its 95% interval over the other rows (points)."""
    low, high = interval(POINTS * values)
    return {name: POINTS * values[0], f"{prefix}low": low, f"{prefix}high": high}


def _table(
    axes: dict, name: str, values: np.ndarray, boxes: np.ndarray | None = None
) -> pd.DataFrame:
    """Tabulate values (1 + R, ...) by all combinations of the axes, with intervals."""
    low, high = interval(values)
    index = pd.MultiIndex.from_product(axes.values(), names=axes.keys())
    table = index.to_frame(index=False)
    table[name] = values[0].ravel()
    table["low"] = low.ravel()
    table["high"] = high.ravel()
    if boxes is not None:
        table["boxes"] = boxes[0].ravel().astype(int)
    return table

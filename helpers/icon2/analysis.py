"""Rank confounders, control for them (section 3), and tabulate the results.

Average precision is in points (0 to 100) in every table, from 0 to 1 in arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pandas as pd

from helpers import stats
from helpers.icon2 import formulas
from helpers.icon2.attributes import Attribute
from helpers.icon2.average_precision import PAPER, WHOLE, Options, evaluate
from helpers.icon2.matching import Matches

POINTS = 100.0
ALL = "all classes"
TAILS = (0.025, 0.975)  # of the 95% intervals


def image_weights(
    n_images: int, resamples: int, seed: int = 0, clusters=None
) -> np.ndarray:
    """Return how often each image counts (1 + resamples, n images), first all once."""
    if clusters is None:
        clusters = np.arange(n_images)
    names, cluster = np.unique(clusters, return_inverse=True)
    rng = np.random.default_rng(seed)
    drawn = stats.cluster_bootstrap(len(names), resamples, rng)
    return np.vstack([np.ones(len(names)), drawn])[:, cluster]


def interval(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the 95% percentiles of the resamples; NaN where one is missing."""
    if len(values) < 3:
        return np.full((2, *values.shape[1:]), np.nan)
    return np.quantile(values[1:], TAILS, axis=0)


def with_interval(name: str, values: np.ndarray, prefix: str = "") -> dict:
    """Return the estimate, row 0, and its 95% interval over the other rows."""
    low, high = interval(values)
    return {name: values[0], f"{prefix}low": low, f"{prefix}high": high}


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
    formulas: SimpleNamespace = formulas,
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
    formulas : namespace
        The module of the package; lesson 08 passes its own functions.

    Returns
    -------
    Analysis
    """
    weights = image_weights(matches.n_images, resamples, seed, clusters)
    formula = formulas.average_precision
    estimates = {}
    for name in classes or matches.classes:
        of_class = matches.of(name)
        overall, _ = evaluate(of_class, [], weights[:1], WHOLE, formula)
        ap, boxes = evaluate(of_class, [sensitive], weights, options, formula)
        parts = {}
        for attribute in explanatory:
            parts[attribute.name] = _part(
                of_class, sensitive, attribute, weights, options, formulas
            )
        estimates[name] = Estimate(overall.item(), ap, boxes, parts)
    return Analysis(sensitive, estimates, options, formulas)


def _part(
    of_class: Matches,
    sensitive: Attribute,
    explaining: Attribute,
    weights: np.ndarray,
    options: Options,
    formulas: SimpleNamespace,
) -> Part:
    """Compute AP by an explanatory attribute alone, by group, and standardised."""
    how = options, formulas.average_precision
    both = [explaining, sensitive]
    ap, boxes = evaluate(of_class, [explaining], weights, *how)
    cell_ap, cell_boxes = evaluate(of_class, both, weights, *how)
    has_all_groups = ~np.isnan(cell_ap[0]).any(axis=1)
    known = cell_boxes * has_all_groups[:, None]
    ratio = np.array([formulas.standard_weights(row) for row in known])
    ratio = np.pad(ratio, [(0, 0), (0, 1), (0, 1)])  # the last are for code -1
    in_groups = known.sum(axis=1)
    if explaining.level == sensitive.level == "image":
        # false positives are weighted, too
        weights = weights * ratio[:, explaining.codes, sensitive.codes]
        box_weights = None
    else:
        codes = [of_class.codes(attribute) for attribute in both]
        box_weights = ratio[:, *codes]
    standardised, _ = evaluate(
        of_class, [sensitive], weights, *how, box_weights, in_groups
    )
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
    formulas: SimpleNamespace = formulas

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
            sigma = POINTS * self.formulas.sigma(e.group_ap)
            rows.append({"class": name} | with_interval("sigma", sigma))
        return pd.DataFrame(rows)

    def values(self) -> pd.DataFrame:
        """Return AP of every explanatory value (Figures 2 and 3, above)."""
        return self._by_value("AP", lambda part: (POINTS * part.ap, part.boxes))

    def shares(self) -> pd.DataFrame:
        """Return P(e|a) by boxes, ``share`` from 0 to 1 (Figures 2 and 3, below)."""
        shares = self.formulas.shares
        return self._by_value("share", lambda part: [shares(part.cell_boxes)])

    def cells(self) -> pd.DataFrame:
        """Return AP of every group within every explanatory value (Figures 4 and 5)."""
        return self._by_value(
            "AP", lambda part: (POINTS * part.cell_ap, part.cell_boxes)
        )

    def ranking(self) -> pd.DataFrame:
        """Rank explanatory attributes by sigma of ProxyAP, highest first (Algorithm 1).

        What is not estimable has no rank. ``first`` is the share of resamples in which
        an attribute ranks first.
        """
        tables = []
        for name, e in self.estimates.items():
            drawn = pd.DataFrame()
            for attribute, part in e.parts.items():
                proxy_ap = self.formulas.proxy(part.ap, part.cell_boxes)
                drawn[attribute] = POINTS * self.formulas.sigma(proxy_ap)
            ranks = drawn.rank(axis=1, ascending=False, method="first")
            columns = {
                "class": name,
                "rank": ranks.iloc[0].astype("Int64"),
                "attribute": drawn.columns,
                **with_interval("proxy_sigma", drawn.to_numpy()),
                "first": (ranks[1:] == 1).mean().where(ranks.iloc[0] > 0),
            }
            tables.append(pd.DataFrame(columns).sort_values("rank"))
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
        for name, e in self.estimates.items():
            before = POINTS * self.formulas.sigma(e.group_ap)
            for attribute, part in e.parts.items():
                within = self.formulas.controlled(part.cell_ap, self.options.averaged)
                within = POINTS * within
                after = POINTS * self.formulas.sigma(part.standardised)
                usable = ~np.isnan(part.cell_ap[0]).any(axis=1)
                boxes = part.cell_boxes[0]
                row = {
                    "class": name,
                    "attribute": attribute,
                    "sigma": before[0],
                    "controlled": within[0],
                    **with_interval("delta", before - within),
                    "standardised": after[0],
                    **with_interval(
                        "standardised_delta", before - after, "standardised_delta_"
                    ),
                    "strata": f"{usable.sum()} of {len(usable)}",
                    "covered": boxes[usable].sum() / max(boxes.sum(), 1),
                }
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
        mean = Estimate(
            np.mean([e.overall for e in kept]),
            np.mean([e.group_ap for e in kept], axis=0),
            np.sum([e.group_boxes for e in kept], axis=0),
            {},
        )
        return {ALL: mean} | self.estimates

    def _by_value(self, name: str, select: Callable) -> pd.DataFrame:
        """Tabulate the values (and numbers of boxes) that are selected of each part."""
        tables = []
        for class_name, e in self.estimates.items():
            for attribute, part in e.parts.items():
                values, *boxes = select(part)
                axes = {"class": [class_name], "attribute": [attribute]}
                axes["value"] = part.values
                if values.ndim == 3:
                    axes["group"] = self.sensitive.values
                tables.append(_table(axes, name, values, *boxes))
        return pd.concat(tables, ignore_index=True)


def _table(
    axes: dict, name: str, values: np.ndarray, boxes: np.ndarray | None = None
) -> pd.DataFrame:
    """Tabulate values (1 + R, ...) by all combinations of the axes, with intervals."""
    index = pd.MultiIndex.from_product(axes.values(), names=axes)
    columns = with_interval(name, values.reshape(len(values), -1))
    table = index.to_frame(index=False).assign(**columns)
    if boxes is not None:
        table["boxes"] = boxes[0].ravel().astype(int)
    return table

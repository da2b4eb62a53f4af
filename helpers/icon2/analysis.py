"""Rank confounders, control for them (section 3), and tabulate the results.

Average precision is in points (0 to 100) in every table, from 0 to 1 in arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pandas as pd

from helpers import stats
from helpers.icon2.attributes import Attribute
from helpers.icon2.average_precision import (
    PAPER,
    PLAIN,
    Estimate,
    Formulas,
    Options,
    Part,
    estimate,
)
from helpers.icon2.matching import Matches

POINTS = 100.0
ALL = "all classes"
LEVEL = 0.95  # of the intervals


def image_weights(
    n_images: int, resamples: int, seed: int = 0, clusters=None
) -> np.ndarray:
    """Return how often each image counts (1 + resamples, n images), first all once."""
    of = (
        np.arange(n_images)
        if clusters is None
        else np.unique(clusters, return_inverse=True)[1]
    )
    number = int(of.max()) + 1
    drawn = stats.cluster_bootstrap(number, resamples, np.random.default_rng(seed))
    return np.vstack([np.ones(number), drawn]).astype(np.float32)[:, of]


def interval(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the 95% percentiles of the resamples; NaN where one is missing."""
    if len(values) < 3:
        return np.full((2, *values.shape[1:]), np.nan)
    return np.quantile(values[1:], [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)


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
    workers: int = 1,
    standardise: bool = True,
    formulas: Formulas = PLAIN,
) -> Analysis:
    """Run ICON2 (section 3) for some `classes`, by default all.

    `sensitive` defines the groups, and `explanatory` are possible confounders. Both are
    attributes of images or boxes. The 95% intervals are from bootstrap `resamples` of
    images, 0 for none. Images with the same entry in `clusters` (n images,) are
    resampled together. The numbers do not depend on the `workers` (threads). Without
    `standardise`, standardised APs, half of the work, are NaN. A lesson passes its own
    `formulas`.
    """
    weights = image_weights(matches.n_images, resamples, seed, clusters)
    settings = (sensitive, explanatory, weights, options, standardise)
    with ThreadPoolExecutor(workers) as pool:
        estimates = {
            name: estimate(
                matches.of(name), *settings, map if workers == 1 else pool.map, formulas
            )
            for name in classes or matches.classes
        }
    return Analysis(sensitive, estimates, options.averaged, formulas)


@dataclass(frozen=True)
class Analysis:
    """Tabulate the estimates of each class; row 0 of an array is before its resamples.

    Tables name the ``class``, ``attribute``, ``value`` and ``group``; ``low`` and
    ``high`` are the 95% interval. Those of AP have ``AP low high boxes estimable``.
    """

    sensitive: Attribute
    estimates: dict[str, Estimate]
    averaged: str
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
            tables.append(_rows(axes, e.group_ap, e.group_boxes))
        return pd.concat(tables, ignore_index=True)

    def sigmas(self) -> pd.DataFrame:
        """Return sigma of AP over the groups, as ``class sigma low high``."""
        return pd.DataFrame(
            {"class": name} | with_interval("sigma", self.formulas.sigma(e.group_ap))
            for name, e in self.with_mean().items()
        )

    def values(self) -> pd.DataFrame:
        """Return AP of every explanatory value (Figures 2 and 3, above)."""
        return self._each(lambda axes, p: _rows(axes, p.ap, p.boxes), "value")

    def shares(self) -> pd.DataFrame:
        """Return P(e|a) by boxes, ``share`` from 0 to 1 (Figures 2 and 3, below)."""
        share = self.formulas.shares
        return self._each(
            lambda axes, p: _table(axes, "share", share(p.cell_boxes)), "value", "group"
        )

    def cells(self) -> pd.DataFrame:
        """Return AP of every group within every explanatory value (Figures 4 and 5)."""
        return self._each(
            lambda axes, p: _rows(axes, p.cell_ap, p.cell_boxes), "value", "group"
        )

    def ranking(self) -> pd.DataFrame:
        """Rank explanatory attributes by sigma of ProxyAP, highest first (Algorithm 1).

        What is not estimable has no rank. ``first`` is the share of resamples in which
        an attribute ranks first.
        """
        tables = [
            _ranked(name, e.parts, self.formulas) for name, e in self.estimates.items()
        ]
        return pd.concat(tables, ignore_index=True)

    def control(self) -> pd.DataFrame:
        """Return sigma before and after control by strata and standardising (Table 2).

        Columns ``class attribute sigma controlled delta low high`` (Delta = sigma -
        controlled), ``standardised standardised_delta standardised_low
        standardised_high``, ``strata`` (values of e in which all groups are estimable,
        of how many), ``covered`` (share of boxes).
        """
        return pd.DataFrame(
            {"class": name, "attribute": attribute}
            | _controlled(e.group_ap, part, self.averaged, self.formulas)
            for name, e in self.estimates.items()
            for attribute, part in e.parts.items()
        )

    def estimable(self) -> list[str]:
        """List the classes with an estimable AP in every group."""
        return [
            c for c, e in self.estimates.items() if not np.isnan(e.group_ap[0]).any()
        ]

    def with_mean(self) -> dict[str, Estimate]:
        """All estimates; first the mean over estimable classes."""
        kept = [self.estimates[name] for name in self.estimable()]
        if len(kept) < 2:
            return self.estimates
        overall, ap = (
            np.mean([getattr(e, n) for e in kept], 0) for n in ("overall", "group_ap")
        )
        boxes = np.sum([e.group_boxes for e in kept], 0)
        return {ALL: Estimate(overall, ap, boxes, {})} | self.estimates

    def _each(
        self, table: Callable[[dict, Part], pd.DataFrame], *axes: str
    ) -> pd.DataFrame:
        """Join a table of every class and attribute over the axes value and group."""
        tables = []
        for name, e in self.estimates.items():
            for attribute, part in e.parts.items():
                known = {"value": part.values, "group": self.sensitive.values}
                named = {"class": [name], "attribute": [attribute]}
                tables.append(table(named | {axis: known[axis] for axis in axes}, part))
        return pd.concat(tables, ignore_index=True)


def _ranked(name: str, parts: dict[str, Part], formulas: Formulas) -> pd.DataFrame:
    expected = [formulas.proxy(p.ap, p.cell_boxes) for p in parts.values()]
    spread = np.array([formulas.sigma(one) for one in expected])
    table = _table(
        {"class": [name], "attribute": list(parts)}, "proxy_sigma", POINTS * spread.T
    )
    table.insert(
        1,
        "rank",
        table.proxy_sigma.rank(ascending=False, method="first").astype("Int64"),
    )
    tops = np.nan_to_num(spread[:, 1:], nan=-1.0).argmax(0)  # of every resample
    often = pd.Series(np.bincount(tops, minlength=len(parts)) / max(len(tops), 1))
    table["first"] = often.where(table.proxy_sigma.notna() & (len(tops) > 0))
    return table.sort_values(
        "proxy_sigma", ascending=False, kind="stable", ignore_index=True
    )


def _controlled(
    group_ap: np.ndarray, part: Part, averaged: str, formulas: Formulas
) -> dict:
    before, adjusted = formulas.sigma(group_ap), formulas.sigma(part.standardised)
    after = formulas.controlled(part.cell_ap, averaged)
    usable = ~np.isnan(part.cell_ap[0]).any(1)
    return {
        "sigma": POINTS * before[0],
        "controlled": POINTS * after[0],
        **with_interval("delta", before - after),
        "standardised": POINTS * adjusted[0],
        **with_interval("standardised_delta", before - adjusted, "standardised_"),
        "strata": f"{usable.sum()} of {len(usable)}",
        "covered": part.cell_boxes[0][usable].sum() / max(part.cell_boxes[0].sum(), 1),
    }


def with_interval(name: str, values: np.ndarray, prefix: str = "") -> dict[str, float]:
    """Return the estimate, row 0, and its 95% interval over the other rows (points)."""
    low, high = interval(POINTS * values)
    return {name: POINTS * values[0], f"{prefix}low": low, f"{prefix}high": high}


def _table(axes: dict, name: str, values: np.ndarray) -> pd.DataFrame:
    """Tabulate values (1 + R, ...) by all combinations of the axes, with intervals."""
    low, high = interval(values)
    index = pd.MultiIndex.from_product(axes.values(), names=axes.keys())
    columns = {name: values[0].ravel(), "low": low.ravel(), "high": high.ravel()}
    return index.to_frame(index=False).assign(**columns)


def _rows(axes: dict, ap: np.ndarray, boxes: np.ndarray) -> pd.DataFrame:
    table = _table(axes, "AP", POINTS * ap)
    return table.assign(boxes=boxes[0].ravel().astype(int), estimable=table.AP.notna())

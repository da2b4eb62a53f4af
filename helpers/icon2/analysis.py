"""Ranking and control (section 3): what ICON2 finds for some classes, as one table a question.

Average precision is in points (0 to 100) in every table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pandas as pd

from helpers.icon2 import bootstrap, formulas
from helpers.icon2.attributes import Attribute
from helpers.icon2.estimates import Estimate, Part, estimate
from helpers.icon2.matching import Matches
from helpers.icon2.options import PAPER, Options

POINTS = 100.0
INTERVALS = {  # a column of Analysis.control and the ends of its interval
    "delta": ("low", "high"),
    "standardised_delta": ("standardised_low", "standardised_high"),
}
ALL = "all classes"
EMPTY = ["class", "attribute"]  # columns of a table about no attribute


def analyse(
    matches: Matches,
    sensitive: Attribute,
    explanatory: Sequence[Attribute | Sequence[Attribute]],
    *,
    classes: Iterable[str] | None = None,
    options: Options = PAPER,
    resamples: int = 0,
    seed: int = 0,
    clusters: np.ndarray | None = None,
    workers: int = 1,
    standardise: bool = True,
) -> Analysis:
    """Run ICON2 (section 3) for some classes.

    Parameters
    ----------
    matches
        From :func:`helpers.icon2.match`.
    sensitive
        Any attribute of images or boxes, with any number of values.
    explanatory
        Possible confounders; a pair of attributes is one confounder.
    classes
        Names (default: all).
    options
        Default: the paper's reading.
    resamples
        Bootstrap resamples of images for the 95% intervals; 0 for none.
    seed
    clusters : array (n images,), optional
        Images that belong together are drawn together (frames of one video).
    workers
        Threads; the numbers do not depend on it.
    standardise
        False leaves out the standardised APs (NaN), which take about as long as all others.

    Raises
    ------
    ValueError
        For a class that the matches do not have.
    """
    weights = bootstrap.weights(matches.n_images, resamples, seed, clusters)
    given, found = (sensitive, explanatory, weights, options, standardise), {}
    with ThreadPoolExecutor(workers) as pool:
        for name in classes or matches.classes:
            found[name] = estimate(matches.of(name), *given, map if workers == 1 else pool.map)
    return Analysis(sensitive, found, options)


@dataclass(frozen=True)
class Analysis:
    """What was estimated, and the tables made from it.

    `estimates` has an Estimate for each class; row 0 of every array in it is the estimate, the
    others are its resamples.
    """

    sensitive: Attribute
    estimates: dict[str, Estimate]
    options: Options

    def groups(self) -> pd.DataFrame:
        """AP of every sensitive value and class (Table 1), with the mean over classes first.

        The mean is over the classes of :meth:`estimable`.

        Columns ``class overall value AP low high boxes estimable``.
        """
        names = self.sensitive.values
        tables = [
            _first(_rows({"value": names}, ap, boxes), {"class": c, "overall": POINTS * overall})
            for c, overall, ap, boxes in self._by_class()
        ]
        return pd.concat(tables, ignore_index=True)

    def sigmas(self) -> pd.DataFrame:
        """Sigma of AP over the sensitive values, a row a class: ``class sigma low high``."""
        return pd.DataFrame(
            {"class": c} | _with_interval("sigma", formulas.sigma(ap, self.options.ddof))
            for c, _, ap, _ in self._by_class()
        )

    def values(self) -> pd.DataFrame:
        """AP of every explanatory value (Figures 2 and 3, above).

        Columns ``class attribute value AP low high boxes estimable``.
        """
        return self._each(lambda p: _rows({"value": p.values}, p.ap, p.boxes))

    def shares(self) -> pd.DataFrame:
        """P(e|a) by boxes (Figures 2 and 3, below).

        Columns ``class attribute value group share low high``; shares are in 0..1.
        """
        groups = self.sensitive.values
        return self._each(
            lambda p: _table(
                {"value": p.values, "group": groups}, "share", formulas.shares(p.cell_boxes)
            )
        )

    def cells(self) -> pd.DataFrame:
        """AP of every sensitive value within every explanatory value (Figures 4 and 5)."""
        groups = self.sensitive.values
        return self._each(
            lambda p: _rows({"value": p.values, "group": groups}, p.cell_ap, p.cell_boxes)
        )

    def standardised(self) -> pd.DataFrame:
        """AP of every group with the confounder's distribution made the same for all.

        Columns ``class attribute group AP low high boxes estimable``.
        """
        groups = self.sensitive.values
        return self._each(lambda p: _rows({"group": groups}, p.standardised, p.cell_boxes.sum(1)))

    def ranking(self) -> pd.DataFrame:
        """Algorithm 1: explanatory attributes by sigma of ProxyAP, highest first.

        Columns ``class rank attribute proxy_sigma low high first plain_sigma plain_rank``:
        ``first`` is the share of resamples in which the attribute ranks first, ``plain_sigma`` the
        sigma of its own values' AP, which takes no account of the sensitive attribute. What could
        not be estimated has no rank.
        """
        ranked = [self._ranked(c, e.parts) for c, e in self.estimates.items() if e.parts]
        return pd.concat(ranked or [pd.DataFrame(columns=EMPTY)], ignore_index=True)

    def control(self) -> pd.DataFrame:
        """Table 2: sigma before and after controlling, by strata and by standardisation.

        Columns ``class attribute sigma controlled delta low high`` (Delta = sigma - controlled,
        and its interval), ``standardised standardised_delta standardised_low standardised_high``,
        ``strata`` (values of e that all groups are estimable in, of how many) and ``covered``
        (share of boxes in them).
        """
        found = [
            {"class": name, "attribute": part.name} | self._controlled(estimate, part)
            for name, estimate in self.estimates.items()
            for part in estimate.parts
        ]
        return pd.DataFrame(found, columns=None if found else EMPTY)

    def estimable(self) -> list[str]:
        """Classes of which every sensitive value is estimable."""
        return [c for c, e in self.estimates.items() if not np.isnan(e.group_ap[0]).any()]

    def _by_class(self) -> list[tuple[str, float, np.ndarray, np.ndarray]]:
        """Name, overall AP, AP and boxes of each group; first the mean over estimable classes."""
        found = [(c, e.overall, e.group_ap, e.group_boxes) for c, e in self.estimates.items()]
        kept = [one for one in found if one[0] in self.estimable()]
        if len(kept) > 1:
            _, overall, ap, boxes = zip(*kept, strict=True)
            mean = (np.mean(part, axis=0) for part in (overall, ap))
            found.insert(0, (ALL, *mean, np.sum(boxes, axis=0)))
        return found

    def _each(self, rows) -> pd.DataFrame:
        """Rows about each class and explanatory attribute, below each other."""
        tables = [
            _first(rows(part), {"class": name, "attribute": part.name})
            for name, estimate in self.estimates.items()
            for part in estimate.parts
        ]
        return pd.concat(tables or [pd.DataFrame(columns=EMPTY)], ignore_index=True)

    def _ranked(self, name: str, parts: list[Part]) -> pd.DataFrame:
        ddof = self.options.ddof
        spread = np.array([formulas.sigma(formulas.proxy(p.ap, p.cell_boxes), ddof) for p in parts])
        plain = [POINTS * formulas.sigma(p.ap[0], ddof, "leave out") for p in parts]
        known = ~np.isnan(spread[:, 0])
        resamples = np.nan_to_num(spread[:, 1:], nan=-1.0)
        first = np.full(len(parts), np.nan)
        if resamples.size:
            times = np.bincount(resamples.argmax(0), minlength=len(parts))
            first[known] = times[known] / resamples.shape[1]
        rows = [
            {"class": name, "attribute": part.name}
            | _with_interval("proxy_sigma", spread[i])
            | {"first": first[i], "plain_sigma": plain[i]}
            for i, part in enumerate(parts)
        ]
        table = pd.DataFrame(rows)
        for rank, column in (("plain_rank", "plain_sigma"), ("rank", "proxy_sigma")):
            table[rank] = table[column].rank(ascending=False, method="first").astype("Int64")
        table.insert(1, "rank", table.pop("rank"))
        return table.sort_values("proxy_sigma", ascending=False, kind="stable", ignore_index=True)

    def _controlled(self, estimate: Estimate, part: Part) -> dict:
        ddof = self.options.ddof
        before = formulas.sigma(estimate.group_ap, ddof)
        after = formulas.controlled(part.cell_ap, ddof)
        adjusted = formulas.sigma(part.standardised, ddof)
        usable = ~np.isnan(part.cell_ap[0]).any(1)
        return {
            "sigma": POINTS * before[0],
            "controlled": POINTS * after[0],
            **_with_interval("delta", before - after),
            "standardised": POINTS * adjusted[0],
            **_with_interval("standardised_delta", before - adjusted, "standardised_"),
            "strata": f"{usable.sum()} of {len(usable)}",
            "covered": part.cell_boxes[0][usable].sum() / max(part.cell_boxes[0].sum(), 1),
        }


def _with_interval(name: str, values: np.ndarray, prefix: str = "") -> dict[str, float]:
    low, high = bootstrap.interval(POINTS * values)
    ends = {f"{prefix}low": float(low), f"{prefix}high": float(high)}
    return {name: POINTS * float(values[0])} | ends


def _table(axes: dict, name: str, values: np.ndarray) -> pd.DataFrame:
    """Values (1 + R, ...) as a row for each combination of the axes, with their intervals."""
    low, high = bootstrap.interval(values)
    index = pd.MultiIndex.from_product(axes.values(), names=axes.keys())
    columns = {name: values[0].ravel(), "low": low.ravel(), "high": high.ravel()}
    return index.to_frame(index=False).assign(**columns)


def _rows(axes: dict, ap: np.ndarray, boxes: np.ndarray) -> pd.DataFrame:
    table = _table(axes, "AP", POINTS * ap)
    return table.assign(boxes=boxes[0].ravel().astype(int), estimable=table.AP.notna())


def _first(table: pd.DataFrame, columns: dict) -> pd.DataFrame:
    for position, (column, value) in enumerate(columns.items()):
        table.insert(position, column, value)
    return table


def readable(control: pd.DataFrame) -> pd.DataFrame:
    """Table 2 for reading: each fall of sigma in one cell with its interval.

    Columns ``class attribute``; ``σ``; ``within strata`` and ``Δ [95%]``; ``standardised`` and
    ``its fall [95%]``; ``strata`` and ``covered``.
    """
    falls = {
        name: [
            "–" if np.isnan(value) else f"{value:.2f} [{low:.2f}, {high:.2f}]"
            for value, low, high in zip(*(control[c] for c in (name, *ends)), strict=True)
        ]
        for name, ends in INTERVALS.items()
    }
    rounded = control[["sigma", "controlled", "standardised", "covered"]].round(2)
    return pd.DataFrame(
        {
            "class": control["class"],
            "attribute": control.attribute,
            "σ": rounded.sigma,
            "within strata": rounded.controlled,
            "Δ [95%]": falls["delta"],
            "standardised": rounded.standardised,
            "its fall [95%]": falls["standardised_delta"],
            "strata": control.strata,
            "covered": rounded.covered,
        }
    )

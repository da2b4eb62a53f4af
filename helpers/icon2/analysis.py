"""Ranking, control (section 3) and a permutation null: what ICON2 finds, a table a question.

Average precision is in points (0 to 100) in every table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from helpers import stats
from helpers.icon2 import formulas
from helpers.icon2.attributes import Attribute
from helpers.icon2.average_precision import Estimate, Part, estimate, evaluate
from helpers.icon2.matching import Matches
from helpers.icon2.options import CHOICES, PAPER, Options

POINTS = 100.0
ALL = "all classes"


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
) -> Analysis:
    """Run ICON2 (section 3) for some classes.

    Parameters
    ----------
    matches
        From :func:`helpers.icon2.match`.
    sensitive, explanatory
        Attributes of images or boxes: the groups, and possible confounders.
    classes, options
        Default: all classes, and the paper's reading.
    resamples, seed
        Bootstrap resamples of images for the 95% intervals; 0 for none.
    clusters : array (n images,), optional
        Images that belong together are drawn together (frames of one video).
    workers
        Threads; the numbers do not depend on it.
    standardise
        False leaves out the standardised APs (NaN), which take about as long as all others.
    """
    weights = formulas.image_weights(matches.n_images, resamples, seed, clusters)
    given = (sensitive, explanatory, weights, options, standardise)
    with ThreadPoolExecutor(workers) as pool:
        found = {
            name: estimate(matches.of(name), *given, map if workers == 1 else pool.map)
            for name in classes or matches.classes
        }
    return Analysis(sensitive, found, options.averaged)


@dataclass(frozen=True)
class Analysis:
    """What was estimated, and the tables made from it.

    `estimates` has an Estimate for each class; row 0 of every array in it is the estimate, the
    others are its resamples. The tables name the ``class``, ``attribute``, ``value`` and ``group``;
    ``low`` and ``high`` are the 95% interval. Tables of AP have columns ``AP low high boxes
    estimable`` too.
    """

    sensitive: Attribute
    estimates: dict[str, Estimate]
    averaged: str

    def groups(self) -> pd.DataFrame:
        """AP of every class, ``overall`` and of every sensitive value (Table 1).

        First stands the mean over estimable classes.
        """
        tables = []
        for name, e in self._with_mean().items():
            axes = {"class": [name], "overall": [POINTS * e.overall]}
            axes["value"] = self.sensitive.values
            tables.append(_rows(axes, e.group_ap, e.group_boxes))
        return pd.concat(tables, ignore_index=True)

    def sigmas(self) -> pd.DataFrame:
        """Sigma of AP over the sensitive values, a row a class: ``class sigma low high``."""
        return pd.DataFrame(
            {"class": name} | with_interval("sigma", formulas.sigma(e.group_ap))
            for name, e in self._with_mean().items()
        )

    def values(self) -> pd.DataFrame:
        """AP of every explanatory value (Figures 2 and 3, above)."""
        return self._each(lambda axes, group, p: _rows(axes, p.ap, p.boxes))

    def shares(self) -> pd.DataFrame:
        """P(e|a) by boxes, ``share`` from 0 to 1 (Figures 2 and 3, below)."""
        return self._each(
            lambda axes, group, p: _table(axes | group, "share", formulas.shares(p.cell_boxes))
        )

    def cells(self) -> pd.DataFrame:
        """AP of every sensitive value within every explanatory value (Figures 4 and 5)."""
        return self._each(lambda axes, group, p: _rows(axes | group, p.cell_ap, p.cell_boxes))

    def proxies(self) -> pd.DataFrame:
        """ProxyAP of every group (Eq. 6): ``class attribute group AP low high``."""

        def table(axes: dict, group: dict, part: Part) -> pd.DataFrame:
            del axes["value"]
            return _table(axes | group, "AP", POINTS * formulas.proxy(part.ap, part.cell_boxes))

        return self._each(table)

    def ranking(self) -> pd.DataFrame:
        """Algorithm 1: explanatory attributes by sigma of ProxyAP, highest first.

        Columns ``class rank attribute proxy_sigma low high first``: ``first`` is the share of
        resamples in which the attribute ranks first. What could not be estimated has no rank.
        """
        tables = [_ranked(name, e.parts) for name, e in self.estimates.items()]
        return pd.concat(tables, ignore_index=True)

    def control(self) -> pd.DataFrame:
        """Table 2: sigma before and after controlling, by strata and by standardisation.

        Columns ``class attribute sigma controlled delta low high`` (Delta = sigma - controlled,
        and its interval), ``standardised standardised_delta standardised_low standardised_high``,
        ``strata`` (values of e that all groups are estimable in, of how many) and ``covered``
        (share of boxes in them).
        """
        return pd.DataFrame(
            {"class": name, "attribute": attribute}
            | _controlled(e.group_ap, part, formulas.controlled(part.cell_ap, self.averaged))
            for name, e in self.estimates.items()
            for attribute, part in e.parts.items()
        )

    def estimable(self) -> list[str]:
        """Classes of which every sensitive value is estimable."""
        return [c for c, e in self.estimates.items() if not np.isnan(e.group_ap[0]).any()]

    def _with_mean(self) -> dict[str, Estimate]:
        """All estimates; first the mean over estimable classes."""
        kept = [self.estimates[name] for name in self.estimable()]
        if len(kept) < 2:
            return self.estimates
        overall, ap = (np.mean([getattr(e, n) for e in kept], 0) for n in ("overall", "group_ap"))
        boxes = np.sum([e.group_boxes for e in kept], 0)
        return {ALL: Estimate(overall, ap, boxes, {})} | self.estimates

    def _each(self, table: Callable[[dict, dict, Part], pd.DataFrame]) -> pd.DataFrame:
        """A table of every class and attribute, from the axes of values and groups and the part."""
        group = {"group": self.sensitive.values}
        tables = [
            table({"class": [name], "attribute": [attribute], "value": part.values}, group, part)
            for name, e in self.estimates.items()
            for attribute, part in e.parts.items()
        ]
        return pd.concat(tables, ignore_index=True)


def _ranked(name: str, parts: dict[str, Part]) -> pd.DataFrame:
    spread = np.array([formulas.sigma(formulas.proxy(p.ap, p.cell_boxes)) for p in parts.values()])
    table = pd.DataFrame([with_interval("proxy_sigma", one) for one in spread])
    table.insert(0, "class", name)
    table.insert(1, "rank", table.proxy_sigma.rank(ascending=False, method="first").astype("Int64"))
    table.insert(2, "attribute", list(parts))
    tops = np.nan_to_num(spread[:, 1:], nan=-1.0).argmax(0)  # of every resample
    often = pd.Series(np.bincount(tops, minlength=len(parts)) / max(len(tops), 1))
    table["first"] = often.where(table.proxy_sigma.notna() & (len(tops) > 0))
    return table.sort_values("proxy_sigma", ascending=False, kind="stable", ignore_index=True)


def _controlled(group_ap: np.ndarray, part: Part, after: np.ndarray) -> dict:
    before, adjusted = formulas.sigma(group_ap), formulas.sigma(part.standardised)
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
    """The estimate, row 0, and its 95% interval over the other rows, in AP points."""
    low, high = formulas.interval(POINTS * values)
    return {name: POINTS * values[0], f"{prefix}low": low, f"{prefix}high": high}


def _table(axes: dict, name: str, values: np.ndarray) -> pd.DataFrame:
    """Values (1 + R, ...) as a row for each combination of the axes, with their intervals."""
    low, high = formulas.interval(values)
    index = pd.MultiIndex.from_product(axes.values(), names=axes.keys())
    columns = {name: values[0].ravel(), "low": low.ravel(), "high": high.ravel()}
    return index.to_frame(index=False).assign(**columns)


def _rows(axes: dict, ap: np.ndarray, boxes: np.ndarray) -> pd.DataFrame:
    table = _table(axes, "AP", POINTS * ap)
    return table.assign(boxes=boxes[0].ravel().astype(int), estimable=table.AP.notna())


def change_each_choice(
    matches: Matches,
    sensitive: Attribute,
    explanatory: Sequence[Attribute],
    category: str,
    options: Options,
    others: Mapping[tuple[str, str], tuple[Matches, Sequence[Attribute]]] | None = None,
) -> pd.DataFrame:
    """Change one choice of `options` at a time, and compare the numbers of one class.

    `others` are choices made before: under their names, the matches and attributes that they give,
    as many as before. Columns ``choice instead cells delta sign first``: the largest move of any AP
    (AP points), the largest move of any Delta, how many Deltas change their sign, and what then
    ranks first.
    """

    def asked(matches, explanatory, options) -> tuple[pd.Series, pd.Series, str]:
        given = {"classes": [category], "options": options, "standardise": False}
        found = analyse(matches, sensitive, explanatory, **given)
        tables = (found.groups(), found.values(), found.cells())
        ap = pd.concat([t.AP for t in tables], ignore_index=True)
        return ap, found.control().delta, found.ranking().attribute[0]

    (ap, delta, _), rows = asked(matches, explanatory, options), []
    changed = {
        (choice, value): (matches, explanatory, replace(options, **{choice: value}))
        for choice, allowed in CHOICES.items()
        for value in allowed
        if value != getattr(options, choice)
    }
    changed |= {name: (*given, options) for name, given in (others or {}).items()}
    for (choice, value), given in changed.items():
        moved, then, first = asked(*given)
        row = {"choice": choice, "instead": value, "cells": (moved - ap).abs().max()}
        row |= {"delta": (then - delta).abs().max(), "sign": (then * delta < 0).sum()}
        rows.append(row | {"first": first})
    return pd.DataFrame(rows)


def sigma_null(
    matches: Matches,
    sensitive: Attribute,
    *,
    options: Options = PAPER,
    permutations: int = 200,
    seed: int = 0,
    clusters: np.ndarray | None = None,
) -> pd.DataFrame:
    """Sigma of each class, and of their mean, against groups that mean nothing.

    Sigma is never negative and grows with noise, so the groups are permuted between images. The
    parameters are those of :func:`analyse`; images of one of the `clusters` are permuted together.
    Columns ``class sigma null_mean null_high p p_holm``: AP points; the null's 95th percentile; the
    share of permutations with a sigma at least as large, and the same adjusted for the number of
    rows.
    """
    ones, found = np.ones((1, matches.n_images)), {}
    moved = list(_permuted(matches, sensitive, clusters, permutations, seed))
    for name in matches.classes:
        of_class = matches.of(name)
        found[name] = np.concatenate(
            [evaluate(of_class, (one,), ones, options)[0] for one in moved]
        )
    kept = [ap for ap in found.values() if not np.isnan(ap[0]).any()]
    if len(kept) > 1:
        found = {ALL: np.mean(kept, axis=0)} | found
    table = pd.DataFrame(
        {"class": name} | _compared(formulas.sigma(ap)) for name, ap in found.items()
    )
    return table.assign(p_holm=stats.adjust(table.p))


def _permuted(
    matches: Matches, attribute: Attribute, clusters, permutations: int, seed: int
) -> Iterator[Attribute]:
    """The attribute, and then with its known codes permuted, again and again.

    Codes of boxes move within their class, and from all boxes of an image to those of another:
    single boxes resemble their neighbours, and would give too narrow a null.
    """
    together = None if clusters is None else np.unique(clusters, return_inverse=True)[1]
    apart = np.zeros(len(attribute.codes), int)
    if attribute.level == "box":
        image, apart = matches.boxes.image.to_numpy(), matches.boxes.category.to_numpy()
        together = image if together is None else together[image]
    known, rng = attribute.codes >= 0, np.random.default_rng(seed)
    yield attribute
    for _ in range(permutations):
        codes = attribute.codes.copy()
        for group in np.unique(apart[known]):
            where = np.flatnonzero(known & (apart == group))
            if together is None:
                codes[where] = rng.permutation(codes[where])
            else:
                taken = next(stats.between_clusters(together[where], rng))
                codes[where] = codes[where[taken]]
        yield replace(attribute, codes=codes)


def _compared(values: np.ndarray) -> dict[str, float]:
    """The first sigma beside its null, the others: mean, 95th percentile, and p-value."""
    observed, null = values[0], values[1:][~np.isnan(values[1:])]
    known = len(null) and not np.isnan(observed)
    return {
        "sigma": POINTS * observed,
        "null_mean": POINTS * null.mean() if known else np.nan,
        "null_high": POINTS * np.quantile(null, 0.95) if known else np.nan,
        "p": (1 + (null >= observed).sum()) / (1 + len(null)) if known else np.nan,
    }

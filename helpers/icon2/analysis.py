"""Rank confounders, control for them (section 3), and test sigma by permutations.

Average precision is in points (0 to 100).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pandas as pd

from helpers import stats
from helpers.icon2 import formulas
from helpers.icon2.attributes import Attribute, permuted_attributes
from helpers.icon2.average_precision import PAPER, Options, evaluate
from helpers.icon2.matching import Matches
from helpers.icon2.measures import ALL_CLASSES


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


def with_interval(name: str, values: np.ndarray, prefix: str = "") -> dict:
    """Return the estimate, row 0, and the 95% percentiles of the resamples.

    They are NaN where a resample is missing, or if there are fewer than two.
    """
    low = high = np.nan * values[0]
    if len(values) > 2:
        low, high = np.quantile(values[1:], [0.025, 0.975], axis=0)
    return {name: values[0], f"{prefix}low": low, f"{prefix}high": high}


@dataclass(frozen=True)
class Part:
    """Hold what one explanatory attribute contributes to a class, AP in points.

    Attributes
    ----------
    values, cells : pandas.DataFrame
        AP of each value, and of each group within each value (see `Analysis`).
    shares : pandas.DataFrame
        P(e|a), the share of each value in the boxes of a group, with one column per
        resample. Column 0 is the sample.
    proxy_sigma, controlled : arrays of shape (1 + resamples,)
        Sigma of ProxyAP over the groups, and the mean sigma within the values.
    standardised : array of shape (1 + resamples, groups)
        AP of each group as if all groups had the same shares of the values.
    """

    values: pd.DataFrame
    cells: pd.DataFrame
    shares: pd.DataFrame
    proxy_sigma: np.ndarray
    controlled: np.ndarray
    standardised: np.ndarray


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
    group_ap = {}
    group_boxes = {}
    parts = {}
    for name in classes or matches.classes:
        of_class = matches.of(name)
        group_ap[name], group_boxes[name] = evaluate(
            of_class, [sensitive], weights, options, formulas.average_precision
        )
        for attribute in explanatory:
            parts[name, attribute.name] = _part(
                of_class, sensitive, attribute, weights, options, formulas
            )
    estimable = [ap for ap in group_ap.values() if not np.isnan(ap[0]).any()]
    if len(estimable) > 1:
        group_ap = {ALL_CLASSES: np.mean(estimable, axis=0)} | group_ap
    return Analysis(sensitive, group_ap, group_boxes, parts, formulas)


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
    # of each resample, value and group
    ratio = np.array([formulas.standard_weights(row) for row in known])
    # a last value and group of weight 0, which code -1 (unknown) finds
    ratio = np.pad(ratio, [(0, 0), (0, 1), (0, 1)])
    image = of_class.boxes["image"]
    codes = [attribute.of_boxes(image, of_class.boxes.index) for attribute in both]
    box_weights = weights[:, image] * ratio[:, *codes]
    if explaining.level == sensitive.level == "image":
        # false positives are weighted, too
        weights = weights * ratio[:, explaining.codes, sensitive.codes]
    standardised, _ = evaluate(of_class, [sensitive], weights, *how, box_weights)
    proxy_ap = formulas.proxy(ap, cell_boxes)
    cells = _table(cell_ap, cell_boxes, value=explaining.values, group=sensitive.values)
    shares = formulas.shares(cell_boxes).reshape(len(weights), -1)
    shares = pd.DataFrame(shares.T, cells.index)
    return Part(
        values=_table(ap, boxes, value=explaining.values),
        cells=cells.assign(share=shares[0]),
        shares=shares,
        proxy_sigma=formulas.sigma(proxy_ap),
        controlled=formulas.controlled(cell_ap, options.averaged),
        standardised=standardised,
    )


def _table(ap: np.ndarray, boxes: np.ndarray, **axes: Sequence[str]) -> pd.DataFrame:
    """Tabulate AP (1 + R, ...) by all combinations of the axes, with its intervals."""
    index = pd.MultiIndex.from_product(axes.values(), names=axes)
    columns = with_interval("AP", ap.reshape(len(ap), -1))
    columns["boxes"] = boxes[0].ravel().astype(int)
    return pd.DataFrame(columns, index)


@dataclass(frozen=True)
class Analysis:
    """Hold and tabulate the results for each class; row 0 of an array is the sample.

    Tables name the ``class``, ``attribute``, ``value`` and ``group``; ``low`` and
    ``high`` are the 95% interval. Those of AP have ``AP low high boxes``, and NaN where
    AP is not estimable. AP is in points.

    Attributes
    ----------
    sensitive : Attribute
    group_ap, group_boxes : dict of str to array of shape (1 + resamples, groups)
    parts : dict of (str, str) to Part
        By class and the name of the explanatory attribute.
    formulas : namespace
    """

    sensitive: Attribute
    group_ap: dict[str, np.ndarray]
    group_boxes: dict[str, np.ndarray]
    parts: dict[tuple[str, str], Part]
    formulas: SimpleNamespace = formulas

    def groups(self) -> pd.DataFrame:
        """Return AP of every class and group (Table 1)."""
        tables = {}
        every_box = sum(self.group_boxes.values())
        for name, ap in self.group_ap.items():
            boxes = self.group_boxes.get(name, every_box)
            tables[name] = _table(ap, boxes, value=self.sensitive.values)
        return pd.concat(tables, names=["class"]).reset_index()

    def sigmas(self) -> pd.DataFrame:
        """Return sigma of AP over the groups, as ``class sigma low high``."""
        rows = []
        for name, ap in self.group_ap.items():
            sigma = self.formulas.sigma(ap)
            rows.append({"class": name} | with_interval("sigma", sigma))
        return pd.DataFrame(rows)

    def values(self) -> pd.DataFrame:
        """Return AP of every explanatory value (Figures 2 and 3, above)."""
        tables = {key: part.values for key, part in self.parts.items()}
        return pd.concat(tables, names=["class", "attribute"]).reset_index()

    def cells(self) -> pd.DataFrame:
        """Return AP of every group within every explanatory value (Figures 4 and 5).

        ``share`` is P(e|a) by boxes, from 0 to 1 (Figures 2 and 3, below).
        """
        tables = {key: part.cells for key, part in self.parts.items()}
        return pd.concat(tables, names=["class", "attribute"]).reset_index()

    def control(self) -> pd.DataFrame:
        """Rank explanatory attributes, and control for each (Tables 2 and 3).

        ``rank`` is by ``proxy_sigma``, sigma of ProxyAP, highest first (Algorithm 1).
        What is not estimable has none. ``first`` is the share of resamples in which an
        attribute ranks first. ``sigma`` is before control, ``controlled`` within the
        values, and ``standardised`` as if all groups had the same shares of the values.
        ``delta`` (with ``low high``) and ``standardised_delta`` (with
        ``standardised_delta_low standardised_delta_high``) are by how much it falls.
        """
        rows = []
        for (name, attribute), part in self.parts.items():
            before = self.formulas.sigma(self.group_ap[name])
            after = self.formulas.sigma(part.standardised)
            row = {
                "class": name,
                "attribute": attribute,
                "proxy_sigma": part.proxy_sigma[0],
                "sigma": before[0],
                "controlled": part.controlled[0],
                **with_interval("delta", before - part.controlled),
                "standardised": after[0],
                **with_interval(
                    "standardised_delta", before - after, "standardised_delta_"
                ),
            }
            rows.append(row)
        table = pd.DataFrame(rows)
        drawn = pd.DataFrame([part.proxy_sigma for part in self.parts.values()])
        ranks = drawn.groupby(table["class"]).rank(ascending=False, method="first")
        is_first = ranks.drop(columns=0) == 1
        table["rank"] = ranks[0].astype("Int64")
        table["first"] = is_first.mean(axis=1).where(ranks[0] > 0)
        return table.sort_values(["class", "rank"], ignore_index=True)


def sigma_null(
    matches: Matches,
    sensitive: Attribute,
    *,
    options: Options = PAPER,
    permutations: int = 200,
    seed: int = 0,
    clusters=None,
    formulas: SimpleNamespace = formulas,
) -> pd.DataFrame:
    """Test sigma of each class, and of their mean, by permuting groups between images.

    Groups of boxes are permuted between the boxes of a class, where the boxes of an
    image stay together. Unknown groups are permuted as well.

    Parameters
    ----------
    clusters : array of shape (n images,), optional
        Images of one cluster are permuted together (see `permuted_attributes`).
    formulas : namespace
        Lesson 08 passes its own.

    Returns
    -------
    pandas.DataFrame
        ``null_high`` is the 95th percentile of the permutations (AP points), ``p`` is
        the share of permutations with a sigma at least as large, and ``p_holm`` its
        adjustment for the number of rows.
    """
    if clusters is None:
        clusters = np.arange(matches.n_images)
    permuted = permuted_attributes([sensitive], matches.boxes, clusters, seed)
    sigmas = []
    for [groups] in [[sensitive], *itertools.islice(permuted, permutations)]:
        analysis = analyse(matches, groups, [], options=options, formulas=formulas)
        sigmas.append(analysis.sigmas().set_index("class")["sigma"])
    sigmas = pd.DataFrame(sigmas)
    observed = sigmas.iloc[0]
    null = sigmas.iloc[1:]
    columns = {
        "sigma": observed,
        "null_high": null.quantile(0.95),
        "p": (1 + (null >= observed).sum()) / (1 + null.count()),
    }
    table = pd.DataFrame(columns).where(observed.notna(), axis=0)
    table = table.rename_axis("class").reset_index()
    return table.assign(p_holm=stats.adjust(table["p"]))

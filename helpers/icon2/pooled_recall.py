"""Recall of all classes pooled, by group, with class and size held fixed.

A detector finds small boxes less often, and some classes less often than others. A
group whose boxes are smaller therefore has a lower recall even if the detector treats
all groups alike. This module compares each group with all others among boxes of the
same class and about the same size.
"""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import scipy.sparse
import scipy.stats

from helpers.icon2 import size_fixed
from helpers.icon2.attributes import Attribute, Frames
from helpers.icon2.detector_findings import LEVEL, SMALLEST, verdicts
from helpers.icon2.matching import Matches

KNOTS = (0.2, 0.4, 0.6, 0.8)  # quantiles of log area where the line by size may bend
FEWEST_BOXES = 30  # of a group, and of all others
FEWEST_CLUSTERS = 10  # images or clusters with a box of the group, and of the others
COMPARABLE = 0.05  # share of a group's contrast below which nothing can be said
Z = scipy.stats.norm.ppf(1 - LEVEL / 2)
SIZE_BINS = 5


def labelled_boxes(
    frames: Frames, matches: Matches, threshold: float = -np.inf
) -> pd.DataFrame:
    """List the boxes that have to be detected, and which are.

    Parameters
    ----------
    frames, matches
        The labels and detections, and their matches.
    threshold : float
        Detections with a lower score do not count.

    Returns
    -------
    pandas.DataFrame
        The rows of ``frames.boxes`` without regions to ignore, with their ``row``
        there, and ``found``: 1.0 if a detection of its class took the box at the first
        IoU threshold.
    """
    is_strong = matches.detections["score"].to_numpy() >= threshold
    taken = matches.taken[0][is_strong]
    boxes = frames.boxes.reset_index(names="row")
    is_found = boxes["row"].isin(taken)
    boxes["found"] = is_found.astype(float)
    is_ignored = boxes["ignore"].astype(bool)
    return boxes[~is_ignored].reset_index(drop=True)


def codes_of(attribute: Attribute, boxes: pd.DataFrame) -> np.ndarray:
    """Return the code of an attribute for each of the `labelled_boxes`."""
    image = boxes["image"].to_numpy()
    row = boxes["row"].to_numpy()
    return attribute.of_boxes(image, row)


def members(attribute: Attribute, units: pd.DataFrame) -> np.ndarray:
    """Mark which units belong to each group, and which to any other group.

    Returns
    -------
    float array of shape (n units, 2 n groups)
        Units of unknown group are marked nowhere.
    """
    codes = codes_of(attribute, units)
    groups = np.arange(len(attribute.values))
    member = np.equal.outer(codes, groups)
    other = (codes >= 0)[:, None] & ~member
    return np.hstack([member, other]).astype(float)


class RecallBySize:
    """Compare the recall of groups with the recall that class and size predict.

    Boxes are divided into strata of about ten boxes of one class and of neighbouring
    sizes. A linear regression of "found" (0 or 1) has an intercept for each stratum and
    a line by log area that may bend at four sizes, for the differences in size that are
    left within strata. The adjusted difference of a group is its coefficient in that
    regression; within strata alone it would be the Mantel-Haenszel difference of
    recall. Standard errors count an image (or a cluster of images) as one observation.

    Parameters
    ----------
    boxes : pandas.DataFrame
        From `labelled_boxes`.
    clusters : array of shape (n images,)
        Which images belong together.
    hold_fixed : bool
        Whether class and size are held fixed. If not, differences of plain recall are
        computed.
    """

    def __init__(
        self, boxes: pd.DataFrame, clusters: np.ndarray, hold_fixed: bool = True
    ) -> None:
        self.boxes = boxes
        self.clusters = clusters
        self.found = boxes["found"].to_numpy()
        _, cluster = np.unique(clusters, return_inverse=True)
        self.cluster = cluster[boxes["image"]]
        self.stratum = np.zeros(len(boxes), int)
        self.basis = np.empty((len(boxes), 0))
        if hold_fixed:
            area = boxes["area"].astype(float).clip(lower=1e-6)
            of_class = area.groupby(boxes["category"])
            within = of_class.transform(size_fixed.strata)
            strata = boxes.groupby(["category", within])
            self.stratum = strata.ngroup().to_numpy()
            size = np.log(area.to_numpy())
            knots = np.quantile(size, KNOTS)
            bends = np.maximum(size[:, None] - knots, 0)
            self.basis = np.column_stack([size, bends])

    def differences(
        self, attribute: Attribute, found: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Compare each group with all other boxes whose group is known.

        Parameters
        ----------
        attribute : Attribute
            Whose groups are compared.
        found : array of shape (n boxes,), optional
            Other boxes that are found.

        Returns
        -------
        difference, error : arrays of shape (n groups,)
            Recall of the group minus recall of the others, from -1 to 1, and its
            standard error. NaN where a group is too small to be compared, or shares too
            few classes and sizes with the others.
        """
        found = self.found if found is None else found
        parts = members(attribute, self.boxes)
        known = parts.any(1)
        parts = parts[known]
        member, other = np.hsplit(parts, 2)
        cluster = self.cluster[known]
        columns = np.column_stack([member, found[known]])
        stratum = self.stratum[known]
        basis = self.basis[known]
        residuals = _residuals(columns, stratum, basis)
        contrast = residuals[:, :-1]
        residual = residuals[:, -1:]
        # of membership, times the number of boxes
        variance = (contrast**2).sum(0)
        raw_variance = member.mean(0) * other.sum(0)
        covariance = (contrast * residual).sum(0)
        with np.errstate(divide="ignore", invalid="ignore"):
            share_left = variance / raw_variance
            difference = covariance / variance
            rest = residual - contrast * difference
            scores = sums(cluster, contrast * rest)
            error = np.linalg.norm(scores, axis=0) / variance
            # Where all boxes or none are found, the estimated error is zero. Half a box
            # more that is found can shift the difference by 0.5 / variance, so the
            # error is never taken as smaller than that.
            error = np.maximum(error, 0.5 / variance)
        n_clusters = (sums(cluster, parts) > 0).sum(0)
        few = parts.sum(0) < FEWEST_BOXES
        few |= n_clusters < FEWEST_CLUSTERS
        too_few = few.reshape(2, -1).any(0)
        too_few |= ~(share_left >= COMPARABLE)
        difference[too_few] = np.nan
        error[too_few] = np.nan
        return difference, error

    def deviations(
        self, attribute: Attribute, found: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the groups' differences in standard errors, NaN where too small."""
        difference, error = self.differences(attribute, found)
        return difference / error

    def widest(self, attributes: Sequence[Attribute]) -> float:
        """Return the largest difference of any group in standard errors, or -inf."""
        every = [self.deviations(attribute) for attribute in attributes]
        distance = np.abs(np.concatenate(every))
        return np.fmax.reduce(distance, initial=-np.inf)


def _residuals(
    columns: np.ndarray, stratum: np.ndarray, basis: np.ndarray
) -> np.ndarray:
    """Remove from columns what strata and a basis predict, by least squares."""
    together = pd.DataFrame(np.column_stack([basis, columns]))
    mean = together.groupby(stratum).transform("mean")
    centred = (together - mean).to_numpy()
    n_predictors = basis.shape[1]
    predictors = centred[:, :n_predictors]
    rest = centred[:, n_predictors:]
    coefficients, *_ = np.linalg.lstsq(predictors, rest)
    return rest - predictors @ coefficients


def sums(code: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Add up the rows of each code, from code 0 to the largest."""
    n = len(code)
    place = (code, np.arange(n))
    indicator = scipy.sparse.csr_array((np.ones(n), place))
    return indicator @ columns


def by_group(
    recall: RecallBySize, attributes: Sequence[Attribute], null_p: Callable
) -> pd.DataFrame:
    """Compare recall of each group with recall of all others, pooled over classes.

    Parameters
    ----------
    recall : RecallBySize
        Which holds class and size fixed.
    attributes
        Whose groups are compared.
    null_p : callable
        The adjusted p value of differences in standard errors.

    Returns
    -------
    pandas.DataFrame
        One row per attribute and group. Recalls are in percent, and differences in
        points. ``recall`` belongs to the group, and ``others`` to all other boxes.
        ``gap`` is the first minus the second, so it is negative where the group is
        worse, and ``gap_p`` its p value. ``difference`` is the gap with class and size
        held fixed, of the same sign, with its 95% interval (``low``, ``high``) and
        adjusted p value (``p``).

        The ``verdict`` is *significant* if the p value is at most 0.05, and the
        difference at least one point. Otherwise, a gap that is significant itself
        (Bonferroni, and at least one point) may be due to class or size.
    """
    plain = RecallBySize(recall.boxes, recall.clusters, hold_fixed=False)
    tables = []
    for attribute in attributes:
        table = pd.DataFrame({"group": attribute.values})
        parts = members(attribute, recall.boxes)
        number = parts.sum(0)
        with np.errstate(invalid="ignore"):
            shares = 100 * recall.found @ parts / number
        n_boxes = number[: len(table)]
        table["boxes"] = n_boxes.astype(int)
        table["recall"], table["others"] = np.hsplit(shares, 2)
        table["gap"] = table["recall"] - table["others"]
        plain_deviations = np.abs(plain.deviations(attribute))
        table["gap_p"] = 2 * scipy.stats.norm.sf(plain_deviations)
        difference, error = recall.differences(attribute)
        table["difference"] = 100 * difference
        low = difference - Z * error
        high = difference + Z * error
        table["low"] = 100 * np.maximum(low, -1)
        table["high"] = 100 * np.minimum(high, 1)
        table["p"] = null_p(np.abs(difference / error))
        table.insert(0, "attribute", attribute.name)
        tables.append(table)
    table = pd.concat(tables, ignore_index=True)
    return table.assign(verdict=judge(table))


def judge(table: pd.DataFrame) -> np.ndarray:
    """Return the verdict on each row of `by_group`."""
    is_large = table["difference"].abs() >= SMALLEST
    is_significant = (table["p"] <= LEVEL) & is_large
    is_gap = table["gap_p"] * len(table) <= LEVEL
    is_gap &= table["gap"].abs() >= SMALLEST
    return verdicts(is_significant, is_gap)


def within_size(boxes: pd.DataFrame, attributes: Sequence[Attribute]) -> pd.DataFrame:
    """Compute recall of each group among boxes of about the same size, of all classes.

    Returns
    -------
    pandas.DataFrame
        A row for each attribute, group and fifth of the boxes by size, with ``side``
        (the range of the root of the area, pixels), ``boxes`` and ``recall`` in
        percent, NaN without boxes.
    """
    # rounded, because equal boxes in different places differ in their last digits
    side = np.sqrt(boxes["area"]).round(6)
    shares = np.linspace(0, 1, SIZE_BINS + 1)
    edges = np.quantile(side, shares)
    edges[-1] += 0.01  # the largest boxes belong to the last bin
    edges = np.unique(edges)
    fifth = pd.cut(side, edges, right=False)
    sides = fifth.cat.rename_categories(
        lambda bin: f"{bin.left:.1f} to {bin.right:.1f}"
    )
    tables = {}
    for attribute in attributes:
        codes = codes_of(attribute, boxes)
        groups = pd.Categorical.from_codes(codes, attribute.values)
        keys = [groups, sides]
        cells = boxes["found"].groupby(keys, observed=False)
        table = cells.agg(boxes="size", recall="mean")
        tables[attribute.name] = table
    names = ["attribute", "group", "side"]
    table = pd.concat(tables, names=names).reset_index()
    table["recall"] *= 100
    return table

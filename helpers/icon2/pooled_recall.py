"""Recall of all classes pooled, by group, with class and size held fixed.

A detector finds small boxes less often, and some classes less often than others. A
group whose boxes are smaller therefore has a lower recall even if the detector treats
all groups alike. This module compares each group with all others among boxes of the
same class and about the same size.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import pandas as pd
import scipy.sparse
import scipy.stats

from helpers.icon2 import size_fixed
from helpers.icon2.attributes import Attribute, Frames
from helpers.icon2.matching import Matches

KNOTS = (0.2, 0.4, 0.6, 0.8)  # quantiles of log area where the line by size may bend
FEWEST_BOXES = 30  # of a group, and of all others
FEWEST_CLUSTERS = 10  # images or clusters with a box of the group, and of the others
COMPARABLE = 0.05  # share of a group's contrast below which nothing can be said
SMALLEST_EFFECT = 1.0  # points of recall, below which there is no finding
LEVEL = 0.05
Z = scipy.stats.norm.ppf(1 - LEVEL / 2)
SIZE_BINS = 5

ALL_POOLED = "all classes pooled"
FOUND = "significant"
EXPLAINED = "explained by class or size"
UNCLEAR = "not separable from class or size"
SMALL = "below one point"
NO_GAP = "not significant"
TOO_FEW = "too few boxes"
OPEN = (EXPLAINED, UNCLEAR)  # a gap that a headline has to mention


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
    strong = matches.detections["score"].to_numpy() >= threshold
    taken = matches.taken[0][strong]
    found = np.zeros(len(frames.boxes))
    found[taken[taken >= 0]] = 1.0
    boxes = frames.boxes.assign(row=np.arange(len(frames.boxes)), found=found)
    ignored = boxes["ignore"].to_numpy(bool)
    return boxes[~ignored].reset_index(drop=True)


def codes_of(attribute: Attribute, boxes: pd.DataFrame) -> np.ndarray:
    """Return the code of an attribute for each of the `labelled_boxes`."""
    return attribute.of_boxes(boxes["image"].to_numpy(), boxes["row"].to_numpy())


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
    hold_fixed : {"class and size", "class", "nothing"}
        What is held fixed. "nothing" means that differences of plain recall are
        computed.
    clusters : array of shape (n images,), optional
        Which images belong together. Each is on its own by default.
    """

    def __init__(
        self,
        boxes: pd.DataFrame,
        hold_fixed: str = "class and size",
        clusters: np.ndarray | None = None,
    ) -> None:
        self.boxes = boxes
        self.hold_fixed = hold_fixed
        self.clusters = clusters
        self.found = boxes["found"].to_numpy()
        image = boxes["image"].to_numpy()
        if clusters is not None:
            _, cluster = np.unique(clusters, return_inverse=True)
            image = cluster[image]
        self._clusters = _indicator(image)
        self.stratum = np.zeros(len(boxes), int)
        self.basis = np.empty((len(boxes), 0))
        if hold_fixed == "class":
            self.stratum = boxes["category"].to_numpy()
        if hold_fixed == "class and size" and len(boxes):
            area = boxes["area"].to_numpy(float)
            size = np.log(np.maximum(area, 1e-6))
            self.stratum = _strata(boxes["category"].to_numpy(), size)
            knots = np.unique(np.quantile(size, KNOTS))
            bends = np.maximum(size[:, None] - knots, 0)
            self.basis = np.column_stack([size, bends])
        self._whole = _Projection(self.stratum, self.basis)

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
        codes = codes_of(attribute, self.boxes)
        known = codes >= 0
        projection = self._whole
        if not known.all():
            projection = _Projection(self.stratum[known], self.basis[known])
        clusters = self._clusters[known]
        groups = np.arange(len(attribute.values))
        member = (codes[known, None] == groups).astype(float)
        residuals = projection.residual(np.column_stack([member, found[known]]))
        contrast = residuals[:, :-1]
        residual = residuals[:, -1:]
        number = member.sum(0)
        # of membership, times the number of boxes
        residual_variance = (contrast**2).sum(0)
        number_of_others = len(member) - number
        raw_variance = number * number_of_others / max(len(member), 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            share_left = residual_variance / raw_variance
            difference = (contrast * residual).sum(0) / residual_variance
            rest = residual - contrast * difference
            scores = clusters.T @ (contrast * rest)
            error = np.sqrt((scores**2).sum(0)) / residual_variance
            # Where all boxes or none are found, the estimated error is zero. Half a box
            # more that is found can shift the difference by 0.5 / residual_variance,
            # so the error is never taken as smaller than that.
            error = np.maximum(error, 0.5 / residual_variance)
        of_group = (clusters.T @ member > 0).sum(0)
        of_others = (clusters.T @ (1 - member) > 0).sum(0)
        too_few = np.minimum(number, number_of_others) < FEWEST_BOXES
        too_few |= np.minimum(of_group, of_others) < FEWEST_CLUSTERS
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
        every = [np.abs(self.deviations(attribute)) for attribute in attributes]
        return float(np.fmax.reduce(np.concatenate(every), initial=-np.inf))


class _Projection:
    """Remove from columns what strata and a basis predict, by least squares."""

    def __init__(self, stratum: np.ndarray, basis: np.ndarray) -> None:
        self.indicator = _indicator(stratum)
        number = np.maximum(self.indicator.sum(0), 1)
        self.mean = scipy.sparse.diags_array(1 / number)
        # Singular vectors stay right where columns depend on each other, as they do if
        # a fifth of the boxes have the smallest size. A QR decomposition without
        # pivoting loses directions.
        centred = self._centred(basis)
        directions, scale, _ = np.linalg.svd(centred, full_matrices=False)
        smallest = 1e-9 * max(scale.max(initial=0), 1)
        self.basis = directions[:, scale > smallest]

    def residual(self, columns: np.ndarray) -> np.ndarray:
        centred = self._centred(columns)
        return centred - self.basis @ (self.basis.T @ centred)

    def _centred(self, columns: np.ndarray) -> np.ndarray:
        total = self.indicator.T @ columns
        return columns - self.indicator @ (self.mean @ total)


def _indicator(code: np.ndarray) -> scipy.sparse.csr_array:
    """Return a column for each code with a 1 in its rows."""
    n = len(code)
    n_codes = int(code.max(initial=0)) + 1
    entries = (np.ones(n), (np.arange(n), code))
    return scipy.sparse.csr_array(entries, shape=(n, n_codes))


def _strata(category: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Divide boxes into strata of about ten of one class and of neighbouring sizes."""
    stratum = np.empty(len(size), int)
    begin = 0
    for one in np.unique(category):
        rows = np.flatnonzero(category == one)
        stratum[rows] = begin + size_fixed.strata(size[rows])
        begin = stratum[rows].max() + 1
    return stratum


def by_group(
    model: RecallBySize, attributes: Sequence[Attribute], threshold: float
) -> pd.DataFrame:
    """Compare recall of each group with recall of all others, pooled over classes.

    Parameters
    ----------
    model : RecallBySize
        Which holds class and size fixed.
    attributes
        Whose groups are compared.
    threshold : float
        The deviation from which a difference is significant.

    Returns
    -------
    pandas.DataFrame
        One row per attribute and group. Recalls are in percent, and differences in
        points. ``recall`` belongs to the group, and ``others`` to all other boxes.
        ``gap`` is the first minus the second, so it is negative where the group is
        worse, and ``gap_p`` its p value. ``difference`` is the gap with class and size
        held fixed, of the same sign, with its 95% interval (``low``, ``high``) and the
        number of standard errors (``deviations``). ``fixed`` says what the model holds
        fixed, and ``verdict`` is explained in `judge`. The adjusted p value of the
        difference has to be added as ``p`` before `sentence` and `printed` are called.
    """
    plain = RecallBySize(model.boxes, "nothing", model.clusters)
    tables = []
    for attribute in attributes:
        difference, error = model.differences(attribute)
        gap, gap_error = plain.differences(attribute)
        member = codes_of(attribute, model.boxes)[:, None] == np.arange(len(gap))
        number = member.sum(0)
        found = model.found @ member
        others = number.sum() - number
        table = pd.DataFrame({"attribute": attribute.name, "group": attribute.values})
        table["boxes"] = number
        table["recall"] = 100 * found / np.maximum(number, 1)
        table["others"] = 100 * (found.sum() - found) / np.maximum(others, 1)
        table["gap"] = 100 * gap
        z = np.abs(gap / gap_error)
        table["gap_p"] = 2 * scipy.stats.norm.sf(z)
        table["difference"] = 100 * difference
        table["low"] = 100 * np.maximum(difference - Z * error, -1)
        table["high"] = 100 * np.minimum(difference + Z * error, 1)
        table["deviations"] = difference / error
        tables.append(table)
    table = pd.concat(tables, ignore_index=True)
    verdict = judge(table, threshold)
    return table.assign(verdict=verdict, fixed=model.hold_fixed)


def judge(table: pd.DataFrame, threshold: float) -> np.ndarray:
    """Say what each row of `by_group` shows.

    A group is worse (or better) if its difference with class and size held fixed
    exceeds the threshold and is at least one point. Otherwise, a gap in plain recall
    may be significant (Bonferroni, and at least one point). Class and size explain it
    if less than half of it remains and this is not significant or below one point, or
    if what remains has the other sign.

    Parameters
    ----------
    table : pandas.DataFrame
        With ``gap`` and ``difference`` (points, negative where the group is worse),
        ``gap_p`` and ``deviations``.
    threshold : float
        The deviation from which a difference is significant.

    Returns
    -------
    array of str
        `FOUND`, `EXPLAINED`, `UNCLEAR`, `SMALL`, `NO_GAP` or `TOO_FEW`.
    """
    gap = table["gap"]
    difference = table["difference"]
    exceeds = table["deviations"].abs() > threshold
    is_small = difference.abs() < SMALLEST_EFFECT
    is_gap = (table["gap_p"] * len(table) <= LEVEL) & (gap.abs() >= SMALLEST_EFFECT)
    near_zero = (table["deviations"].abs() < Z) | (exceeds & is_small)
    explained = near_zero & (difference.abs() < gap.abs() / 2)
    explained |= difference * gap < 0
    verdicts = {
        FOUND: exceeds & ~is_small,
        TOO_FEW: gap.isna(),
        EXPLAINED: is_gap & explained,
        SMALL: exceeds,
        UNCLEAR: is_gap,
    }
    return np.select([*verdicts.values()], [*verdicts], NO_GAP)


def within_size(boxes: pd.DataFrame, attributes: Sequence[Attribute]) -> pd.DataFrame:
    """Compute recall of each group among boxes of about the same size, of all classes.

    Returns
    -------
    pandas.DataFrame
        A row for each attribute, group and fifth of the boxes by size, with ``bin``
        (the number of the fifth, from 0), ``side`` (the range of the root of the area,
        pixels), ``boxes`` and ``recall`` in percent, NaN without boxes. The table is
        empty without boxes.
    """
    columns = ["attribute", "group", "bin", "side", "boxes", "recall"]
    if boxes.empty or not attributes:
        return pd.DataFrame(columns=columns)
    # rounded, because equal boxes in different places differ in their last digits
    side = np.sqrt(boxes["area"].to_numpy(float)).round(6)
    edges = np.quantile(side, np.linspace(0, 1, SIZE_BINS + 1))
    bins = np.searchsorted(edges[1:-1], side, side="right")
    names = [f"{_pixels(low)} to {_pixels(high)}" for low, high in pairwise(edges)]
    tables = []
    for attribute in attributes:
        codes = codes_of(attribute, boxes)
        groups = pd.Categorical.from_codes(codes, attribute.values)
        by = [pd.Series(groups, name="group"), pd.Series(bins, name="bin")]
        cells = boxes["found"].groupby(by, observed=False)
        table = cells.agg(boxes="size", recall="mean").reset_index()
        table["recall"] *= 100
        table["side"] = np.array(names)[table["bin"]]
        tables.append(table.assign(attribute=attribute.name)[columns])
    return pd.concat(tables, ignore_index=True)


def _pixels(side: float) -> str:
    """Format a side in pixels, with three digits below 100, else in whole pixels."""
    return f"{side:,.0f}" if side >= 100 else f"{side:.3g}"


def size_table(within: pd.DataFrame) -> pd.DataFrame:
    """Format the table of `within_size` with a row per group and a column per size."""
    if within.empty:
        return within
    recall = within["recall"].map("{:.0f}%".format)
    texts = recall + within["boxes"].map(" of {:,}".format)
    texts = texts.where(within["boxes"] > 0, "–")
    rows = within.assign(text=texts, side=within["side"] + " px")
    wide = rows.pivot_table(
        "text", ["attribute", "group"], ["bin", "side"], aggfunc="first", sort=False
    )
    return wide.droplevel("bin", axis=1).rename_axis(columns=None).reset_index()


def sentence(row: Mapping) -> str:
    """Say in words what a row of `by_group` shows."""
    place = f"where {row['attribute']} is {row['group']}"
    recall = f"{row['recall']:.0f}%"
    others = f"{row['others']:.0f}%"
    interval = f"95% CI {row['low']:+.1f} to {row['high']:+.1f}"
    p = f"adjusted p = {row['p']:.3f}"
    fixed = row["fixed"]
    if row["verdict"] == FOUND:
        start = "Better"
        direction = "higher"
        if row["difference"] < 0:
            start = "Worse"
            direction = "lower"
        return (
            f"{start} {place}: at the same {fixed} of the boxes, recall is "
            f"{abs(row['difference']):.1f} points {direction} ({interval}, {p}). Of "
            f"all boxes, {recall} are found there, against {others} elsewhere."
        )
    text = f"W{place[1:]}, {recall} of the boxes are found, against {others} elsewhere."
    if np.isnan(row["difference"]):
        return (
            f"{text} The groups share too few boxes of the same {fixed} to say whether "
            "the detector is worse there."
        )
    if row["verdict"] == EXPLAINED:
        text += f" The {fixed} of the boxes can explain this gap."
    if row["verdict"] == UNCLEAR:
        text += f" The {fixed} of the boxes may explain a part of this gap."
    return (
        f"{text} At the same {fixed} of the boxes, the difference is "
        f"{row['difference']:+.1f} points ({interval}, {p})."
    )


def foremost(table: pd.DataFrame) -> pd.DataFrame:
    """Select the most important row of each attribute, the most important one first.

    It is the most significant finding, of a worse group before a better one. Without a
    finding, it is a gap that class and size may explain, or the widest gap.
    """
    is_found = table["verdict"] == FOUND
    is_open = table["verdict"].isin(OPEN)
    is_worse = table["difference"].where(is_found, table["gap"]) < 0
    size = table["deviations"].where(is_found, table["gap"]).abs()
    order = pd.concat([is_found, is_open, is_worse, size], axis=1, keys=range(4))
    order = order.sort_values([0, 1, 2, 3], ascending=False, kind="stable")
    return table.loc[order.index].drop_duplicates("attribute")


def detectable_difference(table: pd.DataFrame, threshold: float) -> float:
    """Return the difference (points) with a power of 80% in the least precise group."""
    error = (table["difference"] / table["deviations"]).abs().max()
    return float((threshold + scipy.stats.norm.ppf(0.8)) * error)


def printed(table: pd.DataFrame) -> pd.DataFrame:
    """Format the table of `by_group` for a report."""
    fixed = table["fixed"].iloc[0]
    texts = {}
    for name in ("difference", "low", "high"):
        texts[name] = table[name].map("{:+.1f}".format)
    difference = (
        texts["difference"] + " (" + texts["low"] + " to " + texts["high"] + ")"
    )
    is_known = table["difference"].notna()
    columns = {
        "attribute": table["attribute"],
        "group": table["group"],
        "boxes": table["boxes"],
        "recall (%)": table["recall"].round(1),
        "recall elsewhere (%)": table["others"].round(1),
        f"difference at the same {fixed} (95% CI)": difference.where(is_known, "–"),
        "adjusted p": table["p"].map("{:.3f}".format).where(is_known, "–"),
        "verdict": table["verdict"],
    }
    return pd.DataFrame(columns)

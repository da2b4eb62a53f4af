"""Recall of all classes pooled, by group, with class and size held fixed.

A detector finds small boxes less often, and some classes less often than others. A
group whose boxes are smaller therefore has a lower recall even if the detector treats
all groups alike. This module compares each group with all others among boxes of the
same class and about the same size.
"""

import copy
from collections.abc import Sequence
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
SMALLEST_EFFECT = 0.01  # difference of recall below which there is no finding
LEVEL = 0.05
SIZE_BINS = 5

ALL_POOLED = "all classes pooled"
FOUND = "significant"
EXPLAINED = "explained by class and size"
UNCLEAR = "not separable from class and size"
SMALL = "below one point"
NO_GAP = "not significant"
TOO_FEW = "too few boxes"


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
        The rows of ``frames.boxes`` that are no regions to ignore, with their ``row``
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
    """The recall that class and size predict, and how groups differ beyond it.

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
    hold_fixed : {"class and size", "class", "size", "nothing"}
        What is held fixed. With "nothing", differences are those of plain recall.
    clusters : array of shape (n images,), optional
        Which images belong together. Default: each is on its own.
    """

    def __init__(
        self,
        boxes: pd.DataFrame,
        hold_fixed: str = "class and size",
        clusters: np.ndarray | None = None,
    ) -> None:
        self.boxes = boxes
        self.hold_fixed = hold_fixed
        image = boxes["image"].to_numpy()
        cluster = image
        if clusters is not None:
            cluster = np.unique(clusters, return_inverse=True)[1][image]
        self.clusters = clusters
        category = np.zeros(len(boxes), int)
        if "class" in hold_fixed:
            category = boxes["category"].to_numpy()
        self.stratum = category
        self.basis = np.empty((len(boxes), 0))
        if "size" in hold_fixed and len(boxes):
            size = np.log(np.maximum(boxes["area"].to_numpy(float), 1e-6))
            self.stratum = _strata(category, size)
            knots = np.unique(np.quantile(size, KNOTS))
            bends = np.maximum(size[:, None] - knots, 0)
            self.basis = np.column_stack([size, bends])
        self._whole = _Projection(self.stratum, self.basis)
        self._clusters = _indicator(cluster)
        self._find(boxes["found"].to_numpy())

    def _find(self, found: np.ndarray) -> None:
        self.found = found
        self._residual = self._whole.residual(found[:, None])[:, 0]

    def with_found(self, found: np.ndarray) -> "RecallBySize":
        """Return the same comparison where other boxes are found, shape (n boxes,)."""
        other = copy.copy(self)
        other._find(found)
        return other

    def codes(self, attribute: Attribute) -> np.ndarray:
        """Return the code of an attribute for each box, -1 where it is absent."""
        return codes_of(attribute, self.boxes)

    def differences(self, codes: np.ndarray, n_values: int) -> tuple[np.ndarray, ...]:
        """Compare each group with all other boxes whose group is known.

        Parameters
        ----------
        codes : int array of shape (n boxes,)
            The group of each box, -1 where it is not known.
        n_values : int
            How many groups there are.

        Returns
        -------
        difference, error, comparable : arrays of shape (n_values,)
            Recall of the group minus that of the others, from -1 to 1; its standard
            error; and the share of the contrast between the group and the others that
            is left when class and size are held fixed. NaN where a group is too small
            to be compared.
        """
        known = codes >= 0
        projection = self._whole
        residual = self._residual
        clusters = self._clusters
        if not known.all():
            projection = _Projection(self.stratum[known], self.basis[known])
            residual = projection.residual(self.found[known, None])[:, 0]
            clusters = clusters[known]
        member = (codes[known, None] == np.arange(n_values)).astype(float)
        contrast = projection.residual(member)
        number = member.sum(0)
        # of membership, times the number of boxes
        residual_variance = (contrast**2).sum(0)
        number_of_others = len(member) - number
        raw_variance = number * number_of_others / max(len(member), 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            share_left = residual_variance / raw_variance
            difference = contrast.T @ residual / residual_variance
            rest = residual[:, None] - contrast * difference
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
        too_few |= share_left < COMPARABLE
        too_few |= ~np.isfinite(difference)
        difference = np.where(too_few, np.nan, difference)
        return difference, np.where(too_few, np.nan, error), share_left

    def deviations(self, attribute: Attribute) -> np.ndarray:
        """Return the groups' differences in standard errors, NaN where too small."""
        codes = self.codes(attribute)
        difference, error, _ = self.differences(codes, len(attribute.values))
        return difference / error

    def widest(self, attributes: Sequence[Attribute]) -> float:
        """Return the largest difference of any group in standard errors, or -inf."""
        largest = -np.inf
        for attribute in attributes:
            deviations = np.abs(self.deviations(attribute))
            largest = np.fmax(largest, np.fmax.reduce(deviations))
        return float(largest)


class _Projection:
    """Remove from columns what strata and a basis predict, by least squares."""

    def __init__(self, stratum: np.ndarray, basis: np.ndarray) -> None:
        self.indicator = _indicator(stratum)
        self.mean = scipy.sparse.diags_array(1 / np.maximum(self.indicator.sum(0), 1))
        # Singular vectors stay right where columns depend on each other, as they do if
        # a fifth of the boxes have the smallest size. A QR decomposition without
        # pivoting loses directions.
        directions, scale, _ = np.linalg.svd(self._centred(basis), full_matrices=False)
        self.basis = directions[:, scale > 1e-9 * max(scale.max(initial=0), 1)]

    def residual(self, columns: np.ndarray) -> np.ndarray:
        centred = self._centred(columns)
        return centred - self.basis @ (self.basis.T @ centred)

    def _centred(self, columns: np.ndarray) -> np.ndarray:
        return columns - self.indicator @ (self.mean @ (self.indicator.T @ columns))


def _indicator(code: np.ndarray) -> scipy.sparse.csr_array:
    """Return a column for each code with a 1 in its rows."""
    n = len(code)
    entries = (np.ones(n), (np.arange(n), code))
    return scipy.sparse.csr_array(entries, shape=(n, int(code.max(initial=0)) + 1))


def _strata(category: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Divide boxes into strata of about ten of one class and of neighbouring sizes."""
    stratum = np.empty(len(size), int)
    begin = 0
    for one in np.unique(category):
        rows = np.flatnonzero(category == one)
        of_class = size_fixed.strata(size[rows])
        stratum[rows] = begin + of_class
        begin += of_class.max() + 1
    return stratum


def by_group(
    model: RecallBySize, attributes: Sequence[Attribute], cut: float
) -> pd.DataFrame:
    """Compare recall of each group, all classes pooled, with that of all others.

    Parameters
    ----------
    model : RecallBySize
        Which holds class and size fixed.
    attributes
        Whose groups are compared.
    cut : float
        The deviation from which a difference is significant.

    Returns
    -------
    pandas.DataFrame
        One row per attribute and group. Recalls are in percent, and differences in
        points. ``recall`` is that of the group, and ``others`` that of all other boxes.
        ``gap`` is the first minus the second, so it is negative where the group is
        worse. ``gap_p`` is its p value, and ``gap_significant`` says whether it is
        significant when corrected (Bonferroni) for all rows and at least one point.
        ``size_fixed`` is the gap with size alone held fixed. ``difference`` is the gap
        with class and size held fixed, of the same sign, with its 95% interval
        (``low``, ``high``) and the number of standard errors (``deviations``).
        ``comparable`` is the share of the contrast that is left then. ``fixed`` says
        what the model holds fixed, and ``verdict`` is explained in `judge`. A column
        ``p`` with the adjusted p value of the difference has to be added before
        `sentence` and `printed` are called.
    """
    plain = RecallBySize(model.boxes, "nothing", model.clusters)
    size_alone = RecallBySize(model.boxes, "size", model.clusters)
    tables = []
    for attribute in attributes:
        codes = model.codes(attribute)
        groups = len(attribute.values)
        difference, error, comparable = model.differences(codes, groups)
        gap, gap_error, _ = plain.differences(codes, groups)
        by_size, _, _ = size_alone.differences(codes, groups)
        member = codes[:, None] == np.arange(groups)
        number = member.sum(0)
        found = model.found @ member
        others = number.sum() - number
        reach = scipy.stats.norm.ppf(1 - LEVEL / 2) * error
        table = pd.DataFrame({"attribute": attribute.name, "group": attribute.values})
        table["boxes"] = number
        table["recall"] = 100 * found / np.maximum(number, 1)
        table["others"] = 100 * (found.sum() - found) / np.maximum(others, 1)
        table["gap"] = 100 * gap
        table["gap_p"] = 2 * scipy.stats.norm.sf(np.abs(gap / gap_error))
        table["size_fixed"] = 100 * by_size
        table["difference"] = 100 * difference
        table["low"] = 100 * np.maximum(difference - reach, -1)
        table["high"] = 100 * np.minimum(difference + reach, 1)
        table["deviations"] = difference / error
        table["comparable"] = comparable
        tables.append(table)
    table = pd.concat(tables, ignore_index=True)
    rows = table.to_dict("records")
    return table.assign(
        gap_significant=[_significant_gap(row, len(table)) for row in rows],
        verdict=[judge(row, cut, len(table)) for row in rows],
        fixed=model.hold_fixed,
    )


def judge(row: dict, cut: float, rows: int) -> str:
    """Say what a row of `by_group` shows.

    A group is worse (or better) if its difference with class and size held fixed
    exceeds the threshold `cut` and is at least one point. Otherwise, class and size
    explain a significant gap in plain recall if the remaining gap is less than half of
    it and its 95% interval holds zero, or if it has the other sign.

    Parameters
    ----------
    row : dict
        With ``gap`` and ``difference`` (points, negative where the group is worse),
        ``gap_p`` and ``deviations``. The column ``p`` is not needed.
    cut : float
        The deviation from which a difference is significant.
    rows : int
        The number of rows, for which ``gap_p`` is corrected.

    Returns
    -------
    str
        `FOUND`, `EXPLAINED`, `UNCLEAR`, `SMALL`, `NO_GAP` or `TOO_FEW`.
    """
    if abs(row["deviations"]) > cut:
        return FOUND if abs(row["difference"]) >= 100 * SMALLEST_EFFECT else SMALL
    if not _significant_gap(row, rows):
        return NO_GAP if np.isfinite(row["gap"]) else TOO_FEW
    if row["difference"] * row["gap"] < 0:
        return EXPLAINED
    near_zero = abs(row["deviations"]) < scipy.stats.norm.ppf(1 - LEVEL / 2)
    if near_zero and abs(row["difference"]) < abs(row["gap"]) / 2:
        return EXPLAINED
    return UNCLEAR


def _significant_gap(row: dict, rows: int) -> bool:
    """Return whether a gap in plain recall is significant, and a point or more."""
    return row["gap_p"] * rows <= LEVEL and abs(row["gap"]) >= 100 * SMALLEST_EFFECT


def is_open(row: dict) -> bool:
    """Return whether a headline has to mention the gap in plain recall of a row.

    That is a gap that class and size explain, or may explain. It is also a gap of which
    a significant difference remains that is below one point and less than half of the
    gap.
    """
    if row["verdict"] == SMALL:
        is_half_left = abs(row["difference"]) >= abs(row["gap"]) / 2
        return bool(row["gap_significant"]) and not is_half_left
    return row["verdict"] in (EXPLAINED, UNCLEAR)


def by_class(
    boxes: pd.DataFrame, names: Sequence[str], attributes: Sequence[Attribute]
) -> pd.DataFrame:
    """Compute recall of each group in each class.

    Parameters
    ----------
    boxes : pandas.DataFrame
        From `labelled_boxes`.
    names : sequence of str
        The names of all classes.
    attributes
        Whose groups are compared.

    Returns
    -------
    pandas.DataFrame
        One row per ``attribute``, ``class`` and ``value`` with boxes: the ``recall`` in
        percent, at any score.
    """
    tables = []
    classes = np.array(names)[boxes["category"]]
    for attribute in attributes:
        codes = codes_of(attribute, boxes)
        values = np.array([*attribute.values, None], object)[codes]
        by = [pd.Series(classes, name="class"), pd.Series(values, name="value")]
        recall = 100 * boxes["found"].groupby(by).mean()
        table = recall.rename("recall").reset_index()
        tables.append(table.assign(attribute=attribute.name))
    return pd.concat(tables, ignore_index=True)


def within_size(boxes: pd.DataFrame, attributes: Sequence[Attribute]) -> pd.DataFrame:
    """Compute recall of each group among boxes of about the same size, of all classes.

    Returns
    -------
    pandas.DataFrame
        A row for each attribute, group and fifth of the boxes by size: ``bin`` (the
        number of the fifth, from 0), ``side`` (the range of the root of the area,
        pixels), ``boxes`` and ``recall`` in percent, NaN without boxes. Without any box
        there is no row.
    """
    columns = ["attribute", "group", "bin", "side", "boxes", "recall"]
    if boxes.empty:
        return pd.DataFrame(columns=columns)
    side = np.sqrt(boxes["area"].to_numpy(float))
    # rounded, because equal boxes in different places differ in their last digits
    quantiles = np.quantile(side.round(6), np.linspace(0, 1, SIZE_BINS + 1))
    edges = np.unique(quantiles)
    if len(edges) < 2:
        edges = np.array([edges[0], edges[0] + 1])
    bins = np.searchsorted(edges[1:-1], side.round(6), side="right")
    names = [f"{_pixels(low)} to {_pixels(high)}" for low, high in pairwise(edges)]
    tables = []
    for attribute in attributes:
        codes = codes_of(attribute, boxes)
        cells = [range(len(attribute.values)), range(len(names))]
        index = pd.MultiIndex.from_product(cells, names=["group", "bin"])
        by = [pd.Series(codes, name="group"), pd.Series(bins, name="bin")]
        table = boxes["found"].groupby(by).agg(boxes="size", recall="mean")
        table = table.reindex(index).reset_index()
        table["boxes"] = table["boxes"].fillna(0).astype(int)
        table["recall"] *= 100
        table["side"] = table["bin"].map(dict(enumerate(names)))
        table["group"] = table["group"].map(dict(enumerate(attribute.values)))
        tables.append(table.assign(attribute=attribute.name)[columns])
    if not tables:
        return pd.DataFrame(columns=columns)
    return pd.concat(tables, ignore_index=True)


def _pixels(side: float) -> str:
    """Format a side in pixels, with three digits below 100, else in whole pixels."""
    return f"{side:,.0f}" if side >= 100 else f"{side:.3g}"


def size_table(within: pd.DataFrame) -> pd.DataFrame:
    """Format the table of `within_size`: one row per group, one column per size."""
    if within.empty:
        return within[["attribute", "group"]]
    recall = within["recall"].map("{:.0f}%".format)
    texts = recall + within["boxes"].map(" of {:,}".format)
    texts = texts.where(within["boxes"] > 0, "–")
    wide = within.assign(text=texts).pivot_table(
        "text",
        ["attribute", "group"],
        "bin",
        aggfunc="first",
        sort=False,
    )
    sides = within.drop_duplicates("bin").set_index("bin")["side"]
    wide.columns = [f"{sides[place]} px" for place in wide.columns]
    return wide.reset_index()


def sentence(row: dict) -> str:
    """Say in words what a row of `by_group` shows, with its column ``p``."""
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
    cause = "Class and size of the boxes explain"
    if fixed == "class":
        cause = "Class explains"
    elif abs(row["size_fixed"]) < abs(row["gap"]) / 2:
        cause = "Box size explains"
    if row["verdict"] == EXPLAINED:
        text += f" {cause} this gap."
    elif row["verdict"] == UNCLEAR:
        explain = "explain"
        if fixed == "class":
            explain = "explains"
        text += f" Whether {fixed} of the boxes {explain} this gap is open."
    elif is_open(row):
        text += f" {cause} most of this gap."
    return (
        f"{text} At the same {fixed} of the boxes, the difference is "
        f"{row['difference']:+.1f} points ({interval}, {p})."
    )


def foremost(table: pd.DataFrame) -> pd.DataFrame:
    """Select the most important row of each attribute.

    It is the most significant finding, of a worse group before a better one.

    Without a finding, it is the widest of the gaps that may be explained (`is_open`),
    or of all.
    """
    table = table.assign(
        is_found=table["verdict"] == FOUND,
        is_open=[is_open(row) for row in table.to_dict("records")],
        size=table["deviations"].abs().fillna(0),
    )
    rows = []
    for _, part in table.groupby("attribute", sort=False):
        found = part[part["is_found"]]
        worse = found[found["difference"] < 0]
        if len(worse):
            rows.append(worse["size"].idxmax())
        elif len(found):
            rows.append(found["size"].idxmax())
        elif part["gap"].notna().any():
            candidates = part[part["is_open"]] if part["is_open"].any() else part
            width = candidates["gap"].abs()
            widest = candidates[width > width.max() - 1e-6]
            rows.append(widest["gap"].idxmin())  # of two groups, the worse one
    order = ["is_found", "is_open", "size"]
    first = table.loc[rows].sort_values(order, ascending=False, kind="stable")
    return first.drop(columns=order)


def detectable_difference(table: pd.DataFrame, cut: float) -> float:
    """Return the difference (points) with a power of 80% in the least precise group."""
    error = (table["difference"] / table["deviations"]).abs().max()
    return float((cut + scipy.stats.norm.ppf(0.8)) * error)


def printed(table: pd.DataFrame) -> pd.DataFrame:
    """Format the table of `by_group` for a report; it needs the column ``p``."""

    def difference(row: pd.Series) -> str:
        if np.isnan(row["difference"]):
            return "–"
        return f"{row['difference']:+.1f} ({row['low']:+.1f} to {row['high']:+.1f})"

    fixed = table["fixed"].iloc[0]
    columns = {
        "attribute": table["attribute"],
        "group": table["group"],
        "boxes": table["boxes"],
        "recall (%)": table["recall"].round(1),
        "recall elsewhere (%)": table["others"].round(1),
        f"difference at the same {fixed} (95% CI)": table.apply(difference, axis=1),
        "adjusted p": table["p"].map("{:.3f}".format).replace("nan", "–"),
        "verdict": table["verdict"].str.replace("class and size", fixed),
    }
    return pd.DataFrame(columns)

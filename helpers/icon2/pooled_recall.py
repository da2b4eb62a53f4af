"""Recall of all classes pooled, by group, with the class and size of the boxes held fixed.

A detector finds small boxes less often, and some classes less often than others. A group whose
boxes are smaller therefore has a lower recall even if the detector treats all groups alike. This
module compares each group with all others among boxes of the same class and about the same size.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
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
FEWEST_CLUSTERS = (
    10  # images, or what belongs together, with a box of the group; of the others
)
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


@dataclass(frozen=True)
class Boxes:
    """All labelled boxes that should be detected, of all classes; each field has shape (n,)."""

    row: np.ndarray  # in the table of boxes
    image: np.ndarray
    category: np.ndarray
    area: np.ndarray  # square pixels
    found: (
        np.ndarray
    )  # 1.0 if a detection of its class took the box at the first IoU threshold
    cluster: np.ndarray  # number of the image, or of what belongs together

    def codes(self, attribute: Attribute) -> np.ndarray:
        """Return the code of an attribute for each box, -1 where it is absent."""
        return attribute.codes[self.image if attribute.level == "image" else self.row]


def labelled_boxes(
    frames: Frames,
    matches: Matches,
    clusters: np.ndarray | None = None,
    without: Sequence[str] = (),
) -> Boxes:
    """Collect the boxes that should be detected.

    Parameters
    ----------
    frames, matches
        The labels and detections, and their matches.
    clusters : array of shape (n images,), optional
        Which images belong together. Default: each is on its own.
    without
        Classes that are left out.

    Returns
    -------
    Boxes
    """
    table = frames.boxes
    found = np.zeros(len(table))
    taken = matches.taken[0]
    found[taken[taken >= 0]] = 1.0
    left_out = [frames.classes.index(name) for name in without]
    kept = (
        ~table["ignore"].to_numpy(bool) & ~table["category"].isin(left_out).to_numpy()
    )
    row = np.flatnonzero(kept)
    image = table["image"].to_numpy()[row]
    together = np.arange(len(frames.images)) if clusters is None else clusters
    return Boxes(
        row=row,
        image=image,
        category=table["category"].to_numpy()[row],
        area=table["area"].to_numpy(float)[row],
        found=found[row],
        cluster=np.unique(together, return_inverse=True)[1][image],
    )


class RecallBySize:
    """The recall that class and size predict, and the difference between groups beyond it.

    Boxes are divided into strata of about ten boxes of one class and of neighbouring sizes. A
    linear regression of "found" (0 or 1) has an intercept for each stratum and a line by log area
    that may bend at four sizes, for the differences in size that are left within strata. The
    adjusted difference of a group is its coefficient in that regression; within strata alone it
    would be the Mantel-Haenszel difference of recall. Standard errors count an image (or a
    cluster of images) as one observation.

    Parameters
    ----------
    boxes : Boxes
    hold_fixed : {"class and size", "class", "size", "nothing"}
        What is held fixed. With "nothing", differences are those of plain recall.
    """

    def __init__(self, boxes: Boxes, hold_fixed: str = "class and size") -> None:
        self.boxes = boxes
        size = np.log(np.maximum(boxes.area, 1e-6))
        self.hold_fixed = hold_fixed
        category = np.zeros_like(boxes.category)
        if "class" in hold_fixed:
            category = boxes.category
        if "size" in hold_fixed and len(size):
            self.stratum = _strata(category, size)
            knots = np.unique(np.quantile(size, KNOTS))
            bends = np.maximum(size[:, None] - knots, 0)
            self.basis = np.column_stack([size, bends])
        else:
            self.stratum = category
            self.basis = np.empty((len(size), 0))
        self._whole = _Projection(self.stratum, self.basis)
        self._residual = self._whole.residual(boxes.found[:, None])[:, 0]
        self._clusters = _indicator(boxes.cluster)

    def with_found(self, found: np.ndarray) -> "RecallBySize":
        """Return the same comparison where other boxes are found; `found` has shape (n boxes,)."""
        other = copy.copy(self)
        other.boxes = replace(self.boxes, found=found)
        other._residual = self._whole.residual(found[:, None])[:, 0]
        return other

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
            Recall of the group minus that of the others, from -1 to 1; its standard error; and
            the share of the contrast between the group and the others that is left when class and
            size are held fixed. NaN where a group is too small to be compared.
        """
        known = codes >= 0
        if known.all():
            projection, residual, clusters = self._whole, self._residual, self._clusters
        else:
            projection = _Projection(self.stratum[known], self.basis[known])
            residual = projection.residual(self.boxes.found[known, None])[:, 0]
            clusters = self._clusters[known]
        member = (codes[known, None] == np.arange(n_values)).astype(float)
        contrast = projection.residual(member)
        number = member.sum(0)
        residual_variance = (contrast**2).sum(
            0
        )  # of membership, times the number of boxes
        raw_variance = number * (len(member) - number) / max(len(member), 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            share_left = residual_variance / raw_variance
            difference = contrast.T @ residual / residual_variance
            rest = residual[:, None] - contrast * difference
            scores = clusters.T @ (contrast * rest)
            error = np.sqrt((scores**2).sum(0)) / residual_variance
            # Where all boxes or none are found, the estimated error is zero. Half a box more that
            # is found can shift the difference by 0.5 / residual_variance, so the error is never
            # taken as smaller than that.
            error = np.maximum(error, 0.5 / residual_variance)
        of_group = (clusters.T @ member > 0).sum(0)
        of_others = (clusters.T @ (1 - member) > 0).sum(0)
        images = np.minimum(of_group, of_others)
        few = np.minimum(number, len(member) - number) < FEWEST_BOXES
        few |= images < FEWEST_CLUSTERS
        few |= share_left < COMPARABLE
        few |= ~np.isfinite(difference)
        return (
            np.where(few, np.nan, difference),
            np.where(few, np.nan, error),
            share_left,
        )

    def deviations(self, attribute: Attribute) -> np.ndarray:
        """Differences of an attribute's groups in standard errors, NaN where too small."""
        codes = self.boxes.codes(attribute)
        difference, error, _ = self.differences(codes, len(attribute.values))
        return difference / error

    def widest(self, attributes: Sequence[Attribute]) -> float:
        """Return the largest difference of any group in standard errors; NaN if none is known."""
        if not attributes:
            return np.nan
        every = np.abs(np.concatenate([self.deviations(one) for one in attributes]))
        return float(np.nanmax(every)) if np.isfinite(every).any() else np.nan


class _Projection:
    """Remove from columns what strata and a basis predict, by least squares."""

    def __init__(self, stratum: np.ndarray, basis: np.ndarray) -> None:
        self.indicator = _indicator(stratum)
        self.mean = scipy.sparse.diags_array(1 / np.maximum(self.indicator.sum(0), 1))
        # Singular vectors stay right where columns depend on each other, as they do if a fifth of
        # the boxes have the smallest size. A QR decomposition without pivoting loses directions.
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
    """Number the runs of about ten boxes of one class and of neighbouring sizes, shape (n,)."""
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
    """Compute recall of each group of all classes pooled, and its difference from all others.

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
        One row per attribute and group. Recalls are in percent, and differences in points.
        ``recall`` is that of the group, and ``others`` that of all other boxes. ``gap`` is the
        first minus the second, so it is negative where the group is worse. ``gap_p`` is its p
        value, and ``gap_significant`` says whether it is significant when corrected (Bonferroni)
        for all rows and at least one point. ``size_fixed`` is the gap with size alone held
        fixed. ``difference`` is the gap with class and size held fixed, of the same sign, with
        its 95% interval (``low``, ``high``) and the number of standard errors (``deviations``).
        ``comparable`` is the share of the contrast that is left then. ``fixed`` says what
        the model holds fixed, and ``verdict`` is explained in `judge`. A column ``p`` with
        the adjusted p value of the difference has to be added before `sentence` and
        `printed` are called.
    """
    boxes = model.boxes
    plain, size_alone = RecallBySize(boxes, "nothing"), RecallBySize(boxes, "size")
    tables = []
    for attribute in attributes:
        codes, groups = boxes.codes(attribute), len(attribute.values)
        difference, error, comparable = model.differences(codes, groups)
        gap, gap_error, _ = plain.differences(codes, groups)
        by_size, _, _ = size_alone.differences(codes, groups)
        member = codes[:, None] == np.arange(groups)
        known = member.any(1)
        number, found = member.sum(0), boxes.found @ member
        others = known.sum() - number
        reach = scipy.stats.norm.ppf(1 - LEVEL / 2) * error
        deviations = difference / error
        table = {
            "attribute": attribute.name,
            "group": attribute.values,
            "boxes": number,
            "recall": 100 * found / np.maximum(number, 1),
            "others": 100 * (boxes.found[known].sum() - found) / np.maximum(others, 1),
            "gap": 100 * gap,
            "gap_p": 2 * scipy.stats.norm.sf(np.abs(gap / gap_error)),
            "size_fixed": 100 * by_size,
            "difference": 100 * difference,
            "low": 100 * np.maximum(difference - reach, -1),
            "high": 100 * np.minimum(difference + reach, 1),
            "deviations": deviations,
            "comparable": comparable,
        }
        tables.append(pd.DataFrame(table))
    table = pd.concat(tables, ignore_index=True)
    rows = table.to_dict("records")
    return table.assign(
        gap_significant=[_significant_gap(row, len(table)) for row in rows],
        verdict=[judge(row, cut, len(table)) for row in rows],
        fixed=model.hold_fixed,
    )


def judge(row: dict, cut: float, rows: int) -> str:
    """Say what a row of `by_group` shows.

    A group is worse (or better) if its difference with class and size held fixed exceeds the
    threshold `cut` and is at least one point. Otherwise, class and size explain a significant gap in plain recall
    if the remaining gap is less than half of it and its 95% interval holds zero, or if it has the
    other sign.

    Parameters
    ----------
    row : dict
        With ``gap`` and ``difference`` (points, negative where the group is worse), ``gap_p`` and
        ``deviations``. The column ``p`` is not needed.
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
    """Whether a gap in plain recall is significant among so many rows, and a point or more."""
    return row["gap_p"] * rows <= LEVEL and abs(row["gap"]) >= 100 * SMALLEST_EFFECT


def is_open(row: dict) -> bool:
    """Whether a row of `by_group` has a gap in plain recall that a headline has to mention.

    That is a gap that class and size explain, or may explain. It is also a gap of which a
    significant difference remains that is below one point and less than half of the gap.
    """
    if row["verdict"] == SMALL:
        return (
            bool(row["gap_significant"])
            and abs(row["difference"]) < abs(row["gap"]) / 2
        )
    return row["verdict"] in (EXPLAINED, UNCLEAR)


def within_size(boxes: Boxes, attributes: Sequence[Attribute]) -> pd.DataFrame:
    """Compute recall of each group among boxes of about the same size, of all classes pooled.

    Returns
    -------
    pandas.DataFrame
        A row for each attribute, group and fifth of the boxes by size: ``bin`` (the number of
        the fifth, from 0), ``side`` (the range of the root of the area, pixels), ``boxes`` and
        ``recall`` in percent, NaN without boxes. Without any box there is no row.
    """
    columns = ["attribute", "group", "bin", "side", "boxes", "recall"]
    side = np.sqrt(boxes.area)
    if not len(side):
        return pd.DataFrame(columns=columns)
    edges = np.unique(np.quantile(side, np.linspace(0, 1, SIZE_BINS + 1)))
    if len(edges) < 2:
        edges = np.array([edges[0], edges[0] + 1])
    inner = edges[1:-1]
    bins = np.searchsorted(inner, side, side="right")
    names = [f"{_pixels(low)} to {_pixels(high)}" for low, high in pairwise(edges)]
    rows = []
    for attribute in attributes:
        codes = boxes.codes(attribute)
        for code, group in enumerate(attribute.values):
            for place, name in enumerate(names):
                found = boxes.found[(codes == code) & (bins == place)]
                recall = 100 * found.mean() if len(found) else np.nan
                rows.append((attribute.name, group, place, name, len(found), recall))
    return pd.DataFrame(rows, columns=columns)


def _pixels(side: float) -> str:
    """Format a side in pixels, with three digits below 100, else in whole pixels."""
    return f"{side:,.0f}" if side >= 100 else f"{side:.3g}"


def size_table(within: pd.DataFrame) -> pd.DataFrame:
    """Format the table of `within_size`: one row per group, one column per size."""
    if within.empty:
        return within[["attribute", "group"]]
    texts = within["recall"].map("{:.0f}%".format) + within["boxes"].map(
        " of {:,}".format
    )
    texts = texts.where(within["boxes"] > 0, "–")
    wide = within.assign(text=texts).pivot_table(
        "text", ["attribute", "group"], "bin", aggfunc="first", sort=False
    )
    sides = within.drop_duplicates("bin").set_index("bin")["side"]
    wide.columns = [f"{sides[place]} px" for place in wide.columns]
    return wide.reset_index()


def sentence(row: dict) -> str:
    """Say in words what a row of `by_group` shows, with its column ``p``."""
    place = f"where {row['attribute']} is {row['group']}"
    recall, others = f"{row['recall']:.0f}%", f"{row['others']:.0f}%"
    interval = f"95% CI {row['low']:+.1f} to {row['high']:+.1f}"
    p = f"adjusted p = {row['p']:.3f}"
    fixed = row["fixed"]
    if row["verdict"] == FOUND:
        start, direction = "Better", "higher"
        if row["difference"] < 0:
            start, direction = "Worse", "lower"
        return (
            f"{start} {place}: at the same {fixed} of the boxes, recall is "
            f"{abs(row['difference']):.1f} points {direction} ({interval}, {p}). Of all boxes, "
            f"{recall} are found there, against {others} elsewhere."
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
    """Select a row per attribute: its most significant finding, a worse group before a better one.

    Without a finding, it is the widest of the gaps that may be explained (`is_open`), or of all."""
    rows = []
    for _, part in table.groupby("attribute", sort=False):
        found = part[part["verdict"] == FOUND]
        worse = found[found["difference"] < 0]
        pick = worse if len(worse) else found
        if len(pick):
            rows.append(pick["deviations"].abs().idxmax())
        elif part["gap"].notna().any():
            open_gaps = part[[is_open(row) for row in part.to_dict("records")]]
            candidates = open_gaps if len(open_gaps) else part
            width = candidates["gap"].abs()
            widest = candidates[width > width.max() - 1e-6]
            rows.append(widest["gap"].idxmin())  # of two groups, the worse one
    first = table.loc[rows]
    order = [
        0 if row["verdict"] == FOUND else 1 if is_open(row) else 2
        for row in first.to_dict("records")
    ]
    size = -first["deviations"].abs().fillna(0)
    return (
        first.assign(order=order, size=size)
        .sort_values(["order", "size"], kind="stable")
        .drop(columns=["order", "size"])
    )


def detectable_difference(table: pd.DataFrame, cut: float) -> float:
    """Return the difference of recall (points) with a power of 80%, in the least precise group."""
    error = (table["difference"] / table["deviations"]).abs().max()
    return float((cut + scipy.stats.norm.ppf(0.8)) * error)


def printed(table: pd.DataFrame) -> pd.DataFrame:
    """Format the table of `by_group` for a report; it needs the column ``p`` (adjusted p)."""

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


def title(first: pd.DataFrame, attribute: str) -> str:
    """Return the title of the figure of recall by size, from the first row of `foremost`."""
    rows = first[first["attribute"] == attribute].to_dict("records")
    if not rows:
        return f"Recall of all classes pooled by box size and {attribute}"
    [row] = rows
    place = f"{row['attribute']} {row['group']}"
    if row["verdict"] == FOUND:
        more = "lower" if row["difference"] < 0 else "higher"
        return f"At the same class and size, recall is {more} for {place}"
    if row["verdict"] == EXPLAINED:
        return (
            f"At the same class and size, recall of {place} is about that of the others"
        )
    return f"Recall of all classes pooled by box size and {attribute}"

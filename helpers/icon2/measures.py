"""Recall and false positives of groups, their differences, and standard errors.

A detector misses small boxes more often, and some classes more often than others. A
group whose boxes are smaller therefore has a lower recall even if the detector treats
all groups alike. So recall is compared among boxes of the same class and about the same
size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import scipy.sparse

from helpers.icon2.attributes import Attribute, Frames
from helpers.icon2.matching import Matches

ALL_CLASSES = "all classes"
AVERAGE_RECALL = "average recall"  # over the IoU thresholds from 0.5 to 0.95
RECALL = "recall at IoU 0.5"
FALSE_POSITIVES = "false positives per 100 images"
KNOTS = (0.2, 0.4, 0.6, 0.8)  # quantiles of log area where the line by size may bend
STRATUM = 10  # boxes of neighbouring sizes in a stratum
FEWEST = 30  # boxes or images of a group, and of all others
FEWEST_CLUSTERS = 10  # images or clusters with a box of the group, and of the others
COMPARABLE = 0.05  # share of a group's contrast below which nothing can be said


@dataclass(frozen=True)
class Measure:
    """Hold a value of each box or image, and what is held fixed to compare groups.

    Attributes
    ----------
    name, class_name : str
        What is measured, and for which class.
    units : pandas.DataFrame
        One row per box or image, with the ``image`` (its number), the ``row`` of the
        box (-1 for an image), the ``cluster`` of the image, and the ``value``. Units
        are compared within a ``stratum`` (class and size).
    predictors : list of str
        Columns of the units that are also held fixed, by linear regression.
    """

    name: str
    class_name: str
    units: pd.DataFrame
    predictors: list[str]

    def of_class(self, name: str, category: int) -> Measure:
        """Return the measure of one class."""
        is_own = self.units["category"] == category
        units = self.units[is_own]
        return replace(self, class_name=name, units=units)

    def after_loss(self, lost: pd.Series) -> Measure:
        """Return the measure as if some rows of boxes had not been detected."""
        is_lost = self.units["row"].isin(lost)
        value = self.units["value"].mask(is_lost, 0)
        return replace(self, units=self.units.assign(value=value))

    def members(self, attribute: Attribute) -> np.ndarray:
        """Mark which units belong to each group, and which to any other group.

        Returns
        -------
        float array of shape (n units, 2 n groups)
            Units of unknown group are marked nowhere.
        """
        image = self.units["image"].to_numpy()
        row = self.units["row"].to_numpy()
        codes = attribute.of_boxes(image, row)
        if attribute.level == "box":
            codes = np.where(row < 0, -1, codes)  # an image is no box
        groups = np.arange(len(attribute.values))
        is_known = codes >= 0
        member = np.equal.outer(codes, groups)
        other = is_known[:, None] & ~member
        parts = np.hstack([member, other])
        return parts.astype(float)

    def differences(self, attribute: Attribute, adjusted: bool = True) -> np.ndarray:
        """Compare the mean value of each group with that of all other groups.

        A linear regression of the values has an intercept for each stratum and the
        predictors. The difference of a group is its coefficient in that regression.
        Within strata alone it would be the Mantel-Haenszel difference. Standard errors
        count a cluster of images as one observation.

        Parameters
        ----------
        attribute : Attribute
        adjusted : bool
            Whether strata and predictors are held fixed.

        Returns
        -------
        array of shape (2, n groups)
            Mean of the group minus mean of the others, and the standard error. NaN
            where a group is too small to be compared, or shares too few classes and
            sizes with the others.
        """
        parts = self.members(attribute)
        known = parts.any(axis=1)
        if not known.any():
            return np.full((2, len(attribute.values)), np.nan)
        parts = parts[known]
        units = self.units[known]
        member, other = np.hsplit(parts, 2)
        value = units["value"].to_numpy()
        columns = np.column_stack([member, value])
        left = columns - columns.mean(axis=0)
        if adjusted:
            strata = units["stratum"].to_numpy()
            predictors = units[self.predictors].to_numpy()
            left = residuals(columns, strata, predictors)
        contrast = left[:, :-1]
        value = left[:, -1:]
        # of membership, times the number of units
        variance = (contrast**2).sum(axis=0)
        share = member.mean(axis=0)
        n_others = other.sum(axis=0)
        raw_variance = share * n_others
        covariance = (contrast * value).sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            share_left = variance / raw_variance
            difference = covariance / variance
            rest = value - contrast * difference
            scores = sums(units["cluster"], contrast * rest)
            error = np.linalg.norm(scores, axis=0) / variance
            # Where all boxes or none are found, the estimated error is zero. Half a box
            # more can shift the difference by as much as the smallest error.
            smallest_error = 0.5 / variance
            error = np.maximum(error, smallest_error)
        in_clusters = sums(units["cluster"], parts)
        n_clusters = (in_clusters > 0).sum(axis=0)
        few = parts.sum(axis=0) < FEWEST
        few |= n_clusters < FEWEST_CLUSTERS
        unknown = few.reshape(2, -1).any(axis=0)
        unknown |= ~(share_left >= COMPARABLE)
        return np.where(unknown, np.nan, [difference, error])


def measures(
    frames: Frames,
    matches: Matches,
    threshold: float,
    classes: Sequence[str],
    clusters: np.ndarray,
) -> list[Measure]:
    """Measure recall and false positives of the detections above a threshold.

    Detections are matched from the highest score down, so those below the threshold
    take no box from the others.

    Parameters
    ----------
    frames, matches
        The labels and detections, and their matches.
    threshold : float
        The lowest score of the detections that count.
    classes : sequence of str
        Which classes are also compared one by one.
    clusters : array of shape (n images,)
        Which images belong together.

    Returns
    -------
    list of Measure
        Average recall of all classes and of each class, then recall at IoU 0.5 and
        false positives of all classes.
    """
    _, cluster = np.unique(clusters, return_inverse=True)
    boxes = labelled_boxes(frames, matches, threshold)
    boxes["cluster"] = cluster[boxes["image"]]
    boxes["stratum"] = class_and_size(boxes)
    area = boxes["area"].astype(float)
    size = np.log(area.clip(lower=1e-6))
    predictors = ["log area"]
    boxes["log area"] = size
    for knot in KNOTS:
        above = size - size.quantile(knot)
        name = f"log area above {knot}"
        boxes[name] = above.clip(lower=0)
        predictors.append(name)
    average = boxes.assign(value=boxes[AVERAGE_RECALL])
    average_recall = Measure(AVERAGE_RECALL, ALL_CLASSES, average, predictors)
    of_classes = []
    for name in classes:
        category = frames.classes.index(name)
        of_classes.append(average_recall.of_class(name, category))
    at_half = boxes.assign(value=boxes[RECALL])
    recall = Measure(RECALL, ALL_CLASSES, at_half, predictors)

    detections = matches.detections
    is_false = matches.taken[0] < 0
    is_false &= detections["score"] >= threshold
    number = np.bincount(detections["image"][is_false], minlength=len(cluster))
    images = pd.DataFrame({"image": np.arange(len(cluster)), "cluster": cluster})
    images = images.assign(row=-1, stratum=0, value=number)
    false_positives = Measure(FALSE_POSITIVES, ALL_CLASSES, images, [])
    return [average_recall, *of_classes, recall, false_positives]


def labelled_boxes(frames: Frames, matches: Matches, threshold: float) -> pd.DataFrame:
    """List the boxes that have to be detected, and at how many thresholds they are.

    Returns
    -------
    pandas.DataFrame
        The ``image``, ``category`` and ``area`` of each box that has to be detected,
        and its ``row`` in ``frames.boxes``. `RECALL` is 1 if a detection of the box's
        class, with a score of at least `threshold`, took the box at the first IoU
        threshold, and 0 otherwise. `AVERAGE_RECALL` is the mean over all IoU
        thresholds.
    """
    is_strong = matches.detections["score"].to_numpy() >= threshold
    boxes = frames.boxes[["image", "category", "area"]].reset_index(names="row")
    is_found = [boxes["row"].isin(taken[is_strong]) for taken in matches.taken]
    boxes[RECALL] = is_found[0].astype(float)
    boxes[AVERAGE_RECALL] = np.mean(is_found, axis=0)
    is_counted = ~frames.boxes["ignore"].to_numpy(bool)
    return boxes[is_counted].reset_index(drop=True)


def class_and_size(boxes: pd.DataFrame) -> np.ndarray:
    """Divide boxes into strata of about ten of one class and of neighbouring sizes.

    Boxes of equal size share a stratum, so that the order of the boxes in a file
    decides nothing.
    """
    area = boxes.groupby("category")["area"]
    smaller = area.rank(method="min") - 1
    n_boxes = area.transform("size")
    n_strata = (n_boxes / STRATUM).round().clip(lower=1)
    place = smaller * n_strata // n_boxes
    strata = boxes.groupby(["category", place])
    return strata.ngroup().to_numpy()


def recall_by_size(
    boxes: pd.DataFrame, attributes: Sequence[Attribute]
) -> pd.DataFrame:
    """Compute the recall of each group among boxes of about the same size.

    Parameters
    ----------
    boxes : pandas.DataFrame
        From `labelled_boxes`.
    attributes : sequence of Attribute

    Returns
    -------
    pandas.DataFrame
        A row for each attribute, group and fifth of the boxes by size, with ``side``
        (the range of the root of the area, pixels), the number of ``boxes``, and
        ``recall`` at IoU 0.5 in percent, NaN without boxes.
    """
    # rounded, because equal boxes in different places differ in their last digits
    side = np.sqrt(boxes["area"]).round(3)
    edges = side.quantile(np.linspace(0, 1, 6)).to_numpy(copy=True)
    edges[-1] += 0.01  # the largest boxes belong to the last fifth
    fifth = pd.cut(side, np.unique(edges), right=False, precision=1)
    tables = {}
    for attribute in attributes:
        codes = attribute.of_boxes(boxes["image"], boxes["row"])
        group = pd.Categorical.from_codes(codes, attribute.values)
        percent = 100 * boxes[RECALL]
        cells = percent.groupby([group, fifth.rename("side")], observed=False)
        tables[attribute.name] = cells.agg(boxes="size", recall="mean")
    table = pd.concat(tables, names=["attribute", "group", "side"])
    return table.reset_index()


def residuals(
    columns: np.ndarray, strata: np.ndarray, predictors: np.ndarray
) -> np.ndarray:
    """Remove from columns what strata and predictors predict, by least squares."""
    together = pd.DataFrame(np.column_stack([predictors, columns]))
    mean = together.groupby(strata).transform("mean")
    centred = (together - mean).to_numpy()
    predictors, rest = np.split(centred, [predictors.shape[1]], axis=1)
    coefficients, *_ = np.linalg.lstsq(predictors, rest)
    return rest - predictors @ coefficients


def sums(code: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Add up the rows of each code, from code 0 to the largest."""
    place = (code, np.arange(len(code)))
    indicator = scipy.sparse.csr_array((np.ones(len(code)), place))
    return indicator @ columns

"""Recall and false positives of groups, their differences, and standard errors.

A detector misses small boxes more often, and some classes more often than others. A
group whose boxes are smaller therefore has a lower recall even if the detector treats
all groups alike. So recall is compared among boxes of the same class and about the same
size.
"""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import scipy.stats

from helpers.icon2.attributes import Attribute, Frames
from helpers.icon2.matching import Matches

LEVEL = 0.05
Z = scipy.stats.norm.ppf(1 - LEVEL / 2)
ALL_CLASSES = "all classes"
AVERAGE_RECALL = "average recall"  # over the IoU thresholds from 0.5 to 0.95
RECALL = "recall at IoU 0.5"
FALSE_POSITIVES = "false positives per 100 images"
KEYS = ["measure", "class", "attribute", "group"]
# quantiles of log area from which a line by size begins; at 0, it is the log area
KNOTS = [0, 0.2, 0.4, 0.6, 0.8]
PREDICTORS = [f"log area above quantile {knot}" for knot in KNOTS]
STRATUM = 10  # boxes of neighbouring sizes in a stratum
FEWEST = 30  # boxes or images of a group, and of all others
FEWEST_CLUSTERS = 10  # images or clusters with a box of the group, and of the others
COMPARABLE = 0.05  # share of a group's contrast below which nothing can be said
HALF_A_BOX = 50  # as a value is 100 for a box that is detected


def units_to_compare(
    frames: Frames,
    matches: Matches,
    threshold: float,
    classes: Sequence[str],
    clusters: np.ndarray,
) -> pd.DataFrame:
    """List the boxes and images whose values are compared between groups.

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
    pandas.DataFrame
        One row per ``measure``, ``class``, and box that has to be detected (or image),
        with its ``image``, the ``row`` in ``frames.boxes`` (-1 for an image), the
        ``cluster`` of the image, and the ``value`` (percent, or false positives times
        100). The ``stratum`` (class and size) and the `PREDICTORS` are held fixed; they
        are 0 for an image.

        The measures are average recall of all classes and of each class, then recall
        at IoU 0.5 and false positives of all classes.
    """
    detections = matches.detections
    is_strong = detections["score"] >= threshold
    boxes = frames.boxes[["image", "category", "area"]].reset_index(names="row")
    is_found = [boxes["row"].isin(taken[is_strong]) for taken in matches.taken]
    at_half = 100.0 * is_found[0]
    boxes["value"] = 100 * np.mean(is_found, axis=0)
    is_ignored = frames.boxes["ignore"].to_numpy(bool)
    boxes = boxes[~is_ignored]
    boxes["stratum"] = class_and_size(boxes)
    size = np.log(np.maximum(boxes["area"], 1e-6))
    for name, knot in zip(PREDICTORS, KNOTS, strict=True):
        above = size - size.quantile(knot)
        boxes[name] = above.clip(lower=0)
    is_false = detections["box"] < 0
    is_false &= is_strong
    image = detections["image"][is_false]
    number = np.bincount(image, minlength=len(clusters))
    images = pd.DataFrame({"row": -1, "value": 100 * number})

    every_class = ALL_CLASSES
    if len(frames.classes) == 1:
        every_class = frames.classes[0]
    parts = {(AVERAGE_RECALL, every_class): boxes}
    if len(frames.classes) > 1:
        for name in classes:
            category = frames.classes.index(name)
            of_class = boxes[boxes["category"] == category]
            parts[AVERAGE_RECALL, name] = of_class
    parts[RECALL, every_class] = boxes.assign(value=at_half)
    parts[FALSE_POSITIVES, every_class] = images.reset_index(names="image")
    units = pd.concat(parts, names=["measure", "class", "unit"]).reset_index()
    cluster, _ = pd.factorize(clusters)
    units["cluster"] = cluster[units["image"]]
    return units.fillna(0)


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


def by_group(
    units: pd.DataFrame, attributes: Sequence[Attribute], summary: Callable
) -> pd.DataFrame:
    """Summarize the units of each group.

    Parameters
    ----------
    units : pandas.DataFrame
        From `units_to_compare`.
    attributes : sequence of Attribute
        Units of unknown group are left out.
    summary : callable
        `means` or `differences`.

    Returns
    -------
    pandas.DataFrame
        One row per ``measure``, ``class``, ``attribute`` and ``group``, with the
        ``number`` of units, the columns of the summary, the 95% interval of the
        estimate (``low`` and ``high``) and ``z``, the estimate in standard errors.
    """
    tables = {}
    by_measure = units.groupby(["measure", "class"], sort=False)
    for (measure, name), of_measure in by_measure:
        for attribute in attributes:
            if measure == FALSE_POSITIVES and attribute.level == "box":
                continue  # an image is no box
            codes = attribute.of_boxes(of_measure["image"], of_measure["row"])
            is_known = codes >= 0
            one_hot = np.eye(len(attribute.values), dtype=int)
            member = one_hot[codes[is_known]]
            known = of_measure[is_known].reset_index(drop=True)
            with np.errstate(all="ignore"):
                columns = summary(known, member)
            table = pd.DataFrame(columns, index=attribute.values)
            table.insert(0, "number", member.sum(axis=0))
            tables[measure, name, attribute.name] = table
    table = pd.concat(tables, names=KEYS).reset_index()
    error = table.pop("error")
    table["low"] = table["estimate"] - Z * error
    table["high"] = table["estimate"] + Z * error
    table["z"] = table["estimate"] / error
    return table


def means(units: pd.DataFrame, member: np.ndarray) -> dict[str, np.ndarray]:
    """Compute the mean value of each group.

    Parameters
    ----------
    units : pandas.DataFrame
        Of one measure and class.
    member : int array of shape (n units, n groups)
        1 for the units of a group.

    Returns
    -------
    dict of str to array of shape (n groups,)
        The ``estimate`` (NaN if a group has too few units) and its standard ``error``.
    """
    mean, error = _slopes(units["value"], member, units["cluster"])
    is_enough = member.sum(axis=0) >= FEWEST
    return {"estimate": np.where(is_enough, mean, np.nan), "error": error}


def differences(units: pd.DataFrame, member: np.ndarray) -> dict[str, np.ndarray]:
    """Compare the mean value of each group with that of all other groups.

    A linear regression of the values has an intercept for each stratum and the
    predictors. The difference of a group is its coefficient in that regression. Within
    strata alone it would be the Mantel-Haenszel difference. Standard errors count a
    cluster of images as one observation.

    Parameters
    ----------
    units, member
        As for `means`.

    Returns
    -------
    dict of str to array of shape (n groups,)
        The mean ``value`` of each group, that of all ``others``, the ``estimate`` of
        their difference and its standard ``error``. The estimate is NaN where a group
        is too small to be compared, or shares too few classes and sizes with the
        others.
    """
    cluster = units["cluster"]
    parts = np.hstack([member, 1 - member])  # the groups, then their complements
    number = parts.sum(axis=0)
    in_clusters = pd.DataFrame(parts).groupby(cluster).any()
    n_clusters = in_clusters.sum().to_numpy()
    is_enough = number >= FEWEST
    is_enough &= n_clusters >= FEWEST_CLUSTERS
    mean = units["value"].to_numpy() @ parts / number
    value, others = np.split(mean, 2)
    columns = np.column_stack([member, units["value"]])
    left = residuals(columns, units["stratum"], units[PREDICTORS])
    contrast = left[:, :-1]
    difference, error = _slopes(left[:, -1], contrast, cluster)
    # How much membership varies at the same class and size, compared with how much it
    # varies at all (both are variances times the number of units).
    variance = (contrast**2).sum(axis=0)
    number, n_others = np.split(number, 2)
    raw_variance = number * n_others / len(units)
    is_known = is_enough.reshape(2, -1).all(axis=0)
    is_known &= variance / raw_variance >= COMPARABLE
    return {
        "value": value,
        "others": others,
        "estimate": np.where(is_known, difference, np.nan),
        "error": error,
    }


def residuals(
    columns: np.ndarray, strata: np.ndarray, predictors: np.ndarray
) -> np.ndarray:
    """Remove from columns what strata and predictors predict, by least squares."""
    together = pd.DataFrame(np.column_stack([predictors, columns]))
    of_stratum = together.groupby(strata)
    centred = together - of_stratum.transform("mean")
    n_predictors = predictors.shape[1]
    predictors = centred.iloc[:, :n_predictors].to_numpy()
    rest = centred.iloc[:, n_predictors:].to_numpy()
    coefficients, *_ = np.linalg.lstsq(predictors, rest)
    return rest - predictors @ coefficients


def _slopes(
    value: np.ndarray, columns: np.ndarray, cluster: pd.Series
) -> tuple[np.ndarray, np.ndarray]:
    """Regress values on each column alone, with standard errors by cluster.

    If the columns are 0 or 1, the slopes are means.
    """
    value = np.reshape(value, (-1, 1))
    variance = (columns**2).sum(axis=0)
    slope = (columns * value).sum(axis=0) / variance
    rest = value - columns * slope
    scores = pd.DataFrame(columns * rest)
    of_cluster = scores.groupby(cluster).sum()
    error = np.linalg.norm(of_cluster, axis=0)
    # Where all boxes or none are found, the estimated error is zero. Half a box more
    # can shift the slope by as much as the smallest error.
    error = np.maximum(error, HALF_A_BOX)
    return slope, error / variance


def recall_by_size(
    units: pd.DataFrame, attributes: Sequence[Attribute]
) -> pd.DataFrame:
    """Compute the recall of each group among boxes of about the same size.

    Parameters
    ----------
    units : pandas.DataFrame
        From `units_to_compare`.
    attributes : sequence of Attribute

    Returns
    -------
    pandas.DataFrame
        A row for each fifth of the boxes by size, attribute and group, with ``side``
        (the range of the root of the area, pixels), the number of ``boxes``, and
        ``recall`` at IoU 0.5 in percent, NaN of too few boxes.
    """
    boxes = units[units["measure"] == RECALL].sort_values("area")
    # rounded, because equal boxes in different places differ in their last digits
    side = np.sqrt(boxes["area"]).round(3)
    edges = side.quantile(KNOTS).unique()
    fifth = pd.cut(side, [*edges, np.inf], right=False, precision=1)
    boxes["class"] = fifth.astype(str)
    table = by_group(boxes, attributes, means)
    names = {"class": "side", "number": "boxes", "estimate": "recall"}
    return table.rename(columns=names).drop(columns="z")

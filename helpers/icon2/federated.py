"""Federated labels, as those of LVIS: in an image only some classes are known.

A class is known in an image if it has a box there or is listed in ``neg_category_ids``.
In those of ``not_exhaustive_category_ids``, some of its objects have no box.
"""

import pandas as pd

from helpers.icon2.file_checks import Checks
from helpers.icon2.reading import Labels

BEYOND = 1e6  # pixels, beyond every image


def of_known_classes(
    detections: pd.DataFrame, labels: Labels, checks: Checks
) -> pd.DataFrame:
    """Remove detections of classes that are not known in their image.

    Such a detection is neither right nor wrong.
    """
    if not labels.verified:
        return detections
    pair = ["image", "category"]
    negative = _listed(labels, "neg_category_ids")
    incomplete = _listed(labels, "not_exhaustive_category_ids")
    known = pd.concat([labels.boxes[pair], negative]).drop_duplicates()
    known = pd.MultiIndex.from_frame(known)
    kept = pd.MultiIndex.from_frame(detections[pair]).isin(known)
    checks.warnings.append(
        f"The labels are federated, as those of LVIS. {(~kept).sum():,} of {len(kept):,} "
        "detections are of a class that was not verified in their image, and were left out. "
        f"In {len(incomplete):,} pairs of image and class the labels are not complete: "
        "detections there that match no box are neither right nor wrong. Compare AP with LVIS's "
        "own evaluation, not with pycocotools."
    )
    return detections[kept].reset_index(drop=True)


def with_incomplete_classes(labels: Labels) -> pd.DataFrame:
    """Return the boxes, with a region to ignore where a class is not labelled in full."""
    regions = _listed(labels, "not_exhaustive_category_ids")
    if regions.empty:
        return labels.boxes
    regions = regions.assign(
        x1=-BEYOND,
        y1=-BEYOND,
        x2=BEYOND,
        y2=BEYOND,
        ignore=True,
        extent=4 * BEYOND**2,
        area=4 * BEYOND**2,
    )
    return pd.concat([labels.boxes, regions], ignore_index=True)


def _listed(labels: Labels, field: str) -> pd.DataFrame:
    """Return the number of the image and the class that a field of the images lists."""
    number = dict(zip(labels.images["id"], labels.images.index, strict=True))
    rows = []
    for image, lists in labels.verified.items():
        for category in lists[field]:
            if str(category) in labels.categories:
                rows.append((number[image], labels.categories[str(category)]))
    return pd.DataFrame(rows, columns=["image", "category"])

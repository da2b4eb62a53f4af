"""The comparison of lesson 12, on frames instead of files."""

from types import SimpleNamespace

import numpy as np

from helpers.icon2 import analyse, detector_findings, match, pooled_recall
from helpers.icon2 import detector_audit as audit
from helpers.icon2.analysis import image_weights
from helpers.icon2.attributes import from_column

FEW = audit.HOW.min_boxes


def audited(frames, column="place", draws=79, seed=0):
    """Compare the groups of a column as the lesson does; the headline and its tables."""
    attribute = from_column(frames, column)
    matches = match(frames)
    names = audit.most(matches, None, FEW)
    classes = [matches.of(name) for name in names]
    boxes = pooled_recall.labelled_boxes(frames, matches)
    by_size = pooled_recall.RecallBySize(boxes)
    chance = audit.deals(
        [attribute], matches.boxes, np.arange(len(frames.images)), seed
    )
    null = audit.by_chance(classes, chance, draws, by_size)
    every = pooled_recall.by_group(by_size, [attribute], null.pooled_cut)
    every["p"] = audit.p_values(every["deviations"].abs(), null.pooled_most, null)
    pooled = pooled_recall.foremost(every)
    analyses = {
        column: analyse(matches, attribute, [], classes=names, options=audit.HOW)
    }
    recalls = audit.recalls(names, classes, [attribute])
    weights = image_weights(len(frames.images), 60, seed)
    area = frames.boxes["area"].to_numpy(float)
    gaps = detector_findings.gaps(
        classes, names, [attribute], analyses, recalls, null, area, weights
    )
    found = gaps[
        (gaps["verdict"] == detector_findings.YES) & (gaps["class"] != "all classes")
    ]
    of_class = detector_findings.class_headline(found.iloc[0], "") if len(found) else ""
    enough = detector_findings.with_enough_boxes(frames, [attribute], FEW)
    compared = [name for name in names if name in set(gaps["class"])]
    counted = detector_findings.how_many(compared, enough, frames.classes)
    detectable = pooled_recall.detectable_difference(every, null.pooled_cut)
    headline, below = detector_findings.headline(
        pooled, of_class, counted, [], detectable
    )
    return SimpleNamespace(
        every=every, pooled=pooled, gaps=gaps, headline=headline, below=below
    )


def is_found(result):
    """Whether the headline or a row of the findings says that a group is worse or better."""
    in_headline = (
        "worse where" in result.headline.lower() or "better" in result.headline.lower()
    )
    in_pooled = (result.every["verdict"] == pooled_recall.FOUND).any()
    in_classes = (result.gaps["verdict"] == detector_findings.YES).any()
    return bool(in_headline or in_pooled or in_classes)

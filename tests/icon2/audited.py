"""The comparison of an audit, on frames instead of files."""

from types import SimpleNamespace

import numpy as np

from helpers.icon2 import analyse, compared, detector_findings, match, pooled_recall
from helpers.icon2 import group_gaps as audit
from helpers.icon2.analysis import image_weights
from helpers.icon2.attributes import from_column


def audited(
    frames,
    column="place",
    draws=79,
    seed=0,
):
    """Compare the groups of a column as the audit does; the headline and its tables."""
    attribute = from_column(frames, column)
    matches = match(frames)
    names = compared.classes_to_compare(matches, None)
    classes = {name: matches.of(name) for name in names}
    boxes = pooled_recall.labelled_boxes(frames, matches)
    recall = pooled_recall.RecallBySize(boxes)
    n_images = len(frames.images)
    together = np.arange(n_images)
    permutations = audit.permuted_attributes([attribute], matches.boxes, together, seed)
    null = audit.null_distribution(classes, permutations, draws, recall)
    every = pooled_recall.by_group(recall, [attribute], null.recall_threshold)
    every["p"] = null.recall_p(every["deviations"])
    pooled = pooled_recall.foremost(every)
    analyses = {
        column: analyse(matches, attribute, [], classes=names, options=audit.HOW)
    }
    weights = image_weights(n_images, 60, seed)
    area = frames.boxes["area"].to_numpy(float)
    gaps = detector_findings.gaps(classes, [attribute], analyses, null, area, weights)
    found = gaps[
        (gaps["verdict"] == detector_findings.YES) & (gaps["class"] != "all classes")
    ]
    of_class = detector_findings.class_headline(found.iloc[0], "") if len(found) else ""
    enough = compared.with_enough_boxes(frames, [attribute])
    judged = [name for name in names if name in set(gaps["class"])]
    counted = detector_findings.how_many(judged, enough, frames.classes)
    detectable = pooled_recall.detectable_difference(every, null.recall_threshold)
    headline = detector_findings.headline(pooled, of_class, counted, detectable)
    return SimpleNamespace(every=every, pooled=pooled, gaps=gaps, headline=headline)


def is_found(result):
    """Whether the headline or a row of the findings says that a group is worse or
    better.
    """
    in_headline = (
        "worse where" in result.headline.lower() or "better" in result.headline.lower()
    )
    in_pooled = (result.every["verdict"] == pooled_recall.FOUND).any()
    verdicts = result.gaps["verdict"]
    in_classes = (verdicts == detector_findings.YES).any()
    return bool(in_headline or in_pooled or in_classes)

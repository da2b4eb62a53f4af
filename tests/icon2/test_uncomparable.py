"""Test a detector audit with gaps, boxes and settings that it cannot use."""

import json
from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from test_detector_audit import dealt, pooled, prepared, world, written

from helpers import audits
from helpers.icon2 import compared, detector_findings, group_gaps
from helpers.icon2.coco_summary import coco_summary
from helpers.icon2.file_checks import DetectionDataError


@pytest.mark.parametrize(
    ("undefined", "is_kept"),
    [
        (1, True),
        (10, False),
    ],
)
def test_a_gap_that_few_permutations_lack_is_compared(
    undefined,
    is_kept,
    monkeypatch,
):
    matches, classes, [light] = prepared(world(80), "light")
    without_kite = np.array([np.nan, 0.1, np.nan])
    replaced = iter([without_kite] * undefined)
    spread = group_gaps.spread
    monkeypatch.setattr(group_gaps, "spread", lambda ap: next(replaced, spread(ap)))
    permutations = dealt(matches, [light])
    recall = pooled(world(80), matches)
    null = group_gaps.null_distribution(classes, permutations, 50, recall)
    expected = [[is_kept, True, is_kept]]
    assert np.isfinite(null.mean).tolist() == expected
    assert np.isfinite(null.deviation).tolist() == expected
    assert np.isfinite(null.gap_threshold)


def test_ignored_boxes_do_not_count_as_enough():
    frames = world(60)
    is_ring = frames.boxes["category"] == 0
    light_of_box = frames.images["light"].to_numpy()[frames.boxes["image"]]
    boxes = frames.boxes.assign(ignore=is_ring & (light_of_box == "dim"))
    _, classes, [light] = prepared(replace(frames, boxes=boxes), "light")
    assert compared._with_enough_boxes(light, classes["ring"]).values == ("day",)
    assert compared._with_enough_boxes(light, classes["kite"]).values == ("day", "dim")


def test_a_report_closes_no_figure_of_the_caller_and_takes_a_folder_as_text(tmp_path):
    labels, results = written(tmp_path, world(60))
    result = audits.detector(
        labels,
        results,
        groups=["light"],
        draws=19,
        resamples=5,
    )
    mine = plt.figure()
    before = plt.get_fignums()
    result.save(str(tmp_path / "report"))
    assert plt.get_fignums() == before
    assert (tmp_path / "report" / "page.html").exists()
    plt.close(mine)


def test_a_doubt_about_the_files_is_the_only_headline(tmp_path):
    """Results have the ids of other images, so almost nothing is detected."""
    frames = world(60, loss=0.9)
    labels, results = written(tmp_path, frames)
    content = json.loads(Path(results).read_text())
    for result in content:
        result["image_id"] = 1 + result["image_id"] % 60
        result["bbox"][1] += 250
    Path(results).write_text(json.dumps(content))
    audit = audits.detector(labels, results, groups=["light"], draws=19, resamples=5)
    assert audit.headline.startswith("The detector finds almost nothing: ")
    assert audit.files["text"][0] == audit.headline
    assert audit.significant.empty
    assert set(audit.findings["verdict"]) == {detector_findings.NOT_JUDGED}


@pytest.mark.parametrize("bounds", [[100], [100, 200, 300], [200, 100]])
def test_sizes_need_two_bounds_the_smaller_first(bounds):
    with pytest.raises(DetectionDataError, match="Two are expected"):
        coco_summary(world(10), bounds)

"""Test a detector audit with gaps, boxes and settings that it cannot use."""

import json
from dataclasses import replace
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from test_detector_audit import world, written

from helpers import audits
from helpers.icon2 import group_comparison
from helpers.icon2.attributes import DetectionDataError
from helpers.icon2.file_checks import coco_summary


def test_a_threshold_above_all_scores_is_refused(tmp_path):
    labels, results = written(tmp_path, world(30))
    with pytest.raises(DetectionDataError, match="No detection has a score of at"):
        audits.detector(labels, results, groups=["light"], threshold=1.0)


def test_too_few_boxes_are_refused(tmp_path):
    frames = world(25)
    boxes = frames.boxes.groupby("image").head(1).reset_index(drop=True)
    few = replace(frames, images=frames.images[["name"]], boxes=boxes)
    labels, results = written(tmp_path, few)
    with pytest.raises(DetectionDataError, match="No group has 30 boxes"):
        audits.detector(labels, results, draws=19)


def test_a_report_closes_no_figure_of_the_caller_and_takes_a_folder_as_text(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(group_comparison, "TRIALS", 1)
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


def test_files_that_do_not_belong_together_are_refused(tmp_path):
    """Results have the ids of other images, so almost nothing is detected."""
    labels, results = written(tmp_path, world(60, loss=0.9))
    content = json.loads(Path(results).read_text())
    for result in content:
        result["image_id"] = 1 + result["image_id"] % 60
        result["bbox"][1] += 250
    Path(results).write_text(json.dumps(content))
    with pytest.raises(
        DetectionDataError, match=r"finds almost nothing: AP .* is 0.0%"
    ):
        audits.detector(labels, results, groups=["light"])


@pytest.mark.parametrize("sizes", [[32], [32, 64, 96], [96, 32]])
def test_sizes_need_two_sides_the_smaller_first(sizes):
    with pytest.raises(DetectionDataError, match=r"'sizes' is .* in pixels"):
        coco_summary(replace(world(10), sides=sizes))

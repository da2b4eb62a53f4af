"""Real BDD100K frames and detections: read, matched, and equal to pycocotools."""

import numpy as np
import pytest
from detection_oracles import average_precision, pycocotools_ap

from helpers.icon2 import Options, analyse, attributes, match, read_detections, read_labels

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def frames(real):
    folder = real / "bdd100k"
    truth = read_labels(folder / "track_sample_anns.json")
    return truth, *read_detections(folder / "bbox_predictions.json", truth)


def test_reads_all_of_it(frames):
    truth, detections, report = frames
    assert len(truth.images) == 202
    left_out = sum(int(line.split()[0]) for line in truth.report if "not a class here" in line)
    assert len(truth.boxes) + left_out == 3241
    assert truth.boxes.ignore.sum() > 100, "crowds are regions to ignore"
    unknown = sum(int(line.split()[0]) for line in report if "not a class" in line)
    assert len(detections) + unknown == 5372


@pytest.mark.parametrize("every", [1, 3])
def test_equals_pycocotools(frames, every):
    pytest.importorskip("pycocotools")
    truth, detections, _ = frames
    images = np.arange(202) % every == 0
    found = average_precision(match(truth, detections), images=images)
    np.testing.assert_allclose(found, pycocotools_ap(truth, detections, images), atol=1e-9)


def test_the_box_width_of_scalabel_moves_it(frames):
    truth, detections, _ = frames
    both = [
        100 * np.nanmean(average_precision(match(truth, detections, box_width=w)))
        for w in ("plain", "plus one")
    ]
    assert 0.2 < both[1] - both[0] < 3


def test_average_precision_by_occlusion_and_size(frames):
    truth, detections, _ = frames
    matches = match(truth, detections)
    occlusion = attributes.occlusion(truth)
    size = attributes.size(truth, detections)
    blocks = np.arange(202) // 20  # frames of one video follow each other
    analysis = analyse(matches, occlusion, [size], classes=["car"], resamples=50, clusters=blocks)
    groups, values = analysis.groups(), analysis.values().set_index("value")
    ap = groups.set_index("value").AP
    assert ap["visible"] > ap["occluded"]
    assert values.AP["large"] > values.AP["medium"] > values.AP["small"]
    assert ((groups.low <= groups.AP) & (groups.high >= groups.AP)).all()
    one_by_one = analyse(matches, occlusion, [], classes=["car"], resamples=50).groups()
    wide, narrow = ((t.high - t.low).mean() for t in (groups, one_by_one))
    assert wide > narrow, "neighbouring frames are alike: drawing them one by one is too sure"


def test_rare_classes_are_not_estimable(frames):
    truth, detections, _ = frames
    occlusion = attributes.occlusion(truth)
    analysis = analyse(match(truth, detections), occlusion, [], options=Options(min_boxes=30))
    table = analysis.groups()
    few = table[(table["class"] == "bus")]
    assert (few.boxes < 30).any()
    assert few.AP[few.boxes < 30].isna().all()

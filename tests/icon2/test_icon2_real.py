"""Read and match real frames of BDD100K, and compare with pycocotools."""

import numpy as np
import pytest
from detection_oracles import average_precision, pycocotools_ap

from helpers.icon2 import analyse, attributes, lesson_frames, match

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def read(real):
    files = ("track_sample_anns.json", "bbox_predictions.json")
    return lesson_frames.read(*(real / "bdd100k" / name for name in files))


def test_reads_all_of_it(read):
    assert len(read.images) == 202
    files = {
        "track_sample_anns.json": (read.boxes, 3241),
        "bbox_predictions.json": (read.detections, 5372),
    }
    for name, (table, total) in files.items():
        [left_out] = [text for text in read.report if f"{name} left out" in text]
        assert len(table) + int(left_out.split()[0]) == total
    assert read.boxes.ignore.sum() > 100, "crowds are regions to ignore"


@pytest.mark.parametrize("every", [1, 3])
def test_equals_pycocotools(read, every):
    images = np.arange(202) % every == 0
    ap = average_precision(match(read), images=images)
    np.testing.assert_allclose(ap, pycocotools_ap(read, images), atol=1e-15)


def test_average_precision_by_occlusion_and_size(read):
    occlusion, size = (attributes.made(read, name) for name in ("occlusion", "size"))
    matches = match(read)
    blocks = np.arange(202) // 20
    how = {"classes": ["car"], "resamples": 50}
    analysis = analyse(
        matches,
        occlusion,
        [size],
        clusters=blocks,
        **how,
    )
    groups = analysis.groups()
    values = analysis.values().set_index("value")
    ap = groups.set_index("value").AP
    assert ap["visible"] > ap["occluded"]
    assert values.AP["large"] > values.AP["medium"] > values.AP["small"]
    assert ((groups.low <= groups.AP) & (groups.high >= groups.AP)).all()
    one_by_one = analyse(matches, occlusion, [], **how).groups()
    wide, narrow = ((t.high - t.low).mean() for t in (groups, one_by_one))
    assert wide > narrow, (
        "neighbouring frames are alike: drawing them one by one is too sure"
    )

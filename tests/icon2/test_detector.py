"""The small detector, torchvision's, and predictions as files."""

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from torchvision.models.detection import fasterrcnn_resnet50_fpn

from helpers.icon2 import Frames, detector, match
from helpers.icon2.user_data import read
from helpers.synthetic_data import street_detector
from synthetic import street


@pytest.fixture(scope="module")
def four():
    """Four frames of clear days, and their larger boxes."""
    frames, things = street.scenes(4, 8)
    frames = frames.assign(timeofday="daytime", weather="clear")
    things = street.dressed(frames, things, 0.5)
    images, boxes = street.render(frames, things)
    height = boxes["y2"] - boxes["y1"]
    is_large = (height >= 12) & ~boxes["occluded"]
    large = boxes[is_large].reset_index(drop=True)
    return frames, torch.from_numpy(images), large


@pytest.fixture(scope="module")
def learned(four):
    """A detector trained on four frames until it knows them, and its losses."""
    _, images, boxes = four
    network = street_detector.build(4, (160, 320))
    losses = street_detector.train(network, images, boxes, seed=0, epochs=70)
    classes = dict(enumerate(street.KINDS, 1))
    return detector.Detector(network, classes, "learned"), losses


def test_the_loss_falls_and_four_frames_are_learned(four, learned):
    frames, images, boxes = four
    ours, losses = learned
    assert losses[-1] < 0.4 * losses[0]
    hits = detector.detect(ours, images).query("score > 0.3")
    hits["category"] = pd.Index(street.KINDS).get_indexer(hits["category"])
    matches = match(Frames(frames, boxes, hits, street.KINDS), (0.5,))
    found = np.unique(matches.taken)
    assert (found >= 0).sum() >= 0.8 * len(boxes)


@pytest.fixture
def folder(four, tmp_path):
    """The four frames as image files."""
    frames, images, _ = four
    for name, image in zip(frames["name"], images, strict=True):
        pixels = image.permute(1, 2, 0).numpy()
        Image.fromarray(pixels).save(tmp_path / name)
    return tmp_path


@pytest.mark.slow
def test_torchvisions_detector_takes_a_file_and_speaks_of_bdd100ks_classes(
    four, tmp_path
):
    torch.manual_seed(0)
    network = fasterrcnn_resnet50_fpn(weights=None, weights_backbone=None)
    predictor = network.roi_heads.box_predictor
    bias = predictor.cls_score.bias.data
    bias[3] = 9.0  # COCO's car
    bias[13] = 9.0  # its stop sign, which is no class here
    torch.save(network.state_dict(), tmp_path / "weights.pth")
    theirs = detector.coco(tmp_path / "weights.pth")
    found = detector.detect(theirs, four[1][:1])
    assert set(found["category"]) <= {"car"}
    assert "traffic sign" not in theirs.classes.values()


def test_the_file_of_predictions_is_read_as_detections(four, learned, folder):
    frames, images, boxes = four
    kinds = dict(enumerate(street.KINDS))
    labels = boxes[detector.CORNERS].copy()
    labels["image"] = boxes["image"].map(frames["name"])
    labels["class"] = boxes["category"].map(kinds)
    file = folder / "labels.csv"
    labels.to_csv(file, index=False)
    names = frames["name"].tolist()
    path, _ = detector.predict(learned[0], folder, names, street.KINDS, folder)
    found = read(file, path, classes=street.KINDS)
    columns = ["image", *detector.CORNERS, "score"]
    theirs = found.detections[columns].to_numpy(float)
    ours = detector.detect(learned[0], images)[columns]
    np.testing.assert_allclose(theirs, ours, rtol=1e-5)


def test_a_seed_gives_the_same_detector(four):
    _, images, boxes = four
    states = []
    for _ in range(2):
        network = street_detector.build(4, (160, 320))
        street_detector.train(network, images, boxes, seed=1, epochs=1)
        states.append(network.state_dict())
    for name, value in states[0].items():
        assert torch.equal(value, states[1][name]), name


def test_unknown_classes_are_a_note(four, learned, folder):
    names = four[0]["name"].tolist()
    classes = ["car", "bus"]
    _, notes = detector.predict(learned[0], folder, names, classes, folder)
    assert notes == ["The detector does not know bus, and finds none."]


def test_missing_images_are_refused(four, learned, folder):
    labelled = four[0]["name"].tolist()
    names = [*labelled, "a.jpg", "b.jpg"]
    message = r"2 of 6 labelled images .*: a\.jpg, b\.jpg"
    with pytest.raises(ValueError, match=message):
        detector.predict(learned[0], folder, names, ["car"], folder)


def test_a_broken_image_is_named(four, learned, folder):
    names = four[0]["name"].tolist()
    file = folder / names[2]
    content = file.read_bytes()
    file.write_bytes(content[:300])
    with pytest.raises(ValueError, match=f"image {names[2]} cannot be read"):
        detector.predict(learned[0], folder, names, ["car"], folder)

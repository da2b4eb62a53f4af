"""The small detector, torchvision's, and predictions as files."""

import json

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from torchvision.models.detection import fasterrcnn_resnet50_fpn

from helpers.icon2 import Frames, match
from helpers.models import detector
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


def test_a_run_that_was_killed_goes_on_where_it_was(four, learned, folder, monkeypatch):
    names = four[0]["name"].tolist()
    arguments = (learned[0], folder, names, street.KINDS)
    whole, _ = detector.predict(*arguments, folder / "whole")
    killed = folder / "killed"
    read_image = detector._read_image
    files = []

    def killed_at_the_third(file):
        files.append(file.name)
        if len(files) == 3:
            raise KeyboardInterrupt
        return read_image(file)

    monkeypatch.setattr(detector, "_read_image", killed_at_the_third)
    with pytest.raises(KeyboardInterrupt):
        detector.predict(*arguments, killed)
    [lines] = killed.glob("*.lines")
    begun = lines.read_text()
    lines.write_text(begun + '{"name": "half a li')
    again, _ = detector.predict(*arguments, killed)
    assert files == [*names[:3], *names[2:]], "only what is missing is read again"
    assert again.read_text() == whole.read_text()


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


def test_the_file_of_predictions_holds_the_detections_in_order(four, learned, folder):
    names = four[0]["name"].tolist()
    path, _ = detector.predict(learned[0], folder, names, street.KINDS, folder)
    lines = path.read_text().splitlines()
    found = pd.DataFrame([json.loads(line) for line in lines])
    assert found["name"].tolist() == names
    labels = found["labels"].explode(ignore_index=True)
    scores = pd.DataFrame(labels.tolist())["score"]
    expected = detector.detect(learned[0], four[1])["score"]
    np.testing.assert_allclose(scores, expected)


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
    file.write_bytes(file.read_bytes()[:300])
    with pytest.raises(ValueError, match=f"image {names[2]} cannot be read"):
        detector.predict(learned[0], folder, names, ["car"], folder)

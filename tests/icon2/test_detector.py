"""The small detector, torchvision's, and predictions as files."""

import numpy as np
import pytest
import torch
from PIL import Image

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


def test_the_loss_falls_and_four_frames_are_learned(four):
    frames, images, boxes = four
    network = street_detector.build(4, (160, 320))
    losses = street_detector.train(network, images, boxes, seed=0, epochs=70)
    assert losses[-1] < 0.4 * losses[0]
    hits = detector.detect(network, images).query("score > 0.3")
    hits = hits.assign(category=hits["label"] - 1)
    matches = match(Frames(frames, boxes, hits, street.KINDS), (0.5,))
    found = np.unique(matches.taken)
    assert (found >= 0).sum() >= 0.8 * len(boxes)


@pytest.fixture
def files(four, tmp_path):
    """The four frames as image files."""
    frames, images, _ = four
    files = [tmp_path / name for name in frames["name"]]
    for file, image in zip(files, images, strict=True):
        pixels = image.permute(1, 2, 0).numpy()
        Image.fromarray(pixels).save(file)
    return files


@pytest.fixture
def weights(tmp_path, monkeypatch):
    """Weights of a small detector that sees COCO's cars and stop signs everywhere."""

    def build(**_):
        return street_detector.build(90, (160, 320))

    monkeypatch.setattr(detector, "fasterrcnn_resnet50_fpn", build)
    network = build()
    predictor = network.roi_heads.box_predictor
    bias = predictor.cls_score.bias.data
    bias[3] = 9.0  # COCO's car
    bias[13] = 9.0  # its stop sign, which is no class here
    torch.save(network.state_dict(), tmp_path / "weights.pth")
    return tmp_path / "weights.pth"


def test_stored_detections_are_those_of_the_network(four, files, weights, tmp_path):
    frames, images, boxes = four
    labels = boxes[detector.CORNERS].assign(**{"class": "car"})
    labels["image"] = boxes["image"].map(frames["name"])
    labels.to_csv(tmp_path / "labels.csv", index=False)
    path = detector.predict(weights, files, tmp_path)
    detections = read(tmp_path / "labels.csv", path).detections
    network = detector.fasterrcnn_resnet50_fpn()
    state = torch.load(weights)
    network.load_state_dict(state)
    network.eval()
    found = detector.detect(network, images)
    assert set(found["label"]) == {3, 13}
    columns = ["image", *detector.CORNERS, "score"]
    cars = found.loc[found["label"] == 3, columns]
    np.testing.assert_allclose(detections[columns], cars, rtol=1e-5)


def test_a_seed_gives_the_same_detector(four):
    _, images, boxes = four
    states = []
    for _ in range(2):
        network = street_detector.build(4, (160, 320))
        street_detector.train(network, images, boxes, seed=1, epochs=1)
        states.append(network.state_dict())
    for name, value in states[0].items():
        assert torch.equal(value, states[1][name]), name


def test_missing_weights_are_named(tmp_path):
    with pytest.raises(ValueError, match="parameter 'weights' is missing"):
        detector.predict(None, [], tmp_path)


def test_a_broken_image_is_named(four, files, weights, tmp_path):
    content = files[2].read_bytes()
    files[2].write_bytes(content[:300])
    message = f"image {files[2].name} cannot be read"
    with pytest.raises(ValueError, match=message):
        detector.predict(weights, files, tmp_path)

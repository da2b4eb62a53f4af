"""The small detector of the streets, and the guide's example with torchvision's."""

import re

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision.models import detection
from torchvision.transforms.v2.functional import pil_to_tensor, to_pil_image

from helpers import store
from helpers.icon2 import Frames, match
from helpers.icon2.attributes import CORNERS
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
    hits = street_detector.detect(network, images).query("score > 0.3")
    matches = match(Frames(frames, boxes, hits, street.KINDS), (0.5,))
    found = np.unique(matches.taken)
    assert (found >= 0).sum() >= 0.8 * len(boxes)


def test_a_seed_gives_the_same_detector(four):
    _, images, boxes = four
    states = []
    for _ in range(2):
        network = street_detector.build(4, (160, 320))
        street_detector.train(network, images, boxes, seed=1, epochs=1)
        states.append(network.state_dict())
    for name, value in states[0].items():
        assert torch.equal(value, states[1][name]), name


def test_the_example_of_the_guide_writes_detections_that_are_read(
    four, tmp_path, monkeypatch
):
    """A small detector that sees COCO's persons and cars replaces the one of COCO."""
    _, images, boxes = four
    network = street_detector.build(90, (160, 320)).eval()
    bias = network.roi_heads.box_predictor.cls_score.bias.data
    bias[[1, 3]] = 9.0  # COCO's person and car
    network.roi_heads.detections_per_img = 200
    monkeypatch.setattr(detection, "fasterrcnn_resnet50_fpn", lambda weights: network)
    (tmp_path / "images").mkdir()
    for number, image in enumerate(images):
        to_pil_image(image).save(f"{tmp_path}/images/{number}.jpg")
    labels = boxes[CORNERS]
    labels = labels.assign(
        image=boxes["image"].map("{}.jpg".format),
        **{"class": np.where(boxes["category"] == 0, "car", "pedestrian")},
    )
    labels.to_csv(tmp_path / "labels.csv", index=False)
    monkeypatch.chdir(tmp_path)
    text = (store.root() / "guide/your_detector.md").read_text()
    examples = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(examples[1], {})

    data = read("labels.csv", "found.csv", classes=("car", "pedestrian"))

    pictures = [Image.open(f"images/{number}.jpg") for number in range(4)]
    pictures = torch.stack([pil_to_tensor(picture) for picture in pictures])
    found = street_detector.detect(network, pictures)
    assert set(found["category"]) == {0, 2}
    columns = ["image", *CORNERS, "score"]
    np.testing.assert_allclose(data.detections[columns], found[columns], rtol=1e-5)
    is_car = data.detections["category"] == 0
    np.testing.assert_array_equal(is_car, found["category"] == 2)

"""Colours and relevance of what surrounds objects, against loops and constructed sets."""

import numpy as np
import pandas as pd
import pytest
import torch

from helpers import models
from helpers.contexts import background, effects
from helpers.data import Collection, ImageSet
from helpers.explain import Maps
from helpers.models.networks import Classifier

CLASSES = ("bench", "mug")


def image_set(name="C", n=60, seed=0, colours=((200, 50, 50), (50, 50, 200)), masks=True):
    """Objects of one colour (a 4 x 4 square) on a ground of the class's background."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 2
    images = rng.integers(0, 20, (n, 3, 8, 8)) + np.array(colours)[labels][:, :, None, None]
    images[:, :, 2:6, 2:6] = rng.integers(90, 110, (n, 3, 4, 4))
    mask = np.zeros((n, 8, 8), bool)
    mask[:, 2:6, 2:6] = True
    split = np.repeat(["train", "val", "test"], [n - 20, 0, 20])
    table = pd.DataFrame({"class": np.array(CLASSES)[labels], "split": split, "path": ""})
    return ImageSet(
        name,
        torch.tensor(images, dtype=torch.uint8),
        torch.tensor(labels),
        CLASSES,
        table,
        torch.tensor(mask) if masks else None,
    )


def test_mean_colours_equal_a_loop():
    images = image_set()
    for region, keep in (("object", images.masks), ("background", ~images.masks)):
        means = background.mean_colours(images)[region]
        for image, mask, mean in zip(images.images, keep, means, strict=True):
            for channel in range(3):
                pixels = [int(v) for v in image[channel][mask]]
                assert mean[channel].item() == pytest.approx(sum(pixels) / len(pixels))


def test_the_background_gives_the_class_away_and_the_object_does_not():
    table = background.given_away(background.guesses({"C": image_set(n=420)})).set_index("region")
    assert table.loc["background", "accuracy"] == 1.0
    assert table.loc["object", "low"] < 0.5 < table.loc["object", "high"]
    assert (table["chance"] == 0.5).all()
    assert (table["images"] == 20).all()


def maps_of(drawn):
    return Maps(drawn, "by hand", {})


@pytest.fixture
def images():
    return image_set(n=40)


def test_shares_equal_a_loop(images):
    drawn = torch.rand(40, 8, 8, generator=torch.Generator().manual_seed(0)) - 0.3
    table = background.relevance([maps_of(drawn)], images)
    for i in range(40):
        inside = outside = 0.0
        for row in range(8):
            for col in range(8):
                value = max(float(drawn[i, row, col]), 0)
                if images.masks[i, row, col]:
                    inside += value
                else:
                    outside += value
        assert table["share"][i] == pytest.approx(outside / (inside + outside))
    assert (table["area"] == 48 / 64).all()
    assert np.allclose(table["excess"], table["share"] - 0.75)
    with pytest.raises(ValueError, match="no masks"):
        background.relevance([maps_of(drawn)], image_set(n=40, masks=False))


def test_empty_maps_are_counted_and_left_out(images):
    drawn = images.masks.float()
    drawn[::4] = 0
    drawn[2] = -1
    table = background.relevance([maps_of(drawn)], images)
    assert table["share"].isna().sum() == 11
    by_class = effects.intervals(table, ["class"], ["share"], "class")
    assert (by_class["share"] == 0).all()


class Channels(torch.nn.Module):
    """Logits are the means of two colour channels, so GradCAM's map is the channel itself."""

    def __init__(self):
        super().__init__()
        self.features = torch.nn.Sequential(torch.nn.Conv2d(3, 3, 1, bias=False), torch.nn.ReLU())
        self.features[0].weight.data = torch.eye(3)[:, :, None, None]
        self.head = torch.nn.Linear(3, 2, bias=False)
        self.head.weight.data = torch.eye(3)[:2]

    def forward(self, images):
        return self.head(self.features(images).mean((2, 3)))


@pytest.mark.parametrize("trainings", [1, 2])
def test_relevance_on_the_contexts_half_is_the_share_of_its_colour(trainings):
    """Objects have 51 of both channels, a context 153 of its own, and the white image 255."""
    plain = torch.full((1, 3, 8, 8), 51, dtype=torch.uint8)
    images = image_set(n=40, masks=False)
    images.images[:] = plain
    contexts = {name: torch.zeros_like(plain) for name in CLASSES}
    contexts["bench"][:, 0] = contexts["mug"][:, 1] = 153
    collection = Collection("folder", CLASSES, {"C": images}, contexts, {})
    model = [Classifier(Channels(), mean=(0, 0, 0), std=(1, 1, 1)).eval()] * trainings
    table = background.in_mosaics(model, collection, seed=0, neutral="white")
    assert len(table) == trainings * 20
    assert np.allclose(table["context"], 153 / (153 + 51))
    assert np.allclose(table["neutral"], 255 / (255 + 51))
    assert np.allclose(table["more"], 0.75 - 5 / 6)
    contexts["mug"][:] = images.images[:] = 0
    table = background.in_mosaics(model, collection, seed=0)
    assert table["context_class"].drop_duplicates().tolist() == list(CLASSES)
    found = effects.intervals(table, ["context_class"], ["more"]).set_index("context_class")
    assert np.isnan(found.loc["mug"]).all()


def test_two_layers_are_those_of_the_architecture():
    """AlexNet's strides: 96 pixels give maps of 23, 11, 5 and 2; 224 give 55, 27, 13 and 6."""
    model = models.build("alexnet-quarter", 4).eval()
    for size, found in (
        (96, {"features.16": 5, "features.6": 11}),
        (224, {"features": 6, "features.16": 13}),
    ):
        blank = torch.zeros(1, 3, size, size, dtype=torch.uint8)
        assert background.two_layers(model, blank) == found


def test_examples_come_from_the_classs_own_context_first():
    images = image_set(n=20).where(np.arange(20) < 12)
    context = np.array(["wood", "park"])[images.labels.numpy()]  # each in the other's
    context[[8, 9]] = ["park", "wood"]
    images.table["context"] = context
    shown = background.examples(images, {"bench": "park", "mug": "wood"}, n=2)
    assert shown == [8, 0, 9, 1]

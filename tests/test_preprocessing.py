"""Read what networks of torchvision, timm and Hugging Face state of their input."""

from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torchvision.models import ResNet18_Weights, ViT_H_14_Weights, resnet18
from torchvision.transforms.v2 import functional as transforms

from helpers import models
from helpers.models import preprocessing

NETWORK = nn.Sequential(nn.Flatten(), nn.Linear(3, 2))


def processor(**settings) -> SimpleNamespace:
    """Make an image processor of Hugging Face."""
    halves = [0.5, 0.5, 0.5]
    return SimpleNamespace(image_mean=halves, image_std=halves, **settings)


def test_torchvisions_weights_state_size_crop_normalization_and_categories():
    read = preprocessing.stated(NETWORK, ResNet18_Weights.DEFAULT)
    assert (read.resize, read.size) == (256, 224)
    assert read.mean == (0.485, 0.456, 0.406)
    assert len(read.classes) == 1000
    assert read.classes[84] == "peacock"


def test_torchvisions_large_transformer_has_no_margin():
    large = ViT_H_14_Weights.IMAGENET1K_SWAG_E2E_V1
    read = preprocessing.stated(NETWORK, large)
    assert (read.resize, read.size) == (518, 518)


def test_what_is_read_makes_the_input_that_torchvision_makes():
    photograph = torch.randint(0, 256, (3, 300, 400), dtype=torch.uint8)
    read = preprocessing.stated(NETWORK, ResNet18_Weights.DEFAULT)
    small = transforms.resize(photograph, [read.resize], antialias=True)
    ready = transforms.center_crop(small, [read.size])
    model = models.wrap(resnet18().eval(), ResNet18_Weights.DEFAULT)
    expected = ResNet18_Weights.DEFAULT.transforms()(photograph)[None]
    with torch.no_grad():
        ours, theirs = model(ready[None]), model.network(expected)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=0.03)


@pytest.mark.parametrize(
    ("settings", "resize", "size"),
    [
        # as of google/vit-base-patch16-224
        ({"size": {"height": 224, "width": 224}}, 224, 224),
        (
            {
                "size": {"shortest_edge": 256},
                "crop_size": {"height": 224, "width": 224},
                "do_center_crop": True,
            },
            256,
            224,
        ),
        # as of microsoft/resnet-50
        ({"size": {"shortest_edge": 224}, "crop_pct": 0.875}, 256, 224),
        ({"size": {"shortest_edge": 384}, "crop_pct": 0.875}, 384, 384),
    ],
)
def test_hugging_faces_processors_state_the_size(settings, resize, size):
    read = preprocessing.stated(NETWORK, processor(**settings))
    assert (read.resize, read.size) == (resize, size)
    assert read.mean == read.std == (0.5, 0.5, 0.5)


def test_hugging_faces_networks_name_their_classes():
    network = nn.Sequential(NETWORK)
    network.config = SimpleNamespace(id2label={1: "dog", 0: "cat"})
    settings = processor(size={"shortest_edge": 224})
    assert preprocessing.stated(network, settings).classes == ("cat", "dog")


@pytest.mark.parametrize(
    "settings",
    [
        {"do_rescale": False},
        {"do_normalize": False},
        {"rescale_offset": True},
        {"include_top": True},
    ],
)
def test_a_processor_that_does_more_than_to_normalize_is_refused(settings):
    settings = processor(size={"shortest_edge": 224}, **settings)
    with pytest.raises(ValueError, match="does not only normalize"):
        models.wrap(NETWORK, settings)


TIMM = {
    "input_size": (3, 240, 240),
    "crop_pct": 0.95,
    "mean": (0.5, 0.5, 0.5),
    "std": (0.5, 0.5, 0.5),
    "label_names": ["a", "b"],
}


def test_a_network_of_timms_brings_its_configuration():
    network = nn.Sequential(NETWORK)
    network.pretrained_cfg = TIMM
    read = preprocessing.stated(network)
    assert (read.resize, read.size, read.classes) == (252, 240, ("a", "b"))


def test_a_normalization_that_nothing_states_is_refused():
    with pytest.raises(
        ValueError, match="Nothing states how images are normalized for Sequential"
    ):
        models.wrap(NETWORK)

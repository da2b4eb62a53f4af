"""What torchvision's, timm's and Hugging Face's models state of their input is read."""

from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torchvision.models import ResNet18_Weights, ViT_H_14_Weights, resnet18
from torchvision.transforms.v2 import functional as transforms

from helpers import models
from helpers.models import preprocessing

NET = nn.Sequential(nn.Flatten(), nn.Linear(3, 2))
HALF = {"image_mean": [0.5] * 3, "image_std": [0.5] * 3}


def test_torchvisions_weights_state_size_crop_interpolation_and_categories():
    input = preprocessing.stated(NET, ResNet18_Weights.DEFAULT)
    assert (input.resize, input.crop, input.interpolation) == (
        256,
        (224, 224),
        "bilinear",
    )
    assert input.mean == (0.485, 0.456, 0.406) and input.rescale == 1 / 255
    assert len(input.classes) == 1000 and input.classes[84] == "peacock"
    large = preprocessing.stated(NET, ViT_H_14_Weights.IMAGENET1K_SWAG_E2E_V1)
    assert (large.resize, large.crop, large.interpolation) == (
        518,
        (518, 518),
        "bicubic",
    )
    bare = preprocessing.stated(NET, ResNet18_Weights.DEFAULT.transforms())
    assert bare.classes is None and bare.crop == (224, 224)


def test_what_is_read_makes_the_input_that_torchvision_makes():
    photograph = torch.randint(0, 256, (3, 300, 400), dtype=torch.uint8)
    stated = preprocessing.stated(NET, ResNet18_Weights.DEFAULT)
    how = {
        "interpolation": transforms.InterpolationMode(stated.interpolation),
        "antialias": True,
    }
    small = transforms.resize(photograph, [stated.resize], **how)
    ready = transforms.center_crop(small, list(stated.crop))
    model = models.wrap(resnet18().eval(), ResNet18_Weights.DEFAULT)
    wanted = ResNet18_Weights.DEFAULT.transforms()(photograph)[None]
    with torch.no_grad():
        torch.testing.assert_close(
            model(ready[None]), model.network(wanted), rtol=0, atol=0.03
        )


def test_hugging_faces_processors_and_label_names():
    net = nn.Sequential(NET)
    net.config = SimpleNamespace(id2label={1: "dog", 0: "cat"})
    square = {
        "size": {"height": 224, "width": 224},
        "resample": 3,
        "rescale_factor": 1 / 255,
    }
    ours = preprocessing.stated(net, SimpleNamespace(**HALF, **square))
    assert (ours.resize, ours.crop, ours.interpolation) == ((224, 224), None, "bicubic")
    assert ours.mean == ours.std == (0.5,) * 3 and ours.classes == ("cat", "dog")
    clip = {"size": {"shortest_edge": 256}, "crop_size": {"height": 224, "width": 224}}
    clip |= {
        "do_center_crop": True,
        "do_rescale": False,
        "do_normalize": False,
        "resample": 2,
    }
    ours = preprocessing.stated(net, SimpleNamespace(**HALF, **clip))
    assert (ours.resize, ours.crop, ours.interpolation) == (256, (224, 224), "bilinear")
    convnext = {"size": {"shortest_edge": 224}, "crop_pct": 0.875, "resample": 3}
    ours = preprocessing.stated(net, SimpleNamespace(**HALF, **convnext))
    assert (ours.resize, ours.crop) == (256, (224, 224)), "as of microsoft/resnet-50"
    convnext["size"] = {"shortest_edge": 384}
    ours = preprocessing.stated(net, SimpleNamespace(**HALF, **convnext))
    assert (ours.resize, ours.crop) == ((384, 384), None)
    ours = preprocessing.stated(net, SimpleNamespace(**HALF, **clip))
    assert ours.rescale is None and ours.mean == (0.0,) * 3 and ours.std == (1.0,) * 3


def test_a_network_of_timms_brings_its_configuration_and_a_bare_one_says_so():
    net = nn.Sequential(NET)
    net.pretrained_cfg = {
        "input_size": (3, 240, 240),
        "crop_pct": 0.95,
        "mean": (0.5,) * 3,
    }
    net.pretrained_cfg |= {
        "std": (0.5,) * 3,
        "interpolation": "bicubic",
        "label_names": ["a", "b"],
    }
    ours = preprocessing.stated(net)
    assert (ours.resize, ours.crop, ours.interpolation) == (252, (240, 240), "bicubic")
    assert ours.classes == ("a", "b") and ours.source == "timm's configuration"
    with pytest.raises(ValueError, match="Nothing says how Sequential wants its input"):
        preprocessing.stated(NET)


@pytest.mark.parametrize(
    "processing",
    [
        {"do_rescale": False},
        {"rescale_factor": 1 / 127.5},
        {"rescale_offset": True},
        {"include_top": True},
    ],
    ids=lambda processing: next(iter(processing)),
)
def test_an_image_processor_that_does_not_take_images_to_0_and_1_is_refused(processing):
    size = {"size": {"height": 8, "width": 8}}
    plain = SimpleNamespace(**HALF, **size)
    assert models.wrap(NET, plain).mean.flatten().tolist() == [0.5] * 3
    unusual = SimpleNamespace(**HALF, **size, **processing)
    with pytest.raises(ValueError, match=r"image processor[\s\S]*mean=.*std="):
        models.wrap(NET, unusual)

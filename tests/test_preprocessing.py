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
    found = preprocessing.stated(NET, ResNet18_Weights.DEFAULT)
    assert (found.resize, found.crop, found.interpolation) == (256, (224, 224), "bilinear")
    assert found.mean == (0.485, 0.456, 0.406) and found.rescale == 1 / 255
    assert len(found.classes) == 1000 and found.classes[84] == "peacock"
    large = preprocessing.stated(NET, ViT_H_14_Weights.IMAGENET1K_SWAG_E2E_V1)
    assert (large.resize, large.crop, large.interpolation) == (518, (518, 518), "bicubic")
    bare = preprocessing.stated(NET, ResNet18_Weights.DEFAULT.transforms())
    assert bare.classes is None and bare.crop == (224, 224)


def test_what_is_read_makes_the_input_that_torchvision_makes():
    photograph = torch.randint(0, 256, (3, 300, 400), dtype=torch.uint8)
    found = preprocessing.stated(NET, ResNet18_Weights.DEFAULT)
    how = {"interpolation": transforms.InterpolationMode(found.interpolation), "antialias": True}
    small = transforms.resize(photograph, [found.resize], **how)
    ready = transforms.center_crop(small, list(found.crop))
    model = models.wrap(resnet18().eval(), ResNet18_Weights.DEFAULT)
    wanted = ResNet18_Weights.DEFAULT.transforms()(photograph)[None]
    with torch.no_grad():
        torch.testing.assert_close(model(ready[None]), model.network(wanted), rtol=0, atol=0.03)


def test_hugging_faces_processors_and_label_names():
    net = nn.Sequential(NET)
    net.config = SimpleNamespace(id2label={1: "dog", 0: "cat"})
    square = {"size": {"height": 224, "width": 224}, "resample": 3, "rescale_factor": 1 / 255}
    found = preprocessing.stated(net, SimpleNamespace(**HALF, **square))
    assert (found.resize, found.crop, found.interpolation) == ((224, 224), None, "bicubic")
    assert found.mean == found.std == (0.5,) * 3 and found.classes == ("cat", "dog")
    clip = {"size": {"shortest_edge": 256}, "crop_size": {"height": 224, "width": 224}}
    clip |= {"do_center_crop": True, "do_rescale": False, "do_normalize": False, "resample": 2}
    found = preprocessing.stated(net, SimpleNamespace(**HALF, **clip))
    assert (found.resize, found.crop, found.interpolation) == (256, (224, 224), "bilinear")
    convnext = {"size": {"shortest_edge": 224}, "crop_pct": 0.875, "resample": 3}
    found = preprocessing.stated(net, SimpleNamespace(**HALF, **convnext))
    assert (found.resize, found.crop) == (256, (224, 224)), "as of microsoft/resnet-50"
    convnext["size"] = {"shortest_edge": 384}
    found = preprocessing.stated(net, SimpleNamespace(**HALF, **convnext))
    assert (found.resize, found.crop) == ((384, 384), None)
    found = preprocessing.stated(net, SimpleNamespace(**HALF, **clip))
    assert found.rescale is None and found.mean == (0.0,) * 3 and found.std == (1.0,) * 3


def test_a_network_of_timms_brings_its_configuration_and_a_bare_one_says_so():
    net = nn.Sequential(NET)
    net.pretrained_cfg = {"input_size": (3, 240, 240), "crop_pct": 0.95, "mean": (0.5,) * 3}
    net.pretrained_cfg |= {"std": (0.5,) * 3, "interpolation": "bicubic", "label_names": ["a", "b"]}
    found = preprocessing.stated(net)
    assert (found.resize, found.crop, found.interpolation) == (252, (240, 240), "bicubic")
    assert found.classes == ("a", "b") and found.source == "timm's configuration"
    with pytest.raises(ValueError, match="Nothing says how Sequential wants its input"):
        preprocessing.stated(NET)

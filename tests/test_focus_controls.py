"""Controls of Focus, reduced networks, and traps that ratings must not inherit."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn
from torchvision.models import vgg11_bn
from torchvision.models.resnet import BasicBlock, ResNet

from helpers import focus, models
from helpers.data import ImageSet
from helpers.explain import layers, lrp
from helpers.focus import controls
from helpers.focus.mosaics import TARGETS
from helpers.focus.networks import Model
from helpers.models import reduced
from helpers.models.recipe import Recipe

CLASSES = ("a", "b", "c", "d")
LOGIT = {name: i for i, name in enumerate(CLASSES)}


@pytest.fixture(scope="module")
def images():
    """Noise, busier in the first class than in the others."""
    draw = torch.Generator().manual_seed(0)
    pixels = torch.randint(0, 256, (40, 3, 16, 16), dtype=torch.uint8, generator=draw)
    pixels[10:] //= 4
    table = pd.DataFrame({"class": np.repeat(CLASSES, 10), "split": "test"})
    return ImageSet("C", pixels, torch.arange(4).repeat_interleave(10), CLASSES, table)


@pytest.fixture(autouse=True)
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("SUITE_OUTPUTS", str(tmp_path))


class Anything(nn.Module):
    mean, std = 0.0, 1.0

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1))


@pytest.mark.parametrize("control", [controls.random_map, controls.uniform_map])
def test_maps_without_information_have_a_focus_of_one_half(images, control):
    table = focus.design(images.table, CLASSES, per_pair=4)
    other = table.assign(
        target=table["outer"], outer=table["target"], **~table[TARGETS]
    )
    table = pd.concat([table, other], ignore_index=True).assign(
        mosaic=range(2 * len(table))
    )
    model = Model(Recipe(), "C", [Anything()], LOGIT)
    rated = focus.rate(model, images, table, control)
    [row] = focus.summary(rated).to_dict("records")
    assert row["mean"] == pytest.approx(0.5, abs=1e-6)
    assert row["mean_low"] <= 0.5 + 1e-6 and row["mean_high"] >= 0.5 - 1e-6


NAMES = ["alexnet-quarter", "vgg11-eighth", "resnet10-eighth", "squeezenet1_0"]


def network(name, side=96, seed=0):
    """A network with random weights, and one mosaic of noise for it."""
    model = models.build(name, 4, seed=seed).eval()
    draw = torch.Generator().manual_seed(1)
    return model, torch.rand(1, 3, 2 * side, 2 * side, generator=draw)


def test_cut_and_joined_are_inverse_and_follow_the_layouts():
    maps = torch.arange(2 * 3 * 4 * 6).view(2, 3, 4, 6)
    cells = controls.cut(maps)
    assert torch.equal(controls.joined(cells), maps)
    assert torch.equal(cells[2:4], maps[..., :2, 3:]), "the second cell is top right"
    assert controls.cut(torch.zeros(1, 1, 5, 5)).shape == (4, 1, 2, 2), (
        "the middle is nobody's"
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_logit_of_difull_is_the_sum_of_the_networks_logits_of_its_cells(name):
    model, mosaic = network(name)
    cells = torch.tensor([[1.0, 0, 0, 1], [0, 1, 0, 0]])
    whole = controls.Disconnected(model, mosaic, cells).eval()
    alone = model(controls.cut(mosaic))
    assert torch.allclose(whole(mosaic)[0], (cells @ alone).flatten(), atol=1e-4)


@pytest.mark.parametrize("name", NAMES[:3])
def test_every_method_has_rows_in_every_disconnected_network(images, name, monkeypatch):
    """At the input of DiFull Focus is 1, and a refusal also has rows."""
    table = focus.design(images.table, CLASSES, per_class=1)
    trainings = [network(name, seed=seed)[0] for seed in (0, 1)]
    large = replace(
        images, images=images.images.repeat_interleave(6, 2).repeat_interleave(6, 3)
    )
    monkeypatch.setattr(lrp, "TOLERANCE", -1.0)  # LRP refuses every network
    methods = ["lrp", "smoothgrad", "gradcam"]
    found = controls.in_disconnected(
        Model(Recipe(name), "C", trainings, LOGIT), large, table, methods
    )
    assert found.groupby("name").size().eq(8).all() and len(found) == 4 * 8
    refused = found["method"] == "LRP"
    assert (
        found.loc[refused, "focus"].isna().all()
        and found.loc[~refused, "focus"].notna().any()
    )
    full = found.groupby("method")["focus"].min()
    assert full["SmoothGrad"] > 1 - 1e-6 and full["GradCAM"] < 0.99, (
        "a channel weighs everywhere"
    )


def test_contributions_of_cells_add_up_and_ig_has_them_by_cell(images):
    """IG sums to the contribution of each cell, so its Focus by cell is nearly correct."""
    large = replace(
        images, images=images.images.repeat_interleave(6, 2).repeat_interleave(6, 3)
    )
    table = focus.design(images.table, CLASSES, per_class=2)
    model = Model(Recipe("one"), "C", [network("vgg11-eighth")[0]], LOGIT)
    found = controls.by_cell(
        model, large, table, ["integrated-gradients", "smoothgrad"]
    )
    found = found.set_index("method")
    correct = found["correct Focus"]
    assert correct.nunique() == 1 and correct.between(0, 1).all()
    assert found["Focus by cell"]["IG"] == pytest.approx(correct["IG"], abs=0.1)


def resnet10(num_classes):
    return ResNet(BasicBlock, [1, 1, 1, 1], num_classes)


@pytest.mark.parametrize(
    ("name", "full", "last"),
    [("vgg11-eighth", vgg11_bn, "features"), ("resnet10-eighth", resnet10, "layer4")],
)
def test_reduced_networks_have_torchvisions_layers(name, full, last):
    with torch.device("meta"):  # layers without weights
        large = full(num_classes=4)
    small = models.build(name, 4).network
    mine, theirs = (
        {
            n: type(m)
            for n, m in net.named_modules()
            if n and not n.startswith("classifier")
        }
        for net in (small, large)  # VGG's classifier has one hidden layer here
    )
    if name == "vgg11-eighth":
        assert theirs.pop("features.28") is nn.MaxPool2d
    assert mine == theirs
    convs = [
        [m for m in net.modules() if isinstance(m, nn.Conv2d)] for net in (small, large)
    ]
    for mine, theirs in zip(*convs, strict=True):
        assert mine.out_channels * reduced.WIDTH == theirs.out_channels
        assert (mine.kernel_size, mine.padding) == (theirs.kernel_size, theirs.padding)
    model = models.build(name, 4).eval()
    images = torch.rand(2, 3, 96, 96)
    assert layers.last_map(model, images, least=3) == last
    assert model(torch.rand(2, 3, 32, 32)).shape == model(images).shape == (2, 4)

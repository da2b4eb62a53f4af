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
from helpers.explain import lrp
from helpers.focus import controls
from helpers.focus.mosaics import TARGETS
from helpers.focus.networks import Model
from helpers.models.recipe import Recipe
from helpers.synthetic_data import reduced

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
    mean = 0.0
    std = 1.0

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1))


@pytest.mark.parametrize("control", [controls.random_map, controls.uniform_map])
def test_maps_without_information_have_a_focus_of_one_half(images, control):
    table = focus.design(images.table, CLASSES, per_pair=4)
    # the same mosaics, in the same places of a batch, with the other class as the target
    other = table.assign(target=table["outer"], outer=table["target"])
    other[TARGETS] = ~table[TARGETS]
    other["mosaic"] += len(table)
    model = Model(Recipe(), "C", [Anything()], LOGIT)
    rated = focus.rate(model, images, pd.concat([table, other]), control)
    [row] = focus.summary(rated).to_dict("records")
    assert row["mean"] == pytest.approx(0.5, abs=1e-6)
    assert row["low"] <= 0.5 + 1e-6
    assert row["high"] >= 0.5 - 1e-6


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
    model = Model(Recipe(name), "C", trainings, LOGIT)
    monkeypatch.setattr(lrp, "TOLERANCE", -1.0)  # LRP refuses every network
    methods = ["lrp", "smoothgrad", "gradcam"]
    rated = controls.in_disconnected(model, enlarge(images), table, methods)
    assert rated.groupby(["network", "name"]).size().eq(8).all()
    rated = rated[rated["network"] == "two images count"]
    assert rated["correct"].dropna().eq(1).all()
    least = rated.groupby("method")["focus"].min()
    assert np.isnan(least["LRP"])
    assert least["SmoothGrad"] > 1 - 1e-6
    assert least["GradCAM"] < 0.99, "a channel weighs everywhere"


def test_contributions_of_cells_add_up_and_ig_has_them_by_cell(images):
    """IG sums to the contribution of each cell, so its Focus by cell is nearly correct."""
    table = focus.design(images.table, CLASSES, per_class=2)
    model = Model(Recipe("one"), "C", [network("vgg11-eighth")[0]], LOGIT)
    methods = ["integrated-gradients", "smoothgrad"]
    known = controls.in_disconnected(model, enlarge(images), table, methods)
    known = known[known["network"] == "four images count"]
    means = known.groupby("name")[["correct", "by cell", "focus"]].mean()
    assert means["correct"].nunique() == 1
    assert means["correct"].between(0, 1).all()
    errors = means.sub(means["correct"], axis=0).abs()
    assert errors["by cell"]["IG"] < 0.1
    assert errors["by cell"]["IG"] < errors["focus"]["IG"]


def resnet10(num_classes):
    return ResNet(BasicBlock, [1, 1, 1, 1], num_classes)


@pytest.mark.parametrize(
    ("name", "full"), [("vgg11-eighth", vgg11_bn), ("resnet10-eighth", resnet10)]
)
def test_reduced_networks_have_torchvisions_convolutions_with_fewer_channels(
    name, full
):
    with torch.device("meta"):  # layers without weights
        large = full(num_classes=4)
    small = models.build(name, 4).network
    ours = [layer for layer in small.modules() if isinstance(layer, nn.Conv2d)]
    theirs = [layer for layer in large.modules() if isinstance(layer, nn.Conv2d)]
    for mine, original in zip(ours, theirs, strict=True):
        assert mine.out_channels * reduced.WIDTH == original.out_channels
        assert mine.kernel_size == original.kernel_size
        assert mine.padding == original.padding


def enlarge(images):
    """Enlarge the images sixfold."""
    larger = images.images.repeat_interleave(6, 2).repeat_interleave(6, 3)
    return replace(images, images=larger)

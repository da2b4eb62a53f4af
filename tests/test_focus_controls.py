"""Controls of Focus, reduced networks, and traps that ratings must not inherit."""

import pandas as pd
import pytest
import torch
from focus_sample import CLASSES, make_images, make_model
from torch import nn
from torchvision.models import vgg11_bn
from torchvision.models.resnet import BasicBlock, ResNet

from helpers import focus, models
from helpers.explain import lrp
from helpers.focus import controls
from helpers.focus.mosaics import LAYOUTS, TARGETS
from helpers.synthetic_data import reduced

NAMES = ["alexnet-quarter", "vgg11-eighth", "resnet10-eighth", "squeezenet1_0"]


@pytest.fixture
def images():
    return make_images()


@pytest.mark.parametrize("control", [controls.random_map, controls.uniform_map])
def test_maps_without_information_have_a_focus_of_one_half(images, control):
    table = focus.design(images.table, CLASSES, per_pair=4)
    # the same mosaics in the same places of a batch, with the other class as target
    other = table.assign(target=table["outer"], outer=table["target"])
    other[TARGETS] = ~table[TARGETS]
    other["mosaic"] += len(table)
    both = pd.concat([table, other])
    rated = focus.rate(make_model(), images, both, control)
    [row] = focus.summary(rated).to_dict("records")
    assert row["mean"] == pytest.approx(0.5, abs=1e-6)
    assert row["low"] <= 0.5 + 1e-6
    assert row["high"] >= 0.5 - 1e-6


def test_cut_and_joined_are_inverse_and_follow_the_layouts():
    maps = torch.arange(2 * 3 * 4 * 6)
    maps = maps.view(2, 3, 4, 6)
    cells = controls.cut(maps)
    assert torch.equal(controls.joined(cells), maps)
    upper_right = maps[..., :2, 3:]
    assert torch.equal(cells[2:4], upper_right), "the second cell is top right"


@pytest.mark.parametrize("name", NAMES)
def test_a_logit_of_difull_is_the_sum_of_the_networks_logits_of_its_cells(name):
    [network] = make_model(name).trainings
    torch.manual_seed(1)
    mosaic = torch.rand(1, 3, 192, 192)
    difull = controls.Disconnected(network, mosaic).eval()
    of_cells = network(controls.cut(mosaic))
    [logits] = difull(mosaic)
    of_sets = logits.view(-1, controls.SETS)
    all_cells = (0, 1, 2, 3)
    for cells in [*LAYOUTS, all_cells]:
        number = sum(2**cell for cell in cells)
        found = of_sets[:, number]
        expected = of_cells[list(cells)].sum(0)
        assert torch.allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize("name", NAMES[:3])
def test_every_method_is_rated_in_every_disconnected_network(images, name, monkeypatch):
    """At the input of DiFull, Focus is 1. Methods that refuse it are left out."""
    design = focus.design(images.table, CLASSES, per_class=1)
    monkeypatch.setattr(lrp, "TOLERANCE", -1.0)  # LRP refuses every network
    methods = ["lrp", "smoothgrad", "gradcam"]
    model = make_model(name, runs=2)
    known = controls.in_disconnected(model, images, design, methods)
    assert set(known["method"]) == {"SmoothGrad", "GradCAM"}
    rows = known.groupby(["network", "name"])
    rows = rows.size()
    assert (rows == 8).all()
    two_count = known[known["network"] == "two images count"]
    correct = two_count["correct"].dropna()
    assert (correct == 1).all()
    focus_of_method = two_count.groupby("method")["focus"]
    least = focus_of_method.min()
    assert least["SmoothGrad"] > 1 - 1e-6
    assert least["GradCAM"] < 0.99, "a channel weighs everywhere"


def test_contributions_of_cells_add_up_and_ig_has_them_by_cell(images):
    """IG sums to what each cell contributes, so its Focus by cell is nearly correct."""
    design = focus.design(images.table, CLASSES, per_class=2)
    methods = ["integrated-gradients", "smoothgrad"]
    model = make_model("vgg11-eighth")
    known = controls.in_disconnected(model, images, design, methods)
    four_count = known[known["network"] == "four images count"]
    means = four_count.groupby("name")[["correct", "by cell", "focus"]].mean()
    assert means["correct"].nunique() == 1
    assert means["correct"].between(0, 1).all()
    of_ig = means.loc["IG"]
    assert of_ig["by cell"] == pytest.approx(of_ig["correct"], abs=0.1)


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

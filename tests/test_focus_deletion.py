"""Deletion: by a loop over patches, by a closed form, and where the correct map is known."""

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

from helpers import focus, models
from helpers.data import ImageSet
from helpers.focus import controls, deletion, faithfulness
from helpers.focus.networks import Model
from helpers.models.recipe import Recipe

CLASSES = ("a", "b", "c", "d")
LOGIT = {name: number for number, name in enumerate(CLASSES)}


class Linear(nn.Module):
    """A logit that is a weighted sum of pixels, and its negative."""

    def __init__(self, weights):
        super().__init__()
        self.weights = nn.Parameter(weights)

    def forward(self, images):
        logit = (images * self.weights).sum((1, 2, 3))
        return torch.stack([logit, -logit], 1)


@pytest.fixture
def linear():
    generator = torch.Generator().manual_seed(0)
    weights = torch.randn(3, 24, 24, generator=generator)
    images = torch.randint(
        0, 256, (5, 3, 24, 24), dtype=torch.uint8, generator=generator
    )
    return Linear(weights), images


def test_the_mean_logit_is_that_of_a_loop_over_patches(linear):
    network, images = linear
    images = images / 255
    generator = torch.Generator().manual_seed(1)
    relevance = torch.rand(5, 12, 12, generator=generator)
    targets = torch.tensor([0, 1, 0, 1, 0])
    blank = torch.zeros_like(images)
    found = deletion.mean_logit(network, images, targets, relevance, blank)
    for number in range(5):
        order = sorted(
            range(144), key=lambda k, n=number: -relevance[n].flatten()[k].item()
        )
        logits = []
        for share in deletion.SHARES:
            remaining = images[number].clone()
            for place, patch in enumerate(order):
                if place < share * 144:
                    row, column = 2 * (patch // 12), 2 * (patch % 12)
                    remaining[:, row : row + 2, column : column + 2] = 0
            logits.append(network(remaining[None])[0, targets[number]].item())
        assert found[number].item() == pytest.approx(np.mean(logits), abs=1e-3)


def test_the_score_of_a_linear_network_has_a_closed_form(linear):
    """What is deleted adds up, so the score is the sum of what its patches contribute."""
    network, images = linear
    targets = torch.zeros(5, dtype=torch.int64)
    pixels = images / 255
    blank = pixels.mean((2, 3), keepdim=True)
    contributed = ((pixels - blank) * network.weights.detach()).sum(1)
    patches = contributed.unflatten(1, (12, 2)).unflatten(3, (12, 2)).sum((2, 4))
    correct = patches.flatten(1)
    ordered = correct.sort(1, descending=True).values.numpy()
    others = patches.roll(faithfulness.SHIFT, 0).flatten(1)
    by_chance = correct.gather(1, others.argsort(1, descending=True)).numpy()
    expected = np.zeros(5)
    for share in deletion.SHARES:
        n_deleted = int(np.ceil(share * 144))
        expected += ordered[:, :n_deleted].sum(1) - by_chance[:, :n_deleted].sum(1)
    expected /= len(deletion.SHARES) * correct.sum(1).mean().item()
    rows = faithfulness.compare(network, images, targets, {"correct": patches})
    found = rows[rows["baseline"] == "mean colour"]["deletion"]
    np.testing.assert_allclose(found, expected, rtol=1e-3)


def test_a_map_of_which_all_patches_are_alike_is_no_better_than_chance(linear):
    network, images = linear
    images = images.repeat(40, 1, 1, 1)
    targets = torch.zeros(200, dtype=torch.int64)
    maps = {"uniform": torch.ones(200, 24, 24), "correct": network.weights.detach()}
    maps["correct"] = (images / 255 * maps["correct"]).sum(1)
    rows = faithfulness.compare(network, images, targets, maps)
    scores = rows.groupby("method")["deletion"].agg(["mean", "sem"])
    assert abs(scores["mean"]["uniform"]) < 4 * scores["sem"]["uniform"]


@pytest.fixture
def images():
    """Blobs, brighter in the first classes than in the others."""
    generator = torch.Generator().manual_seed(0)
    blobs = torch.rand(40, 3, 6, 6, generator=generator)
    blobs *= torch.tensor([1, 0.8, 0.6, 0.4]).repeat_interleave(10)[:, None, None, None]
    pixels = nn.functional.interpolate(blobs, (96, 96), mode="bilinear")
    pixels = (255 * pixels).to(torch.uint8)
    table = pd.DataFrame({"class": np.repeat(CLASSES, 10), "split": "test"})
    return ImageSet("C", pixels, torch.arange(4).repeat_interleave(10), CLASSES, table)


@pytest.mark.parametrize("name", ["alexnet-quarter", "resnet10-eighth"])
def test_the_correct_map_has_the_highest_score_where_it_is_known(images, name):
    """DiFull, in which two images count, and a network in which four images count."""
    torch.manual_seed(0)
    network = models.build(name, 4).eval()
    model = Model(Recipe(name), "C", [network], LOGIT)
    design = focus.design(images.table, CLASSES, per_class=4)
    checks = controls.check_deletion(model, images, design)
    assert len(checks) == 12
    assert set(checks["baseline"]) == {"mean colour", "blurred"}
    of_map = checks[checks["baseline"] == "mean colour"]
    of_map = of_map.pivot(index="network", columns="method", values="deletion")
    direction = np.sign(of_map["correct"] - of_map["reversed"])
    assert (direction == direction.iloc[0]).all()
    assert (of_map["random"].abs() < of_map["correct"].abs()).all()


def test_rows_name_the_mosaics_of_the_design(images):
    torch.manual_seed(0)
    network = models.build("resnet10-eighth", 4).eval()
    model = Model(Recipe("resnet10-eighth"), "C", [network, network], LOGIT)
    design = focus.design(images.table, CLASSES, per_class=2)
    rated = faithfulness.rate(model, images, design, ["gradcam", "lrp"], effort="quick")
    counts = rated.groupby(["method", "baseline", "run"]).size()
    assert (counts == len(design)).all()
    assert len(counts) == 8
    first = rated[rated["place"] == 3].iloc[0]
    assert first["target"] == design["target"][3]

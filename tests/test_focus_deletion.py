"""Compare deletion with a loop over patches, a closed form, and known networks."""

import numpy as np
import pytest
import torch
from focus_sample import CLASSES, make_images, make_model
from torch import nn

from helpers import focus
from helpers.focus import controls, deletion, faithfulness


class Linear(nn.Module):
    """A logit that is a weighted sum of pixels, and its negative."""

    def __init__(self, weights):
        super().__init__()
        self.weights = nn.Parameter(weights)

    def forward(self, images):
        weighted = images * self.weights
        logit = weighted.sum((1, 2, 3))
        return torch.stack([logit, -logit], 1)


@pytest.fixture
def linear():
    torch.manual_seed(0)
    weights = torch.randn(3, 24, 24)
    images = torch.randint(0, 256, (7, 3, 24, 24))
    images = images.to(torch.uint8)
    return Linear(weights), images


def mean_logit_by_loop(network, image, relevance, target, blank):
    """Delete the patches of one image one after the other."""
    n_columns = relevance.shape[1]
    values = relevance.flatten().tolist()
    order = sorted(range(len(values)), key=values.__getitem__, reverse=True)
    side = image.shape[-1] // n_columns
    logits = []
    for share in deletion.SHARES:
        remaining = image.clone()
        for place, patch in enumerate(order):
            if place >= share * len(order):
                break
            row = side * (patch // n_columns)
            column = side * (patch % n_columns)
            rows = slice(row, row + side)
            columns = slice(column, column + side)
            deleted = blank[:, rows, columns]
            remaining[:, rows, columns] = deleted
        logit = network(remaining[None])[0, target]
        logits.append(logit.item())
    return np.mean(logits)


def test_the_mean_logit_is_that_of_a_loop_over_patches(linear):
    network, images = linear
    images = images / 255
    torch.manual_seed(1)
    relevance = torch.rand(7, 12, 12)
    blank = torch.rand(images.shape)
    targets = torch.tensor([0, 1, 0, 1, 0, 1, 0])
    found = deletion.mean_logit(network, images, targets, relevance, blank)
    for number in range(7):
        expected = mean_logit_by_loop(
            network,
            images[number],
            relevance[number],
            targets[number],
            blank[number],
        )
        assert found[number].item() == pytest.approx(expected, abs=1e-3)


def test_the_score_of_a_linear_network_has_a_closed_form(linear):
    """Deletions add up, so the score is a sum of what patches contribute."""
    network, images = linear
    pixels = images / 255
    mean_colour = pixels.mean((2, 3), keepdim=True)
    weights = network.weights.detach()
    contributed = (pixels - mean_colour) * weights
    contributed = contributed.sum(1)
    cells = contributed.unflatten(1, (12, 2))
    cells = cells.unflatten(3, (12, 2))
    patches = cells.sum((2, 4))

    correct = patches.flatten(1)
    others = patches.roll(faithfulness.SHIFT, 0).flatten(1)
    by_map = correct.sort(1, descending=True).values
    order_of_others = others.argsort(1, descending=True)
    by_chance = correct.gather(1, order_of_others)
    expected = torch.zeros(7)
    for share in deletion.SHARES:
        n_deleted = int(np.ceil(share * 144))
        expected += by_map[:, :n_deleted].sum(1)
        expected -= by_chance[:, :n_deleted].sum(1)
    expected /= len(deletion.SHARES)
    expected /= correct.sum(1).mean()

    targets = torch.zeros(7, dtype=torch.int64)
    rows = faithfulness.compare(network, images, targets, patches)
    scored = faithfulness.add_score(rows, ["baseline"])
    found = scored[scored["baseline"] == "mean colour"]["deletion"]
    assert expected.abs().min() > 0
    np.testing.assert_allclose(found, expected, rtol=1e-3)


def test_a_uniform_map_is_no_better_than_chance(linear):
    network, images = linear
    images = images.repeat(30, 1, 1, 1)
    targets = torch.zeros(210, dtype=torch.int64)
    uniform = torch.ones(210, 24, 24)
    rows = faithfulness.compare(network, images, targets, uniform)
    scores = rows["by_chance"] - rows["by_map"]
    assert scores.std() > 0
    assert abs(scores.mean()) < 4 * scores.sem()


@pytest.fixture
def images():
    return make_images()


@pytest.mark.parametrize("name", ["alexnet-quarter", "resnet10-eighth"])
def test_the_correct_map_has_the_highest_score_where_it_is_known(images, name):
    """DiFull, in which two images count, and a network in which four images count."""
    design = focus.design(images.table, CLASSES, per_class=4)
    checks = controls.check_deletion(make_model(name), images, design)
    scores = checks.groupby(["method", "network"])["deletion"].mean()
    correct = scores["correct"]
    assert (correct * scores["reversed"] < 0).all()
    assert (correct.abs() > scores["random"].abs()).all()


def test_rows_are_those_of_the_design_by_run_and_baseline(images):
    design = focus.design(images.table, CLASSES, per_class=7)
    model = make_model(runs=2)
    rated = faithfulness.rate(model, images, design, "gradcam", effort="quick")
    by_baseline = rated.groupby(["baseline", "run"])["mosaic"]
    assert by_baseline.ngroups == 4
    for _, mosaics in by_baseline:
        assert sorted(mosaics) == list(range(28)), "two batches"
    targets = rated.groupby("mosaic")["target"].first()
    assert targets.tolist() == design["target"].tolist()


def test_batches_are_halved_where_the_memory_does_not_suffice(images, monkeypatch):
    design = focus.design(images.table, CLASSES, per_class=2)
    model = make_model()
    expected = faithfulness.rate(model, images, design, "gradcam")
    classifier = type(model.trainings[0])
    forward = classifier.forward
    sizes = []

    def forward_of_small_batches(network, batch):
        sizes.append(len(batch))
        if len(batch) > 3:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return forward(network, batch)

    monkeypatch.setattr(classifier, "forward", forward_of_small_batches)
    halved = faithfulness.rate(model, images, design, "gradcam")
    assert max(sizes) == 8
    np.testing.assert_allclose(halved["deletion"], expected["deletion"], rtol=1e-3)

"""A long rating announces how many passes it needs, and how long they take."""

import re

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from helpers import data, focus
from helpers.data.images import Images
from helpers.focus import networks, rating
from helpers.models.recipe import Recipe

CLASSES = ("goldfish", "peacock")


class Normalizing(nn.Sequential):
    """A small network with a normalization."""

    mean = torch.zeros(3, 1, 1)
    std = torch.ones(3, 1, 1)


@pytest.fixture
def rated(tmp_path, monkeypatch):
    """Return the arguments of a rating on a small folder of photographs."""
    monkeypatch.setenv("SUITE_OUTPUTS", str(tmp_path / "outputs"))
    rng = np.random.default_rng(0)
    photos = tmp_path / "photos"
    for name in CLASSES:
        folder = photos / name
        folder.mkdir(parents=True)
        for i in range(6):
            pixels = rng.integers(0, 256, (40, 40, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(folder / f"{i}.png")
    images = Images("folder", folder=str(photos), size=32)
    collection = data.load(images, 0)
    recipe = Recipe("squeezenet1_1", fit="as it is")
    network = Normalizing(
        nn.Conv2d(3, 4, 3),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(4, 2),
    ).eval()
    model = networks.Model(recipe, "C", [network], {"goldfish": 0, "peacock": 1})
    held_out = networks.held_out(collection, recipe)
    images = held_out["C"]
    design = focus.design(images.table, CLASSES, per_class=2)
    return [model], held_out, {"C": design}


def announced(capsys) -> tuple[int, str]:
    """Return the number of passes and the duration that were printed."""
    said = capsys.readouterr().out
    found = re.search(r"need ([\d,]+) passes.*take at most ([\d:]+) ", said)
    passes = found[1].replace(",", "")
    return int(passes), found[2]


@pytest.mark.parametrize(
    "method", ["gradcam", "smoothgrad", "integrated-gradients", "lime"]
)
def test_the_passes_are_those_that_a_method_makes(rated, method, capsys):
    models, images, tables = rated
    case = models[0], images["C"], tables["C"]
    rating.announce([case], [method], "paper")
    announced_passes, _ = announced(capsys)
    seen = []

    def count(network, inputs):
        seen.append(len(inputs[0]))

    models[0].trainings[0].register_forward_pre_hook(count)
    focus.rate(models[0], images["C"], tables["C"], method, effort="paper")
    looked_at_layers = 3 * len(tables["C"])
    assert announced_passes <= sum(seen) <= 1.1 * announced_passes + looked_at_layers


def test_the_time_is_that_of_the_passes(rated, capsys, monkeypatch):
    models, images, tables = rated
    monkeypatch.setattr(rating, "time_pass", lambda network, mosaics: 30.0)
    methods = ["gradcam", "smoothgrad"]  # 1 and 6 passes for each of 4 mosaics
    case = models[0], images["C"], tables["C"]
    rating.announce([case] * 2, methods, "quick")
    assert announced(capsys) == (56, "0:28:00")


def test_a_rating_of_the_small_networks_is_not_timed(rated, capsys, monkeypatch):
    models, images, tables = rated
    monkeypatch.setattr(rating, "time_pass", None)
    small = networks.Model(Recipe(), "C", models[0].trainings, models[0].logit)
    case = small, images["C"], tables["C"]
    rating.announce([case], ["gradcam"], "sound")
    assert capsys.readouterr().out == ""


def test_a_rating_is_announced_before_it_starts(rated, capsys):
    models, images, tables = rated
    rows = rating.ratings(models, images, tables, ["gradcam"], effort="paper")
    assert announced(capsys)[0] == len(rows)

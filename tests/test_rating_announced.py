"""A long rating says before it starts how many passes it needs, and how long they take."""

import re

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from torch import nn

from helpers import data, focus
from helpers.data.images import Images
from helpers.explain import METHODS
from helpers.focus import networks, rating
from helpers.models.recipe import Recipe

CLASSES = ("goldfish", "peacock")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A small folder of photographs, named by ImageNet's classes."""
    monkeypatch.setenv("SUITE_OUTPUTS", str(tmp_path / "outputs"))
    rng = np.random.default_rng(0)
    for name in CLASSES:
        (tmp_path / "photos" / name).mkdir(parents=True)
        for i in range(6):
            pixels = rng.integers(0, 256, (40, 40, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(tmp_path / "photos" / name / f"{i}.png")
    return tmp_path / "photos"


@pytest.fixture
def rated(folder):
    """Return the arguments of a rating of an untrained network on the folder."""
    images = Images("folder", folder=str(folder), size=32)
    collection = data.load(images, 0, with_contexts=False)
    recipe = Recipe("squeezenet1_1", fit="as it is")
    held_out = networks.held_out(collection, recipe)
    tables = networks.designs(collection, recipe, 2, 0)
    network = SMALL.eval()
    logit_of = {name: number for number, name in enumerate(CLASSES)}
    model = focus.networks.Model(recipe, "C", [network], logit_of)
    return [model], held_out, tables


class Normalizing(nn.Sequential):
    """A small network with a normalization."""

    mean = torch.zeros(3, 1, 1)
    std = torch.ones(3, 1, 1)


SMALL = Normalizing(
    nn.Conv2d(3, 4, 3),
    nn.ReLU(),
    nn.AdaptiveAvgPool2d(1),
    nn.Flatten(),
    nn.Linear(4, 2),
)


def announced(capsys) -> tuple[int, str]:
    """Return the number of passes and the duration that were printed."""
    said = capsys.readouterr().out
    passes, duration = re.search(
        r"needs ([\d,]+) passes.*take (about [^.]+)\.", said
    ).groups()
    return int(passes.replace(",", "")), duration


def test_the_papers_effort_announces_the_passes_that_a_method_makes(rated, capsys):
    models, images, tables = rated
    counted = []
    for method in ("gradcam", "smoothgrad", "integrated-gradients", "lime"):
        seen = []
        count = lambda network, inputs, seen=seen: seen.append(len(inputs[0]))  # noqa: E731
        rating.announce(models, images, tables, [method], effort="paper")
        passes, _ = announced(capsys)
        hook = SMALL.register_forward_pre_hook(count)
        table = tables["C"].head(1)
        focus.rate(models[0], images["C"], table, method, effort="paper")
        hook.remove()
        per_mosaic = passes / len(tables["C"])
        counted.append((method, per_mosaic, sum(seen)))
    for method, expected, seen in counted:
        # methods look at their layers once more
        assert expected <= seen <= 1.1 * expected + 3, method


def test_passes_add_up_over_networks_runs_and_methods(rated, capsys):
    models, images, tables = rated
    rating.announce(models * 3, images, tables, [*METHODS], effort="paper")
    passes, _ = announced(capsys)
    of_methods = [rating.passes_per_mosaic(method, "paper") for method in METHODS]
    assert passes == 3 * len(tables["C"]) * sum(of_methods)


def test_the_time_is_that_of_the_passes(rated, capsys, monkeypatch):
    models, images, tables = rated
    monkeypatch.setattr(rating, "time_pass", lambda network, mosaics, backward: 30.0)
    rating.announce(models, images, tables, ["gradcam"], effort="quick")
    assert announced(capsys) == (4, "about 2 minutes")


def test_a_short_rating_of_your_images_is_not_announced(rated, capsys):
    rating.announce(*rated, ["gradcam"], effort="quick")
    assert capsys.readouterr().out == ""


def test_a_rating_of_the_small_networks_is_not_timed(rated, capsys, monkeypatch):
    models, images, tables = rated
    monkeypatch.setattr(rating, "time_pass", None)
    small = focus.networks.Model(Recipe(), "C", models[0].trainings, models[0].logit)
    rating.announce([small], images, tables, ["gradcam"], effort="sound")
    assert capsys.readouterr().out == ""


def test_a_rating_is_announced_before_it_starts(rated, capsys):
    models, images, tables = rated
    rows = rating.ratings(models, images, tables, ["gradcam"], effort="paper")
    assert isinstance(rows, pd.DataFrame)
    assert announced(capsys)[0] == len(rows)

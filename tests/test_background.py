"""Colours and relevance of backgrounds, against loops and constructed image sets."""

import numpy as np
import pandas as pd
import pytest
import torch

from helpers import stats
from helpers.contexts import colour
from helpers.contexts.relevance import on_regions
from helpers.data import ImageSet

CLASSES = ("bench", "mug")


COLOURS = np.array([(200, 50, 50), (50, 50, 200)])  # of the background, by class


def image_set(n=60):
    """Return squares of one colour on backgrounds of the class's colour."""
    rng = np.random.default_rng(0)
    labels = np.arange(n) % 2
    colours = COLOURS[labels]
    noise = rng.integers(0, 20, (n, 3, 8, 8))
    images = noise + colours[:, :, None, None]
    images[:, :, 2:6, 2:6] = rng.integers(90, 110, (n, 3, 4, 4))
    mask = np.zeros((n, 8, 8), bool)
    mask[:, 2:6, 2:6] = True
    table = pd.DataFrame({"class": np.array(CLASSES)[labels]})
    table["split"] = np.repeat(["train", "test"], [n - 20, 20])
    table["path"] = ""
    return ImageSet(
        "C",
        torch.tensor(images, dtype=torch.uint8),
        torch.tensor(labels),
        CLASSES,
        table,
        torch.tensor(mask),
    )


def test_mean_colours_equal_a_loop():
    images = image_set()
    means = colour.mean_colours(images)
    for number, image in enumerate(images.images.numpy()):
        mask = images.masks[number].numpy()
        of_object = image[:, mask].mean(1)
        of_background = image[:, ~mask].mean(1)
        object_colour = means["object"][number].numpy()
        background_colour = means["background"][number].numpy()
        assert object_colour == pytest.approx(of_object)
        assert background_colour == pytest.approx(of_background)


def test_the_colour_of_the_background_gives_the_class_away():
    images = image_set(n=420)
    guesses = colour.guesses({"C": images})
    table = stats.rates(guesses, "correct", by=["region"])
    table = table.set_index("region")
    of_background = table.loc["background"]
    of_object = table.loc["object"]
    assert of_background["rate"] == 1.0
    assert of_object["ci_low"] < 0.5 < of_object["ci_high"]
    assert (guesses["chance"] == 0.5).all()
    assert (table["n"] == 20).all()


@pytest.fixture
def images():
    return image_set(n=40)


def test_regions_equal_a_loop(images):
    draw = torch.Generator().manual_seed(0)
    maps = torch.rand(40, 8, 8, generator=draw) - 0.3
    table = on_regions(maps, images.masks)
    masks = images.masks.numpy()
    for number, values in enumerate(maps.numpy()):
        mask = masks[number]
        row = table.iloc[number]
        inside = sum(value for value in values[mask] if value > 0)
        outside = sum(value for value in values[~mask] if value > 0)
        y, x = np.unravel_index(values.argmax(), values.shape)
        first_row = np.flatnonzero(mask.any(1))[0]
        assert row["relevance"] == pytest.approx(outside / (inside + outside))
        assert row["peak"] == (not mask[y, x])
        assert row["peak above"] == (y < first_row)
    assert (table["area"] == 48 / 64).all()
    assert (table["area above"] == 2 / 8).all()
    assert set(table["peak above"]) == {0, 1}


def test_empty_maps_are_counted_and_left_out(images):
    drawn = images.masks.float()
    drawn[::4] = 0
    drawn[2] = -1
    table = on_regions(drawn, images.masks)
    measures = table[["relevance", "peak", "peak above"]]
    n_missing = measures.isna().sum()
    assert (n_missing == 11).all()
    assert (table["relevance"].dropna() == 0).all()

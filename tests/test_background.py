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


def image_set(
    name="C", n=60, seed=0, colours=((200, 50, 50), (50, 50, 200)), masks=True
):
    """Return objects of one colour (4 x 4 squares) on a background of the class's colour."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 2
    images = (
        rng.integers(0, 20, (n, 3, 8, 8)) + np.array(colours)[labels][:, :, None, None]
    )
    images[:, :, 2:6, 2:6] = rng.integers(90, 110, (n, 3, 4, 4))
    mask = np.zeros((n, 8, 8), bool)
    mask[:, 2:6, 2:6] = True
    split = np.repeat(["train", "val", "test"], [n - 20, 0, 20])
    table = pd.DataFrame(
        {"class": np.array(CLASSES)[labels], "split": split, "path": ""}
    )
    return ImageSet(
        name,
        torch.tensor(images, dtype=torch.uint8),
        torch.tensor(labels),
        CLASSES,
        table,
        torch.tensor(mask) if masks else None,
    )


def test_mean_colours_equal_a_loop_and_the_background_gives_the_class_away():
    images = image_set()
    for region, keep in (("object", images.masks), ("background", ~images.masks)):
        means = colour.mean_colours(images)[region]
        for image, mask, mean in zip(images.images, keep, means, strict=True):
            assert mean.numpy() == pytest.approx(image.numpy()[:, mask].mean(1))
    guesses = colour.guesses({"C": image_set(n=420)})
    table = stats.rates(guesses, "correct", by=["region"])
    table = table.set_index("region")
    assert table.loc["background", "rate"] == 1.0
    of_object = table.loc["object"]
    assert of_object["ci_low"] < 0.5 < of_object["ci_high"]
    assert (guesses["chance"] == 0.5).all()
    assert (table["n"] == 20).all()


@pytest.fixture
def images():
    return image_set(n=40)


def test_regions_equal_a_loop(images):
    drawn = torch.rand(40, 8, 8, generator=torch.Generator().manual_seed(0)) - 0.3
    table = on_regions(drawn, images.masks)
    for one, mask, row in zip(
        drawn.numpy(), images.masks.numpy(), table.itertuples(), strict=True
    ):
        outside, inside = (sum(v for v in one[part] if v > 0) for part in (~mask, mask))
        assert row.relevance == pytest.approx(outside / (inside + outside))
        y, x = np.unravel_index(one.argmax(), one.shape)
        assert row.peak == (not mask[y, x])
        assert row[3] == (y < np.flatnonzero(mask.any(1))[0])  # peak above
    assert (table["area"] == 48 / 64).all()
    assert (table["area above"] == 2 / 8).all()
    assert set(table["peak above"]) == {0, 1}


def test_empty_maps_are_counted_and_left_out(images):
    drawn = images.masks.float()
    drawn[::4] = 0
    drawn[2] = -1
    table = on_regions(drawn, images.masks)
    assert (table[["relevance", "peak", "peak above"]].isna().sum() == 11).all()
    assert (table["relevance"].dropna() == 0).all()

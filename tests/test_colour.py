"""Mean colours and what they give away, against loops and constructed sets."""

import numpy as np
import pandas as pd
import pytest
import torch

from helpers.contexts import colour
from helpers.data import ImageSet

CLASSES = ("bench", "mug")


def image_set(name="C", n=60, seed=0, colours=((200, 50, 50), (50, 50, 200)), masks=True):
    """Objects of one colour (a 4 x 4 square) on a ground of the class's colour."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 2
    images = rng.integers(0, 20, (n, 3, 8, 8)) + np.array(colours)[labels][:, :, None, None]
    images[:, :, 2:6, 2:6] = rng.integers(90, 110, (n, 3, 4, 4))
    mask = np.zeros((n, 8, 8), bool)
    mask[:, 2:6, 2:6] = True
    split = np.repeat(["train", "val", "test"], [n - 20, 0, 20])
    table = pd.DataFrame({"class": np.array(CLASSES)[labels], "split": split, "path": ""})
    return ImageSet(
        name,
        torch.tensor(images, dtype=torch.uint8),
        torch.tensor(labels),
        CLASSES,
        table,
        torch.tensor(mask) if masks else None,
    )


def test_mean_colours_equal_a_loop():
    images = image_set()
    for region, keep in (("object", images.masks), ("background", ~images.masks)):
        means = colour.mean_colours(images, region)
        for image, mask, mean in zip(images.images, keep, means, strict=True):
            for channel in range(3):
                pixels = [int(v) for v in image[channel][mask]]
                assert mean[channel].item() == pytest.approx(sum(pixels) / len(pixels))
    whole = colour.mean_colours(images)
    assert torch.allclose(whole, images.images.double().mean((2, 3)))


def test_the_background_gives_the_class_away_and_the_object_does_not():
    table = colour.given_away({"C": image_set(n=420)}).set_index("region")
    assert table.loc["background", "accuracy"] == 1.0
    assert table.loc["object", "low"] < 0.5 < table.loc["object", "high"]
    assert (table["chance"] == 0.5).all()
    assert (table["images"] == 20).all()


def test_a_plain_ground_is_not_a_region():
    assert colour.regions_of(image_set("WB")) == ["object"]
    assert colour.regions_of(image_set("C", masks=False)) == ["image"]


def test_by_class_has_a_row_a_set_region_and_class():
    table = colour.by_class({"C": image_set(), "WB": image_set("WB")})
    assert len(table) == 2 * 2 + 2
    ground = table[(table["region"] == "background") & (table["class"] == "mug")].iloc[0]
    assert abs(ground["blue"] - 209.5) < 2 and abs(ground["red"] - 59.5) < 2


def test_refusals_say_what_is_wrong():
    with pytest.raises(ValueError, match="set C has no masks, so its object is not known"):
        colour.mean_colours(image_set(masks=False), "object")
    with pytest.raises(ValueError, match="region: 'edge' is none of image, object, background"):
        colour.mean_colours(image_set(), "edge")

"""`contexts.pasting` against closed forms, loops and exact coverage of objects."""

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from scipy import ndimage

from helpers import data
from helpers.contexts import cutting, pasting
from helpers.data.white import object_masks
from synthetic import pictures
from synthetic.pictures.sets import shown

GREEN = np.array([40.0, 150.0, 60.0])


def disc(size=48, radius=14.3):
    """Return the exact coverage of a disc, its image on white, and its mask."""
    fine = (np.arange(size * 8) + 0.5) / 8
    x = fine - size / 2
    squared_distance = x[:, None] ** 2 + x**2
    is_inside = squared_distance < radius**2
    blocks = is_inside.reshape(size, 8, size, 8)
    coverage = blocks.mean((1, 3))
    image = coverage * GREEN[:, None, None]
    image += (1 - coverage) * 255
    image = torch.from_numpy(image.round().astype(np.uint8))
    mask = torch.from_numpy(coverage >= 0.5)
    return coverage, image[None], mask[None]


def rectangle(height=5, width=7):
    """Return the image of a rectangle with hard edges on white, and its mask."""
    mask = torch.zeros((1, 24, 24), dtype=torch.bool)
    mask[:, 6 : 6 + height, 9 : 9 + width] = True
    red = torch.where(mask, 10, 255)
    green = torch.where(mask, 200, 255)
    blue = torch.where(mask, 30, 255)
    image = torch.stack([red, green, blue], dim=1)
    return image.to(torch.uint8), mask


def pasted(cutouts, grounds):
    """Paste one cut-out on each of several grounds, uint8 (N, 3, H, W)."""
    design = pd.DataFrame({"background": range(len(grounds))})
    design["object"] = 0
    design["context_class"] = "b"
    design["kind"] = "context"
    return pasting.composites(design, cutouts, {"b": grounds})


def pil_image(image):
    pixels = image.permute(1, 2, 0).contiguous()
    return Image.fromarray(pixels.numpy())


@pytest.mark.parametrize(
    ("source", "bound"),
    [("exact", 0.75), ("from white", 0.3)],
)
def test_synthetic_objects_have_no_white_fringe(source, bound):
    """On a dark background, edge pixels are near those of the exact composite."""
    made = pictures.make("WB", per_class=6)
    images = torch.from_numpy(made.images)
    images = images.permute(0, 3, 1, 2).contiguous()
    masks = torch.from_numpy(made.masks)
    if source == "from white":
        masks = object_masks(images)
    cutouts = cutting.cut(images, masks, softness=0)
    ground = np.full((3, 96, 96), 0.1, np.float32)
    errors = []
    naive_errors = []
    for number, row in enumerate(made.table.itertuples()):
        layer = shown(row.object, 0, row.index, 96)[1]
        exact = layer.over(ground.copy()) * 255
        alpha = np.asarray(layer.alpha)
        is_edge = (alpha > 0.02) & (alpha < 0.98)

        colour = cutouts[number, :3]
        transparency = 1 - cutouts[number, 3]
        error = colour + transparency * 25.5 - exact
        errors.append(error[:, is_edge].mean())

        mask = masks[number].numpy()
        naive = np.where(mask, images[number].numpy(), 25.5)
        naive_error = naive - exact
        naive_errors.append(naive_error[:, is_edge].mean())
    fringe = np.mean(naive_errors)
    assert fringe > 15
    assert abs(np.mean(errors)) < bound * fringe


def test_hard_edges_equal_a_paste_by_pil():
    image, mask = rectangle()
    generator = torch.Generator().manual_seed(0)
    size = (4, 3, 24, 24)
    grounds = torch.randint(0, 256, size, dtype=torch.uint8, generator=generator)
    cutouts = cutting.cut(image, mask, softness=0)
    made = pasted(cutouts, grounds)
    pil_object = pil_image(image[0])
    pil_mask = Image.fromarray(mask[0].numpy())
    for composite, ground in zip(made, grounds, strict=True):
        expected = pil_image(ground)
        expected.paste(pil_object, (0, 0), pil_mask)
        np.testing.assert_array_equal(pil_image(composite), expected)


def collection_with(sets):
    """Return a collection with some image sets and no contexts."""
    return data.Collection("folder", ("a", "b"), sets)


def white_set(masks):
    """Return two images of WB in the test split, with their masks."""
    table = pd.DataFrame({"class": ["a", "b"]})
    table["split"] = "test"
    table["context"] = ""
    images = torch.full((2, 3, 4, 4), 255, dtype=torch.uint8)
    return data.ImageSet(
        "WB",
        images,
        labels=torch.tensor([0, 1]),
        classes=("a", "b"),
        table=table,
        masks=masks,
    )


def test_objects_are_the_test_images_whose_mask_is_not_empty():
    masks = torch.zeros((2, 4, 4), dtype=torch.bool)
    masks[1, 2, 2] = True
    collection = collection_with({"WB": white_set(masks)})
    objects = pasting.require_objects(collection)
    assert objects.labels.tolist() == [1]


@pytest.mark.parametrize(
    "sets",
    [{}, {"WB": white_set(None)}],
    ids=["no WB", "no masks"],
)
def test_a_collection_without_objects_on_white_is_refused(sets):
    collection = collection_with(sets)
    assert pasting.objects(collection) is None
    with pytest.raises(ValueError, match="There is no set WB"):
        pasting.require_objects(collection)


@pytest.mark.parametrize("scale", [0.5, 2.0])
def test_scaled_objects_cover_the_square_of_the_scale_about_their_centre(scale):
    coverage, image, mask = disc(size=96, radius=12)
    up = -20
    right = 16
    image = image.roll((up, right), (-2, -1))
    mask = mask.roll((up, right), (-2, -1))
    cutouts = cutting.cut(image, mask, softness=0)
    cutouts = cutting.resized(cutouts, scale)
    black = torch.zeros_like(image)
    composite = pasted(cutouts, black)[0]
    green = composite[1].double().numpy()
    area = green.sum() / GREEN[1]
    expected_area = coverage.sum() * scale**2
    assert area == pytest.approx(expected_area, rel=0.05)
    row, column = ndimage.center_of_mass(green)
    assert row == pytest.approx(27.5, abs=0.6)
    assert column == pytest.approx(63.5, abs=0.6)


def test_coverage_of_a_disc_is_recovered():
    coverage, image, mask = disc()
    [cutout] = cutting.cut(image, mask, softness=0)
    colour = coverage * GREEN[:, None, None]
    np.testing.assert_allclose(cutout[3], coverage, rtol=0, atol=0.02)
    np.testing.assert_allclose(cutout[:3], colour, rtol=0, atol=3)


def test_coverage_of_a_thin_object_is_its_mask():
    image, mask = rectangle(height=1, width=9)
    [cutout] = cutting.cut(image, mask, softness=0)
    np.testing.assert_allclose(cutout[3], mask[0], atol=0.01)

"""`contexts.pasting` against closed forms, PIL and exact coverage."""

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

from helpers import data
from helpers.contexts import cutting, pasting
from helpers.data.white import object_masks
from synthetic import pictures
from synthetic.pictures.sets import shown

GREEN = np.array([40.0, 150.0, 60.0])
CLASSES = ("a", "b")
DARK = 25.5  # grey level of the background on which a white fringe would show


def disc(size=48, radius=14.3):
    """Return a green disc on white: exact coverage (supersampled), image and mask."""
    places = (np.arange(size * 8) + 0.5) / 8
    x = places - size / 2
    y = x[:, None]
    is_inside = x**2 + y**2 < radius**2
    blocks = is_inside.reshape(size, 8, size, 8)
    coverage = blocks.mean((1, 3))
    alpha = coverage[..., None]
    green = alpha * GREEN
    white = (1 - alpha) * 255
    image = np.round(green + white).astype(np.uint8)
    pixels = torch.from_numpy(image)
    pixels = pixels.permute(2, 0, 1)
    mask = torch.from_numpy(coverage >= 0.5)
    return coverage, pixels[None], mask[None]


def rectangle(height=5, width=7):
    """Return a green rectangle on white, image and mask. Its coverage is its mask."""
    rows = slice(6, 6 + height)
    columns = slice(9, 9 + width)
    mask = torch.zeros((1, 24, 24), dtype=torch.bool)
    mask[:, rows, columns] = True
    green = torch.tensor(
        [10, 200, 30],
        dtype=torch.uint8,
    )
    image = torch.full((1, 3, 24, 24), 255, dtype=torch.uint8)
    image[0, :, rows, columns] = green[:, None, None]
    return image, mask


def pasted_on(backgrounds, cutouts):
    """Paste the first cut-out on each of several backgrounds, uint8 (N, 3, H, W)."""
    design = pd.DataFrame({"background": range(len(backgrounds))})
    design["object"] = 0
    design["context_class"] = "b"
    return pasting.composites(design, cutouts, {"b": backgrounds})


@pytest.fixture(scope="module")
def synthetic_objects():
    """Provide drawn objects on white, with what they were drawn from."""
    return pictures.make("WB", per_class=6)


@pytest.mark.parametrize(("source", "bound"), [("exact", 0.75), ("from white", 0.3)])
def test_synthetic_objects_have_no_white_fringe(synthetic_objects, source, bound):
    """On a dark background, edge pixels are near those of the exact composite."""
    pixels = torch.from_numpy(synthetic_objects.images)
    images = pixels.permute(0, 3, 1, 2).contiguous()
    masks = torch.from_numpy(synthetic_objects.masks)
    if source == "from white":
        masks = object_masks(images)
    cutouts = cutting.cut(images, masks, softness=0)
    dark = np.full((3, 96, 96), DARK / 255, np.float32)
    errors = []
    naive_errors = []
    for i, row in enumerate(synthetic_objects.table.itertuples()):
        layer = shown(row.object, 0, row.index, 96)[1]
        drawn_alpha = np.asarray(layer.alpha)
        is_edge = drawn_alpha > 0.02
        is_edge &= drawn_alpha < 0.98
        exact = layer.over(dark.copy()) * 255
        colours = cutouts[i, :3]
        alpha = cutouts[i, 3]
        soft = colours + (1 - alpha) * DARK
        hard = images[i].numpy()
        hard = np.where(masks[i].numpy(), hard, DARK)
        error = soft[:, is_edge] - exact[:, is_edge]
        naive_error = hard[:, is_edge] - exact[:, is_edge]
        errors.append(error.mean())
        naive_errors.append(naive_error.mean())
    fringe = np.mean(naive_errors)
    assert fringe > 15, "the naive cut is too bright: that is the fringe"
    assert abs(np.mean(errors)) < bound * fringe


def pil_image(image):
    """Convert a tensor, uint8 (3, H, W), to an image of PIL."""
    pixels = image.permute(1, 2, 0).contiguous()
    return Image.fromarray(pixels.numpy())


def test_hard_edges_equal_a_paste_by_pil():
    image, mask = rectangle()
    backgrounds = torch.randint(
        0,
        256,
        (4, 3, 24, 24),
        dtype=torch.uint8,
        generator=torch.Generator().manual_seed(0),
    )
    cutouts = cutting.cut(image, mask, softness=0)
    composites = pasted_on(backgrounds, cutouts)
    pil_mask = Image.fromarray(mask[0].numpy())
    for composite, background in zip(composites, backgrounds, strict=True):
        expected = pil_image(background)
        expected.paste(pil_image(image[0]), (0, 0), pil_mask)
        ours = pil_image(composite)
        np.testing.assert_array_equal(
            np.array(ours),
            np.array(expected),
        )


def collection_with(sets):
    """Return a collection with some image sets and no contexts."""
    return data.Collection("folder", CLASSES, sets, {}, {})


def white_set(masks):
    """Return two images of WB in the test split, with their masks."""
    table = pd.DataFrame({"class": CLASSES})
    table["split"] = "test"
    table["context"] = ""
    images = torch.full((2, 3, 4, 4), 255, dtype=torch.uint8)
    labels = torch.tensor([0, 1])
    return data.ImageSet("WB", images, labels, CLASSES, table, masks)


def test_objects_are_the_test_images_whose_mask_is_not_empty():
    masks = torch.zeros((2, 4, 4), dtype=torch.bool)
    masks[1, 2, 2] = True
    collection = collection_with({"WB": white_set(masks)})
    found = pasting.require_objects(collection)
    assert found.labels.tolist() == [1]


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


def test_coverage_of_a_disc_is_recovered():
    coverage, image, mask = disc()
    [cutout] = cutting.cut(image, mask, softness=0)
    alpha = cutout[3]
    colours = cutout[:3]
    expected_colours = coverage * GREEN[:, None, None]
    assert np.abs(alpha - coverage).max() < 0.02
    assert np.abs(colours - expected_colours).max() < 3


def test_coverage_of_a_thin_object_is_its_mask():
    image, mask = rectangle(height=1, width=9)
    [cutout] = cutting.cut(image, mask, softness=0)
    np.testing.assert_allclose(cutout[3], mask[0], atol=0.01)

"""`contexts.pasting` against closed forms, loops and the exact coverage of synthetic objects."""

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


def disc(size=48, radius=14.3, colour=GREEN):
    """A disc on white with exact coverage (supersampled), its image and its mask."""
    fine = (np.arange(size * 8) + 0.5) / 8 - size / 2
    inside = (fine[:, None] ** 2 + fine[None] ** 2 < radius**2).astype(float)
    coverage = inside.reshape(size, 8, size, 8).mean((1, 3))
    image = coverage[..., None] * colour + (1 - coverage[..., None]) * 255
    pixels = torch.from_numpy(image.round().astype(np.uint8)).permute(2, 0, 1)[None]
    return coverage, pixels, torch.from_numpy(coverage >= 0.5)[None]


def square(size=24, top=6, left=9, height=5, width=7, colour=(10, 200, 30)):
    """A square with hard edges on white: its coverage is its mask."""
    image = torch.full((1, 3, size, size), 255, dtype=torch.uint8)
    mask = torch.zeros((1, size, size), dtype=torch.bool)
    mask[:, top : top + height, left : left + width] = True
    image[0, :, mask[0]] = torch.tensor(colour, dtype=torch.uint8)[:, None]
    return image, mask


def on(grounds, image, mask, softness=0, scale=1):
    """The object on each of several grounds, uint8 (N, 3, H, W)."""
    design = pd.DataFrame({"background": range(len(grounds))})
    design = design.assign(object=0, context_class="b", kind="context")
    cutouts = cutting.cut(image, mask, softness)
    if scale != 1:
        cutouts = cutting.resized(cutouts, scale)
    return pasting.composites(design, cutouts, {"b": grounds})


@pytest.mark.parametrize(("source", "bound"), [("exact", 0.75), ("from white", 0.3)])
def test_synthetic_objects_have_no_white_fringe(source, bound):
    """On a dark background, edge pixels are near those of the exact composite."""
    made = pictures.make("WB", per_class=6)
    images = torch.from_numpy(made.images).permute(0, 3, 1, 2).contiguous()
    masks = torch.from_numpy(made.masks)
    if source == "from white":
        masks = object_masks(images)
    cutouts = cutting.cut(images, masks, softness=0)
    ground = np.full((3, 96, 96), 0.1, np.float32)
    ours = []
    naive = []
    for i, row in enumerate(made.table.itertuples()):
        layer = shown(row.object, 0, row.index, 96)[1]
        alpha = np.asarray(layer.alpha)
        edge = (alpha > 0.02) & (alpha < 0.98)
        exact = layer.over(ground.copy()) * 255
        soft = cutouts[i, :3] + (1 - cutouts[i, 3]) * 25.5
        hard = np.where(masks[i].numpy(), images[i].numpy(), 25.5)
        ours.append((soft[:, edge] - exact[:, edge]).mean())
        naive.append((hard[:, edge] - exact[:, edge]).mean())
    assert np.mean(naive) > 15, "the naive cut is too bright: that is the fringe"
    assert abs(np.mean(ours)) < bound * np.mean(naive)


def test_hard_edges_equal_a_paste_by_pil():
    image, mask = square()
    draw = torch.Generator().manual_seed(0)
    grounds = torch.randint(0, 256, (4, 3, 24, 24), dtype=torch.uint8, generator=draw)
    pil_object = Image.fromarray(image[0].permute(1, 2, 0).contiguous().numpy())
    pil_mask = Image.fromarray(mask[0].numpy())
    for made, ground in zip(on(grounds, image, mask), grounds, strict=True):
        expected = Image.fromarray(ground.permute(1, 2, 0).contiguous().numpy())
        expected.paste(pil_object, (0, 0), pil_mask)
        np.testing.assert_array_equal(made.permute(1, 2, 0), np.array(expected))


def collection_with(sets):
    """A collection with some image sets and no contexts."""
    return data.Collection("folder", ("a", "b"), sets)


def white_set(masks):
    """Two images of WB in the test split, and their masks."""
    rows = {"split": ["test", "test"], "class": ["a", "b"], "context": ["", ""]}
    images = torch.full((2, 3, 4, 4), 255, dtype=torch.uint8)
    labels = torch.tensor([0, 1])
    return data.ImageSet("WB", images, labels, ("a", "b"), pd.DataFrame(rows), masks)


def test_objects_are_the_test_images_whose_mask_is_not_empty():
    masks = torch.zeros((2, 4, 4), dtype=torch.bool)
    masks[1, 2, 2] = True
    found = pasting.require_objects(collection_with({"WB": white_set(masks)}))
    assert found.labels.tolist() == [1]


@pytest.mark.parametrize(
    "sets", [{}, {"WB": white_set(None)}], ids=["no WB", "no masks"]
)
def test_a_collection_without_objects_on_white_is_refused(sets):
    assert pasting.objects(collection_with(sets)) is None
    with pytest.raises(ValueError, match="There is no set WB"):
        pasting.require_objects(collection_with(sets))


@pytest.mark.parametrize("scale", [0.5, 2.0])
def test_scaled_objects_cover_the_square_of_the_scale_about_their_centre(scale):
    coverage, image, mask = disc(size=96, radius=12)
    image = image.roll((-20, 16), (-2, -1))
    mask = mask.roll((-20, 16), (-2, -1))
    black = torch.zeros(1, 3, 96, 96, dtype=torch.uint8)
    made = on(black, image, mask, scale=scale)[0, 1].double().numpy()
    area = made.sum() / GREEN[1]
    assert area == pytest.approx(coverage.sum() * scale**2, rel=0.05)
    rows, columns = np.indices(made.shape)
    assert np.average(rows, weights=made) == pytest.approx(27.5, abs=0.6)
    assert np.average(columns, weights=made) == pytest.approx(63.5, abs=0.6)


def test_coverage_of_a_disc_is_recovered():
    coverage, image, mask = disc()
    [layer] = cutting.cut(image, mask, softness=0)
    assert np.abs(layer[3] - coverage).max() < 0.02
    assert np.abs(layer[:3] - coverage * GREEN[:, None, None]).max() < 3


def test_coverage_of_a_thin_object_is_its_mask():
    image, mask = square(height=1, width=9)
    [layer] = cutting.cut(image, mask, softness=0)
    np.testing.assert_allclose(layer[3], mask[0], atol=0.01)

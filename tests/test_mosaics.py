"""`data.mosaic` and `contexts.mosaics`, against PIL and the numbers of the paper."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from helpers import data
from helpers.contexts import mosaics
from helpers.data import mosaic
from helpers.data.images import Images

CLASSES = ("bench", "fire hydrant", "plane", "mug")


def noise(n, height=8, width=8, seed=0):
    draw = torch.Generator().manual_seed(seed)
    size = (n, 3, height, width)
    return torch.randint(0, 256, size, dtype=torch.uint8, generator=draw)


def smooth(n, size=96):
    """Return waves, which are more like photographs than noise is."""
    at = torch.arange(size) / size
    phase = torch.arange(n * 3).reshape(n, 3, 1, 1)
    wave = torch.sin(7 * at[:, None] + 5 * at + phase)
    return ((wave + 1) * 127).to(torch.uint8)


@given(
    rows=st.integers(1, 3),
    cols=st.integers(1, 3),
    height=st.integers(3, 96),
    width=st.integers(3, 96),
)
@settings(max_examples=60, deadline=None)
def test_images_are_squeezed_as_by_pil_and_joined_row_by_row(rows, cols, height, width):
    images = smooth(rows * cols)
    cells = [mosaic.squeeze(image[None], height, width) for image in images]
    whole = mosaic.join(cells, rows, cols)
    assert whole.dtype == torch.uint8
    assert whole.shape == (1, 3, rows * height, cols * width)
    for number, image in enumerate(images):
        row, col = divmod(number, cols)
        pixels = image.permute(1, 2, 0).contiguous()
        expected = Image.fromarray(pixels.numpy())
        expected = expected.resize((width, height), Image.Resampling.BILINEAR)
        top = row * height
        left = col * width
        cell = whole[0, :, top : top + height, left : left + width]
        cell = cell.permute(1, 2, 0).numpy()
        errors = np.abs(cell.astype(int) - np.asarray(expected))
        assert errors.max() <= 1


def test_a_design_has_the_papers_1500_mosaics():
    labels = torch.arange(4).repeat_interleave(25)
    contexts = dict.fromkeys(CLASSES, range(50))
    assert len(mosaics.design(labels, contexts, CLASSES)) == 1500


@given(
    counts=st.lists(st.integers(0, 9), min_size=2, max_size=5).filter(any),
    stock=st.lists(st.integers(3, 11), min_size=5, max_size=5),
    per_context=st.integers(1, 3),
    seed=st.integers(0, 2**31),
)
@settings(max_examples=60, deadline=None)
def test_a_design_is_balanced_and_repeatable(counts, stock, per_context, seed):
    classes = tuple("abcde"[: len(counts)])
    labels = torch.repeat_interleave(torch.arange(len(counts)), torch.tensor(counts))
    contexts = {}
    for name, number in zip(classes, stock, strict=False):
        contexts[name] = range(number)
    settings = {"per_context": per_context, "seed": seed}
    design = mosaics.design(labels, contexts, classes, **settings)
    assert design.equals(mosaics.design(labels, contexts, classes, **settings))
    assert not design.duplicated(["object", "context_class", "background"]).any()
    by_pair = design.groupby(["object_class", "context_class"])
    for (object_class, context_class), rows in by_pair:
        n_backgrounds = len(contexts[context_class])
        times = np.bincount(
            rows["background"],
            minlength=n_backgrounds,
        )
        assert object_class != context_class
        assert (rows.groupby("object").size() == per_context).all()
        assert times.max() - times.min() <= 1


@pytest.mark.parametrize(
    ("shape", "width", "widths"),
    [
        ("squeezed", 8, (4, 4)),
        ("squeezed", 9, (4, 5)),
        ("native", 8, (8, 8)),
        ("native", 9, (9, 9)),
    ],
)
def test_batches_show_the_designs_pairs_side_by_side(shape, width, widths):
    objects = noise(6, 8, width)
    plain = noise(1, 8, width, 7)
    contexts = {
        "a": noise(5, 8, width, 1),
        "b": noise(7, 8, width, 2),
        "c": noise(6, 8, width, 3),
    }
    labels = torch.tensor([0, 0, 1, 1, 2, 2])
    designs = []
    for side in ("left", "right"):
        design = mosaics.design(
            labels,
            contexts,
            "abc",
            side=side,
            with_neutral=True,
        )
        designs.append(design)
    design = pd.concat(designs)
    design = design.sample(frac=0.8, random_state=0)  # in any order
    expected = []
    for row in design.itertuples():
        background = plain
        if row.context_class != mosaics.NEUTRAL:
            background = contexts[row.context_class][[row.background]]
        pair = [objects[[row.object]], background]
        if row.side == "right":
            pair.reverse()
        left, right = pair
        left = mosaic.squeeze(left, 8, widths[0])
        right = mosaic.squeeze(right, 8, widths[1])
        expected.append(torch.cat([left, right], dim=-1))
    built = mosaics.batches(
        design,
        objects,
        contexts,
        plain,
        shape=shape,
    )
    assert len(design) > mosaics.BATCH
    assert torch.equal(torch.cat(list(built)), torch.cat(expected))


def test_too_few_context_images_are_refused():
    contexts = dict.fromkeys("ab", range(4))
    with pytest.raises(ValueError, match="has 4 images, but per_context=5"):
        mosaics.design(torch.tensor([0, 1]), contexts, "ab")


def test_moved_objects_are_the_same_in_another_context():
    images = Images(size=32, per_class=20)
    unbiased = replace(images, context_bias=0.25)
    collection = data.load(images, 0)
    objects = collection.sets["C"].split("test")
    others = data.load(unbiased, 0).sets["C"].split("test")
    elsewhere, moved = mosaics.objects_elsewhere(collection, images, 0)
    assert torch.equal(elsewhere, others.images)
    assert torch.equal(objects.masks[moved], others.masks[moved])
    own_context = objects.table["class"].map(collection.context_of).to_numpy()
    was_at_home = objects.table["context"].to_numpy() == own_context
    is_at_home = others.table["context"].to_numpy() == own_context
    expected = np.flatnonzero(was_at_home & ~is_at_home)
    assert len(expected) > 0
    assert moved == expected.tolist()


def test_photographs_have_no_moved_objects():
    collection = data.load(Images(size=32, per_class=20), 0)
    photographs = Images(source="visual-contexts")
    _, moved = mosaics.objects_elsewhere(collection, photographs, 0)
    assert moved == []


def test_a_design_without_rows_has_no_mosaics():
    labels = torch.tensor([0, 1])
    contexts = {"a": noise(5), "b": noise(5)}
    design = mosaics.design(labels, contexts, "ab")
    no_rows = design.iloc[:0]
    assert list(mosaics.batches(no_rows, noise(2), contexts)) == []

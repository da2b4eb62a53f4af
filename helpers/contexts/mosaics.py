"""Put an object image next to an image of another class's context (mosaics).

*Assessing Biases through Visual Contexts*, section 2.2 and Figure 6. `design` pairs
object images with background images, and `batches` makes the pixels.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import torch

from helpers.data import Collection, ImageSet, load, mosaic
from helpers.data.images import Images

# the batch size of `models.logits`; larger batches are hardly faster, and some of them
# round differently
BATCH = 64
NEUTRAL = "neutral background"  # in place of the class of a context


def design(
    labels: torch.Tensor,
    contexts: Mapping[str, Sequence],
    classes: Sequence[str],
    *,
    per_context: int = 5,
    side: str = "left",
    with_neutral: bool = False,
    seed: int = 0,
) -> pd.DataFrame:
    """Pair object images with background images (section 2.2).

    Every image meets `per_context` different background images of every *other* class.
    In the paper these are 25 images x 5 x 3 contexts x 4 classes = 1500 mosaics. Within
    a pair of classes, the numbers of mosaics per background differ by at most one.

    Parameters
    ----------
    labels : torch.Tensor of int64, shape (N,)
        Classes of the object images, as indices into `classes`.
    contexts : mapping of str to sequence
        Background images by class; only their numbers are used.
    classes : sequence of str
        The classes in the order of the labels.
    per_context : int
        Number of background images of each context per object image.
    side : str
        Side of the object: "left", as in the paper, or "right".
    with_neutral : bool
        Whether to add one mosaic per image with a neutral background, which the paper
        does not have.
    seed : int
        Random seed of the pairs.

    Returns
    -------
    pandas.DataFrame
        One row per mosaic: ``object`` and ``background`` (numbers of the two images),
        ``object_class``, ``context_class`` (`NEUTRAL` for a neutral background) and
        ``side``.

    Raises
    ------
    ValueError
        If a context has fewer than `per_context` images.
    """
    for name, images in contexts.items():
        if 0 < len(images) < per_context:
            raise ValueError(
                f"The context of {name!r} has {len(images)} images, but "
                f"per_context={per_context} needs that many different ones. "
                "Give more images or lower per_context."
            )
    labels = np.asarray(labels)
    parts = []
    for i, object_class in enumerate(classes):
        objects = np.flatnonzero(labels == i)
        for j, context_class in enumerate(classes):
            n_backgrounds = len(contexts.get(context_class, ()))
            if i == j or n_backgrounds == 0:
                continue
            rng = np.random.default_rng([seed, i, j])
            assigned = _assigned(len(objects), per_context, n_backgrounds, rng)
            part = pd.DataFrame({"object": objects.repeat(per_context)})
            part["object_class"] = object_class
            part["context_class"] = context_class
            part["background"] = assigned.ravel()
            parts.append(part)
    if with_neutral:
        part = pd.DataFrame({"object": np.argsort(labels, kind="stable")})
        part["object_class"] = np.array([*classes])[labels[part["object"]]]
        part["context_class"] = NEUTRAL
        part["background"] = 0
        parts.append(part)
    return pd.concat(parts, ignore_index=True).assign(side=side)


def examples(images: ImageSet, context_of: Mapping[str, str], n: int = 2) -> list[int]:
    """List `n` images per class, first those in the class's own context."""
    table = images.table.reset_index(drop=True)
    in_other_context = table["context"] != table["class"].map(context_of)
    order = in_other_context.sort_values(kind="stable").index
    ranked = table.loc[order, "class"]
    indices = []
    for name in images.classes:
        indices.extend(ranked.index[ranked == name][:n])
    return indices


def objects_elsewhere(
    collection: Collection, images: Images, seed: int
) -> tuple[torch.Tensor, list[int]]:
    """Show the test objects of the image set C in other contexts.

    This is possible for synthetic images only. Their unbiased counterpart has the same
    objects, but it assigns the contexts at random.

    Parameters
    ----------
    collection : Collection
    images : Images
        What the images of the collection are.
    seed : int
        Random seed of the collection.

    Returns
    -------
    pictures : torch.Tensor of uint8, shape (N, 3, H, W)
        The test images of the unbiased counterpart, in the order of the collection's.
    moved : list of int
        Numbers of the objects that are in the context of their class in the collection,
        and in another context in `pictures`. Empty for other images.
    """
    objects = collection.sets["C"].split("test")
    if images.source != "world":
        return objects.images, []
    unbiased = replace(images, context_bias=1 / len(collection.classes))
    elsewhere = load(unbiased, seed).sets["C"].split("test")
    context_of_class = objects.table["class"].map(collection.context_of).to_numpy()
    is_at_home = objects.table["context"].to_numpy() == context_of_class
    stays = elsewhere.table["context"].to_numpy() == context_of_class
    return elsewhere.images, np.flatnonzero(is_at_home & ~stays).tolist()


def neutral(images: torch.Tensor, how: str = "mean", seed: int = 0) -> torch.Tensor:
    """Make a neutral background from the object images of all classes.

    Parameters
    ----------
    images : torch.Tensor of uint8, shape (N, 3, H, W)
    how : str
        "mean" for the mean colour of the images, "white", or "shuffled", where every
        pixel comes from a random place of a random image.
    seed : int
        Random seed of the shuffled pixels.

    Returns
    -------
    torch.Tensor of uint8, shape (1, 3, H, W)
    """
    if how == "white":
        return torch.full_like(images[:1], 255)
    if how == "mean":
        colour = images.double().mean((0, 2, 3), keepdim=True).round().to(torch.uint8)
        return colour.expand_as(images[:1])
    pixels = images.movedim(1, 0).flatten(1)  # (3, all pixels)
    size = images[0, 0].numel()
    draw = torch.Generator().manual_seed(seed)
    pick = torch.randint(pixels.shape[1], (size,), generator=draw)
    return pixels[:, pick].reshape_as(images[:1])


def batches(
    table: pd.DataFrame,
    objects: torch.Tensor,
    contexts: Mapping[str, torch.Tensor],
    neutral: torch.Tensor | None = None,
    *,
    shape: str = "squeezed",
    squeeze: Callable = mosaic.squeeze,
    join: Callable = mosaic.join,
) -> Iterator[torch.Tensor]:
    """Make the mosaics of a design, batch by batch.

    Parameters
    ----------
    table : pandas.DataFrame
        Rows of a :func:`design`, in any order.
    objects : torch.Tensor
        Object images, uint8 (N, 3, H, W).
    contexts : mapping of str to torch.Tensor
        Background images by the context's class, uint8 (M, 3, H, W).
    neutral : torch.Tensor, optional
        The neutral background, if the design has such rows.
    shape : str
        "squeezed" for mosaics as wide as one image, or "native" for twice its width.
    squeeze, join : callable
        How an image is squeezed, and how two are joined.

    Yields
    ------
    torch.Tensor of uint8, shape (B, 3, H, W) or (B, 3, H, 2 * W)
        Mosaics in the order of the table; nothing if the table is empty.
    """
    if table.empty:
        return
    backgrounds, background_of = partners(table, contexts, neutral)
    pairs = np.stack([table["object"], background_of + len(objects)])
    tiles = torch.cat([objects, backgrounds])
    height, width = tiles.shape[-2:]
    left_width = right_width = width
    if shape == "squeezed":
        left_width = width // 2
        right_width = width - left_width
    left_tiles = squeeze(tiles, height, left_width)
    right_tiles = squeeze(tiles, height, right_width)
    is_left = (table["side"] == "left").to_numpy()
    left, right = torch.from_numpy(np.where(is_left, pairs, pairs[::-1]))
    for rows in torch.arange(len(table)).split(BATCH):
        # index_select is seven times faster than [...]
        halves = [
            left_tiles.index_select(0, left[rows]),
            right_tiles.index_select(0, right[rows]),
        ]
        yield join(halves, 1, 2)


def partners(
    table: pd.DataFrame,
    contexts: Mapping[str, torch.Tensor],
    neutral: torch.Tensor | None = None,
) -> tuple[torch.Tensor, np.ndarray]:
    """Join all background images, and return the number of each row's image.

    Parameters
    ----------
    table : pandas.DataFrame
        Rows of a :func:`design`.
    contexts : mapping of str to torch.Tensor
        Background images by the context's class, uint8 (M, 3, H, W).
    neutral : torch.Tensor, optional
        The neutral background, uint8 (1, 3, H, W), if the design has such rows.

    Returns
    -------
    images : torch.Tensor of uint8, shape (K, 3, H, W)
    image_of : numpy.ndarray of int64, shape (rows of the table,)
    """
    images = dict(contexts)
    if neutral is not None:
        images[NEUTRAL] = neutral
    starts = np.cumsum([0, *map(len, images.values())])
    start_of = dict(zip(images, starts, strict=False))
    image_of = table["context_class"].map(start_of) + table["background"]
    return torch.cat(list(images.values())), image_of.to_numpy(np.int64)


def _assigned(
    objects: int, size: int, backgrounds: int, rng: np.random.Generator
) -> np.ndarray:
    """Assign different backgrounds to each object at random, and all equally often."""
    rows = []
    left = rng.permutation(backgrounds)
    for _ in range(objects):
        row, left = left[:size], left[size:]
        if len(row) < size:
            fresh = rng.permutation(backgrounds)
            fresh = fresh[np.argsort(np.isin(fresh, row), kind="stable")]
            missing = size - len(row)
            row, left = np.concatenate([row, fresh[:missing]]), fresh[missing:]
            left = rng.permutation(left)
        rows.append(row)
    return np.array(rows, dtype=np.int64).reshape(objects, size)

"""Contextualized mosaics: an object image next to an image of another class's context.

*Assessing Biases through Visual Contexts*, section 2.2 and Figure 6. `design` pairs object images
with background images, and `batches` makes the pixels.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product

import numpy as np
import pandas as pd
import torch

from helpers.data import ImageSet, mosaic
from helpers.data.grids import cells

BATCH = 64  # as `models.logits`; larger ones are at most 6% faster, and some have other last bits


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
    """Pair object images with background images (section 2.2), one row per mosaic.

    Every image meets `per_context` different background images of every *other* class. In
    the paper these are 25 images x 5 x 3 contexts x 4 classes = 1500 mosaics. Within a pair of
    classes, the numbers of mosaics per background image differ by at most one.

    Parameters
    ----------
    labels : torch.Tensor of int64 (N,)
        Classes of the object images, as indices into `classes`.
    contexts : mapping of str to sequence
        Background images by class; only their numbers are used.
    side : str
        Side of the object: "left", as in the paper, or "right".
    with_neutral : bool
        Whether to add one mosaic per image with a neutral partner, which the paper does not have.

    Raises
    ------
    ValueError
        If a context has fewer than `per_context` images.
    """
    for name, images in contexts.items():
        if 0 < len(images) < per_context:
            raise ValueError(
                f"The context of {name!r} has {len(images)} images, but per_context={per_context} "
                "needs that many different ones. Give more images or lower per_context."
            )
    labels, parts = np.asarray(labels), []
    for (i, name), (j, other) in product(
        enumerate(classes), enumerate([*classes, "neutral"])
    ):
        kind = "neutral" if j == len(classes) else "context"
        size, stock = (
            (1, 1) if kind == "neutral" else (per_context, len(contexts.get(other, ())))
        )
        if stock and i != j and (kind == "context" or with_neutral):
            objects, rng = (
                np.flatnonzero(labels == i),
                np.random.default_rng([seed, i, j]),
            )
            rows = {
                "object": objects.repeat(size),
                "object_class": name,
                "context_class": other,
            }
            rows["background"] = _assigned(len(objects), size, stock, rng).ravel()
            parts.append(pd.DataFrame(rows | {"kind": kind, "side": side}))
    return pd.concat(parts).sort_values("kind", kind="stable", ignore_index=True)


def examples(images: ImageSet, context_of: Mapping[str, str], n: int = 2) -> list[int]:
    """Return indices of `n` images per class; images in the class's own context come first."""
    table = images.table.reset_index(drop=True)
    other = table["context"] != table["class"].map(context_of)
    ranked = table.loc[other.sort_values(kind="stable").index, "class"]
    return [i for name in images.classes for i in ranked.index[ranked == name][:n]]


def neutral(images: torch.Tensor, how: str = "mean", seed: int = 0) -> torch.Tensor:
    """Make a neutral background, uint8 (1, 3, H, W), from the object images of all classes.

    It has one colour, their "mean" or "white" (as the background of WB), or "shuffled"
    pixels: every pixel comes from a random place of a random image, by `seed`.
    """
    if how == "white":
        return torch.full_like(images[:1], 255)
    if how == "mean":
        colour = images.double().mean((0, 2, 3), keepdim=True).round().to(torch.uint8)
        return colour.repeat(1, 1, *images.shape[-2:])
    if how == "shuffled":
        draw, (height, width) = torch.Generator().manual_seed(seed), images.shape[-2:]
        pick = torch.randint(
            len(images) * height * width, (height * width,), generator=draw
        )
        pixels = images.movedim(1, -1).reshape(-1, 3)[pick]
        return pixels.T.reshape(1, 3, height, width).contiguous()
    raise ValueError(
        f"how={how!r} is not a neutral background. Use mean, white or shuffled."
    )


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
    """Stream the mosaics of any rows of a :func:`design`, in their order.

    Each mosaic equals the result of `grid`. `contexts` are by class, and `neutral` is needed
    where rows have that kind; all are uint8 of one size. Batches are uint8 (B, 3, H, W) if
    "squeezed" and (B, 3, H, 2 * W) if "native".
    """
    images, partner = partners(table, contexts, neutral, objects.shape[-2:])
    used, place = np.unique(table["object"], return_inverse=True)
    tiles = torch.cat([objects.index_select(0, torch.from_numpy(used)), images])
    widths = cells(tiles.shape[-1], 2, shape)
    squeezed = {width: squeeze(tiles, tiles.shape[-2], width) for width in set(widths)}
    is_left = (table["side"] == "left").to_numpy()
    places = np.stack([place, partner + len(used)])
    left, right = torch.from_numpy(np.where(is_left, places, places[::-1]))
    for at in torch.arange(len(table)).split(BATCH):
        first = squeezed[widths[0]].index_select(
            0, left[at]
        )  # seven times faster than [...]
        yield join([first, squeezed[widths[1]].index_select(0, right[at])], 1, 2)


def build(table: pd.DataFrame, *args, **kwargs) -> torch.Tensor:
    """Return all mosaics of a design in one uint8 tensor; takes the arguments of `batches`."""
    return torch.cat(list(batches(table, *args, **kwargs)))


def partners(
    table: pd.DataFrame,
    contexts: Mapping[str, torch.Tensor],
    neutral,
    size: Sequence[int],
) -> tuple[torch.Tensor, np.ndarray]:
    """Return the background images that a design uses, each once, and each row's index in them."""
    place, images, start = np.empty(len(table), dtype=np.int64), [], 0
    is_neutral = table["kind"] == "neutral"
    for (plain, name), rows in table.groupby(
        [is_neutral, "context_class"]
    ).indices.items():
        bank = neutral if plain else contexts.get(name)
        if bank is None or tuple(bank.shape[-2:]) != tuple(size):
            what = "the neutral image" if plain else f"contexts[{name!r}]"
            actual = (
                "not given" if bank is None else f"of {tuple(bank.shape[-2:])} pixels"
            )
            raise ValueError(
                f"The design needs {what} of {tuple(size)} pixels, but it is {actual}."
            )
        used, inverse = np.unique(
            table["background"].to_numpy()[rows], return_inverse=True
        )
        place[rows] = start + inverse
        images.append(bank.index_select(0, torch.from_numpy(used)))
        start += len(used)
    return torch.cat(images), place


def _assigned(
    objects: int, size: int, backgrounds: int, rng: np.random.Generator
) -> np.ndarray:
    """Assign `size` different backgrounds to each object at random, all equally often up to one."""
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

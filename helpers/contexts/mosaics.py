"""Contextualized mosaics: an object image beside an image of another class's context.

*Assessing Biases through Visual Contexts*, section 2.2 and Figure 6. `design` decides which object
image goes beside which context image, and `batches` makes the pixels."""

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
    """Decide which object image meets which context image (section 2.2): a row a mosaic.

    Every image (`labels`: int64 (N,), indices into `classes`) is put beside `per_context` different
    images of the context of every *other* class, of which only the number is used: in the paper 25
    x 5 x 3 contexts x 4 classes = 1500. Within a pair of classes every context image serves equally
    often, give or take one. `side` is the object's, left in the paper; `with_neutral` there is one
    more an image, with a neutral partner, which the paper has not."""
    for name, images in contexts.items():
        if 0 < len(images) < per_context:
            raise ValueError(
                f"the context of {name!r} has {len(images)} images, but per_context={per_context} "
                "needs that many different ones; give more images or lower per_context"
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
            rows["context"] = _deal(len(objects), size, stock, rng).ravel()
            parts.append(pd.DataFrame(rows | {"kind": kind, "side": side}))
    return pd.concat(parts).sort_values("kind", kind="stable", ignore_index=True)


def examples(images: ImageSet, context_of: Mapping[str, str], n: int = 2) -> list[int]:
    """Indices of the first `n` images of each class, those in its own context first."""
    table = images.table.reset_index(drop=True)
    other = table["context"] != table["class"].map(context_of)
    ranked = table.loc[other.sort_values(kind="stable").index, "class"]
    return [i for name in images.classes for i in ranked.index[ranked == name][:n]]


def neutral(images: torch.Tensor, how: str = "mean", seed: int = 0) -> torch.Tensor:
    """Make the neutral partner, uint8 (1, 3, H, W), from the object images of all classes.

    Uniform in their "mean" colour, uniform "white", as the ground of WB, or "shuffled": every pixel
    from a random place of a random image, by `seed`."""
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
        f"how={how!r} is not a neutral partner; use mean, white or shuffled"
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
    """Stream the mosaics of any rows of a :func:`design`, in their order; as `grid` makes each.

    `contexts` are by class; `neutral` is needed where rows are of that kind: all uint8 of one size.
    Batches are uint8 (B, 3, H, W) if "squeezed", (B, 3, H, 2 * W) if "native"."""
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
    """All mosaics of a design in one uint8 tensor: `batches` (same arguments), concatenated."""
    return torch.cat(list(batches(table, *args, **kwargs)))


def partners(
    table: pd.DataFrame,
    contexts: Mapping[str, torch.Tensor],
    neutral,
    size: Sequence[int],
) -> tuple[torch.Tensor, np.ndarray]:
    """The context and neutral images of a design, each once, and each row's index in them."""
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
                f"the design asks for {what} of {tuple(size)} pixels: it is {actual}"
            )
        used, inverse = np.unique(
            table["context"].to_numpy()[rows], return_inverse=True
        )
        place[rows] = start + inverse
        images.append(bank.index_select(0, torch.from_numpy(used)))
        start += len(used)
    return torch.cat(images), place


def _deal(hands: int, size: int, cards: int, rng: np.random.Generator) -> np.ndarray:
    """Deal `hands` hands of `size` different cards, every card equally often, up to one."""
    dealt, deck = [], rng.permutation(cards)
    for _ in range(hands):
        hand, deck = deck[:size], deck[size:]
        if len(hand) < size:
            fresh = rng.permutation(cards)
            fresh = fresh[np.argsort(np.isin(fresh, hand), kind="stable")]
            missing = size - len(hand)
            hand, deck = np.concatenate([hand, fresh[:missing]]), fresh[missing:]
            deck = rng.permutation(deck)
        dealt.append(hand)
    return np.array(dealt, dtype=np.int64).reshape(hands, size)

"""Contextualized mosaics: an object image beside an image of another class's context.

*Assessing Biases through Visual Contexts*, section 2.2 and Figure 6. `design` decides which object
image goes beside which context image, `batches` makes the pixels, and `ask` has networks answer.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
import torch

from helpers import models
from helpers.contexts import effects
from helpers.data import ImageSet, mosaic
from helpers.data.grids import cells

KINDS = ["context", "own", "neutral"]
BATCH = 64  # as `models.logits`; larger ones are at most 6% faster, and some have other last bits


def design(
    labels: torch.Tensor,
    contexts: Mapping[str, Sequence],
    classes: Sequence[str],
    *,
    per_context: int = 5,
    side: str = "left",
    controls: Sequence[str] = ("own", "neutral"),
    seed: int = 0,
) -> pd.DataFrame:
    """Decide which object image meets which context image (section 2.2).

    Every object image is put beside `per_context` images of the context of every *other* class:
    in the paper 25 images x 5 x 3 contexts x 4 classes = 1500 mosaics. The context images of one
    object image are all different, and within a pair of classes every context image serves equally
    often, give or take one. A further class changes nothing in the pairs that were there before.

    Parameters
    ----------
    labels : int64 tensor (N,)
        Class of every object image, an index into `classes`.
    contexts : mapping from class name to its context images
        Only their number is used; fewer than `per_context` are refused.
    side : {"left", "right"}
        Side of the *object*; the paper's is left.
    controls : sequence of str
        Mosaics that the paper lacks: the same object images beside their own class's context
        ("own"), and beside a neutral partner ("neutral", one for each image).

    Returns
    -------
    DataFrame, one row a mosaic
        object (index in `labels`), object_class, context_class ("neutral" where `kind` is), context
        (index in `contexts[context_class]`), side (of the object), kind ("context", "own" or
        "neutral").
    """
    for name, images in contexts.items():
        if 0 < len(images) < per_context:
            raise ValueError(
                f"the context of {name!r} has {len(images)} images, but per_context={per_context} "
                "needs that many different ones; give more images or lower per_context"
            )
    labels, parts = np.asarray(labels), []
    for i, name in enumerate(classes):
        objects = np.flatnonzero(labels == i)
        for j, other in enumerate(classes):
            if len(contexts.get(other, ())) and ("own" in controls or i != j):
                rng = np.random.default_rng([seed, i, j])
                hands = _deal(len(objects), per_context, len(contexts[other]), rng)
                parts.append(_rows(objects, name, other, hands, "own" if i == j else "context"))
        if "neutral" in controls:
            hands = np.zeros((len(objects), 1), dtype=np.int64)
            parts.append(_rows(objects, name, "neutral", hands, "neutral"))
    table = pd.concat(parts, ignore_index=True).assign(side=side)
    order = table["kind"].map(KINDS.index).sort_values(kind="stable").index
    return table.loc[order].reset_index(drop=True)


def neutral(images: torch.Tensor, how: str = "mean", seed: int = 0) -> torch.Tensor:
    """Make the neutral partner, uint8 (1, 3, H, W): it speaks for no class more than for another.

    There are three, from the object images of all classes: uniform in their "mean" colour; uniform
    "white", the ground of the WB set; or "shuffled": every pixel from a random place of a random
    image, by `seed`. No image is neutral to every network; "shuffled" is nearest to it.
    """
    if how == "white":
        return torch.full_like(images[:1], 255)
    if how == "mean":
        colour = images.double().mean((0, 2, 3), keepdim=True).round().to(torch.uint8)
        return colour.repeat(1, 1, *images.shape[-2:])
    if how == "shuffled":
        draw, (height, width) = torch.Generator().manual_seed(seed), images.shape[-2:]
        pick = torch.randint(len(images) * height * width, (height * width,), generator=draw)
        pixels = images.movedim(1, -1).reshape(-1, 3)[pick]
        return pixels.T.reshape(1, 3, height, width).contiguous()
    raise ValueError(f"how={how!r} is not a neutral partner; use mean, white or shuffled")


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
    """Stream the mosaics of a design, in its order, equal to `data.grids.grid` of the same pairs.

    `table` has any rows of :func:`design`; `objects` are the images that it counts, `contexts` are
    by class, and `neutral` is needed where rows are of that kind: all uint8 of one size. Batches
    are uint8 (B, 3, H, W) if "squeezed", (B, 3, H, 2 * W) if "native".
    """
    images, partner = partners(table, contexts, neutral, objects.shape[-2:])
    used, place = np.unique(table["object"], return_inverse=True)
    tiles = torch.cat([objects.index_select(0, torch.from_numpy(used)), images])
    partner = partner + len(used)
    widths = cells(tiles.shape[-1], 2, shape)
    squeezed = {width: squeeze(tiles, tiles.shape[-2], width) for width in set(widths)}
    is_left = (table["side"] == "left").to_numpy()
    left = torch.from_numpy(np.where(is_left, place, partner))
    right = torch.from_numpy(np.where(is_left, partner, place))
    for at in torch.arange(len(table)).split(BATCH):
        first = squeezed[widths[0]].index_select(0, left[at])  # seven times faster than [...]
        yield join([first, squeezed[widths[1]].index_select(0, right[at])], 1, 2)


def ask(
    networks: Sequence,
    objects: ImageSet,
    contexts: Mapping[str, torch.Tensor],
    partners: Mapping[str, torch.Tensor],
    *,
    shape: str = "squeezed",
    **drawn,
) -> dict[str, pd.DataFrame]:
    """Effects on each object image beside each of several neutral partners, by `effects.per_image`.

    `networks` are trainings, `partners` are by name, and `drawn` are arguments of :func:`design`.
    """
    table = design(objects.labels, contexts, objects.classes, **drawn)
    plain = table["kind"] == "neutral"  # the last rows of a design
    single = models.logits(networks, objects.images)
    stream = batches(table[~plain], objects.images, contexts, shape=shape)
    made, found = models.logits(networks, stream), {}
    for name, partner in partners.items():
        stream = batches(table[plain], objects.images, contexts, partner, shape=shape)
        mosaic = torch.cat([made, models.logits(networks, stream)], 1)
        found[name] = effects.per_image(effects.points(single, mosaic, table, objects.classes))
    return found


def build(table: pd.DataFrame, *args, **kwargs) -> torch.Tensor:
    """All mosaics of a design in one uint8 tensor: `batches` (same arguments), concatenated."""
    return torch.cat(list(batches(table, *args, **kwargs)))


def partners(
    table: pd.DataFrame, contexts: Mapping[str, torch.Tensor], neutral, size: Sequence[int]
) -> tuple[torch.Tensor, np.ndarray]:
    """The context and neutral images of a design, each once, and each row's index in them."""
    place, images, start = np.empty(len(table), dtype=np.int64), [], 0
    is_neutral = table["kind"] == "neutral"
    for (plain, name), rows in table.groupby([is_neutral, "context_class"]).indices.items():
        bank = neutral if plain else contexts.get(name)
        what = "the neutral image" if plain else f"contexts[{name!r}]"
        if bank is None:
            raise ValueError(f"the design asks for {what}, which was not given")
        found, size = tuple(bank.shape[-2:]), tuple(size)
        if found != size:
            raise ValueError(f"{what} is of {found} pixels, the objects of {size}")
        used, inverse = np.unique(table["context"].to_numpy()[rows], return_inverse=True)
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


def _rows(objects, name: str, other: str, hands: np.ndarray, kind: str) -> pd.DataFrame:
    """Rows of one pair of classes: an object image meets its hand of context images."""
    rows = {"object": objects.repeat(hands.shape[1]), "object_class": name, "context_class": other}
    return pd.DataFrame({**rows, "context": hands.ravel(), "kind": kind})

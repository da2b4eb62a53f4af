"""Contextualized mosaics: an object image beside an image of another class's context.

*Assessing Biases through Visual Contexts*, section 2.2 and Figure 6. `design` decides which object
image goes beside which context image, with two controls that the paper lacks: the object's own
context, and a neutral image. `batches` makes the pixels. What a model makes of them is the business
of `contexts.effects`.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
import torch

from helpers.data.mosaics import cells, check_images, check_shape, resize

SIDES = ("left", "right", "random")
NEUTRALS = ("mean", "white", "shuffled")


def design(
    labels: torch.Tensor,
    contexts: Mapping[str, Sequence],
    classes: Sequence[str],
    *,
    per_context: int = 5,
    side: str = "left",
    controls: bool = True,
    seed: int = 0,
) -> pd.DataFrame:
    """Decide which object image meets which context image (section 2.2).

    Every object image is put beside `per_context` images of the context of every *other* class:
    in the paper 25 images x 5 x 3 contexts x 4 classes = 1500 mosaics. The paper has no control;
    with `controls` the same object images also appear beside their own class's context and beside
    a neutral partner, so that the effect of *this context* can be told from that of *being in a
    mosaic*.

    The context images of one object image are all different. Within a pair of classes every context
    image serves equally often, give or take one. The pairs are drawn independently of one
    another: a further class changes nothing in the pairs that were there before it.

    Parameters
    ----------
    labels : int64 tensor (N,)
        Class of every object image, an index into `classes`.
    contexts : mapping from class name to its context images
        Only their number is used. A class without context images is never a `context_class`.
    classes : sequence of str
        At least two.
    per_context : int
        Context images an object image meets, of each context.
    side : {"left", "right", "random"}
        Side of the *object*. The paper writes m = {img, ctx}: left. "random" alternates from a
        random start, so that the sides are even within every image (up to one).
    controls : bool
        Add the rows of kind "own" and "neutral".
    seed : int
        Not negative.

    Returns
    -------
    DataFrame, one row a mosaic
        object : int, index of the object image in `labels`
        object_class, context_class : str ("neutral" where `kind` is)
        context : int, index in `contexts[context_class]`; 0 where `kind` is "neutral"
        side : "left" or "right", where the object is
        kind : "context" (the paper's), "own" (its own class's context) or "neutral" (one row for
        each image and side in use)

    Raises
    ------
    ValueError
        For fewer than two classes, a context with fewer than `per_context` images, labels out of
        range, contexts of unknown classes, no context at all, or an unknown `side`.
    """
    labels, classes = np.asarray(labels), tuple(classes)
    _check_design(labels, contexts, classes, per_context, side, seed)
    parts = []
    for i, name in enumerate(classes):
        objects = np.flatnonzero(labels == i)
        for j, other in enumerate(classes):
            if len(contexts.get(other, ())) and (controls or i != j):
                rng = np.random.default_rng([seed, i, j])
                hands = _deal(len(objects), per_context, len(contexts[other]), rng)
                kind = "own" if i == j else "context"
                parts.append(_pair(objects, name, other, hands, side, kind, rng))
        if controls:
            parts.append(_beside_neutral(objects, name, side))
    table = pd.concat(parts, ignore_index=True)
    order = table["kind"].map({"context": 0, "own": 1, "neutral": 2})
    return table.loc[order.sort_values(kind="stable").index].reset_index(drop=True)


def neutral(images: torch.Tensor, how: str = "mean", seed: int = 0) -> torch.Tensor:
    """Make the neutral partner: an image that speaks for no class more than for another.

    No image is neutral to every network, so there is more than one. Where contexts tell nothing of
    the class, an effect beside the neutral partner should be zero: on such models (ten trainings,
    seeds 0 and 1) the four contexts had -0.06 to 0.10 logits beside "shuffled", and -0.15 to 0.31
    beside "mean", which was measured with seed 0.

    Parameters
    ----------
    images : uint8 tensor (N, 3, H, W)
        The object images, of all classes.
    how : {"mean", "white", "shuffled"}
        "mean": uniform, the images' mean colour (no structure, and on average no change of colour).
        "white": uniform white, the ground of the WB set. "shuffled": every pixel from a random
        place of a random image (the images' mixture of colours, no structure in it).
    seed : int
        Used by "shuffled" only.

    Returns
    -------
    uint8 tensor (1, 3, H, W)

    Raises
    ------
    ValueError
        For an unknown `how` or images that are not uint8 (N, 3, H, W) with N > 0.
    """
    check_images(images, "images")
    _, channels, height, width = images.shape
    if how == "mean":
        colour = images.double().mean((0, 2, 3)).round().to(torch.uint8)
    elif how == "white":
        colour = torch.full((channels,), 255, dtype=torch.uint8)
    elif how == "shuffled":
        draw = torch.Generator().manual_seed(seed)
        pick = torch.randint(len(images) * height * width, (height * width,), generator=draw)
        pixels = images.movedim(1, -1).reshape(-1, channels)[pick]
        return pixels.T.reshape(1, channels, height, width).contiguous()
    else:
        raise ValueError(f"how={how!r} is not a neutral partner; use one of {NEUTRALS}")
    return colour[None, :, None, None].repeat(1, 1, height, width)


def batches(
    table: pd.DataFrame,
    objects: torch.Tensor,
    contexts: Mapping[str, torch.Tensor],
    neutral: torch.Tensor | None = None,
    *,
    shape: str = "squeezed",
    batch_size: int = 64,
) -> Iterator[torch.Tensor]:
    """Stream the mosaics of a design, in its order, equal to `data.mosaics.grid` of the same pairs.

    Squeezing acts on a tile and not across the seam, so every tile in use is resized once, however
    many mosaics it is in; a batch is then two look-ups and one concatenation.

    Parameters
    ----------
    table : DataFrame
        From `design`, or any rows of it.
    objects : uint8 tensor (N, 3, H, W)
        The images that `table["object"]` counts.
    contexts : dict from class name to uint8 tensor (M, 3, H, W)
    neutral : uint8 tensor (1, 3, H, W), optional
        From `neutral`; needed where `table` has rows of that kind.
    shape : {"squeezed", "native"}
        See `data.mosaics.grid`.
    batch_size : int

    Yields
    ------
    uint8 tensor (B, 3, H, W) if squeezed, (B, 3, H, 2 * W) if native; B <= `batch_size`

    Raises
    ------
    ValueError
        For images that are not uint8 or differ in size, a missing context or neutral image, or an
        unknown `shape`.
    """
    check_shape(shape)
    check_images(objects, "objects")
    images, partner = partners(table, contexts, neutral, objects.shape[-2:])
    used, place = np.unique(table["object"], return_inverse=True)
    tiles = torch.cat([objects.index_select(0, torch.from_numpy(used)), images])
    partner = partner + len(used)
    widths = cells(tiles.shape[-1], 2, shape)
    resized = {width: resize(tiles, tiles.shape[-2], width) for width in set(widths)}
    is_left = (table["side"] == "left").to_numpy()
    left = torch.from_numpy(np.where(is_left, place, partner))
    right = torch.from_numpy(np.where(is_left, partner, place))
    for at in torch.arange(len(table)).split(batch_size):
        first = resized[widths[0]].index_select(0, left[at])  # seven times faster than [...]
        yield torch.cat([first, resized[widths[1]].index_select(0, right[at])], -1)


def build(table: pd.DataFrame, *args, **kwargs) -> torch.Tensor:
    """All mosaics of a design in one uint8 tensor: `batches` (same arguments), concatenated."""
    return torch.cat(list(batches(table, *args, **kwargs)))


def partners(
    table: pd.DataFrame, contexts: Mapping[str, torch.Tensor], neutral, size: Sequence[int]
) -> tuple[torch.Tensor, np.ndarray]:
    """The context and neutral images that a design uses, each once, and each row's index in them.

    Raises
    ------
    ValueError
        For images that are missing, not uint8, or of another `size` (height, width).
    """
    place, images, start = np.empty(len(table), dtype=np.int64), [], 0
    is_neutral = table["kind"] == "neutral"
    for (plain, name), rows in table.groupby([is_neutral, "context_class"]).indices.items():
        bank = neutral if plain else contexts.get(name)
        what = "the neutral image" if plain else f"contexts[{name!r}]"
        if bank is None:
            raise ValueError(f"the design asks for {what}, which was not given")
        check_images(bank, what)
        if tuple(bank.shape[-2:]) != tuple(size):
            found = tuple(bank.shape[-2:])
            raise ValueError(f"{what} is of {found} pixels, the objects of {tuple(size)}")
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


def _pair(objects, name, other, hands, side, kind, rng) -> pd.DataFrame:
    """Rows of one pair of classes."""
    n, k = hands.shape
    right = (np.arange(k) + rng.integers(2, size=(n, 1))) % 2 == 1
    sides = np.where(right, "right", "left") if side == "random" else np.full((n, k), side)
    return pd.DataFrame(
        {
            "object": objects.repeat(k),
            "object_class": name,
            "context_class": other,
            "context": hands.ravel(),
            "side": sides.ravel(),
            "kind": kind,
        }
    )


def _beside_neutral(objects, name, side) -> pd.DataFrame:
    """One row for each object image and side in use."""
    sides = ("left", "right") if side == "random" else (side,)
    return pd.DataFrame(
        {
            "object": objects.repeat(len(sides)),
            "object_class": name,
            "context_class": "neutral",
            "context": 0,
            "side": np.tile(sides, len(objects)),
            "kind": "neutral",
        }
    )


def _check_design(labels, contexts, classes, per_context, side, seed) -> None:
    if len(classes) < 2 or len(set(classes)) < len(classes):
        raise ValueError(f"classes must be two or more different names, not {classes}")
    if len(labels) == 0 or labels.min() < 0 or labels.max() >= len(classes):
        raise ValueError(f"labels must be indices into the {len(classes)} classes, and not empty")
    if side not in SIDES:
        raise ValueError(f"side={side!r} is not a side; use one of {SIDES}")
    if per_context < 1 or seed < 0:
        raise ValueError(f"per_context={per_context} must be 1 or more, seed={seed} 0 or more")
    unknown = set(contexts) - set(classes)
    if unknown or not any(len(images) for images in contexts.values()):
        raise ValueError(
            f"contexts must hold images for classes among {classes}"
            + (f"; unknown: {sorted(unknown)}" if unknown else "; there are none")
        )
    for name, images in contexts.items():
        if 0 < len(images) < per_context:
            raise ValueError(
                f"the context of {name!r} has {len(images)} images, but per_context={per_context} "
                "needs that many different ones; give more images or lower per_context"
            )

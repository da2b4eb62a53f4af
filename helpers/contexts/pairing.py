"""The design of contextualized mosaics: which object image goes beside which context image.

*Assessing Biases through Visual Contexts*, section 2.2, with the two controls that the paper lacks.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import torch

SIDES = ("left", "right", "random")


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

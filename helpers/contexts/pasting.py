"""Pasting: objects cut out on white and put into other contexts, and what these are taken for.

*Assessing Biases through Visual Contexts*, "Results Checks" and Figures 11 to 14: the second way to
set the context and leave the object. Objects come from WB, where the ground is white, so that how
much of each pixel is object can be solved for, and the white that mixed into its edges taken out
again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd
import torch
from scipy import ndimage
from torch.nn.functional import interpolate

from helpers import stats
from helpers.contexts import effects, mosaics
from helpers.data import Collection, ImageSet
from helpers.run import project

PAPER = project.root() / "data" / "paper"
NOTHING = "nothing"
NO_MASKS = (
    "Pasting needs to know where the objects are, and nothing tells it here: there is no set WB "
    "(the same images with a white background). What remains is to show the contexts alone."
)
POSITIONS = ("own", "centre", "random")
MARGIN = 2  # pixels from the edge inwards that may be part object, part white
NEAR_WHITE = 40.0  # grey levels from white, root mean square, below which colour tells no coverage


@dataclass(frozen=True, eq=False)
class Cutouts:
    """Objects without their ground, each cropped to its box.

    Attributes
    ----------
    layers : list of N float32 arrays (h, w, 4)
        Red, green and blue (0 to 255) times coverage, and coverage: the share of the pixel that is
        object (0 to 1).
    corners : int array (N, 2)
        Row and column of each layer's upper left pixel in the object's own image.
    frame : (int, int)
        Height and width of the images.
    """

    layers: list[np.ndarray]
    corners: np.ndarray
    frame: tuple[int, int]

    def __len__(self) -> int:
        return len(self.layers)


def cut(images: torch.Tensor, masks: torch.Tensor, softness: float = 0.5) -> Cutouts:
    """Cut objects from a white ground, with soft edges and no white in them.

    Where an edge pixel is part object and part white, the object's colour is taken from the nearest
    pixel well inside, and coverage is what then explains the pixel.

    Parameters
    ----------
    images : uint8 tensor (N, 3, H, W)
        Objects on white (the WB set).
    masks : bool tensor (N, H, W)
        True on the object.
    softness : float
        Standard deviation, in pixels, of a blur of the edges; 0 leaves them as they were.

    Returns
    -------
    Cutouts

    Raises
    ------
    ValueError
        For shapes or types that do not fit, masks without an object, or a negative softness.
    """
    _check_cut(images, masks, softness)
    layers, corners, frame = [], [], tuple(images.shape[-2:])
    pad = 1 + math.ceil(3 * softness)
    parts = zip(images.permute(0, 2, 3, 1).numpy(), masks.numpy(), *_parts(masks), strict=True)
    for image, *where in parts:
        box = _box(where[0], pad)
        layers.append(_layer(image[box].astype(np.float32), *(w[box] for w in where), softness))
        corners.append([part.start for part in box])
    return Cutouts(layers, np.array(corners), frame)


def seams(objects: ImageSet, softness: float, ground: int = 32) -> dict[str, torch.Tensor]:
    """One object of each class on a dark ground: cut along its mask, and as :func:`cut` does.

    Parameters
    ----------
    objects
        On white, with masks.
    softness : float
        As for :func:`cut`.
    ground : int
        The ground's grey, 0 to 255.

    Returns
    -------
    dict
        Row name to uint8 images (classes, 3, H, W).
    """
    first = np.unique(objects.labels.numpy(), return_index=True)[1]
    images, masks = objects.images[first], objects.masks[first]
    naive = torch.where(masks[:, None], images, torch.tensor(ground, dtype=torch.uint8))
    canvas = np.full((*images.shape[:1], *images.shape[2:], 3), ground, dtype=np.uint8)
    cutouts = cut(images, masks, softness)
    for image, layer, corner in zip(canvas, cutouts.layers, cutouts.corners, strict=True):
        _lay(image, *_ready(layer), corner)
    return {"along the mask": naive, "as here": torch.from_numpy(canvas).permute(0, 3, 1, 2)}


def _box(mask: np.ndarray, pad: int) -> tuple[slice, slice]:
    """Rows and columns of the object, and `pad` more where the frame has them."""
    sides = []
    for axis, length in enumerate(mask.shape):
        seen = np.flatnonzero(mask.any(1 - axis))
        sides.append(slice(max(seen[0] - pad, 0), min(seen[-1] + 1 + pad, length)))
    return tuple(sides)


def _layer(
    pixels: np.ndarray, mask: np.ndarray, is_core: np.ndarray, is_edge: np.ndarray, softness: float
) -> np.ndarray:
    """One object's colours times coverage, and coverage."""
    down, across = ndimage.distance_transform_edt(
        ~is_core, return_distances=False, return_indices=True
    )
    nearest = down * mask.shape[1] + across  # core pixel: its colour is the object's at the edge
    colours = pixels.reshape(-1, 3).take(nearest, axis=0)
    coverage = mask.astype(np.float32)
    explained = _explained(pixels[is_edge], colours[is_edge])
    coverage[is_edge] = np.where(np.isnan(explained), coverage[is_edge], explained)
    np.copyto(colours, pixels, where=(coverage == 1)[..., None])
    if softness:
        coverage = ndimage.gaussian_filter(coverage, softness, mode="nearest", truncate=3)
    layer = np.empty((*mask.shape, 4), np.float32)
    layer[..., 3] = coverage
    np.multiply(colours, coverage[..., None], out=layer[..., :3])
    return layer


def _parts(masks: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Pixels well inside, or in the middle of a part too thin for that; and pixels of the edge.

    An object cut off by the frame has no edge there.
    """
    outside = [~masks.numpy()]
    for _ in range(MARGIN):
        outside.append(_grown(outside[-1]))
    inside = [~far for far in outside]  # 1, 2, ... pixels or more from the edge
    is_core = inside[-1].copy()
    for here, deeper in pairwise(inside):
        for _ in range(MARGIN):
            deeper = _grown(deeper)
        is_core |= here & ~deeper
    return is_core, outside[-1] & _grown(masks.numpy())


def _grown(mask: np.ndarray) -> np.ndarray:
    """Masks (N, H, W) and their eight neighbours (scipy.ndimage takes ten times as long)."""
    down = mask.copy()
    down[:, 1:] |= mask[:, :-1]
    down[:, :-1] |= mask[:, 1:]
    grown = down.copy()
    grown[..., 1:] |= down[..., :-1]
    grown[..., :-1] |= down[..., 1:]
    return grown


def _explained(pixels: np.ndarray, colours: np.ndarray) -> np.ndarray:
    """Coverage a that best explains pixel = a colour + (1 - a) white.

    Where the object itself is nearly white, white in a pixel is no evidence: NaN.
    """
    away = 255 - colours
    square = np.einsum("...c,...c", away, away)
    coverage = np.einsum("...c,...c", 255 - pixels, away) / np.maximum(square, 1)
    return np.where(square > 3 * NEAR_WHITE**2, coverage.clip(0, 1), np.nan)


def design(
    labels: torch.Tensor,
    contexts: Mapping[str, Sequence],
    classes: Sequence[str],
    *,
    controls: bool = True,
    seed: int = 0,
) -> pd.DataFrame:
    """Decide which object is pasted into which context image: once into each context.

    Parameters
    ----------
    labels, contexts, classes, controls, seed
        As in `contexts.mosaics.design`. In the paper 25 objects x 3 contexts x 4 classes =
        300 composites; the controls are the same objects in their own context and on a neutral
        ground.

    Returns
    -------
    DataFrame
        As from `contexts.mosaics.design`, so that `contexts.effects` reads it (`side` is
        "left" throughout and means nothing), and down, across : float in [0, 1), the place of the
        object where it is random.
    """
    table = mosaics.design(labels, contexts, classes, per_context=1, controls=controls, seed=seed)
    down, across = np.random.default_rng([seed, 1]).random((2, len(table)))
    return table.assign(down=down, across=across)


def batches(
    table: pd.DataFrame,
    cutouts: Cutouts,
    contexts: Mapping[str, torch.Tensor],
    neutral: torch.Tensor | None = None,
    *,
    scale: float = 1.0,
    position: str = "own",
    batch_size: int = 64,
) -> Iterator[torch.Tensor]:
    """Stream the composites of a design, in its order.

    Parameters
    ----------
    table : DataFrame
        From :func:`design`, or any rows of it.
    cutouts : Cutouts
        The objects that `table["object"]` counts.
    contexts : dict from class name to uint8 tensor (M, 3, H, W)
    neutral : uint8 tensor (1, 3, H, W), optional
        From :func:`helpers.contexts.mosaics.neutral`; needed where `table` has rows of that kind.
    scale : float in [0.1, 4]
        Of the object; 1 is its size in its own image.
    position : {"own", "centre", "random"}
        Of the object's box: its centre where it was, in the middle of the frame, or anywhere inside
        the frame (where it is larger than the frame, in the middle).
    batch_size : int

    Yields
    ------
    uint8 tensor (B, 3, H, W), B <= `batch_size`

    Raises
    ------
    ValueError
        For an unknown position, a scale out of range, a context or neutral image that is missing
        or of another size than the objects.
    """
    _check_paste(position, scale)
    grounds, ground_of = mosaics.partners(table, contexts, neutral, cutouts.frame)
    grounds = grounds.permute(0, 2, 3, 1).contiguous().numpy()
    layers = [_ready(_scaled(layer, scale)) for layer in cutouts.layers]
    objects = table["object"].to_numpy()
    sizes = np.array([adds.shape[:2] for adds, _ in layers])
    places = _places(table, cutouts, sizes, position)
    for start in range(0, len(table), batch_size):
        rows = slice(start, start + batch_size)
        canvas = grounds[ground_of[rows]]
        for image, number, place in zip(canvas, objects[rows], places[rows], strict=True):
            _lay(image, *layers[number], place)
        yield torch.from_numpy(canvas).permute(0, 3, 1, 2)


def objects(collection: Collection) -> ImageSet | None:
    """The test images to cut objects from: WB's, with their masks; None where there are none.

    Images in which no object was found are left out.
    """
    found = collection.sets.get("WB")
    if found is None or found.masks is None:
        return None
    test = found.split("test")
    return test.where(test.masks.flatten(1).any(1).numpy())


def alone(logits: Mapping[str, torch.Tensor], classes: Sequence[str]) -> dict[str, np.ndarray]:
    """Which images of a context without any object each training takes for the context's class.

    Parameters
    ----------
    logits : dict from class to float tensor (T, M, K)
        Of images of the class's context.
    classes : sequence of K str

    Returns
    -------
    dict from class to float array (T, M) of 0 and 1
    """
    return {
        name: (said.argmax(2) == list(classes).index(name)).numpy().astype(float)
        for name, said in logits.items()
    }


def counts(alone: Mapping[str, np.ndarray], images: pd.DataFrame | None = None) -> pd.DataFrame:
    """The bars of Figures 11 to 14: share of the images taken for the context's class.

    Parameters
    ----------
    alone
        From :func:`alone`.
    images : DataFrame, optional
        Of the composites, from :func:`helpers.contexts.effects.per_image`.

    Returns
    -------
    DataFrame
        One row a bar: context_class, pasted ("nothing" or an object class), predicted (as the
        context's class, mean over trainings), images, share, low, high (`stats.share`).
    """
    bars = {(context, NOTHING): said for context, said in alone.items()}
    if images is not None:
        pairs = images.groupby(["context_class", "object_class"], sort=False)
        bars |= {pair: effects.grid(part, "taken_share") for pair, part in pairs}
    order = list(alone)
    rows = [
        (*bar, taken.sum() / len(taken), taken.shape[1], *stats.share(taken))
        for bar, taken in sorted(bars.items(), key=lambda bar: order.index(bar[0][0]))
    ]
    columns = ["context_class", "pasted", "predicted", "images", "share", "low", "high"]
    return pd.DataFrame(rows, columns=columns)


def called(logits: Mapping[str, torch.Tensor], classes: Sequence[str]) -> pd.DataFrame:
    """What contexts with nothing in them are called: contexts down, predicted classes across.

    Mean number of images over the trainings.
    """
    said = {
        name: np.bincount(one.argmax(2).flatten(), minlength=len(classes)) / len(one)
        for name, one in logits.items()
    }
    return pd.DataFrame.from_dict(said, orient="index", columns=list(classes))


def with_paper(table: pd.DataFrame, collection: Collection) -> pd.DataFrame:
    """Set the paper's counts beside ours, where the classes and contexts are the paper's.

    Returns
    -------
    DataFrame
        `table` with paper (composites of 25; NaN where the paper has none).
    """
    if not collection.has_the_papers_classes():
        return table.assign(paper=np.nan)
    printed = paper_counts().rename(columns={"predicted": "paper"}).drop(columns="images")
    named = table.assign(context=table["context_class"].map(collection.context_of))
    return named.merge(printed, on=["context", "pasted"], how="left").drop(columns="context")


def paper_counts() -> pd.DataFrame:
    """The paper's counts: context, pasted, predicted, images."""
    return pd.read_csv(PAPER / "contexts_paste.csv").drop(columns="source")


def paper_pairs() -> pd.DataFrame:
    """The paper's two methods on the pairs both were printed for: context, object, two shares.

    Eleven of the twelve: of fire hydrants beside the sky the paper gives only how many kept the
    highest logit of all.
    """
    flips = pd.read_csv(PAPER / "contexts_flips.csv")
    both = flips.merge(
        paper_counts(), left_on=["context", "object_class"], right_on=["context", "pasted"]
    )
    return both.assign(
        mosaic_share=both["flips"] / both["mosaics"], paste_share=both["predicted"] / both["images"]
    )[["context", "object_class", "mosaic_share", "paste_share"]]


def _ready(layer: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What a layer adds to an image, and how much it leaves of it: (h, w, 3) each."""
    return layer[..., :3] + 0.5, np.repeat(1 - layer[..., 3:], 3, -1)  # 0.5: to uint8, rounded


def _lay(image: np.ndarray, adds: np.ndarray, leaves: np.ndarray, place: np.ndarray) -> None:
    """Lay a layer over an image (H, W, 3) in place; what is beyond the frame is cut off."""
    first = np.maximum(place, 0)
    last = np.minimum(place + adds.shape[:2], image.shape[:2])
    (top, left), (bottom, right) = first.tolist(), last.tolist()
    up, back = (first - place).tolist()
    part = slice(up, up + max(bottom - top, 0)), slice(back, back + max(right - left, 0))
    under = image[top:bottom, left:right]
    np.add(leaves[part] * under, adds[part], out=under, casting="unsafe")


def _scaled(layer: np.ndarray, scale: float) -> np.ndarray:
    """Resize a layer (h, w, 4), antialiased; colours are times coverage, so there is no fringe."""
    size = [max(1, round(side * scale)) for side in layer.shape[:2]]
    if size == list(layer.shape[:2]):
        return layer
    planes = torch.from_numpy(layer).permute(2, 0, 1)[None]
    sized = interpolate(planes, size, mode="bilinear", antialias=True, align_corners=False)
    return np.ascontiguousarray(sized[0].permute(1, 2, 0).numpy())


def _places(table, cutouts: Cutouts, sizes: np.ndarray, position: str) -> np.ndarray:
    """Row and column of the upper left pixel of each row's layer: int (rows, 2)."""
    objects = table["object"].to_numpy()
    size = sizes[objects]
    free = np.array(cutouts.frame) - size
    if position == "random":
        share = table[["down", "across"]].to_numpy()
        return np.where(free > 0, (share * (free + 1)).astype(int), free // 2)
    if position == "centre":
        return free // 2
    before = np.array([layer.shape[:2] for layer in cutouts.layers])[objects]
    return cutouts.corners[objects] + (before - size) // 2


def _check_cut(images: torch.Tensor, masks: torch.Tensor, softness: float) -> None:
    if images.dtype != torch.uint8 or images.ndim != 4 or masks.dtype != torch.bool:
        raise ValueError(
            f"images must be uint8 (N, 3, H, W) and masks bool (N, H, W), not {images.dtype} "
            f"{tuple(images.shape)} and {masks.dtype} {tuple(masks.shape)}"
        )
    if masks.shape != (len(images), *images.shape[-2:]) or len(images) == 0:
        raise ValueError(f"{tuple(masks.shape)} masks do not fit {tuple(images.shape)} images")
    empty = (~masks.flatten(1).any(1)).nonzero().flatten().tolist()
    if empty:
        raise ValueError(f"no object in the masks of images {empty[:10]}: leave them out")
    if softness < 0:
        raise ValueError(f"softness={softness} must be 0 pixels or more")


def _check_paste(position: str, scale: float) -> None:
    if position not in POSITIONS:
        raise ValueError(f"position={position!r} is not known; use one of {POSITIONS}")
    if not 0.1 <= scale <= 4:
        raise ValueError(f"scale={scale} must lie between 0.1 and 4 (1: the object's own size)")

"""Objects on a white background, cut out with soft edges.

A pixel at the edge of an object mixes the object's colour with white. Because the
background is known to be white, the share of the object in each pixel (alpha) can be
estimated, and no bright line is left around the object.
"""

from itertools import pairwise

import numpy as np
import torch
from scipy import ndimage

MARGIN = 2  # pixels inside the edge that may be part object, part white
NEAR_WHITE = 40.0  # grey levels; a colour nearer to white does not show alpha
SOFTNESS = 0.5  # standard deviation, in pixels, of the blur of an edge


def cut(
    images: torch.Tensor, masks: torch.Tensor, softness: float = SOFTNESS
) -> np.ndarray:
    """Cut out objects that are shown on white.

    Parameters
    ----------
    images : torch.Tensor of uint8, shape (N, 3, H, W)
    masks : torch.Tensor of bool, shape (N, H, W)
        True on the object.
    softness : float
        Standard deviation, in pixels, of the Gaussian blur of alpha.

    Returns
    -------
    numpy.ndarray of float32, shape (N, 4, H, W)
        Red, green and blue (0 to 255), each multiplied by alpha; and alpha (0 to 1).
    """
    cutouts = np.zeros((len(masks), 4, *masks.shape[1:]), np.float32)
    cores, edges = core_and_edge(masks)
    for number, edge in enumerate(edges):
        pixels = images[number].permute(1, 2, 0).numpy().astype(np.float32)
        colours = _nearest_core_colours(pixels, cores[number])
        alpha = masks[number].numpy().astype(np.float32)
        alpha[edge] = alphas(pixels[edge], colours[edge], alpha[edge])
        inside = (alpha == 1)[..., None]
        colours = np.where(inside, pixels, colours)
        alpha = ndimage.gaussian_filter(alpha, softness, mode="nearest", truncate=3)
        cutouts[number, :3] = colours.transpose(2, 0, 1) * alpha
        cutouts[number, 3] = alpha
    return cutouts


def alphas(
    pixels: np.ndarray, colours: np.ndarray, otherwise: np.ndarray
) -> np.ndarray:
    """Estimate the share of the object in pixels that mix its colour with white.

    It is the least-squares solution of pixel = alpha * colour + (1 - alpha) * white.

    Parameters
    ----------
    pixels, colours : numpy.ndarray of float, shape (..., 3)
        The pixels and the object's own colours there, from 0 to 255.
    otherwise : numpy.ndarray of float, shape (...)
        Alpha where the object's colour is nearly white.

    Returns
    -------
    numpy.ndarray of float, shape (...)
        From 0 to 1.
    """
    from_white = 255 - colours
    distance = np.einsum("...c,...c", from_white, from_white)
    projection = np.einsum("...c,...c", 255 - pixels, from_white)
    alpha = projection / np.maximum(distance, 1)
    alpha = alpha.clip(0, 1)
    shows_alpha = distance > 3 * NEAR_WHITE**2
    return np.where(shows_alpha, alpha, otherwise)


def core_and_edge(masks: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Find the core and the edge of each object, both bool (N, H, W).

    The core is well inside the object, or in the middle of a part that is too thin. The
    edge is `MARGIN` pixels wide, plus one pixel outside of the mask.
    """
    objects = masks.numpy()
    outside = ~objects
    # pixels that are at least 1, 2, ... pixels away from everything outside
    depths = [~_dilated(outside, steps) for steps in range(MARGIN + 1)]
    deepest = depths[-1]
    core = deepest.copy()
    for depth, deeper in pairwise(depths):
        is_thin = depth & ~_dilated(deeper, MARGIN)
        core |= is_thin
    edge = ~deepest & _dilated(objects, 1)
    return core, edge


def _nearest_core_colours(pixels: np.ndarray, core: np.ndarray) -> np.ndarray:
    """Return, for each pixel (H, W, 3), the colour of the nearest pixel of the core."""
    nearest = ndimage.distance_transform_edt(
        ~core, return_distances=False, return_indices=True
    )
    return pixels[tuple(nearest)]


def _dilated(masks: np.ndarray, steps: int) -> np.ndarray:
    """Extend masks (N, H, W) by some pixels to all sides, and across corners."""
    side = 2 * steps + 1
    size = (1, side, side)
    return ndimage.maximum_filter(masks, size, mode="constant")

"""Context images where none were given: object-free windows of C, told by the white of WB.

The window is cut, not the object painted over: a filled-in hole keeps the object's outline, and a
classifier may still know the object by it. What is lost is the scene's layout, and sharpness where
the window is small.
"""

from __future__ import annotations

import numpy as np
import torch
from PIL import Image
from scipy.ndimage import distance_transform_cdt

#: The smallest window that is used, as a share of the image's side.
SMALLEST_WINDOW = 0.3


def window(mask: np.ndarray, margin: int = 2) -> tuple[int, int, int]:
    """The largest square (of odd side) that stays clear of an object.

    Parameters
    ----------
    mask : numpy.ndarray
        bool, shape (H, W), true on the object.
    margin : int
        Pixels between the window and the object.

    Returns
    -------
    top, left, side : int
        side is 0 when the object leaves no room.
    """
    rows, columns = np.indices(mask.shape) + 1
    height, width = mask.shape
    reach = np.minimum.reduce([rows, columns, height + 1 - rows, width + 1 - columns])
    if mask.any():
        reach = np.minimum(reach, distance_transform_cdt(~mask, metric="chessboard") - margin)
    row, column = np.unravel_index(int(reach.argmax()), mask.shape)
    half = int(reach[row, column]) - 1
    return (int(row) - half, int(column) - half, 2 * half + 1) if half >= 0 else (0, 0, 0)


def cut(images: torch.Tensor, masks: torch.Tensor, wanted: int) -> torch.Tensor:
    """Context images from images with known objects: the largest windows, resized.

    Parameters
    ----------
    images : torch.Tensor
        uint8, shape (N, 3, H, W).
    masks : torch.Tensor
        bool, shape (N, H, W), true on the object.
    wanted : int
        Images at most.

    Returns
    -------
    torch.Tensor
        uint8, shape (M, 3, H, W), M <= wanted, from the largest window down; windows below
        `SMALLEST_WINDOW` of the side are not used.
    """
    size = images.shape[-1]
    windows = [window(mask.numpy()) for mask in masks]
    order = sorted(range(len(windows)), key=lambda i: -windows[i][2])[:wanted]
    usable = [i for i in order if windows[i][2] >= SMALLEST_WINDOW * size]
    cut_out = [_resized(images[i], *windows[i]) for i in usable]
    return torch.stack(cut_out) if cut_out else images[:0]


def _resized(image: torch.Tensor, top: int, left: int, side: int) -> torch.Tensor:
    part = image[:, top : top + side, left : left + side].permute(1, 2, 0).numpy()
    size = (image.shape[2], image.shape[1])
    resized = Image.fromarray(part).resize(size, Image.Resampling.BICUBIC)
    return torch.from_numpy(np.asarray(resized).copy()).permute(2, 0, 1).contiguous()

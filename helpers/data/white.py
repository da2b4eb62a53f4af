"""Find objects on a white background."""

import numpy as np
import torch
from scipy import ndimage

WHITE = 240  # a pixel whose channels are all at least this is background
# white gaps up to this share of the image, such as highlights, belong to the object
GAP = 0.001


def object_masks(images: torch.Tensor) -> torch.Tensor:
    """Find the object in images on white.

    A pixel belongs to the object if any channel is darker than `WHITE`. Specks are
    dropped, and small gaps are filled.

    Parameters
    ----------
    images : torch.Tensor of uint8, shape (N, 3, H, W)

    Returns
    -------
    torch.Tensor of bool, shape (N, H, W)
        True on the object.
    """
    dark = (images < WHITE).any(dim=1).numpy()
    for mask in dark:
        mask[:] = ndimage.binary_opening(mask, np.ones((2, 2)))
        gaps, _ = ndimage.label(~mask)
        area = np.bincount(gaps.ravel())
        area[0] = mask.size  # the object itself
        mask |= (area < GAP * mask.size)[gaps]
    return torch.from_numpy(dark)

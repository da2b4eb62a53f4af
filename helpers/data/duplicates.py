"""The same picture twice, and the same object in C and WB: found by what the images show."""

import numpy as np
import torch
from scipy.ndimage import binary_opening, label
from scipy.optimize import linear_sum_assignment
from scipy.spatial import cKDTree
from torch.nn.functional import adaptive_avg_pool2d, max_pool2d

#: Grey levels (of 255, root mean square over 16 x 16 thumbnails) within which two images count as
#: the same: photographs saved as JPEG of quality 75 moved 2.6 at most, others were 7.7 apart.
SAME_LEVELS = 3.0
#: Levels of luma (of 255, median over the object) within which a WB image is its C image: saved as
#: JPEG of quality 75 the median pair moved 6 at most, other objects were 7 or more apart.
PAIR_LEVELS = 6.0
FEW, MANY = 20, 500  # pixels of an object that are compared: at least, and about at most
WHITE = 240  # a pixel of a WB image with all channels at least this is background
GAP = 0.001  # white gaps in the object up to this share of the image (highlights) are filled


def copies(*sets: torch.Tensor) -> list[tuple[int, int]]:
    """Index pairs i < j of images that show the same, re-encoded and rescaled copies included.

    The images, uint8 (N, 3, H, W), are numbered through all sets. Mirrored copies are not found.
    """
    parts = [part for images in sets for part in images.split(256)]
    thumbnails = torch.cat([adaptive_avg_pool2d(part.float(), 16) for part in parts]).double()
    reach = SAME_LEVELS * np.sqrt(thumbnails[0].numel()) if len(thumbnails) else 0.0
    # Means of 4 x 4 cells bound the distance of thumbnails from below: few candidates are left.
    coarse = 4 * adaptive_avg_pool2d(thumbnails, 4).flatten(1).numpy()
    near = cKDTree(coarse).query_pairs(reach * (1 + 1e-9), output_type="ndarray")
    flat = thumbnails.flatten(1).numpy()
    apart = np.linalg.norm(flat[near[:, 0]] - flat[near[:, 1]], axis=1)
    return sorted((int(i), int(j)) for i, j in near[apart <= reach])


def object_masks(white_background: torch.Tensor) -> torch.Tensor:
    """Where WB images, uint8 (N, 3, H, W), are not white, but for small gaps: bool (N, H, W)."""
    rough = (white_background < WHITE).any(dim=1).numpy()
    for mask in rough:
        mask[:] = binary_opening(mask, np.ones((2, 2)))
        gaps, _ = label(~mask)
        area = np.bincount(gaps.ravel())
        area[0] = mask.size  # the object itself
        mask |= (area < GAP * mask.size)[gaps]
    return torch.from_numpy(rough)


def pairs(context: torch.Tensor, white_background: torch.Tensor) -> list[tuple[int, int]]:
    """Which C image each WB image was made of, within one class, told by their pixels.

    All are assigned to each other so that they agree best; none, where less than half agree.
    """
    apart = _apart(context, white_background).clamp(max=255).numpy()
    found = np.array(linear_sum_assignment(apart))
    costs = apart[tuple(found)]
    believed = len(costs) and (costs <= PAIR_LEVELS).mean() >= 0.5
    return [*zip(*found[:, costs <= 2.5 * PAIR_LEVELS].tolist(), strict=True)] if believed else []


def _apart(context: torch.Tensor, white_background: torch.Tensor) -> torch.Tensor:
    """How far each WB image's object is from what each C image shows in the same place: (N, M).

    The median absolute difference in luma over pixels well inside the object, or over all its
    pixels where it is thin; infinite where WB is white.
    """
    on_object = (white_background < WHITE).any(dim=1)
    inside = max_pool2d(1 - on_object[:, None].float(), 3, 1, 1)[:, 0] == 0
    thin = inside.sum(dim=(1, 2)) < FEW
    inside[thin] = on_object[thin]
    weights = torch.tensor([0.299, 0.587, 0.114])
    pixels = (images.float().flatten(2) for images in (context, white_background))
    c, w = (torch.einsum("ncp,c->np", each, weights) for each in pixels)
    apart = torch.full((len(c), len(w)), torch.inf)
    for j, where in enumerate(inside.flatten(1)):
        chosen = where.nonzero()[:, 0]
        chosen = chosen[:: 1 + len(chosen) // MANY]
        if len(chosen):
            apart[:, j] = (c[:, chosen] - w[j, chosen]).abs().median(dim=1).values
    return apart

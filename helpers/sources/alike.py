"""The same picture twice, and the same object in C and WB: found by what the images show."""

from __future__ import annotations

import numpy as np
import torch
from scipy.ndimage import binary_fill_holes, binary_opening
from scipy.spatial import cKDTree
from torch.nn.functional import adaptive_avg_pool2d, max_pool2d

#: Grey levels (of 255, root mean square over a 16 x 16 thumbnail) within which two images count as
#: the same picture: a file saved again as JPEG at quality 30 or more stays below 2.
SAME_LEVELS = 2.0
#: Grey levels (of 255, root mean square over the object) within which a WB image is its C image.
PAIR_LEVELS = 12.0
#: A pixel of a WB image with all channels at least this is background.
WHITE = 245


def duplicates(*sets: torch.Tensor, levels: float = SAME_LEVELS) -> list[tuple[int, int]]:
    """Pairs of images that show the same, re-encoded and rescaled copies included.

    Mirrored, rotated or differently cropped copies are not found.

    Parameters
    ----------
    *sets : torch.Tensor
        uint8, each of shape (N, 3, H, W); images are numbered through all of them.
    levels : float
        Largest root-mean-square difference of 16 x 16 RGB thumbnails, in grey levels of 255.

    Returns
    -------
    list of (int, int)
        Index pairs i < j, in order.
    """
    thumbnails = torch.cat([_thumbnails(images, 16) for images in sets]).double()
    reach = levels * np.sqrt(thumbnails[0].numel()) if len(thumbnails) else 0.0
    # Means of 4 x 4 cells bound the distance of thumbnails from below: few candidates are left.
    coarse = 4 * adaptive_avg_pool2d(thumbnails, 4).flatten(1).numpy()
    near = cKDTree(coarse).query_pairs(reach * (1 + 1e-9), output_type="ndarray")
    flat = thumbnails.flatten(1).numpy()
    apart = np.linalg.norm(flat[near[:, 0]] - flat[near[:, 1]], axis=1)
    return sorted((int(i), int(j)) for i, j in near[apart <= reach])


def object_masks(white_background: torch.Tensor) -> torch.Tensor:
    """Where a WB image is not white, small white gaps inside the object included.

    Parameters
    ----------
    white_background : torch.Tensor
        uint8, shape (N, 3, H, W).

    Returns
    -------
    torch.Tensor
        bool, shape (N, H, W), true on the object.
    """
    rough = (white_background < WHITE).any(dim=1).numpy()
    specks_off = (binary_opening(mask, np.ones((2, 2))) for mask in rough)
    filled = [binary_fill_holes(mask) for mask in specks_off]
    return torch.from_numpy(np.array(filled, dtype=bool).reshape(rough.shape))


def mismatch(context: torch.Tensor, white_background: torch.Tensor) -> torch.Tensor:
    """How far each WB image's object is from what each C image shows in the same place.

    Parameters
    ----------
    context, white_background : torch.Tensor
        uint8, shapes (N, 3, H, W) and (M, 3, H, W).

    Returns
    -------
    torch.Tensor
        float64, shape (N, M): root-mean-square difference in grey levels over the 32 x 32 thumbnail
        cells that lie wholly on the object; infinite where there is no such cell.
    """
    side = min(32, white_background.shape[-1])
    ground = (white_background >= WHITE).all(dim=1, keepdim=True).double()
    window = -(-white_background.shape[-1] // side)
    inside = adaptive_avg_pool2d(max_pool2d(ground, 2 * (window // 2) + 1, 1, window // 2), side)
    weight = (inside == 0).double().expand(-1, 3, -1, -1).flatten(1)
    c = _thumbnails(context, side).double().flatten(1)
    w = _thumbnails(white_background, side).double().flatten(1)
    squares = (c**2) @ weight.T - 2 * c @ (weight * w).T + (weight * w**2).sum(dim=1)
    cells = weight.sum(dim=1)
    apart = (squares.clamp(min=0) / cells.clamp(min=1)).sqrt()
    return torch.where(cells > 0, apart, torch.inf)


def pairs(
    context: torch.Tensor, white_background: torch.Tensor, c_names: list[str], wb_names: list[str]
) -> tuple[list[tuple[int, int]], str]:
    """Which C image each WB image was made of, within one class.

    Files of the same name are taken for each other when the pixels agree (for four in five of
    them); otherwise the C image that agrees best is taken, if it agrees.

    Returns
    -------
    pairs : list of (int, int)
        (index of the C image, index of the WB image).
    how : str
        "name", "content", or "" when the two sets do not hold the same objects.
    """
    if not len(context) or not len(white_background):
        return [], ""
    apart = mismatch(context, white_background)
    of_name = {name: i for i, name in enumerate(c_names)}
    named = [(of_name[name], j) for j, name in enumerate(wb_names) if name in of_name]
    agree = [(i, j) for i, j in named if apart[i, j] <= PAIR_LEVELS]
    if named and len(agree) >= 0.8 * len(named):
        return agree, "name"
    best = apart.argmin(dim=0).tolist()
    found = [(i, j) for j, i in enumerate(best) if apart[i, j] <= PAIR_LEVELS]
    return (found, "content") if len(found) >= 0.5 * len(wb_names) else ([], "")


def _thumbnails(images: torch.Tensor, side: int) -> torch.Tensor:
    """Mean colours on a coarse grid: float32, shape (N, 3, side, side)."""
    parts = [adaptive_avg_pool2d(part.float(), side) for part in images.split(256)]
    return torch.cat(parts)

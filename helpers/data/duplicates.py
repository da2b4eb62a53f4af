"""The same picture twice, and the same object in C and WB: found by what the images show."""

import numpy as np
import torch
from scipy.ndimage import binary_opening, label
from scipy.optimize import linear_sum_assignment
from scipy.spatial import cKDTree
from torch.nn.functional import adaptive_avg_pool2d, max_pool2d, normalize

# Measured on photographs, saved as JPEG of quality 75 too. Two images are the same within
SAME_LEVELS = (
    3.0  # grey levels, rms over 16 x 16 thumbnails: copies moved 2.6, others were 7.7 apart
)
SAME_SHARE = (
    0.15  # of their contrast, shifted and stretched: cropped by 1% 0.12 is left, others 0.33
)
ALIKE = 0.95  # correlation of 8 x 8 thumbnails from which they are shifted and stretched
PAIR_LEVELS = 6.0  # of luma, median over the object, for WB and C: pairs moved 6, others 7 or more
FEW, MANY = 20, 500  # pixels of an object that are compared: at least, and about at most
WHITE = 240  # a pixel of a WB image with all channels at least this is background
GAP = 0.001  # white gaps in the object up to this share of the image (highlights) are filled


def copies(*sets: torch.Tensor) -> list[tuple[int, int]]:
    """Index pairs i < j, through all sets, of images that show the same: re-encoded, rescaled,
    mirrored, and most of those of which about 1% was cropped; not turned or cropped further."""
    parts = [part for images in sets for part in images.split(256)]
    thumbnails = torch.cat([adaptive_avg_pool2d(part.float(), 16) for part in parts]).double()
    reach = SAME_LEVELS * np.sqrt(thumbnails[0].numel()) if len(thumbnails) else 0.0
    # Means of 4 x 4 cells bound the distance of thumbnails from below: few candidates are left.
    coarse = 4 * adaptive_avg_pool2d(thumbnails, 4).flatten(1).numpy()
    near = cKDTree(coarse).query_pairs(reach * (1 + 1e-9), output_type="ndarray")
    flat = thumbnails.flatten(1).numpy()
    apart = np.linalg.norm(flat[near[:, 0]] - flat[near[:, 1]], axis=1)
    moved = _moved(adaptive_avg_pool2d(thumbnails, 8))
    return sorted({(int(i), int(j)) for i, j in near[apart <= reach]} | moved)


def _moved(thumbnails: torch.Tensor) -> set[tuple[int, int]]:
    """Index pairs i < j of one photograph, cropped or mirrored; thumbnails float64 (N, 3, 8, 8)."""
    variance = thumbnails.flatten(1).var(1, correction=0)
    centred = thumbnails - thumbnails.mean((1, 2, 3), keepdim=True)
    scaled, found = normalize(centred.flatten(1), eps=14).float(), set()  # flatter ones are none
    mirrored = scaled.view(thumbnails.shape).flip(-1).flatten(1)
    for seen, turned in ((thumbnails, scaled), (thumbnails.flip(-1), mirrored)):
        for start in range(0, len(scaled), 1024):
            alike = scaled[start : start + 1024] @ turned[start:].T > ALIKE
            for near in (alike.triu(1).nonzero() + start).split(4096):
                i, j = near.T
                left = torch.maximum(_left(thumbnails[i], seen[j]), _left(seen[j], thumbnails[i]))
                same = left <= SAME_SHARE**2 * torch.minimum(variance[i], variance[j])
                found |= set(zip(i[same].tolist(), j[same].tolist(), strict=True))
    return found


def _left(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Mean square of what is left of the difference to other thumbnails (B, 3, 8, 8), when they are
    shifted and stretched a little to fit (by least squares): (B,)."""
    down = (one[..., 2:, 1:-1] - one[..., :-2, 1:-1]) / 2
    right = (one[..., 1:-1, 2:] - one[..., 1:-1, :-2]) / 2
    place = torch.linspace(-1, 1, 6, dtype=one.dtype)
    moves = torch.stack([down, right, down * place[:, None], right * place], -1).flatten(1, 3)
    apart = (other - one)[..., 1:-1, 1:-1].flatten(1)[..., None]
    square = moves.mT @ moves + 1e-3 * torch.eye(4, dtype=one.dtype)
    left = apart - moves @ torch.linalg.solve(square, moves.mT @ apart)
    return left.square().mean((1, 2))


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
    """Which C image each WB image was made of, within one class: all are assigned to each other so
    that their pixels agree best; none, where less than half agree."""
    apart = _apart(context, white_background).clamp(max=255).numpy()
    found = np.array(linear_sum_assignment(apart))
    costs = apart[tuple(found)]
    believed = len(costs) and (costs <= PAIR_LEVELS).mean() >= 0.5
    return [*zip(*found[:, costs <= 2.5 * PAIR_LEVELS].tolist(), strict=True)] if believed else []


def _apart(context: torch.Tensor, white_background: torch.Tensor) -> torch.Tensor:
    """How far each WB image's object is from what each C image shows there, (N, M): the median
    difference in luma well inside it, or in all of it where it is thin; infinite on white."""
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

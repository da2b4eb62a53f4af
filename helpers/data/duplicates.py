"""The same picture twice, and the same object in C and WB: found by what the images show."""

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from torch.nn.functional import adaptive_avg_pool2d, max_pool2d, normalize

from helpers.data.white import WHITE

# Measured on photographs, saved as JPEG of quality 75 too. Two images are the same within
SAME_LEVELS = (
    3.0  # grey levels, rms of 16 x 16 thumbnails: copies moved 2.6, others 7.7
)
SAME_SHARE = (
    0.15  # of their contrast, shifted and stretched: cropped by 1% 0.12, others 0.33
)
ALIKE = (
    0.95  # correlation of 8 x 8 thumbnails from which they are shifted and stretched
)
PAIR_LEVELS = 6.0  # of luma, median over the object, for WB and C: pairs moved 6, others 7 or more
FEW, MANY = (
    20,
    500,
)  # pixels of an object that are compared: at least, and about at most


def copies(*sets: torch.Tensor) -> list[tuple[int, int]]:
    """Index pairs i < j, through all sets, of images that show the same: re-encoded, rescaled,
    mirrored, and most of those of which about 1% was cropped; not turned or cropped further."""
    parts = [part for images in sets for part in images.split(256)]
    whole = torch.cat(
        [adaptive_avg_pool2d(part.float(), 16) for part in parts]
    ).double()
    small, near_copies = adaptive_avg_pool2d(whole, 8), set()
    variance = small.flatten(1).var(1, correction=0)
    centred = small - small.mean((1, 2, 3), keepdim=True)
    scaled = normalize(
        centred.flatten(1), eps=14
    ).float()  # flatter ones are not moved ones
    mirrored = scaled.view(small.shape).flip(-1).flatten(1)
    levels, whole = SAME_LEVELS * whole[:1].numel() ** 0.5, whole.flatten(1)
    for start in range(0, len(whole), 1024):
        some = slice(start, start + 1024)
        near = torch.cdist(whole[some], whole[start:]) <= levels
        near_copies |= {*map(tuple, (near.triu(1).nonzero() + start).tolist())}
        for seen, turned in ((small, scaled), (small.flip(-1), mirrored)):
            alike = scaled[some] @ turned[start:].T > ALIKE
            for pairs in (alike.triu(1).nonzero() + start).split(4096):
                i, j = pairs.T
                left = torch.maximum(_left(small[i], seen[j]), _left(seen[j], small[i]))
                same = left <= SAME_SHARE**2 * torch.minimum(variance[i], variance[j])
                near_copies |= {*map(tuple, pairs[same].tolist())}
    return sorted(near_copies)


def _left(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Mean square that is left of a difference, (B,), when thumbnails are shifted and stretched."""
    down = (one[..., 2:, 1:-1] - one[..., :-2, 1:-1]) / 2
    right = (one[..., 1:-1, 2:] - one[..., 1:-1, :-2]) / 2
    place = torch.linspace(-1, 1, 6, dtype=one.dtype)
    moves = torch.stack(
        [down, right, down * place[:, None], right * place], -1
    ).flatten(1, 3)
    apart = (other - one)[..., 1:-1, 1:-1].flatten(1)[..., None]
    square = moves.mT @ moves + 1e-3 * torch.eye(4, dtype=one.dtype)
    left = apart - moves @ torch.linalg.solve(square, moves.mT @ apart)
    return left.square().mean((1, 2))


def pairs(
    context: torch.Tensor, white_background: torch.Tensor
) -> list[tuple[int, int]]:
    """Which C image each WB image of a class was made of; none, where less than half agree."""
    apart = _apart(context, white_background).clamp(max=255).numpy()
    assigned = np.array(linear_sum_assignment(apart))
    costs = apart[tuple(assigned)]
    believed = len(costs) and (costs <= PAIR_LEVELS).mean() >= 0.5
    return (
        [*zip(*assigned[:, costs <= 2.5 * PAIR_LEVELS].tolist(), strict=True)]
        if believed
        else []
    )


def _apart(context: torch.Tensor, white_background: torch.Tensor) -> torch.Tensor:
    """Median difference in luma of each WB image's object from each C image, (N, M)."""
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

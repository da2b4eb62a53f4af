"""LIME: hide superpixels of an image and watch the logit.

Superpixels are the cells of a grid (the authors' code uses scikit-image's quickshift). The samples
are the same for every image: a sample is one forward pass of a batch.
"""

import torch

from helpers.explain.layers import logits_of

WIDTH = 0.25  # of LIME's kernel


def lime(model, images, targets, *, segments=8, samples=256, penalty=1.0, best=None, seed=0):
    """LIME (Ribeiro et al. 2016): a linear model of the logit over superpixels shown or hidden.

    Ridge regression on logits, every superpixel shown with a chance of one half, samples weighted
    by sqrt(exp(-d^2 / `WIDTH`^2)) with d the cosine distance to the whole image. (captum's default,
    Lasso, gives all zeros on logits.) What is hidden gets the image's mean colour. `segments` is
    the cells a side of the grid. With `best` the map is the paper's mask: 1 in so many superpixels
    of the largest positive coefficients.
    """
    places = superpixels(segments, images)
    draw = torch.Generator().manual_seed(seed)
    shown = torch.rand((samples, segments**2), generator=draw) < 0.5
    shown = torch.cat([torch.ones_like(shown[:1]), shown]).to(images.device)
    found = _ridge(shown.float(), _logits(model, images, targets, places, shown), penalty).T
    if best is None:
        area = torch.bincount(places.flatten(), minlength=segments**2)
        return (found / area.clamp(min=1))[:, places]
    least = found.topk(best, dim=1).values[:, -1:]
    return ((found >= least) & (found > 0)).float()[:, places]


def superpixels(segments: int, images: torch.Tensor) -> torch.Tensor:
    """The number of the superpixel at each place of the images: int64 (H, W)."""
    size, device = images.shape[-2:], images.device
    down, across = (torch.arange(n, device=device) * segments // n for n in size)
    return down[:, None] * segments + across


@torch.no_grad()
def _logits(model, images, targets, places, shown) -> torch.Tensor:
    """Target logits (1 + samples, B) with what each sample does not show hidden."""
    colour = images.mean((2, 3), keepdim=True)
    found = []
    for sample in shown:
        visible = images if sample.all() else torch.where(sample[places], images, colour)
        found.append(logits_of(model, visible).gather(1, targets[:, None])[:, 0])
    return torch.stack(found)


def _ridge(shown, logits, penalty: float) -> torch.Tensor:
    """Coefficients (n, B) of weighted ridge regressions that share their samples (float64)."""
    shown, y = shown.double(), logits.double()
    cosine = torch.linalg.vector_norm(shown, dim=1) / shown.shape[1] ** 0.5  # to a vector of ones
    weight = (-((1 - cosine) ** 2) / (2 * WIDTH**2)).exp()[:, None]
    share = weight / weight.sum()
    x = shown - (share * shown).sum(0)  # centred: no penalty on the intercept
    y = y - (share * y).sum(0)
    left = x.T @ (weight * x) + penalty * torch.eye(x.shape[1], dtype=x.dtype, device=x.device)
    return torch.linalg.solve(left, x.T @ (weight * y)).to(logits.dtype)

"""LIME: hide superpixels of an image and watch the logit.

Superpixels are the cells of a grid by default. The samples are the same for every image, so that
the regression is solved once for all of them, and a sample is one forward pass of a batch.
"""

import numpy as np
import torch

from helpers.explain.layers import logits_of

WIDTH = 0.25  # of LIME's kernel


def lime(
    model,
    images,
    targets,
    *,
    segments: int | str = 8,
    samples: int = 256,
    penalty: float = 1.0,
    best: int | None = None,
    seed: int = 0,
) -> torch.Tensor:
    """LIME (Ribeiro et al. 2016): a linear model of the logit over superpixels shown or hidden.

    Ridge regression on logits, every superpixel shown with a chance of one half, samples weighted
    by sqrt(exp(-d^2 / `WIDTH`^2)) with d the cosine distance to the whole image. (captum's default,
    Lasso, gives all zeros on logits.) What is hidden gets the image's mean colour. `segments` is
    the cells a side of the grid, or "quickshift" (scikit-image's, as the paper has it). With `best`
    the map is the paper's mask: 1 in so many superpixels of the largest positive coefficients.
    """
    places = superpixels(segments, images)
    count = int(places.max()) + 1
    draw = torch.Generator().manual_seed(seed)
    shown = torch.rand((samples, count), generator=draw) < 0.5
    shown, logits = _logits(model, images, targets, places, shown)
    found = images.new_zeros(len(images), count)
    counts = places.flatten(1).amax(1) + 1
    for n in counts.unique():
        rows = counts == n
        found[rows, :n] = _ridge(shown[:, :n].float(), logits[:, rows], penalty).T
    if best is None:
        return _spread(found, places)
    least = found.topk(best, dim=1).values[:, -1:]
    return ((found >= least) & (found > 0)).float().gather(1, places.flatten(1)).view(places.shape)


def superpixels(segments: int | str, images: torch.Tensor) -> torch.Tensor:
    """Superpixels of images: int64 tensor (B, H, W), numbered from 0 in every image."""
    if segments == "quickshift":
        return _quickshift(images)
    down, across = (
        torch.arange(n, device=images.device) * segments // n for n in images.shape[-2:]
    )
    return (down[:, None] * segments + across).expand(len(images), -1, -1)


def _quickshift(images: torch.Tensor) -> torch.Tensor:
    try:
        from skimage.segmentation import quickshift
    except ImportError as error:
        raise ImportError(
            "The paper's superpixels need scikit-image (pip install scikit-image); or give LIME "
            "a number of cells a side as `segments`."
        ) from error
    pixels = images.permute(0, 2, 3, 1).cpu().double().numpy()
    found = [quickshift(image, kernel_size=4, max_dist=200, ratio=0.2) for image in pixels]
    return torch.from_numpy(np.stack(found)).long().to(images.device)


@torch.no_grad()
def _logits(model, images, targets, places, shown) -> tuple[torch.Tensor, torch.Tensor]:
    """Samples, (1 + samples, n), the first showing all superpixels, and the target logits
    (1 + samples, B) with what they do not show hidden."""
    shown = torch.cat([torch.ones_like(shown[:1]), shown]).to(images.device)
    colour = images.mean((2, 3), keepdim=True)
    found = []
    for sample in shown:
        visible = images if sample.all() else torch.where(sample[places][:, None], images, colour)
        found.append(logits_of(model, visible).gather(1, targets[:, None])[:, 0])
    return shown, torch.stack(found)


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


def _spread(values: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """Values (B, n) of superpixels, spread evenly over their pixels: (B, H, W)."""
    flat = places.flatten(1)
    area = torch.zeros_like(values).scatter_add_(1, flat, torch.ones_like(flat, dtype=values.dtype))
    return (values / area.clamp(min=1)).gather(1, flat).view(places.shape)

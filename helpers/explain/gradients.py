"""Gradient methods, at the input or at any layer: SmoothGrad and Integrated Gradients.

Both take `layer`, for localisation depends on it (Rao et al. 2022); `reduce` says how channels
become one map (`layers.reduced`).
"""

import numpy as np
import torch

from helpers.explain.layers import as_map, gradient_at, reduced, through


def smoothgrad(
    model, images, targets, *, samples=25, sigma=0.15, layer="input", reduce="sum", seed=0
) -> torch.Tensor:
    """SmoothGrad (Smilkov et al. 2017): the mean gradient of noisy copies of an image.

    `reduce` acts on the mean. (captum's `NoiseTunnel(Saliency)` averages absolute values, which is
    another map.) The noise is the same for every image, so that no map depends on its batch.
    `sigma` is its standard deviation as a share of the image's own range.
    """
    draw = torch.Generator().manual_seed(seed)
    noise = torch.randn((samples, *images.shape[1:]), generator=draw).to(images)
    spread = sigma * (images.amax((1, 2, 3)) - images.amin((1, 2, 3))).view(-1, 1, 1, 1)
    total = 0
    for one in noise:
        total = total + gradient_at(model, images + spread * one, targets, layer)[1]
    return reduced(total / samples, reduce, images)


def integrated_gradients(model, images, targets, *, steps=32, layer="input", reduce="sum"):
    """Integrated Gradients (Sundararajan et al. 2017), with Gauss-Legendre steps.

    The path begins at the mean colour, which is zero after the model's normalisation (the paper's
    zero), or at a layer's output for it.
    """
    start, end = torch.zeros_like(images) + torch.as_tensor(model.mean).to(images), images
    if layer != "input":
        with torch.no_grad():
            start, end = (through(model, x, targets, layer)[0].detach() for x in (start, images))
    away, total = end - start, 0
    apart = away if layer == "input" else as_map(away, layer)
    for node, weight in zip(*np.polynomial.legendre.leggauss(steps), strict=True):
        at = start + (1 + node) / 2 * away
        asked = (at, targets) if layer == "input" else (images, targets, layer, at)
        total = total + gradient_at(model, *asked)[1] * (weight / 2) * apart
    return reduced(total, reduce, images)

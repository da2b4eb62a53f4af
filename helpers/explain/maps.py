"""Relevance maps: how the methods of lesson 06 ask a network, at which layer, in which batches.
Every method takes (model, images in [0, 1], targets) and settings, and returns (B, H, W)."""

from functools import partial

import torch

from helpers.explain import cam, gradients, layers, superpixels
from helpers.explain.layers import gradient_at, reduced, resized


def gradcam(model, images, targets, *, layer="last map") -> torch.Tensor:
    """GradCAM (Selvaraju et al. 2017)."""
    return resized(cam.gradcam(*gradient_at(model, images, targets, layer)), images)


def gradcam_plus_plus(model, images, targets, *, layer="last map") -> torch.Tensor:
    """GradCAM++ (Chattopadhay et al. 2018), for scores that are exp(logit)."""
    return resized(cam.gradcam_plus_plus(*gradient_at(model, images, targets, layer)), images)


def smoothgrad(
    model, images, targets, *, samples=25, sigma=0.15, layer="input", reduce="sum", seed=0
) -> torch.Tensor:
    """SmoothGrad (Smilkov et al. 2017); the noise is the same for every image, so that no map
    depends on its batch."""

    def gradient(noisy):
        return gradient_at(model, noisy, targets, layer)[1]

    return reduced(gradients.smoothgrad(gradient, images, samples, sigma, seed), reduce, images)


def integrated_gradients(
    model, images, targets, *, steps=32, layer="input", reduce="sum"
) -> torch.Tensor:
    """Integrated Gradients (Sundararajan et al. 2017) from the mean colour, which is zero after the
    model's normalisation, or from a layer's output for it."""
    plain = torch.zeros_like(images) + torch.as_tensor(model.mean).to(images)
    ends = (layers.through(model, one, targets, layer)[0].detach() for one in (plain, images))
    gradient = partial(layers.from_layer, model, images, targets, layer)
    relevance = gradients.integrated_gradients(gradient, *ends, steps)
    return reduced(layers.as_map(relevance, layer), reduce, images)


def lime(
    model, images, targets, *, segments=7, samples=256, penalty=1.0, best=None, seed=0
) -> torch.Tensor:
    """LIME (Ribeiro et al. 2016) with `segments` cells a side as superpixels (an odd number lies
    across a mosaic's seams). With `best` the map is 1 in so many of the largest coefficients."""
    places = grid(segments, images)
    with torch.no_grad():
        logit = partial(layers.target_logits, model, targets=targets)
        coefficients = superpixels.lime(logit, images, places, samples, penalty, seed).T
    if best is None:
        area = torch.bincount(places.flatten(), minlength=coefficients.shape[1])
        return (coefficients / area.clamp(min=1))[:, places]
    least = coefficients.topk(min(best, coefficients.shape[1]), dim=1).values[:, -1:]
    return ((coefficients >= least) & (coefficients > 0)).float()[:, places]


def grid(segments: int, images: torch.Tensor) -> torch.Tensor:
    """The number of the superpixel at each place of the images: int64 (H, W)."""
    size, device = images.shape[-2:], images.device
    down, across = (torch.arange(n, device=device) * segments // n for n in size)
    return down[:, None] * segments + across

"""Relevance maps by class activation, by gradients, and by hiding superpixels.

Every method takes (model, images in [0, 1], targets) and settings, and returns maps (B, H, W);
`reduce` says how channels become one map (`layers.reduced`)."""

import warnings
from functools import partial

import torch
from captum.attr import IntegratedGradients, LayerIntegratedGradients

from helpers.explain.layers import gradient_at, named, output_of, reduced, resized, target_logits

WIDTH = 0.25  # of LIME's kernel


def gradcam(model, images, targets, *, layer="last map") -> torch.Tensor:
    """GradCAM (Selvaraju et al. 2017): channels of a map, weighted by their mean gradient."""
    activation, gradient = gradient_at(model, images, targets, layer)
    weights = gradient.mean((2, 3), keepdim=True)
    return resized((weights * activation).sum(1, keepdim=True).relu(), images)


def gradcam_plus_plus(model, images, targets, *, layer="last map") -> torch.Tensor:
    """GradCAM++ (Chattopadhay et al. 2018, Equations 10 and 19), for scores that are exp(logit)."""
    activation, gradient = gradient_at(model, images, targets, layer)
    # In a network of rectifiers higher derivatives of exp(logit) are powers of the gradient.
    total = activation.sum((2, 3), keepdim=True)
    below = 2 * gradient**2 + total * gradient**3
    share = torch.where(below != 0, gradient**2 / below, 0)
    weights = (share * gradient.relu()).sum((2, 3), keepdim=True)
    return resized((weights * activation).sum(1, keepdim=True).relu(), images)


def smoothgrad(
    model, images, targets, *, samples=25, sigma=0.15, layer="input", reduce="sum", seed=0
) -> torch.Tensor:
    """SmoothGrad (Smilkov et al. 2017): the mean gradient of noisy copies of an image; `sigma` is
    the noise's standard deviation as a share of the image's own range."""
    # The noise is the same for every image, so that no map depends on its batch.
    draw = torch.Generator().manual_seed(seed)
    noise = torch.randn((samples, *images.shape[1:]), generator=draw).to(images)
    spread = sigma * (images.amax((1, 2, 3)) - images.amin((1, 2, 3))).view(-1, 1, 1, 1)
    total = 0
    for one in noise:
        total = total + gradient_at(model, images + spread * one, targets, layer)[1]
    return reduced(total / samples, reduce, images)


def integrated_gradients(
    model, images, targets, *, steps=32, layer="input", reduce="sum"
) -> torch.Tensor:
    """Integrated Gradients (Sundararajan et al. 2017), captum's with Gauss-Legendre steps, from the
    mean colour, which is zero after the model's normalisation, or from a layer's output for it."""
    start = torch.zeros_like(images) + torch.as_tensor(model.mean).to(images)
    logits = partial(target_logits, model)
    method = IntegratedGradients(logits)
    if layer != "input":
        with torch.no_grad(), output_of(model, layer):  # refuses a layer that runs several times
            model(images[:1])
        method = LayerIntegratedGradients(logits, named(model, layer))
    asked = {"additional_forward_args": (targets,), "internal_batch_size": len(images)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # captum's, on layers and batches: both as meant here
        try:
            found = method.attribute(images, start, n_steps=steps, **asked)
        except RuntimeError as error:
            if "in-place" not in str(error):
                raise
            raise ValueError(
                f"The output of layer {layer!r} is changed in place by what follows it: name the "
                "layer after that, or the block that holds both."
            ) from error
    return reduced(found.detach(), reduce, images)


def lime(
    model, images, targets, *, segments=8, samples=256, penalty=1.0, best=None, seed=0
) -> torch.Tensor:
    """LIME (Ribeiro et al. 2016): ridge regression of the logit on superpixels shown or hidden.

    `segments` are the cells a side of the grid (the authors' code uses scikit-image's quickshift).
    With `best` the map is 1 in so many superpixels of the largest positive coefficients, else 0."""
    # Samples are the same for every image: each is one pass of a batch. captum's default, Lasso,
    # gives all zeros on logits.
    places = superpixels(segments, images)
    draw = torch.Generator().manual_seed(seed)
    shown = torch.rand((samples, segments**2), generator=draw) < 0.5
    shown = torch.cat([torch.ones_like(shown[:1]), shown]).to(images.device)
    colour, logits = images.mean((2, 3), keepdim=True), []
    with torch.no_grad():
        for sample in shown:
            visible = images if sample.all() else torch.where(sample[places], images, colour)
            logits.append(target_logits(model, visible, targets))
    found = _ridge(shown.float(), torch.stack(logits), penalty).T
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


def _ridge(shown, logits, penalty: float) -> torch.Tensor:
    """Coefficients (n, B) of ridge regressions in float64; samples are weighted by
    sqrt(exp(-d^2 / `WIDTH`^2)) with d the cosine distance to the whole image."""
    shown, y = shown.double(), logits.double()
    cosine = torch.linalg.vector_norm(shown, dim=1) / shown.shape[1] ** 0.5  # to a vector of ones
    weight = (-((1 - cosine) ** 2) / (2 * WIDTH**2)).exp()[:, None]
    share = weight / weight.sum()
    x = shown - (share * shown).sum(0)  # centred: no penalty on the intercept
    y = y - (share * y).sum(0)
    left = x.T @ (weight * x) + penalty * torch.eye(x.shape[1], dtype=x.dtype, device=x.device)
    return torch.linalg.solve(left, x.T @ (weight * y)).to(logits.dtype)

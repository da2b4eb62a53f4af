"""Gradient methods, at the input or at any layer: SmoothGrad, and captum's Integrated Gradients.

Both take `layer`, for localisation depends on it (Rao et al. 2022); `reduce` says how channels
become one map (`layers.reduced`).
"""

import warnings
from functools import partial

import torch
from captum.attr import IntegratedGradients, LayerIntegratedGradients

from helpers.explain.layers import gradient_at, logits_of, named, output_of, reduced


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


def integrated_gradients(
    model, images, targets, *, steps=32, layer="input", reduce="sum"
) -> torch.Tensor:
    """Integrated Gradients (Sundararajan et al. 2017), captum's with Gauss-Legendre steps.

    The path begins at the mean colour, which is zero after the model's normalisation (the paper's
    zero), or at a layer's output for it.
    """
    start = torch.zeros_like(images) + torch.as_tensor(model.mean).to(images)
    logits = partial(logits_of, model)
    method = IntegratedGradients(logits)
    if layer != "input":
        with torch.no_grad(), output_of(model, layer):  # refuses a layer that runs several times
            model(images[:1])
        method = LayerIntegratedGradients(logits, named(model, layer))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # captum's, on layers and batches: both as meant here
        asked = {"target": targets, "n_steps": steps, "internal_batch_size": len(images)}
        try:
            found = method.attribute(images, start, **asked)
        except RuntimeError as error:
            if "in-place" not in str(error):
                raise
            raise ValueError(
                f"The output of layer {layer!r} is changed in place by what follows it: name the "
                "layer after that, or the block that holds both."
            ) from error
    return reduced(found.detach(), reduce, images)

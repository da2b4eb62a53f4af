"""Compute GradCAM, SmoothGrad, Integrated Gradients and LIME with captum.

Each is a function of a model, float images (B, 3, H, W) in [0, 1] and targets, int64
(B,), and returns maps (B, H, W). Keyword arguments are its settings. `batch_size` is
how many images pass through the network at a time.
"""

import math

import torch
from captum._utils.models.linear_model import SkLearnRidge
from captum.attr import (
    IntegratedGradients,
    LayerGradCam,
    LayerIntegratedGradients,
    LimeBase,
    NoiseTunnel,
    Saliency,
)

from helpers.explain import layers
from helpers.models.inference import seeded

KERNEL_WIDTH = 0.25  # of LIME: samples that resemble the whole image count more


def gradcam(model, images, targets, *, layer=layers.LAST_MAP) -> torch.Tensor:
    """Compute GradCAM (Selvaraju et al. 2017) at a layer."""
    output, _ = layers.output_at(model, images[:1], targets[:1], layer)
    if output.ndim == 3:  # captum takes tokens for channels
        activation, gradient = layers.gradient_at(model, images, targets, layer)
        weights = gradient.mean((2, 3), keepdim=True)
        relevance = (weights * activation).sum(1, keepdim=True).relu()
    else:
        grad_cam = LayerGradCam(model, layers.named(model, layer))
        relevance = grad_cam.attribute(images, targets, relu_attributions=True)
    return layers.as_maps_of_images(relevance, images)


def smoothgrad(
    model,
    images,
    targets,
    *,
    samples=25,
    sigma=0.15,
    absolute=False,
    seed=0,
    batch_size=32,
) -> torch.Tensor:
    """Compute SmoothGrad (Smilkov et al. 2017), with the sign of the gradients.

    `sigma` is the standard deviation of the noise, as a share of the image's own range.
    If `absolute`, the map is the largest absolute value of the channels instead of
    their sum. The noise is seeded for each image, so that no map depends on its batch.
    """
    tunnel = NoiseTunnel(Saliency(model))
    relevance = []
    for image, target in zip(images.split(1), targets.cpu().tolist(), strict=True):
        with seeded(seed, images.device):
            gradient = tunnel.attribute(
                image,
                nt_samples=samples,
                nt_samples_batch_size=batch_size,
                stdevs=sigma * float(image.max() - image.min()),
                target=target,
                abs=False,  # captum would average absolute values
            )
        relevance.append(gradient)
    relevance = torch.cat(relevance)
    if absolute:
        relevance = relevance.abs().amax(1, keepdim=True)
    return layers.as_maps_of_images(relevance, images)


def integrated_gradients(
    model,
    images,
    targets,
    *,
    steps=32,
    layer=layers.INPUT,
    batch_size=32,
) -> torch.Tensor:
    """Compute Integrated Gradients (Sundararajan et al. 2017), at the input or a layer.

    The path begins at an image of the mean colour, which is zero after the model's
    normalisation.
    """
    mean_colour = torch.as_tensor(model.mean).to(images).expand_as(images)
    if layer == layers.INPUT:
        integral = IntegratedGradients(model)
    else:
        # captum replaces the layer's output in every run of it
        names = [run.name for run in layers.runs_of(model, images[:1])]
        if names.count(layer) > 1:
            raise ValueError(
                f"Layer {layer!r} runs {names.count(layer)} times in a pass, so that "
                "its output cannot be replaced once. Name a layer that runs once."
            )
        model = layers.without_inplace(model)
        integral = LayerIntegratedGradients(model, layers.named(model, layer))
    relevance = integral.attribute(
        images, mean_colour, targets, n_steps=steps, internal_batch_size=batch_size
    )
    relevance = layers.as_map(relevance, layer)
    return layers.as_maps_of_images(relevance, images)


def lime(
    model,
    images,
    targets,
    *,
    segments=7,
    samples=256,
    penalty=1.0,
    best=None,
    seed=0,
    batch_size=32,
) -> torch.Tensor:
    """Compute LIME (Ribeiro et al. 2016) by a ridge regression of the target's logit.

    Superpixels are the cells of a grid with `segments` cells per side. If that number
    is odd, the middle cells lie across the seams of a mosaic. The first sample is the
    whole image. Each of the others shows about half of the cells, and the image's mean
    colour elsewhere. If `best` is given, the map is 1 in that many cells of the
    largest coefficients.
    """
    cells = grid(segments, images)
    number = segments**2
    with seeded(seed):
        is_visible = torch.rand(samples, number) < 0.5
    is_visible = torch.cat([torch.ones(1, number, dtype=torch.bool), is_visible])
    is_visible = is_visible.to(images.device)

    def draw_cells(image, **settings):
        yield from is_visible.split(1)

    def show_cells(visible, image, mean_colour):
        return torch.where(visible.take(cells), image, mean_colour)

    # captum's Lime would take three times as long to show cells
    explainer = LimeBase(
        model,
        SkLearnRidge(alpha=penalty),
        _similarity,
        draw_cells,
        perturb_interpretable_space=True,
        from_interp_rep_transform=show_cells,
        to_interp_rep_transform=None,
    )
    coefficients = []
    for image, target in zip(images.split(1), targets.cpu().tolist(), strict=True):
        with seeded(seed):  # captum's data loader draws a number
            effects = explainer.attribute(
                image,
                target,
                n_samples=samples + 1,
                perturbations_per_eval=batch_size,
                mean_colour=image.mean((2, 3), keepdim=True),
            )
        coefficients.append(effects.flatten())
    coefficients = torch.stack(coefficients).to(images)
    if best is None:
        pixels = torch.bincount(cells.flatten(), minlength=number)
        return (coefficients / pixels.clamp(min=1))[:, cells]
    least = coefficients.topk(min(best, number), dim=1).values[:, -1:]
    is_best = (coefficients >= least) & (coefficients > 0)
    return is_best.float()[:, cells]


def _similarity(image, sample, visible, **settings) -> float:
    """Weigh a sample by the cosine between its visible cells and all cells."""
    cosine = math.sqrt(visible.float().mean())
    return math.exp(-((1 - cosine) ** 2) / (2 * KERNEL_WIDTH**2))


def grid(segments: int, images: torch.Tensor) -> torch.Tensor:
    """Return the number of the cell at each place of images, int64 (H, W)."""
    height, width = images.shape[-2:]
    row = torch.arange(height, device=images.device) * segments // height
    column = torch.arange(width, device=images.device) * segments // width
    return row[:, None] * segments + column

"""Find a layer of a network, its output, and the gradient of a logit there."""

import copy
import math
from contextlib import ExitStack
from functools import partial
from typing import NamedTuple

import torch
from torch import nn
from torch.nn.functional import interpolate

# stands for the last convolutional feature map; `explain` replaces it by a layer's name
LAST_MAP = "last map"
INPUT = "input"  # stands for the image itself
# modules that only pool the map of the module before them, or mask it
NO_MAP_OF_THEIR_OWN = (
    nn.AdaptiveAvgPool2d,
    nn.AdaptiveMaxPool2d,
    nn.modules.dropout._DropoutNd,
)


class Run(NamedTuple):
    """Record one run of a module: its name, its input and its output."""

    name: str
    module: nn.Module
    input: torch.Tensor | None
    output: torch.Tensor


def network_of(model: nn.Module) -> nn.Module:
    """Return the network inside a Classifier, or any other model itself."""
    return getattr(model, "network", model)


def runs_of(model: nn.Module, image: torch.Tensor) -> list[Run]:
    """Return all runs of modules that give a tensor, in the order in which they end."""
    runs = []

    def note(name, module, inputs, output):
        if isinstance(output, torch.Tensor):
            runs.append(Run(name, module, inputs[0] if inputs else None, output))

    with ExitStack() as hooks, torch.no_grad():
        for name, module in network_of(model).named_modules():
            hooks.enter_context(module.register_forward_hook(partial(note, name)))
        model(image)
    return runs


def without_inplace(model: nn.Module) -> nn.Module:
    """Copy a model, so that no module changes the output of the module before it."""
    model = copy.deepcopy(model)
    for module in model.modules():
        if hasattr(module, "inplace"):
            module.inplace = False
    return model


def named(model: nn.Module, name: str) -> nn.Module:
    """Return the layer with a name, such as ``features.10``."""
    return network_of(model).get_submodule(name)


def last_map(
    model: nn.Module, images: torch.Tensor, least: int = 1, *, runs_once: bool = False
) -> str:
    """Return the name of the layer that gives the last convolutional feature map.

    In most networks of torchvision this is ``features`` or ``layer4``.

    Parameters
    ----------
    model : nn.Module
        The model.
    images : torch.Tensor
        Images (N, 3, H, W) of the size that counts. The first one is used.
    least : int
        The least height and width of the map, in pixels.
    runs_once : bool
        Whether to leave out layers that run several times in a pass.

    Returns
    -------
    str

    Raises
    ------
    ValueError
        The network has no such map before its classifier, or layers that work on
        tokens come after it.
    """
    network = type(network_of(model)).__name__
    runs = runs_of(model, images[:1])
    names = [run.name for run in runs]
    classifier = len(runs) - 1
    while not isinstance(runs[classifier].module, nn.Linear | nn.Conv2d):
        classifier -= 1
    maps = []
    for place, run in enumerate(runs[:classifier]):
        if _is_map(run, least) and not (runs_once and names.count(run.name) > 1):
            maps.append(place)
    if not maps:
        raise ValueError(
            f"{network} has no convolutional feature map of more than one pixel at "
            f"{tuple(images.shape[-2:])} pixels. Name the layer, or use larger images."
        )
    last = maps[-1]
    for run in runs[last:classifier]:
        if run.output.ndim == 3 and list(run.module.parameters()):
            raise ValueError(
                f"{network} has no feature map before its classifier, because layers "
                f"that work on tokens come after {names[last]!r}. Name a layer that "
                "gives the tokens of the patches, such as "
                "'encoder.layers.encoder_layer_11.ln_1' of torchvision's vit_b_16. "
                "SmoothGrad, Integrated Gradients and LIME need no layer."
            )
    return names[last]


def _is_map(run: Run, least: int) -> bool:
    """Return whether a run gives a map of its own, of more than one pixel."""
    if not run.name or isinstance(run.module, NO_MAP_OF_THEIR_OWN):
        return False
    size = run.output.shape[-2:]
    return run.output.ndim == 4 and min(size) >= least and max(size) > 1


@torch.enable_grad()
def output_at(
    model: nn.Module, images: torch.Tensor, targets: torch.Tensor, layer: str
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the output of a layer's last run, and the targets' logits (B,)."""
    outputs = []

    def keep(module, inputs, output):
        as_map(output, layer)  # refuses what is not a map, such as a tuple
        outputs.append(output)
        return output.clone()  # what follows may work in place

    with named(model, layer).register_forward_hook(keep):
        logits = model(images).gather(1, targets[:, None])[:, 0]
    return outputs[-1], logits


def gradient_at(
    model: nn.Module, images: torch.Tensor, targets: torch.Tensor, layer: str
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a layer's output and the gradient of the targets' logits there.

    Parameters
    ----------
    model : nn.Module
        The model.
    images : torch.Tensor
        Float images (B, 3, H, W).
    targets : torch.Tensor
        The classes, int64 (B,).
    layer : str
        The name of a layer that gives a map or the tokens of a vision transformer.

    Returns
    -------
    tuple of torch.Tensor
        Activation and gradient, both float (B, C, h, w).
    """
    images = images.detach().requires_grad_()  # the model may be frozen
    output, logits = output_at(model, images, targets, layer)
    [gradient] = torch.autograd.grad(logits.sum(), output)
    return as_map(output.detach(), layer), as_map(gradient, layer)


def as_map(output: torch.Tensor, layer: str) -> torch.Tensor:
    """Return a layer's output as a map (B, C, h, w), and refuse other outputs.

    Tokens (B, T, C) are arranged as a square map. Tokens before the patches,
    such as the class token, are left out.
    """
    if getattr(output, "ndim", None) == 3:
        side = math.isqrt(output.shape[1])
        patches = output[:, -(side**2) :].unflatten(1, (side, side))
        output = patches.permute(0, 3, 1, 2)
    shape = tuple(getattr(output, "shape", ()))
    if len(shape) != 4 or shape[-2:] == (1, 1):
        raise ValueError(
            f"The output of layer {layer!r}, of shape {shape}, is not a map of more "
            "than one pixel. Name a layer that gives one tensor (images, channels, "
            "height, width)."
        )
    return output


def as_maps_of_images(relevance: torch.Tensor, images: torch.Tensor) -> torch.Tensor:
    """Sum relevance (B, C, h, w) over channels, and enlarge it to (B, H, W)."""
    maps = relevance.sum(1, keepdim=True)
    maps = interpolate(maps, images.shape[-2:], mode="bilinear", align_corners=False)
    return maps[:, 0].detach()

"""Explain predictions with `explain(model, images, targets, method)`.

captum computes GradCAM, SmoothGrad, Integrated Gradients and LIME. GradCAM++ is
exported from lesson 06, and LRP is in `lrp`.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch
from torch import nn

from helpers.explain import cam, captum_methods, layers, lrp
from helpers.explain.lrp import NotConserved
from helpers.models.inference import with_halved_batches

__all__ = ["METHODS", "NotConserved", "explain", "layers"]


class Method(NamedTuple):
    """Pair an explanation method with its name in figures."""

    name: str
    run: Callable


METHODS = {  # the six that the paper rates, in its order
    "gradcam": Method("GradCAM", captum_methods.gradcam),
    "lrp": Method("LRP", lrp.lrp),
    "smoothgrad": Method("SmoothGrad", captum_methods.smoothgrad),
    "lime": Method("LIME", captum_methods.lime),
    "gradcam++": Method("GradCAM++", cam.gradcam_plus_plus),
    "integrated-gradients": Method("IG", captum_methods.integrated_gradients),
}
PRESETS = {  # settings that differ from the defaults; "paper" has those of the authors
    "sound": {},
    "paper": {
        "smoothgrad": {"samples": 10, "sigma": 0.2, "absolute": True},
        "lime": {"samples": 1000, "best": 5},
        "integrated-gradients": {"steps": 50},
    },
    "quick": {
        "smoothgrad": {"samples": 6},
        "lime": {"segments": 5, "samples": 40},
        "integrated-gradients": {"steps": 6},
    },
}


def settings_of(method: str | Callable) -> dict:
    """Return the settings of a method, which are its keyword-only arguments."""
    function = METHODS[method].run if isinstance(method, str) else method
    return getattr(function, "__kwdefaults__", None) or {}


def explain(
    model: nn.Module,
    images: torch.Tensor,
    targets: torch.Tensor | int,
    method: str | Callable = "gradcam",
    *,
    preset: str = "sound",
    batch_size: int = 32,
    check_finite: bool = True,
    **settings,
) -> torch.Tensor:
    """Explain why a model gives images a class.

    Parameters
    ----------
    model : nn.Module
        A model of :func:`helpers.models.build` or `wrap`. It is put into eval mode, and
        everything is computed on its device.
    images : torch.Tensor
        Images (N, 3, H, W), uint8 or float in [0, 1].
    targets : torch.Tensor or int
        The class to explain, int64 (N,) or one number for all images.
    method : str or callable
        A name in `METHODS`, or your own function of (model, float images, targets,
        **settings) that returns maps (B, H, W).
    preset : {"sound", "paper", "quick"}
        The settings of a method with a name.
    batch_size : int
        How many images pass through the network at a time. It is halved where the
        device has too little memory.
    check_finite : bool
        Whether to refuse NaN and infinite relevance.
    **settings
        Settings that override the preset. Most methods take `layer`: "input",
        "last map" (the last convolutional map), or the name of a layer.

    Returns
    -------
    torch.Tensor
        The relevance maps, float32 (N, H, W) at the images' size, on the CPU. Each
        method has a unit of its own, so that only shares can be compared between
        methods.

    Raises
    ------
    ValueError
        The model, the images, the targets, the method or its preset does not fit.
    RuntimeError
        There are more or fewer targets than images.
    TypeError
        The method has no such setting.
    FloatingPointError
        Relevance is NaN or infinite.
    """
    if not hasattr(model, "mean"):
        raise ValueError(
            f"{type(model).__name__} does not state how its images are normalized. "
            "Explain models.wrap(network, weights) instead, where `weights` or a "
            "configuration states it."
        )
    name, run = getattr(method, "__name__", str(method)), method
    if not callable(method):
        if method not in METHODS or preset not in PRESETS:
            raise ValueError(
                f"method={method!r} or preset={preset!r} is not known. Methods are "
                f"{', '.join(METHODS)}. Presets are {', '.join(PRESETS)}."
            )
        run = METHODS[method].run
        settings = {**PRESETS[preset].get(method, {}), **settings}
    targets = torch.as_tensor(targets).expand(len(images))
    model.eval()
    first_image = _as_floats(images[:1], model)
    with torch.no_grad():
        n_classes = model(first_image).shape[1]
    if targets.min() < 0 or targets.max() >= n_classes:
        raise ValueError(
            "Targets must be numbers of the model's classes, 0 to "
            f"{n_classes - 1}, instead of {targets}."
        )
    if {**settings_of(run), **settings}.get("layer") == layers.LAST_MAP:
        settings = {**settings, "layer": layers.last_map(model, first_image)}
    compute = partial(_compute, run, model, images, targets, settings)
    maps = with_halved_batches(compute, batch_size)
    expected = (len(images), *images.shape[-2:])
    if maps.shape != expected:
        raise ValueError(
            f"{name} must return a tensor of shape {expected}, one map per image, not "
            f"{tuple(maps.shape)}."
        )
    unfit = ~maps.isfinite().flatten(1).all(1)
    if check_finite and unfit.any():
        raise FloatingPointError(
            f"{name} gave NaN or infinite relevance for {int(unfit.sum())} of "
            f"{len(maps)} images."
        )
    return maps


def _as_floats(images: torch.Tensor, model: nn.Module) -> torch.Tensor:
    """Return images in [0, 1] on the device and in the precision of a model."""
    scale = 255 if images.dtype == torch.uint8 else 1
    return images.to(next(model.parameters())) / scale


def _compute(
    run: Callable,
    model: nn.Module,
    images: torch.Tensor,
    targets: torch.Tensor,
    settings: dict,
    batch_size: int,
) -> torch.Tensor:
    """Return the maps (N, H, W) of a method, on the CPU."""
    if "batch_size" in settings_of(run):  # of samples of an image
        settings = {**settings, "batch_size": batch_size}
    batches = zip(images.split(batch_size), targets.split(batch_size), strict=True)
    parts = []
    for batch, classes in batches:
        floats = _as_floats(batch, model)
        maps = run(model, floats, classes.to(floats.device), **settings)
        parts.append(torch.as_tensor(maps).detach().float().cpu())
    return torch.cat(parts)

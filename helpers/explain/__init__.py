"""Explain predictions: `explain(model, images, targets, method)` runs every method.

captum computes GradCAM, SmoothGrad, Integrated Gradients and LIME. GradCAM++ is
exported from lesson 06, and LRP is in `lrp`.
"""

import inspect
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import nn

from helpers.explain import cam, captum_methods, layers, lrp
from helpers.explain.lrp import NotConserved
from helpers.models.inference import (
    is_out_of_memory,
    print_once,
    refuse_other_ranges,
)

__all__ = ["METHODS", "Maps", "NotConserved", "explain", "layers"]


class Method(NamedTuple):
    """An explanation method: its name in figures, and the function that computes it."""

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
        "smoothgrad": {"samples": 10, "sigma": 0.2, "reduce": "max absolute"},
        "lime": {"samples": 1000, "best": 5},
        "integrated-gradients": {"steps": 50},
    },
    "quick": {
        "smoothgrad": {"samples": 6},
        "lime": {"segments": 5, "samples": 40},
        "integrated-gradients": {"steps": 6},
    },
}


@dataclass(frozen=True)
class Maps:
    """Relevance maps of one method.

    Attributes
    ----------
    maps : torch.Tensor
        Float32 (N, H, W) at the images' size, on the CPU. Each method has a unit of its
        own, so that only shares can be compared between methods.
    method : str
        The method's name.
    settings : dict
        The settings that differ from the method's default values.
    seconds : float
        Wall time.
    """

    maps: torch.Tensor
    method: str
    settings: dict
    seconds: float = 0.0


def settings_of(method: str | Callable) -> dict:
    """Return the settings of a method, which are its keyword-only arguments."""
    function = METHODS[method].run if isinstance(method, str) else method
    settings = inspect.signature(function).parameters.values()
    return {
        setting.name: setting.default
        for setting in settings
        if setting.kind is setting.KEYWORD_ONLY
    }


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
) -> Maps:
    """Explain why a model gives images a class.

    Parameters
    ----------
    model : nn.Module
        A model of :func:`helpers.models.build` or `wrap`. Everything is computed on its
        device.
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
        Settings that replace those of the preset. Most methods take `layer`: "input",
        "last map" (the last convolutional map), or the name of a layer.

    Returns
    -------
    Maps

    Raises
    ------
    ValueError
        The model, the images, the targets, the method or its preset does not fit.
    TypeError
        The method has no such setting.
    FloatingPointError
        Relevance is NaN or infinite.
    """
    if not (hasattr(model, "mean") and hasattr(model, "std")):
        raise ValueError(
            f"Nobody said how {type(model).__name__} wants its images normalised: wrap "
            "it, models.wrap(network, its weights or configuration), and explain that."
        )
    refuse_other_ranges(images)
    targets = _one_per_image(targets, images)
    name = getattr(method, "__name__", str(method))
    run = method
    if not callable(method):
        _refuse_unknown(method, "method", METHODS)
        _refuse_unknown(preset, "preset", PRESETS)
        run = METHODS[method].run
        settings = {**PRESETS[preset].get(method, {}), **settings}
    was_training = model.training
    model.eval()
    start = time.perf_counter()
    try:
        if method in METHODS:
            _refuse_unknown_classes(model, images, targets)
        maps = _in_batches(run, model, images, targets, batch_size, settings)
    finally:
        model.train(was_training)
    expected = (len(images), *images.shape[-2:])
    if tuple(maps.shape) != expected:
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
    return Maps(maps, name, settings, time.perf_counter() - start)


def _refuse_unknown(name: str, kind: str, known: dict) -> None:
    """Refuse the name of a method or preset that is not known."""
    if name not in known:
        raise ValueError(
            f"{kind}={name!r} is not known; use one of {', '.join(known)}."
        )


def _one_per_image(targets: torch.Tensor | int, images: torch.Tensor) -> torch.Tensor:
    """Return the targets as int64 (N,); refuse images or targets of other shapes."""
    if isinstance(targets, int):
        targets = torch.full((len(images),), targets)
    images_fit = images.ndim == 4 and images.shape[1] == 3 and len(images) > 0
    dtype = getattr(targets, "dtype", type(targets).__name__)
    shape = tuple(getattr(targets, "shape", ()))
    if not images_fit or dtype != torch.int64 or shape != (len(images),):
        raise ValueError(
            f"Images must be (N, 3, H, W) with N > 0; these are {tuple(images.shape)}. "
            f"Targets must be int64 of shape ({len(images)},), one per image, or one "
            f"int; these are {dtype} of shape {shape}."
        )
    return targets


def _refuse_unknown_classes(
    model: nn.Module, images: torch.Tensor, targets: torch.Tensor
) -> None:
    """Refuse targets that are no classes of the model."""
    with torch.no_grad():
        last = model(_as_floats(images[:1], model)).shape[1] - 1
    if targets.min() < 0 or targets.max() > last:
        raise ValueError(
            f"Targets must be numbers of the model's classes, 0 to {last}; these are "
            f"{int(targets.min())} to {int(targets.max())}."
        )


def _as_floats(images: torch.Tensor, model: nn.Module) -> torch.Tensor:
    """Return images in [0, 1] on the device and in the precision of a model."""
    parameter = next(model.parameters())
    scale = 255 if images.dtype == torch.uint8 else 1
    return images.to(parameter.device, parameter.dtype) / scale


def _in_batches(
    run: Callable,
    model: nn.Module,
    images: torch.Tensor,
    targets: torch.Tensor,
    batch_size: int,
    settings: dict,
) -> torch.Tensor:
    """Return maps of all images; halve the batch where memory does not suffice."""
    passes_samples = "batch_size" in inspect.signature(run).parameters
    parts = []
    start = 0
    while start < len(images):
        batch = _as_floats(images[start : start + batch_size], model)
        classes = targets[start : start + batch_size].to(batch.device)
        if passes_samples:
            settings = {**settings, "batch_size": batch_size}
        too_large = False
        try:
            maps = run(model, batch, classes, **settings)
        except RuntimeError as error:
            if batch_size == 1 or not is_out_of_memory(error):
                raise
            too_large = True
        # outside of the handler, which keeps the tensors of the failed call alive
        if too_large:
            torch.cuda.empty_cache()
            batch_size //= 2
            print_once(
                f"The device has too little memory: {batch_size} images pass through "
                "the network at a time from now on."
            )
            continue
        parts.append(torch.as_tensor(maps).detach().float().cpu())
        start += len(batch)
    return torch.cat(parts)

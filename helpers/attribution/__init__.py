"""One call for every explanation method: `explain(model, images, targets, method)`."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch
from torch import nn

from helpers.attribution import cam, layers
from helpers.attribution.maps import Maps, checked

__all__ = ["METHODS", "Maps", "explain"]

METHODS: dict[str, Callable] = {"gradcam": cam.gradcam}
"""Method name -> function of (model, images, targets, **settings) that returns (B, H, W)."""

AT_LAYER = {"gradcam"}  # methods that look at a feature map


def explain(
    model: nn.Module,
    images: torch.Tensor,
    targets: torch.Tensor | int,
    method: str = "gradcam",
    *,
    batch_size: int = 32,
    **settings,
) -> Maps:
    """Explain why a model gives images a class: one relevance map an image.

    Parameters
    ----------
    model : nn.Module
        Takes images as below, returns logits (N, classes). Put in eval mode for the occasion.
    images : tensor (N, 3, H, W)
        uint8, or float in [0, 1]; moved to the model's device batch by batch.
    targets : int64 tensor (N,), or int
        The class to explain, of each image or of all.
    method : str
        One of `METHODS`.
    batch_size : int
        Images explained at a time; no method's maps depend on it.
    **settings
        Of the method. Those that look at a feature map take `layer`, a name such as ``layer4`` in
        the model's own network (None: the last convolutional feature map).

    Returns
    -------
    Maps

    Raises
    ------
    ValueError
        For an unknown method, images or targets that do not fit, a layer that is not there.
    FloatingPointError
        When relevance comes out as NaN or infinite.
    """
    if method not in METHODS:
        raise ValueError(f"method={method!r} is not known; use one of {', '.join(METHODS)}")
    targets = _targets(images, targets)
    device = next(model.parameters()).device
    training = model.training
    model.eval()
    start, found = time.perf_counter(), []
    try:
        if method in AT_LAYER and settings.get("layer") is None:
            settings["layer"] = layers.last_map(model, _floats(images[:1], device))
        for batch, wanted in zip(images.split(batch_size), targets.split(batch_size), strict=True):
            batch = _floats(batch, device)
            maps = METHODS[method](model, batch, wanted.to(device), **settings)
            found.append(checked(maps, batch, method))
    finally:
        model.train(training)
    return Maps(torch.cat(found), method, settings, time.perf_counter() - start)


def _floats(images: torch.Tensor, device: torch.device) -> torch.Tensor:
    images = images.to(device)
    return images.float() / 255 if images.dtype == torch.uint8 else images


def _targets(images: torch.Tensor, targets: torch.Tensor | int) -> torch.Tensor:
    if images.ndim != 4 or images.shape[1] != 3 or len(images) == 0:
        raise ValueError(f"Images must be (N, 3, H, W) with N > 0, not {tuple(images.shape)}.")
    if isinstance(targets, int):
        return torch.full((len(images),), targets)
    if targets.shape != (len(images),) or targets.dtype != torch.int64:
        raise ValueError(
            f"Targets must be int64 of shape ({len(images)},), one an image, or one int; these are "
            f"{targets.dtype} of shape {tuple(targets.shape)}."
        )
    return targets

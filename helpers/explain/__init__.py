"""One call for every explanation method: `explain(model, images, targets, method)`.

Each module holds one idea: class activation maps (`cam`), gradients at the input or a layer
(`gradients`), relevance propagation (`lrp`), hiding superpixels (`perturbation`); `methods` names
them and their settings.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable

import numpy as np
import torch
from torch import nn
from torch.nn.functional import interpolate

from helpers.explain import layers
from helpers.explain.lrp import NotConserved
from helpers.explain.maps import Maps, checked
from helpers.explain.methods import METHODS, PAPER_METHODS, settings_of

__all__ = ["METHODS", "PAPER_METHODS", "Maps", "NotConserved", "explain", "given", "settings_of"]

LAST_MAP = "last map"


def explain(
    model: nn.Module,
    images: torch.Tensor,
    targets: torch.Tensor | int,
    method: str | Callable = "gradcam",
    *,
    preset: str = "sound",
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
    method : str or callable
        One of `METHODS`, or a function of (model, float images (B, 3, H, W) in [0, 1], targets
        (B,), **settings) that returns a tensor (B, H, W).
    preset : {"sound", "paper"}
        Settings to start from (`settings_of`).
    batch_size : int
        Images explained at a time; the methods named here give the same maps for any.
    **settings
        Of the method. Most take `layer`: "input", "last map" (the last convolutional feature map)
        or a layer's name in the model's own network, such as ``layer4``; None is the method's own
        default.

    Returns
    -------
    Maps
        With the settings in force. `Maps.zero` and `Maps.report()` say how many maps are empty.

    Raises
    ------
    ValueError
        For an unknown method or setting, images or targets that do not fit, a layer that is not
        there.
    NotConserved
        By LRP, for a network that it cannot explain.
    FloatingPointError
        When relevance comes out as NaN or infinite.
    """
    targets = _targets(images, targets)
    device = next(model.parameters()).device
    training = model.training
    model.eval()
    start, found = time.perf_counter(), []
    try:
        name, run, settings = _prepared(model, images, method, preset, settings, device)
        for batch, wanted in zip(images.split(batch_size), targets.split(batch_size), strict=True):
            batch = _floats(batch, device)
            maps = run(model, batch, wanted.to(device), **settings)
            found.append(checked(maps, batch, name))
    finally:
        model.train(training)
    return Maps(torch.cat(found), name, settings, time.perf_counter() - start)


def given(maps: torch.Tensor | np.ndarray, images: torch.Tensor, method: str = "given") -> Maps:
    """Maps computed elsewhere, to be scored like those computed here.

    Parameters
    ----------
    maps : float tensor or array (N, h, w)
        Brought to the images' size where they are smaller or larger (bilinear).
    images : tensor (N, 3, H, W)
    method : str
        What to call them.

    Raises
    ------
    ValueError
        For another number of maps than images, or maps that are not (N, h, w).
    FloatingPointError
        For NaN or infinite relevance.
    """
    maps = torch.as_tensor(maps).float()
    if maps.ndim != 3 or len(maps) != len(images):
        raise ValueError(
            f"Maps must be (N, h, w), one an image: {len(images)} images, maps of shape "
            f"{tuple(maps.shape)}."
        )
    size = images.shape[-2:]
    if maps.shape[1:] != size:
        maps = interpolate(maps[:, None], size, mode="bilinear", align_corners=False)[:, 0]
    return Maps(checked(maps, images, method), method, {"computed": "elsewhere"})


def _prepared(model, images, method, preset, settings, device) -> tuple[str, Callable, dict]:
    """Name, function and settings in force, the layer resolved to a name."""
    if callable(method):
        return getattr(method, "__name__", type(method).__name__), method, settings
    settings = settings_of(method, preset, **settings)
    chosen = METHODS[method]
    known = list(inspect.signature(chosen.run).parameters)[3:]
    unknown = [name for name in settings if name not in known]
    if unknown:
        raise ValueError(f"{method} has no setting {unknown[0]!r}; it has {', '.join(known)}")
    if chosen.layer:
        layer = settings.get("layer") or chosen.layer
        if layer == LAST_MAP:
            layer = layers.last_map(model, _floats(images[:1], device))
        settings["layer"] = layer
    return method, chosen.run, settings


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

"""One call for every explanation method: `explain(model, images, targets, method)`.

Class activation maps (`cam`), gradients (`gradients`), relevance propagation (`lrp`) and hiding
superpixels (`perturbation`) have names and settings in `methods`; `layers` is where they look.
"""

import inspect
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import torch
from torch import nn

from helpers.explain import layers
from helpers.explain.lrp import NotConserved
from helpers.explain.methods import METHODS
from helpers.models.inference import refuse_other_ranges

__all__ = ["METHODS", "Maps", "NotConserved", "explain"]


@dataclass(frozen=True)
class Maps:
    """Relevance maps of one method, float32 (N, H, W) at the images' size, on the CPU.

    The unit is the method's own: only shares of it can be compared between methods. `settings` are
    those in force, the layer's name included; `seconds` is wall time. By LRP there is `lost`,
    float32 (N,): what nobody can account for, as a share of the relevance in each map.
    """

    maps: torch.Tensor
    method: str
    settings: dict
    seconds: float = 0.0
    lost: torch.Tensor | None = None

    @property
    def zero(self) -> int:
        """Number of maps that are zero everywhere."""
        return int((self.maps == 0).all(-1).all(-1).sum())


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
    """Explain why a model gives images a class: one relevance map an image.

    Parameters
    ----------
    model : nn.Module
        From :func:`helpers.models.build` or, any other network, from :func:`helpers.models.wrap`,
        which knows how it wants its images. Put in eval mode for the occasion.
    images : tensor (N, 3, H, W)
        uint8, or float in [0, 1].
    targets : int64 tensor (N,), or int
        The class to explain, of each image or of all.
    method : str or callable
        One of `METHODS`, or a function of (model, float images (B, 3, H, W) in [0, 1], targets
        (B,), **settings) that returns a tensor (B, H, W).
    preset : {"sound", "paper"}
        Settings to start from (`Method.sound`, `Method.paper`).
    batch_size : int
        Images explained at a time; `METHODS` give the same maps for any.
    check_finite : bool
        Whether NaN or infinite relevance is a FloatingPointError, or returned as it is.
    **settings
        Of the method. Most take `layer`: "input", "last map" (the last convolutional feature map)
        or a layer's name in the model's own network; None is the method's own default.

    Returns
    -------
    Maps
        With the settings in force. `Maps.zero` says how many maps are empty.

    Raises
    ------
    ValueError
        For a network of which nobody said how it wants its images, an unknown method or setting,
        images or targets that do not fit, a layer that is not there or runs several times, and as
        `NotConserved` by LRP, for a network that it cannot explain.
    """
    if not (hasattr(model, "mean") and hasattr(model, "std")):
        raise ValueError(
            f"Nobody said how {type(model).__name__} wants its images normalised: wrap it, "
            "models.wrap(network, its weights or configuration), and explain that."
        )
    refuse_other_ranges(images)
    targets = _targets(images, targets)
    device = next(model.parameters()).device
    training = model.training
    model.eval()
    start, found, unaccounted = time.perf_counter(), [], []
    try:
        first = _floats(images[:1], device)
        name, run, settings = _prepared(model, first, method, preset, settings)
        if not callable(method):
            with torch.no_grad():
                _refuse_other_classes(targets, layers.logits_of(model, first).shape[1])
        for batch, wanted in zip(images.split(batch_size), targets.split(batch_size), strict=True):
            batch = _floats(batch, device)
            maps = run(model, batch, wanted.to(device), **settings)
            if isinstance(maps, tuple):
                maps, lost = maps
                unaccounted.append(lost.float().cpu())
            found.append(_checked(maps, batch, name, check_finite))
    finally:
        model.train(training)
    lost = torch.cat(unaccounted) if unaccounted else None
    return Maps(torch.cat(found), name, settings, time.perf_counter() - start, lost)


def _prepared(model, first, method, preset, changes) -> tuple[str, Callable, dict]:
    """Name, function and settings in force, the layer resolved to a name."""
    if callable(method):
        return getattr(method, "__name__", type(method).__name__), method, changes
    if method not in METHODS:
        raise ValueError(f"method={method!r} is not known; use one of {', '.join(METHODS)}")
    if preset not in ("sound", "paper"):
        raise ValueError(f"preset={preset!r} is not known; use 'sound' or 'paper'")
    chosen = METHODS[method]
    start = chosen.paper if preset == "paper" and chosen.paper else chosen.sound
    settings = {**start, **changes}
    known = list(inspect.signature(chosen.run).parameters)[3:]
    unknown = [name for name in settings if name not in known]
    if unknown:
        raise ValueError(f"{method} has no setting {unknown[0]!r}; it has {', '.join(known)}")
    if chosen.layer:
        settings["layer"] = settings.get("layer") or chosen.layer
        if settings["layer"] == "last map":
            settings["layer"] = layers.last_map(model, first)
    return method, chosen.run, settings


def _floats(images: torch.Tensor, device: torch.device) -> torch.Tensor:
    images = images.to(device)
    return images.float() / 255 if images.dtype == torch.uint8 else images


def _targets(images: torch.Tensor, targets: torch.Tensor | int) -> torch.Tensor:
    if images.ndim != 4 or images.shape[1] != 3 or len(images) == 0:
        raise ValueError(f"Images must be (N, 3, H, W) with N > 0, not {tuple(images.shape)}.")
    with suppress(TypeError, ValueError, RuntimeError):  # what is no number is refused below
        targets = torch.as_tensor(targets)
        targets = targets.repeat(len(images)) if targets.ndim == 0 else targets
    wanted = (torch.int64, (len(images),))
    if (getattr(targets, "dtype", None), getattr(targets, "shape", None)) != wanted:
        what = getattr(targets, "dtype", repr(targets))
        raise ValueError(
            f"Targets must be int64 of shape ({len(images)},), one an image, or one int; these are "
            f"{what} of shape {tuple(getattr(targets, 'shape', ()))}."
        )
    _refuse_other_classes(targets)
    return targets


def _refuse_other_classes(targets: torch.Tensor, n: int | None = None) -> None:
    """Refuse targets that are no numbers of classes, of which there are n where that is known."""
    if targets.min() < 0 or (n and targets.max() >= n):
        raise ValueError(
            f"Targets must be numbers of the model's classes, 0 to {n - 1 if n else 'their last'}; "
            f"these are {int(targets.min())} to {int(targets.max())}."
        )


def _checked(maps: torch.Tensor, images: torch.Tensor, method: str, finite: bool) -> torch.Tensor:
    """A batch of maps as float32 on the CPU, refused where it does not fit its images."""
    wanted = (len(images), *images.shape[-2:])
    if not isinstance(maps, torch.Tensor) or tuple(maps.shape) != wanted:
        given = tuple(maps.shape) if isinstance(maps, torch.Tensor) else type(maps).__name__
        raise ValueError(f"{method} must return a tensor of shape {wanted}, not {given}.")
    maps = maps.detach().float().cpu()
    if finite and not maps.isfinite().all():
        unfit = ~maps.isfinite().all(-1).all(-1)
        some = f"{int(unfit.sum())} of {len(maps)} images"
        raise FloatingPointError(f"{method} gave NaN or infinite relevance for {some}.")
    return maps

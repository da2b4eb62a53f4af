"""One call for every explanation method: `explain(model, images, targets, method)`.
Methods take (model, images in [0, 1], targets) and settings, and return (B, H, W). What lesson 06
teaches of them are generated modules; LRP is in `lrp`; `layers` is where all of them look."""

import copy
import inspect
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import torch
from torch import nn

from helpers.explain import cam, gradients, layers, lrp, superpixels
from helpers.explain.layers import gradient_at, reduced
from helpers.explain.lrp import NotConserved
from helpers.models.inference import in_halves, refuse_other_ranges

__all__ = ["METHODS", "Maps", "NotConserved", "explain"]


def gradcam(
    model, images, targets, *, layer="last map", formula: Callable = cam.gradcam
) -> torch.Tensor:
    """GradCAM (Selvaraju et al. 2017)."""
    return reduced(formula(*gradient_at(model, images, targets, layer)), images)


def gradcam_plus_plus(
    model,
    images,
    targets,
    *,
    layer="last map",
    formula: Callable = cam.gradcam_plus_plus,
) -> torch.Tensor:
    """GradCAM++ (Chattopadhay et al. 2018), for scores that are exp(logit)."""
    return reduced(formula(*gradient_at(model, images, targets, layer)), images)


def smoothgrad(
    model,
    images,
    targets,
    *,
    samples=25,
    sigma=0.15,
    layer="input",
    reduce="sum",
    seed=0,
    formula: Callable = gradients.smoothgrad,
) -> torch.Tensor:
    """SmoothGrad (Smilkov et al. 2017); the noise is the same for every image, so that no map
    depends on its batch."""

    def gradient(noisy):
        return gradient_at(model, noisy, targets, layer)[1]

    maps = formula(gradient, images, samples, sigma, seed)
    return reduced(maps, images, reduce)


def integrated_gradients(
    model,
    images,
    targets,
    *,
    steps=32,
    layer="input",
    reduce="sum",
    formula: Callable = gradients.integrated_gradients,
) -> torch.Tensor:
    """Integrated Gradients (Sundararajan et al. 2017) from the mean colour, which is zero after the
    model's normalisation, or from a layer's output for it."""
    plain = torch.zeros_like(images) + torch.as_tensor(model.mean).to(images)
    ends = (
        layers.through(model, one, targets, layer)[0].detach()
        for one in (plain, images)
    )
    gradient = partial(layers.from_layer, model, images, targets, layer)
    relevance = formula(gradient, *ends, steps)
    return reduced(layers.as_map(relevance, layer), images, reduce)


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
    formula: Callable = superpixels.lime,
) -> torch.Tensor:
    """LIME (Ribeiro et al. 2016) with `segments` cells a side as superpixels (an odd number lies
    across a mosaic's seams). With `best` the map is 1 in so many of the largest coefficients."""
    places = grid(segments, images)
    with torch.no_grad():
        logit = partial(layers.target_logits, model, targets=targets)
        coefficients = formula(logit, images, places, samples, penalty, seed).T
    if best is None:
        area = torch.bincount(places.flatten(), minlength=coefficients.shape[1])
        return (coefficients / area.clamp(min=1))[:, places]
    least = coefficients.topk(min(best, coefficients.shape[1]), dim=1).values[:, -1:]
    return ((coefficients >= least) & (coefficients > 0)).float()[:, places]


def grid(segments: int, images: torch.Tensor) -> torch.Tensor:
    """Return the number of the superpixel at each place of the images: int64 (H, W)."""
    size, device = images.shape[-2:], images.device
    down, across = (torch.arange(n, device=device) * segments // n for n in size)
    return down[:, None] * segments + across


class Method(NamedTuple):
    """An explanation method: its name in figures, and what computes it."""

    name: str
    run: Callable


METHODS = {
    "gradcam": Method("GradCAM", gradcam),
    "lrp": Method("LRP", lrp.lrp),
    "smoothgrad": Method("SmoothGrad", smoothgrad),
    "lime": Method("LIME", lime),
    "gradcam++": Method("GradCAM++", gradcam_plus_plus),
    "integrated-gradients": Method("IG", integrated_gradients),
}
"""The six that the paper rates, in its order."""
PRESETS = {  # what differs from `sound`: in the authors' public code, and to be quick
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


def settings_of(method: str, preset: str = "sound") -> dict:
    """Return every setting of a method, with its value in a preset."""
    several = [*inspect.signature(METHODS[method].run).parameters.values()][3:]
    settings = {one.name: one.default for one in several if one.name != "formula"}
    return settings | PRESETS[preset].get(method, {})


@dataclass(frozen=True)
class Maps:
    """Relevance maps of one method, float32 (N, H, W) at the images' size, on the CPU. The unit is
    the method's own: only shares can be compared between methods. `seconds` are wall time."""

    maps: torch.Tensor
    method: str
    settings: dict
    seconds: float = 0.0


def explain(
    model: nn.Module,
    images: torch.Tensor,
    targets: torch.Tensor | int,
    method: str | Callable = "gradcam",
    *,
    preset: str = "sound",
    batch_size: int = 32,
    check_finite: bool = True,
    formula: Callable | None = None,
    **settings,
) -> Maps:
    """Explain why a model (of :func:`helpers.models.build` or `wrap`) gives images a class.

    `images` are (N, 3, H, W), uint8 or float in [0, 1]; `targets` the class to explain, int64 (N,)
    or one int. The `method` is one of `METHODS`, or a function of (model, float images, targets,
    **settings) that returns a tensor (B, H, W). The `preset` is one of `PRESETS`. Everything is
    computed on the model's device; a batch for which a GPU has too little memory is halved. Most
    methods take `layer`: "input", "last map" (the last convolutional one) or a layer's name. A
    `formula` takes the place of the method's own, which lesson 06 teaches. NaN or infinite
    relevance is a FloatingPointError, unless not `check_finite`."""
    if not (hasattr(model, "mean") and hasattr(model, "std")):
        raise ValueError(
            f"Nobody said how {type(model).__name__} wants its images normalised: wrap it, "
            "models.wrap(network, its weights or configuration), and explain that."
        )
    refuse_other_ranges(images)
    targets = _targets(images, targets)
    if next(model.parameters()).dtype in (torch.float16, torch.bfloat16):
        model = copy.deepcopy(model).float()  # sums of a map overflow half precision
    device = next(model.parameters()).device
    training = model.training
    model.eval()
    start, parts = time.perf_counter(), []
    try:
        first = _floats(images[:1], device)
        name, run, settings = _prepared(model, first, method, preset, settings)
        if formula is not None:
            run = partial(run, formula=formula)

        def explained(batch: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
            return _checked(
                run(model, batch, wanted, **settings), batch, name, check_finite
            )

        for batch, wanted in zip(
            images.split(batch_size), targets.split(batch_size), strict=True
        ):
            parts += in_halves(explained, _floats(batch, device), wanted.to(device))
    finally:
        model.train(training)
    return Maps(torch.cat(parts), name, settings, time.perf_counter() - start)


def _prepared(model, first, method, preset, changes) -> tuple[str, Callable, dict]:
    """Return name, function and settings of a method, with the layer resolved to a name."""
    if callable(method):
        return getattr(method, "__name__", type(method).__name__), method, changes
    if method not in METHODS:
        raise ValueError(
            f"method={method!r} is not known; use one of {', '.join(METHODS)}"
        )
    if preset not in PRESETS:
        raise ValueError(
            f"preset={preset!r} is not known; use one of {', '.join(PRESETS)}"
        )
    settings = settings_of(method, preset)
    if unknown := [name for name in changes if name not in settings]:
        raise ValueError(
            f"{method} has no setting {unknown[0]!r}; it has {', '.join(settings)}"
        )
    settings |= changes
    if settings.get("layer") == "last map":
        settings["layer"] = layers.last_map(model, first)
    return method, METHODS[method].run, settings


def _floats(images: torch.Tensor, device: torch.device) -> torch.Tensor:
    images = images.to(device)
    if images.dtype in (torch.uint8, torch.float16, torch.bfloat16):
        return images.float() / (255 if images.dtype == torch.uint8 else 1)
    return images


def _targets(images: torch.Tensor, targets: torch.Tensor | int) -> torch.Tensor:
    with suppress(
        TypeError, ValueError, RuntimeError
    ):  # what is no number is refused below
        targets = torch.as_tensor(targets)
        targets = targets.repeat(len(images)) if targets.ndim == 0 else targets
    kind = (
        getattr(targets, "dtype", repr(targets)),
        tuple(getattr(targets, "shape", ())),
    )
    images_fit = images.ndim == 4 and images.shape[1] == 3 and len(images) > 0
    if not images_fit or kind != (torch.int64, (len(images),)):
        raise ValueError(
            f"Images must be (N, 3, H, W) with N > 0; these are {tuple(images.shape)}. Targets "
            f"must be int64 of shape ({len(images)},), one an image, or one int; these are "
            f"{kind[0]} of shape {kind[1]}."
        )
    return targets


def _checked(
    maps: torch.Tensor, images: torch.Tensor, method: str, finite: bool
) -> torch.Tensor:
    """Return a batch of maps as float32 on the CPU; refuse maps that do not fit the images."""
    maps, wanted = torch.as_tensor(maps), (len(images), *images.shape[-2:])
    if tuple(maps.shape) != wanted:
        raise ValueError(
            f"{method} must return a tensor of shape {wanted}, not {tuple(maps.shape)}."
        )
    maps = maps.detach().float().cpu()
    if finite and not maps.isfinite().all():
        unfit = ~maps.isfinite().all(-1).all(-1)
        some = f"{int(unfit.sum())} of {len(maps)} images"
        raise FloatingPointError(f"{method} gave NaN or infinite relevance for {some}.")
    return maps

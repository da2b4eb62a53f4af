"""What gradient methods share: activation and gradient at the input or at any layer."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.functional import interpolate

from helpers.explain import layers

REDUCTIONS = ("sum", "absolute sum", "max absolute")


def gradient_at(
    model: nn.Module, images: torch.Tensor, targets: torch.Tensor, layer: str = "input"
) -> tuple[torch.Tensor, torch.Tensor]:
    """Activation at a layer, and the gradient of each image's target logit with respect to it.

    Parameters
    ----------
    model : nn.Module
    images : float tensor (B, 3, H, W)
    targets : int64 tensor (B,)
    layer : str
        ``input`` (the images as given, before any normalisation) or a layer's name.

    Returns
    -------
    activation, gradient : float tensors (B, C, h, w)
    """
    kept = []
    images = images.detach().requires_grad_()  # at a layer too: the model may be frozen
    if layer == "input":
        kept.append(images)
        logits = model(images)
    else:
        hook = layers.named(model, layer).register_forward_hook(lambda _, __, out: kept.append(out))
        try:
            with torch.enable_grad():
                logits = model(images)
        finally:
            hook.remove()
    if len(kept) != 1:
        raise ValueError(f"Layer {layer!r} runs {len(kept)} times; name one that runs once.")
    chosen = logits.gather(1, targets[:, None]).sum()
    [gradient] = torch.autograd.grad(chosen, kept[0])
    return kept[0].detach(), gradient


def reduced(relevance: torch.Tensor, how: str, images: torch.Tensor) -> torch.Tensor:
    """Relevance (B, C, h, w) as maps (B, H, W): channels reduced, then bilinear to image size.

    Parameters
    ----------
    relevance : float tensor (B, C, h, w)
    how : {"sum", "absolute sum", "max absolute"}
        The channels' sum, its absolute value, or the largest absolute value of a channel. Only
        the first keeps evidence for the class apart from evidence against it.
    images : tensor (B, 3, H, W)

    Raises
    ------
    ValueError
        For an unknown `how`.
    """
    if how == "sum":
        maps = relevance.sum(1, keepdim=True)
    elif how == "absolute sum":
        maps = relevance.sum(1, keepdim=True).abs()
    elif how == "max absolute":
        maps = relevance.abs().amax(1, keepdim=True)
    else:
        raise ValueError(f"reduce={how!r} is not known; use one of {', '.join(REDUCTIONS)}")
    return resized(maps, images)


def resized(maps: torch.Tensor, images: torch.Tensor) -> torch.Tensor:
    """Maps (B, 1, h, w) at the images' size, bilinear: (B, H, W)."""
    size = images.shape[-2:]
    if maps.shape[-2:] != size:
        maps = interpolate(maps, size, mode="bilinear", align_corners=False)
    return maps[:, 0].detach()

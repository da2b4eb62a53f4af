"""Class activation maps: GradCAM (captum's)."""

from __future__ import annotations

import torch
from captum.attr import LayerGradCam
from torch import nn
from torch.nn.functional import interpolate

from helpers.attribution import layers


def gradcam(
    model: nn.Module, images: torch.Tensor, targets: torch.Tensor, *, layer: str
) -> torch.Tensor:
    """GradCAM (Selvaraju et al. 2017): channels of a map, weighted by their mean gradient.

    Parameters
    ----------
    model : nn.Module
    images : float tensor (B, 3, H, W) in [0, 1]
    targets : int64 tensor (B,)
    layer : str
        Whose output is the feature map.

    Returns
    -------
    float tensor (B, H, W), not negative; all zero where nothing speaks for the target.
    """
    cam = LayerGradCam(model, layers.named(model, layer))
    return resized(cam.attribute(images, target=targets, relu_attributions=True), images)


def resized(maps: torch.Tensor, images: torch.Tensor) -> torch.Tensor:
    """Maps (B, 1, h, w) at the images' size, bilinear: (B, H, W)."""
    size = images.shape[-2:]
    return interpolate(maps.detach(), size, mode="bilinear", align_corners=False)[:, 0]

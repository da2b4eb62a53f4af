"""Read how a network wants its images (torchvision, timm or Hugging Face)."""

import math
from collections.abc import Mapping
from typing import NamedTuple

from torch import nn

RESCALE = 1 / 255  # bytes to [0, 1]
# ConvNeXt's processors crop images only if they are smaller (Hugging Face)
CONVNEXT_WITHOUT_CROP = 384  # pixels


class Preprocessing(NamedTuple):
    """How a network wants its images.

    Attributes
    ----------
    source : str
        What states this.
    size : int
        The side of the square images, in pixels.
    resize : int
        The shorter side of an image before the center crop, in pixels.
    mean, std : tuple of float
        The normalization of images in 0 to 1, per channel.
    classes : tuple of str or None
        The names of the logits.
    """

    source: str
    size: int
    resize: int
    mean: tuple[float, ...]
    std: tuple[float, ...]
    classes: tuple[str, ...] | None = None


def stated(network: nn.Module, configuration=None) -> Preprocessing:
    """Read the preprocessing that comes with a network.

    Parameters
    ----------
    network : nn.Module
        A network of timm's brings its configuration.
    configuration : optional
        Weights of torchvision, such as ``ResNet18_Weights.DEFAULT``, an image processor
        of Hugging Face, or a configuration of timm.

    Returns
    -------
    Preprocessing

    Raises
    ------
    ValueError
        Nothing states it, or it is more than a resize, a square crop and a
        normalization.
    """
    if configuration is None:
        configuration = getattr(network, "pretrained_cfg", None)
    if hasattr(configuration, "transforms"):
        return _from_torchvision(configuration)
    if hasattr(configuration, "image_mean"):
        return _from_hugging_face(configuration, network)
    if isinstance(configuration, Mapping) and "input_size" in configuration:
        return _from_timm(configuration)
    raise ValueError(
        f"Nothing states how {type(network).__name__} wants its images. Give the "
        "weights (torchvision), the image processor (Hugging Face) or the "
        "configuration (timm) that belong to it, or mean and std of images in 0 to 1."
    )


def _from_torchvision(weights) -> Preprocessing:
    """Read the transforms and the categories of torchvision's weights."""
    transforms = weights.transforms()
    return Preprocessing(
        source="torchvision's weights",
        size=transforms.crop_size[0],
        resize=transforms.resize_size[0],
        mean=tuple(transforms.mean),
        std=tuple(transforms.std),
        classes=_names(weights.meta.get("categories")),
    )


def _from_timm(configuration: Mapping) -> Preprocessing:
    """Read a configuration of timm."""
    _, height, width = configuration["input_size"]
    size = _side_of_square(height, width)
    return Preprocessing(
        source="timm's configuration",
        size=size,
        resize=int(size / configuration.get("crop_pct", 0.875)),
        mean=tuple(configuration["mean"]),
        std=tuple(configuration["std"]),
        classes=_names(configuration.get("label_names")),
    )


def _from_hugging_face(processor, network: nn.Module) -> Preprocessing:
    """Read an image processor of Hugging Face, and the labels of its network."""
    rescale = getattr(processor, "rescale_factor", None) or RESCALE
    if (
        not getattr(processor, "do_rescale", True)
        or not math.isclose(rescale, RESCALE)
        or getattr(processor, "rescale_offset", False)
        or getattr(processor, "include_top", False)
    ):
        raise ValueError(
            "This image processor does more than to normalize images in 0 to 1. Give "
            "mean and std that do the same to images in 0 to 1."
        )
    mean, std = processor.image_mean, processor.image_std
    if not getattr(processor, "do_normalize", True):
        mean, std = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)
    resize = size = _side(processor.size)
    crop_share = getattr(processor, "crop_pct", None)  # ConvNeXt's, also for ResNets
    if crop_share and size < CONVNEXT_WITHOUT_CROP:
        resize = int(size / crop_share)
    elif getattr(processor, "do_center_crop", False):
        size = _side(processor.crop_size)
    labels = getattr(getattr(network, "config", None), "id2label", None) or {}
    return Preprocessing(
        source="Hugging Face's image processor",
        size=size,
        resize=resize,
        mean=tuple(mean),
        std=tuple(std),
        classes=_names([labels[number] for number in sorted(labels)]),
    )


def _side(size: Mapping) -> int:
    """Return the side that Hugging Face's dictionary of sizes gives."""
    size = dict(size)
    return size.get("shortest_edge") or _side_of_square(size["height"], size["width"])


def _side_of_square(height: int, width: int) -> int:
    """Return the side of a square image, and refuse any other."""
    if height != width:
        raise ValueError(
            f"The network wants images of {height} x {width} pixels. Only square "
            "images are supported. Give a network for square images."
        )
    return height


def _names(names) -> tuple[str, ...] | None:
    """Return the names of classes, or None if there are none."""
    return tuple(names) if names else None

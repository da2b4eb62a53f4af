"""Read how images are prepared for a network of torchvision, timm or Hugging Face."""

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

from torch import nn

# ConvNeXt's processors crop smaller images, and squash others (Hugging Face)
CONVNEXT_WITHOUT_CROP = 384  # pixels


class Preprocessing(NamedTuple):
    """Describe how images are prepared for a network.

    Attributes
    ----------
    source : str
        Where this is stated.
    size : int
        The side of the square images, in pixels.
    resize : int
        The shorter side of an image before the center crop, in pixels.
    mean, std : float or tuple of float
        The normalization of images in 0 to 1, of all channels or per channel.
    classes : tuple of str or None
        The names of the logits.
    squash : bool
        Whether both sides of an image are resized to `resize`, whatever its shape.
    """

    source: str
    size: int
    resize: int
    mean: float | tuple[float, ...]
    std: float | tuple[float, ...]
    classes: tuple[str, ...] | None = None
    squash: bool = False


def stated(network: nn.Module, configuration=None) -> Preprocessing:
    """Read the preprocessing that comes with a network.

    Parameters
    ----------
    network : nn.Module
        Networks of timm have their configuration.
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
        f"Nothing states how images are normalized for {type(network).__name__}. Give "
        "its weights (torchvision), image processor (Hugging Face) or configuration "
        "(timm), or mean and std of images in 0 to 1. In a Python file, write mean = "
        "(...) and std = (...)."
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
        classes=tuple(weights.meta.get("categories", ())) or None,
    )


def _from_timm(configuration: Mapping) -> Preprocessing:
    """Read a configuration of timm."""
    _, height, width = configuration["input_size"]
    size = _side({"height": height, "width": width})
    mode = configuration.get("crop_mode") or "center"
    if mode not in ("center", "squash"):
        raise ValueError(
            f"The crop mode {mode!r} of timm is not supported, only 'center' and "
            "'squash'. Give mean and std of images in 0 to 1; then images are cropped "
            "at their center."
        )
    return Preprocessing(
        source="timm's configuration",
        size=size,
        resize=int(size / configuration.get("crop_pct", 0.875)),
        mean=tuple(configuration["mean"]),
        std=tuple(configuration["std"]),
        classes=tuple(configuration.get("label_names") or ()) or None,
        squash=mode == "squash",
    )


def _from_hugging_face(processor, network: nn.Module) -> Preprocessing:
    """Read an image processor of Hugging Face, and the labels of its network."""
    setting = partial(getattr, processor)
    if (
        not setting("do_rescale", True)
        or not setting("do_normalize", True)
        or setting("rescale_factor", 1 / 255) != 1 / 255
        or setting("rescale_offset", False)
        or setting("include_top", False)
    ):
        raise ValueError(
            "This image processor does not only normalize images in 0 to 1. Give the "
            "mean and std that have the same effect on images in 0 to 1."
        )
    size = resize = _side(processor.size)
    squash = not dict(processor.size).get("shortest_edge")
    crop_share = setting("crop_pct", None)  # ConvNeXt's, also for ResNets
    if crop_share and size < CONVNEXT_WITHOUT_CROP:
        resize = int(size / crop_share)
    elif crop_share:
        squash = True
    elif setting("do_center_crop", False):
        size = _side(processor.crop_size)
    labels = getattr(getattr(network, "config", None), "id2label", {})
    return Preprocessing(
        source="Hugging Face's image processor",
        size=size,
        resize=resize,
        mean=tuple(processor.image_mean),
        std=tuple(processor.image_std),
        classes=tuple(labels[number] for number in sorted(labels)) or None,
        squash=squash,
    )


def _side(size: Mapping) -> int:
    """Return the side of square images, from Hugging Face's dictionary of sizes."""
    size = dict(size)
    if size.get("shortest_edge"):
        return size["shortest_edge"]
    if size["height"] != size["width"]:
        raise ValueError(
            f"The network takes images of {size['height']} x {size['width']} pixels. "
            "Only square images are supported. Give a network for square images."
        )
    return size["height"]

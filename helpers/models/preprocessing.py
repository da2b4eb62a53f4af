"""What a model states of its input in the words of torchvision, timm or Hugging Face."""

from collections.abc import Mapping
from typing import NamedTuple

from torch import nn

PIL = (
    "nearest",
    "lanczos",
    "bilinear",
    "bicubic",
    "box",
    "hamming",
)  # by PIL's numbers
RESCALE = 1 / 255  # bytes to [0, 1], which images of the suite are already


class Input(NamedTuple):
    """How a network wants its images, and by the word of what `source`; None: it is not said.
    Photographs are resized, cut in the middle, multiplied by `rescale`, and normalised."""

    source: str
    resize: int | tuple[int, int] | None  # pixels of the shorter side, or of both
    crop: tuple[int, int] | None
    interpolation: str | None
    mean: tuple[float, ...]
    std: tuple[float, ...]
    rescale: float | None
    classes: tuple[str, ...] | None  # names of the logits


def stated(network: nn.Module, like=None) -> Input:
    """What a network, or what comes with it (`like`), states of its input; or a ValueError."""
    like = like if like is not None else getattr(network, "pretrained_cfg", None)
    if hasattr(like, "transforms"):
        return _torchvision(like.transforms(), like.meta.get("categories"))
    if hasattr(like, "resize_size"):
        return _torchvision(like, None)
    if hasattr(like, "image_mean"):
        return _hugging_face(
            like, getattr(getattr(network, "config", None), "id2label", None)
        )
    if (
        isinstance(like, Mapping) and "input_size" in like
    ):  # the shorter side as timm has it
        (_, height, width), names = like["input_size"], like.get("label_names")
        side, by = (
            int(height / like.get("crop_pct", 0.875)),
            like.get("interpolation", "bicubic"),
        )
        more = (
            tuple(like["mean"]),
            tuple(like["std"]),
            RESCALE,
            tuple(names) if names else None,
        )
        return Input("timm's configuration", side, (height, width), by, *more)
    raise ValueError(
        f"Nothing says how {type(network).__name__} wants its input: give torchvision's weights, "
        "its image processor (Hugging Face) or its configuration (timm)."
    )


def _torchvision(like, names) -> Input:
    resize, crop = list(like.resize_size), list(like.crop_size)
    side, by = (
        resize[0] if len(resize) == 1 else tuple(resize),
        like.interpolation.value,
    )
    more = tuple(like.mean), tuple(like.std), RESCALE, tuple(names) if names else None
    return Input("torchvision's weights", side, (crop[0], crop[-1]), by, *more)


def _hugging_face(like, labels: Mapping | None) -> Input:
    size, cut = (
        dict(getattr(like, name, None) or {}) for name in ("size", "crop_size")
    )
    resize = size.get("shortest_edge", (size.get("height"), size.get("width")))
    resize = (
        resize if resize != (None, None) and getattr(like, "do_resize", True) else None
    )
    does = (
        getattr(like, "do_center_crop", bool(cut)) and {"height", "width"} <= cut.keys()
    )
    if part := getattr(
        like, "crop_pct", None
    ):  # of ConvNeXt's, which ResNets have, too
        small, cut = resize < 384, {"height": resize, "width": resize}
        resize, does = (
            (int(resize / part), True) if small else ((resize, resize), False)
        )
    by = (
        None
        if (number := getattr(like, "resample", None)) is None
        else PIL[int(number)]
    )
    mean, std = tuple(like.image_mean), tuple(like.image_std)
    if not getattr(like, "do_normalize", True):
        mean, std = (0.0,) * 3, (1.0,) * 3
    odd = getattr(like, "rescale_offset", False) or getattr(like, "include_top", False)
    scaled = getattr(like, "do_rescale", True) and not odd
    more = getattr(like, "rescale_factor", RESCALE) if scaled else None
    names = tuple(labels[number] for number in sorted(labels)) if labels else None
    crop = (cut["height"], cut["width"]) if does else None
    return Input(
        "Hugging Face's image processor", resize, crop, by, mean, std, more, names
    )

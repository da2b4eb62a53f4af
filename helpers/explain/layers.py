"""Layers by name, and the layer whose output is the last convolutional feature map."""

from __future__ import annotations

from collections import Counter

import torch
from torch import nn

#: Modules whose output is the map of the module before them, only pooled to a fixed size or masked.
_NO_MAP_OF_THEIR_OWN = (nn.AdaptiveAvgPool2d, nn.AdaptiveMaxPool2d, nn.modules.dropout._DropoutNd)


def network_of(model: nn.Module) -> nn.Module:
    """The network inside a :class:`helpers.models.networks.Classifier`; any other model itself."""
    return getattr(model, "network", model)


def named(model: nn.Module, name: str) -> nn.Module:
    """The layer with this name, such as ``features.10`` or ``layer4``.

    Raises
    ------
    ValueError
        When there is none, naming the model's outermost layers.
    """
    for root in (network_of(model), model):
        try:
            return root.get_submodule(name)
        except AttributeError:
            continue
    known = ", ".join(child for child, _ in network_of(model).named_children())
    raise ValueError(f"There is no layer {name!r}; the outermost layers are {known}.")


def last_map(model: nn.Module, images: torch.Tensor, least: int = 1) -> str:
    """Name of the layer that gives the last convolutional feature map before the classifier.

    torchvision's ``features`` (AlexNet, VGG, SqueezeNet, DenseNet ...) and ``layer4`` (ResNet), and
    for any other network what these are: the last layer run before the one that gives the logits,
    whose output is a map of more than one pixel. Pooling to a fixed size, dropout and modules that
    run several times do not count.

    Parameters
    ----------
    model : nn.Module
    images : float tensor (N, 3, H, W), N > 0
        One of them is run through the model.
    least : int
        Pixels across and down that the map must have at least.

    Returns
    -------
    str
        A name for :func:`named`.

    Raises
    ------
    ValueError
        When no layer gives such a map.
    """
    network = network_of(model)
    ran = _ran(model, network, images[:1])
    heads = [i for i, (_, module, _) in enumerate(ran) if _gives_logits(module)]
    before = ran[: heads[-1]] if heads else ran
    runs = Counter(name for name, _, _ in ran)
    maps = [
        n
        for n, module, shape in before
        if n and runs[n] == 1 and _is_map(module, shape) and min(shape[-2:]) >= least
    ]
    if not maps:
        raise ValueError(
            f"{type(network).__name__} has no convolutional feature map of more than one pixel at "
            f"{tuple(images.shape[-2:])} pixels: name the layer, or use larger images."
        )
    return maps[-1]


def _ran(model, network, image) -> list[tuple[str, nn.Module, tuple]]:
    """(name, module, shape of its output) in the order in which modules end."""
    ran, handles = [], []
    for name, module in network.named_modules():

        def note(module, _, output, name=name):
            if isinstance(output, torch.Tensor):
                ran.append((name, module, tuple(output.shape)))

        handles.append(module.register_forward_hook(note))
    try:
        with torch.no_grad():
            model(image)
    finally:
        for handle in handles:
            handle.remove()
    return ran


def _gives_logits(module: nn.Module) -> bool:
    return isinstance(module, nn.Linear | nn.Conv2d)


def _is_map(module: nn.Module, shape: tuple) -> bool:
    is_own = not isinstance(module, _NO_MAP_OF_THEIR_OWN)
    return is_own and len(shape) == 4 and shape[-1] * shape[-2] > 1

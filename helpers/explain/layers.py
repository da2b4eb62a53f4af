"""What happens at a layer: its output, the gradient there, and which layer has the last map."""

from collections import Counter
from contextlib import ExitStack, suppress
from functools import partial

import torch
from torch import nn
from torch.nn.functional import interpolate

REDUCTIONS = {  # of channels; only the first keeps evidence for the class apart from the rest
    "sum": lambda relevance: relevance.sum(1, keepdim=True),
    "max absolute": lambda relevance: relevance.abs().amax(1, keepdim=True),
}
RUN = "#"  # before the number of a run, where a layer runs several times: relu#2
# modules whose output is the map of the module before them, only pooled to a fixed size or masked
NO_MAP_OF_THEIR_OWN = (
    nn.AdaptiveAvgPool2d,
    nn.AdaptiveMaxPool2d,
    nn.modules.dropout._DropoutNd,
)


def target_logits(
    model: nn.Module, images: torch.Tensor, targets: torch.Tensor
) -> torch.Tensor:
    """The logits of the targets, (B,); targets that are no numbers of classes are a ValueError."""
    logits = model(images)
    if targets.min() < 0 or targets.max() >= logits.shape[1]:
        raise ValueError(
            f"Targets must be numbers of the model's classes, 0 to {logits.shape[1] - 1}; these "
            f"are {int(targets.min())} to {int(targets.max())}."
        )
    return logits.gather(1, targets[:, None])[:, 0]


def network_of(model: nn.Module) -> nn.Module:
    """The network inside a Classifier; any other model itself."""
    return getattr(model, "network", model)


def named(model: nn.Module, name: str) -> nn.Module:
    """The layer with this name, such as ``features.10``; ``relu#2`` is the second run of one."""
    name = name.partition(RUN)[0]
    for root in (network_of(model), model):
        with suppress(AttributeError):
            return root.get_submodule(name)
    known = ", ".join(child for child, _ in network_of(model).named_children())
    raise ValueError(f"There is no layer {name!r}; the outermost layers are {known}.")


@torch.enable_grad()
def through(
    model: nn.Module, images, targets, layer: str
) -> tuple[torch.Tensor, torch.Tensor]:
    """What the images are at a layer, ``input`` being they themselves, before anything works on
    it; and the targets' logits. A layer that gives no single tensor, or that runs several times
    where the run is not named, is a ValueError."""
    if layer == "input":
        return images, target_logits(model, images, targets)
    kept = []

    def keep(_, __, output):
        kept.append(output)
        return (
            output.clone() if isinstance(output, torch.Tensor) else None
        )  # may work in place

    with named(model, layer).register_forward_hook(keep):
        logits = target_logits(model, images, targets)
    run = int(layer.partition(RUN)[2] or 1)
    if run > len(kept) or (len(kept) > 1 and RUN not in layer):
        last = f"{layer.partition(RUN)[0]}{RUN}{len(kept)}"
        advice = f", or one of its runs, such as {last!r}" if len(kept) > 1 else ""
        raise ValueError(
            f"Layer {layer!r} runs {len(kept)} times; name one that runs once{advice}."
        )
    output = kept[run - 1]
    if not isinstance(output, torch.Tensor):
        raise ValueError(
            f"Layer {layer!r} gives no single tensor; name one in or after it."
        )
    return output, logits


@torch.enable_grad()
def gradient_at(
    model: nn.Module, images: torch.Tensor, targets: torch.Tensor, layer: str = "input"
) -> tuple[torch.Tensor, torch.Tensor]:
    """Activation at a layer and the gradient of the target logits there: float (B, C, h, w)."""
    images = images.detach().requires_grad_()  # at a layer too: the model may be frozen
    kept, logits = through(model, images, targets, layer)
    both = kept.detach(), torch.autograd.grad(logits.sum(), kept)[0]
    return both if layer == "input" else tuple(as_map(one, layer) for one in both)


@torch.enable_grad()
def from_layer(
    model: nn.Module,
    images: torch.Tensor,
    targets: torch.Tensor,
    layer: str,
    value: torch.Tensor,
) -> torch.Tensor:
    """The gradient of the targets' logits at a layer, whose output is replaced by a `value`."""
    value = value.detach().requires_grad_()
    run = int(layer.partition(RUN)[2] or 1)
    runs = 0

    def replace(*_):
        nonlocal runs
        runs += 1
        return value.clone() if runs == run else None  # what follows may work in place

    if layer == "input":
        logits = target_logits(model, value, targets)
    else:
        with named(model, layer).register_forward_hook(replace):
            logits = target_logits(model, images, targets)
    return torch.autograd.grad(logits.sum(), value)[0]


def as_map(output: torch.Tensor, layer: str) -> torch.Tensor:
    """A layer's output (B, C, h, w), refused where it is no map of more than one pixel."""
    if output.ndim != 4 or output.shape[-2:] == (1, 1):
        raise ValueError(
            f"The output of layer {layer!r}, of shape {tuple(output.shape)}, is no map of more "
            "than one pixel: name a layer that gives (images, channels, height, width)."
        )
    return output


def reduced(
    relevance: torch.Tensor, images: torch.Tensor, how: str = "sum"
) -> torch.Tensor:
    """Relevance (B, C, h, w) as maps (B, H, W): channels reduced, then bilinear to image size."""
    if how not in REDUCTIONS:
        raise ValueError(
            f"reduce={how!r} is not known; use one of {', '.join(REDUCTIONS)}"
        )
    maps, size = REDUCTIONS[how](relevance), images.shape[-2:]
    if maps.shape[-2:] != size:
        maps = interpolate(maps, size, mode="bilinear", align_corners=False)
    return maps[:, 0].detach()


def last_map(
    model: nn.Module, images: torch.Tensor, least: int = 1, *, runs_once: bool = False
) -> str:
    """Name of the layer that gives the last convolutional feature map before the classifier, of
    more than one pixel and of `least` each way (torchvision's ``features`` or ``layer4``); of a
    layer that runs several times its last run (``relu#2``), unless it has to be one that
    `runs_once`. A ValueError where there is none, or layers that work on tokens come after it."""
    network = network_of(model)
    before = [
        (name, module, tuple(out.shape))
        for name, module, _, out in ran(model, images[:1])
    ]
    runs = Counter(name for name, _, _ in before)
    heads = [
        i for i, run in enumerate(before) if isinstance(run[1], nn.Linear | nn.Conv2d)
    ]
    before, maps = before[: heads[-1] if heads else None], []
    for i, (name, module, shape) in enumerate(before):
        is_map = len(shape) == 4 and min(shape[-2:]) >= least and max(shape[-2:]) > 1
        if runs_once and runs[name] > 1:
            continue
        if is_map and name and not isinstance(module, NO_MAP_OF_THEIR_OWN):
            maps.append(i)
    if not maps:
        raise ValueError(
            f"{type(network).__name__} has no convolutional feature map of more than one pixel at "
            f"{tuple(images.shape[-2:])} pixels: name the layer, or use larger images."
        )
    name = before[maps[-1]][0]
    if any(
        len(shape) == 3 and list(m.parameters()) for _, m, shape in before[maps[-1] :]
    ):
        raise ValueError(
            f"{type(network).__name__} has no feature map before its classifier: layers that work "
            f"on tokens come after {name!r}. Name a layer that gives a map."
        )
    return f"{name}{RUN}{runs[name]}" if runs[name] > 1 else name


def ran(model: nn.Module, image: torch.Tensor) -> list[tuple]:
    """Name, module, first input and output of the modules that give a tensor, as they end."""
    runs = []

    def note(name, module, inputs, output):
        if isinstance(output, torch.Tensor):
            runs.append((name, module, inputs[0] if inputs else None, output))

    with ExitStack() as hooks, torch.no_grad():
        for name, module in network_of(model).named_modules():
            hooks.enter_context(module.register_forward_hook(partial(note, name)))
        model(image)
    return runs

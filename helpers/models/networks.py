"""Classifiers that normalise their images themselves; their weights, and their store."""

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from pickle import UnpicklingError
from textwrap import shorten

import torch
from safetensors.torch import load_file
from torch import nn

import helpers
from helpers import store
from helpers.data.collection import listed
from helpers.models import preprocessing
from helpers.models.inference import refuse_other_ranges, seeded
from helpers.models.reduced import REDUCED

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)
SAVE = (
    "Where the weights were made, save them alone: "
    "torch.save(network.state_dict(), 'weights.pt')."
)


class Classifier(nn.Module):
    """A network and its normalisation; `head` gives the logits, `history` has the epochs."""

    def __init__(self, network: nn.Module, mean=IMAGENET_MEAN, std=IMAGENET_STD):
        super().__init__()
        if not isinstance(network, nn.Module) or isinstance(network, Classifier):
            why = (
                "is wrapped already"
                if isinstance(network, Classifier)
                else "is no nn.Module"
            )
            raise ValueError(
                f"{type(network).__name__} {why}: give the network itself."
            )
        self.network = network.to(
            memory_format=torch.channels_last
        )  # 10 to 20% faster on CPU
        self.head = head_of(network)
        self.history = None
        if not all(0 <= m <= 1 and 0 < s <= 1 for m, s in zip(mean, std, strict=True)):
            raise ValueError(
                f"mean={[*map(float, mean)]} and std={[*map(float, std)]} are not of images in "
                "[0, 1]: a mean is 0 to 1, and a std above 0 and at most 1. If they are of images "
                "in 0 to 255, divide both by 255."
            )
        device = next(network.parameters()).device
        mean, std = (
            torch.as_tensor(mean, device=device),
            torch.as_tensor(std, device=device),
        )
        self.register_buffer("mean", mean.view(3, 1, 1), persistent=False)
        self.register_buffer("std", std.view(3, 1, 1), persistent=False)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Logits, float32 (N, classes), of images (N, 3, H, W): uint8, or float in [0, 1].
        Images follow the network to its device, where the logits stay."""
        if images.ndim != 4 or images.shape[1] != 3:
            raise ValueError(
                f"Images must be (N, 3, H, W), RGB; these are {tuple(images.shape)}."
            )
        if not (images.dtype == torch.uint8 or images.is_floating_point()):
            raise TypeError(
                f"Images must be uint8, or float in [0, 1]; these are {images.dtype}."
            )
        images = images.to(self.mean.device)
        if not self.training:  # noise, as SmoothGrad adds, may leave [0, 1] by far
            refuse_other_ranges(images, spare=9)
        if images.dtype == torch.uint8:
            images = images.float().div_(255).sub_(self.mean)  # in place: it is a copy
        else:
            images = images - self.mean
        images = images.div_(self.std).to(next(self.network.parameters()).dtype)
        images = images.contiguous(memory_format=torch.channels_last)
        return _logits_in(self.network(images))


def _logits_in(output) -> torch.Tensor:
    """Return the logits, (N, classes), of what a network returned: alone, or as `logits`."""
    logits = output.get("logits") if isinstance(output, Mapping) else output
    logits = getattr(logits, "logits", logits)
    if isinstance(logits, tuple | list):  # auxiliary outputs have other dimensions
        tables = [part for part in logits if getattr(part, "ndim", 0) == 2]
        logits = tables[0] if len(tables) == 1 else None
    if isinstance(logits, torch.Tensor) and logits.ndim == 2:
        return logits
    shape = f" of shape {tuple(output.shape)}" if hasattr(output, "shape") else ""
    raise ValueError(
        f"The network returns a {type(output).__name__}{shape}, which does not tell where the "
        "logits are. Wrap it in a module that returns these alone: (N, classes)."
    )


def wrap(network: nn.Module, like=None, *, mean=None, std=None) -> Classifier:
    """Any classifier, with its input normalisation inside, as the suite takes models.

    The network takes normalised float images (N, 3, H, W) and returns logits (N, classes), alone or
    as `logits` of an object or dict. `like` says how it wants its input: torchvision's weights
    (``ResNet18_Weights.DEFAULT``), an image processor of Hugging Face's; a network of timm's brings
    it. Or give `mean` and `std`, a number or one a channel, on the [0, 1] scale; 0 and 1 where it
    takes images as they are. Where nothing says it, it is a ValueError: a guess would look right.
    """
    if mean is None or std is None:
        stated = preprocessing.stated(network, like)
        if stated.rescale != preprocessing.RESCALE:
            raise ValueError(
                "This image processor does more than to normalise images in [0, 1]. Give "
                "mean=(...) and std=(...) that do the same to images in [0, 1]."
            )
        mean, std = stated.mean, stated.std
    mean, std = torch.as_tensor(mean).float(), torch.as_tensor(std).float()
    return Classifier(network, mean.flatten().expand(3), std.flatten().expand(3))


def build(
    architecture: str,
    n_classes: int,
    *,
    weights: str | Path | None = None,
    seed: int = 0,
) -> Classifier:
    """A classifier for `n_classes`, fresh or on given weights, in training mode, on the CPU.

    The architecture is one of `reduced.REDUCED` or of torchvision. `weights` are drawn with the
    seed, torchvision's (`"imagenet"`), or in a `.safetensors` file or a state dict. Where they are
    for another number of classes, the last layer is fresh. What does not fit is a ValueError."""
    with seeded(seed):
        if weights is None:
            network = _fresh(architecture, n_classes)
        elif weights == "imagenet":
            network = _imagenet(architecture)
        else:
            network = _from_file(architecture, Path(weights))
        return Classifier(_refit_head(network, n_classes))


def identity(architecture: str, weights: str | Path | None) -> str | None:
    """What identifies the weights: the content of a file, or torchvision's versioned address."""
    if weights is None:
        return None
    if weights == "imagenet":
        return _imagenet_entry(architecture).url
    return store.file_digest(_existing(Path(weights)))


def head_of(network: nn.Module) -> str:
    """Name of the layer that gives the logits: the last Linear or convolution."""
    kinds = (nn.Linear, nn.Conv2d)
    layers = [
        name for name, layer in network.named_modules() if isinstance(layer, kinds)
    ]
    if not layers:
        raise ValueError(
            f"{type(network).__name__} has no Linear or Conv2d layer to fit."
        )
    return layers[-1]


def read(path: Path) -> dict[str, torch.Tensor]:
    """Read a state dict from a file.

    Parameters
    ----------
    path : Path
        A ``.safetensors`` file, or one that ``torch.save(network.state_dict(), path)`` wrote.

    Returns
    -------
    dict of str to torch.Tensor

    Raises
    ------
    ValueError
        If the file cannot be read, or holds anything else.
    """
    path = _existing(path)
    try:
        if path.suffix == ".safetensors":
            return load_file(path)
        state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # damaged files make readers raise nearly anything
        # torch's own sentences advise to switch its safety off, so they are not quoted
        raise ValueError(
            f"{path} cannot be read as weights ({type(error).__name__}): it is damaged, or holds "
            f"more than tensors. {SAVE}"
        ) from None
    if not isinstance(state, Mapping):
        raise ValueError(f"{path} holds a {type(state).__name__}, no weights. {SAVE}")
    others = [name for name in state if not isinstance(state[name], torch.Tensor)]
    if others:
        raise ValueError(
            f"{path} is no state dict, because {listed(map(repr, others))} is no tensor. {SAVE}"
        )
    return dict(state)


def load(network: nn.Module, path: Path) -> None:
    """Give a network the weights of a file; a ValueError says what does not fit."""
    state = read(path)
    try:
        network.load_state_dict(state, strict=True)
    except RuntimeError as error:
        raise ValueError(f"{path} does not fit: {shorten(str(error), 600)}") from error


def once(
    kind: str,
    folder: Path | str,
    made: Callable[[], tuple[nn.Module, dict]],
    *,
    device: str = "cpu",
    **decides,
) -> tuple[Path, dict[str, torch.Tensor], dict]:
    """The weights and facts that `made` gives, trained once and then found by what decides them:
    the type of the device on which they are trained, too."""
    versions = [version(name).split(".")[:2] for name in ("torch", "torchvision")]
    decides |= {"versions": versions, "device": device}
    decides["pinned"] = helpers.pinned  # other kernels end as another training

    def make() -> tuple[dict, dict]:
        network, facts = made()
        return {
            n: tensor.cpu().numpy() for n, tensor in network.state_dict().items()
        }, facts

    path, weights, facts = store.arrays(kind, folder, make, **decides)
    return (
        path,
        {name: torch.from_numpy(array) for name, array in weights.items()},
        facts,
    )


def _torchvision():
    """Import torchvision's models late: it takes seconds, and synthetic images need none."""
    return import_module("torchvision.models")


def _imagenet(architecture: str) -> nn.Module:
    """torchvision's network with its ImageNet weights, for 1000 classes."""
    entry = _imagenet_entry(architecture)
    try:  # downloads, and checks the hash
        entry.get_state_dict(progress=True, check_hash=True, weights_only=True)
    except (OSError, RuntimeError, EOFError, UnpicklingError) as error:
        raise ConnectionError(
            f"The ImageNet weights of {architecture} could not be had from {entry.url} "
            f"({type(error).__name__}). Try again, or download that file by other means and give "
            f"its path as `weights`. First delete a damaged copy in {torch.hub.get_dir()}/checkpoints."
        ) from None
    return _torchvision().get_model(architecture, weights=entry)


def _imagenet_entry(architecture: str):
    """torchvision's record (address, meaning) of an architecture's ImageNet weights."""
    if architecture in REDUCED:
        full, said = architecture.split("-")[0], "Nobody publishes ImageNet weights for"
        raise ValueError(
            f"{said} {architecture!r}. Use {full!r}, or start from the wider world."
        )
    return _torchvision().get_model_weights(architecture).DEFAULT


def _existing(path: Path) -> Path:
    if path.is_file():
        return path
    raise FileNotFoundError(
        f"There is no weights file {path} (looked from {Path.cwd()}). Give the path of a "
        ".safetensors or .pth file, 'imagenet', or None."
    )


def _fresh(architecture: str, n_classes: int) -> nn.Module:
    if architecture in REDUCED:
        network = REDUCED[architecture].build(n_classes)
        network.rate = REDUCED[architecture].rate
        return network
    return _torchvision().get_model(architecture, num_classes=n_classes)


def _from_file(architecture: str, path: Path) -> nn.Module:
    """The architecture with a file's weights and as many classes as the file was made for."""
    state = read(path)
    last_layer = state.get(head_of(_fresh(architecture, 2)) + ".weight")
    network = _fresh(architecture, 2 if last_layer is None else len(last_layer))
    load(network, path)
    return network


def _refit_head(network: nn.Module, n_classes: int) -> nn.Module:
    """Replace the last layer by a fresh one for `n_classes`, unless it has that many already."""
    name = head_of(network)
    head = network.get_submodule(name)
    if len(head.weight) == n_classes:
        return network
    bias = head.bias is not None
    if isinstance(head, nn.Linear):
        fresh = nn.Linear(head.in_features, n_classes, bias=bias)
    else:
        fresh = nn.Conv2d(
            head.in_channels, n_classes, head.kernel_size, head.stride, bias=bias
        )
    network.set_submodule(name, fresh)
    return network

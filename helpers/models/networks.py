"""Build classifiers that normalize their images, and read and store their weights."""

from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from textwrap import shorten

import torch
from safetensors.torch import load_file
from torch import nn

import helpers
from helpers import store
from helpers.models import preprocessing, python_file
from helpers.models.inference import print_once, seeded
from helpers.suggest import listed
from helpers.synthetic_data import reduced

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)
SAVE = (
    "Where the weights were made, save them alone: "
    "torch.save(network.state_dict(), 'weights.pt')."
)


class Classifier(nn.Module):
    """Normalize images for a network.

    Parameters
    ----------
    network : nn.Module
        Takes normalized float images (N, 3, H, W) and returns logits (N, classes).
    mean, std : float or sequence of float
        The normalization of images in 0 to 1, per channel.

    Attributes
    ----------
    head : str
        The name of the layer that gives the logits.
    history : list of dict or None
        The epochs of its training.
    preprocessing : Preprocessing or None
        What the user's Python file or torchvision's weights state.
    code : dict or None
        Digests of the user's Python files.
    """

    def __init__(self, network: nn.Module, mean=IMAGENET_MEAN, std=IMAGENET_STD):
        super().__init__()
        if not isinstance(network, nn.Module) or isinstance(network, Classifier):
            raise ValueError(
                f"A {type(network).__name__} cannot be wrapped. Give an nn.Module that "
                "is not wrapped yet."
            )
        self.head = head_of(network)
        device = next(network.parameters()).device
        for name, values in {"mean": mean, "std": std}.items():
            channels = torch.as_tensor(values, dtype=torch.float, device=device)
            channels = channels.flatten().expand(3).view(3, 1, 1)
            self.register_buffer(name, channels, persistent=False)
        mean, std = self.mean, self.std
        if min(mean.min(), 1 - mean.max(), 1 - std.max()) < 0 or std.min() <= 0:
            raise ValueError(
                f"mean={mean.flatten().tolist()} and std={std.flatten().tolist()} are "
                "not of images in 0 to 1. A mean must be in 0 to 1, a std above 0 and "
                "at most 1. If they are of images in 0 to 255, divide both by 255."
            )
        # 10 to 20% faster on a CPU
        self.network = network.to(memory_format=torch.channels_last)
        self.history = None
        self.preprocessing = None
        self.code = None

    @property
    def n_logits(self) -> int:
        """Return the number of logits."""
        return len(self.network.get_submodule(self.head).weight)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Compute the logits of images on the device of the network.

        Parameters
        ----------
        images : torch.Tensor of shape (N, 3, H, W)
            uint8, or float in [0, 1].

        Returns
        -------
        torch.Tensor of shape (N, classes)

        Raises
        ------
        ValueError
            The images have another type, shape or range.
        """
        is_uint8 = images.dtype == torch.uint8
        has_type = is_uint8 or images.is_floating_point()
        if images.ndim != 4 or images.shape[1] != 3 or not has_type:
            raise ValueError(
                "Images must be (N, 3, H, W), uint8 or float in [0, 1]; these are "
                f"{tuple(images.shape)}, {images.dtype}."
            )
        images = images.to(self.mean.device)
        if is_uint8:
            images = images.float().div_(255).sub_(self.mean)  # in place: it is a copy
        else:
            if not self.training:
                _refuse_other_ranges(images)
            images = images - self.mean
        images = images.div_(self.std).to(next(self.network.parameters()).dtype)
        images = images.contiguous(memory_format=torch.channels_last)
        return _logits_in(self.network(images))


def _refuse_other_ranges(images: torch.Tensor) -> None:
    """Refuse float images that are not in [0, 1], but in 0 to 255 or normalized."""
    # where gradients are computed, noise such as SmoothGrad's may leave [0, 1] by far
    spare = 9 if torch.is_grad_enabled() else 0.5
    if images.numel():
        low, high = images.detach().aminmax()
        if low < -spare or high > 1 + spare:
            raise ValueError(
                f"Float images must be in [0, 1]; these go from {low:.3g} to "
                f"{high:.3g}. Divide images in 0 to 255 by 255, or give them as uint8. "
                "Do not normalize them, because the model does."
            )


def _logits_in(output) -> torch.Tensor:
    """Return the logits (N, classes) that a network returned, alone or as `logits`."""
    logits = getattr(output, "logits", output)
    if isinstance(logits, torch.Tensor) and logits.ndim == 2:
        return logits
    shape = f" of shape {tuple(output.shape)}" if hasattr(output, "shape") else ""
    raise ValueError(
        f"The network returns a {type(output).__name__}{shape}, not logits (N, "
        "classes). Wrap it in a module that returns these alone."
    )


def wrap(network: nn.Module, like=None) -> Classifier:
    """Wrap any classifier with the normalization of its images.

    Parameters
    ----------
    network : nn.Module
        Takes normalized float images (N, 3, H, W). Returns logits (N, classes), alone
        or as the attribute `logits`.
    like : optional
        Weights of torchvision, such as ``ResNet18_Weights.DEFAULT``, or an image
        processor of Hugging Face, which states the normalization. Networks of timm
        state it themselves.

    Returns
    -------
    Classifier

    Raises
    ------
    ValueError
        Nothing states the normalization. It is not guessed, because a wrong guess
        gives plausible results. If you know it, use :class:`Classifier`.
    """
    stated = preprocessing.stated(network, like)
    return Classifier(network, stated.mean, stated.std)


def build(
    architecture: str,
    n_classes: int | None = None,
    *,
    weights: str | Path | None = None,
    seed: int = 0,
) -> Classifier:
    """Build a classifier, with random or given weights.

    Parameters
    ----------
    architecture : str
        A name of `synthetic.reduced` or of torchvision, or ``FILE.py:NAME`` (see
        :func:`helpers.models.python_file.load`).
    n_classes : int, optional
        The last layer is replaced by a random one if it has another number of classes.
        By default, it stays as the weights or the file have it.
    weights : str, Path or None
        ``"imagenet"`` (torchvision's), or a file (see :func:`read`). None means random
        weights, or those that the Python file gives.
    seed : int, default=0
        The seed of random weights.

    Returns
    -------
    Classifier
        In training mode, on the CPU.

    Raises
    ------
    ValueError
        The weights do not fit.
    """
    with seeded(seed):
        stated = code = None
        if python_file.is_python_file(architecture):
            network, stated, code = python_file.load(architecture)
            if weights is not None:
                load(network, Path(weights))
        elif weights is None:
            network = _random(architecture, n_classes or 1000)
        elif weights == "imagenet":
            import torchvision  # takes seconds

            network = torchvision.models.get_model(architecture, weights="DEFAULT")
        else:
            network = _from_file(architecture, Path(weights))
        if n_classes is not None:
            _replace_head(network, n_classes)
    if stated is None and architecture not in reduced.REDUCED:
        stated = preprocessing.stated(network, _imagenet(architecture))
    normalization = (stated.mean, stated.std) if stated else ()
    model = Classifier(network, *normalization)
    model.preprocessing = stated
    model.code = code
    return model


def identity(architecture: str, weights: str | Path | None) -> str | None:
    """Return what identifies weights, for a key of the store.

    Parameters
    ----------
    architecture : str
    weights : str, Path or None
        See :func:`build`.

    Returns
    -------
    str or None
        The digest of a file, or torchvision's versioned address; None without weights.
    """
    if weights is None:
        return None
    if weights == "imagenet":
        return _imagenet(architecture).url
    return store.file_digest(weights)


def head_of(network: nn.Module) -> str:
    """Return the name of the layer that gives the logits.

    Parameters
    ----------
    network : nn.Module

    Returns
    -------
    str
        The last Linear or convolution.

    Raises
    ------
    ValueError
        There is none.
    """
    names = [
        name
        for name, part in network.named_modules()
        if isinstance(part, nn.Linear | nn.Conv2d)
    ]
    if not names:
        raise ValueError(
            f"{type(network).__name__} has no Linear or Conv2d layer that gives "
            "logits. Give a network that ends in one."
        )
    return names[-1]


def read(path: Path) -> dict[str, torch.Tensor]:
    """Read a state dict from a file, without running code that the file may hold.

    Parameters
    ----------
    path : Path
        A ``.safetensors`` file, or one that ``torch.save`` wrote. It holds a state
        dict, or a checkpoint with one state dict in it.

    Returns
    -------
    dict of str to torch.Tensor

    Raises
    ------
    ValueError
        The file cannot be read, or holds no state dict, or several of them.
    """
    try:
        if path.suffix == ".safetensors":
            return load_file(path)
        content = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise
    except Exception as error:  # damaged files make readers raise nearly anything
        # torch's own sentences advise to switch its safety off, so they are not quoted
        raise ValueError(
            f"{path} cannot be read as weights ({type(error).__name__}). It is "
            f"damaged, or holds more than tensors. {SAVE}"
        ) from None
    if _is_state_dict(content):
        return content
    entries = content if isinstance(content, Mapping) else {}
    names = [name for name, value in entries.items() if _is_state_dict(value)]
    if len(names) != 1:
        held = listed(map(repr, names or entries))
        raise ValueError(f"{path} holds {len(names)} state dicts ({held}). {SAVE}")
    print_once(f"Read the state dict {names[0]!r} of {path}, and nothing else of it.")
    return content[names[0]]


def _is_state_dict(value) -> bool:
    """Return whether a value is a mapping of names to tensors."""
    tensors = value.values() if isinstance(value, Mapping) else []
    return len(tensors) > 0 and all(isinstance(item, torch.Tensor) for item in tensors)


def load(network: nn.Module, path: Path) -> None:
    """Load the weights of a file into a network.

    Parameters
    ----------
    network : nn.Module
    path : Path
        See :func:`read`.

    Raises
    ------
    ValueError
        Names or shapes do not fit.
    """
    state = read(path)
    try:
        network.load_state_dict(state, strict=True)
    except RuntimeError as error:
        raise ValueError(f"{path} does not fit: {shorten(str(error), 600)}") from error


def once(
    kind: str,
    train: Callable[[], tuple[nn.Module, dict]],
    **decides,
) -> tuple[Path, dict[str, torch.Tensor], dict]:
    """Train a network, or read the file of an earlier training.

    Parameters
    ----------
    kind : str
        The kind of network, for the name of the file in `store.networks()`.
    train : callable
        Returns the trained network, and facts that go into JSON.
    **decides
        What decides the weights, with the type of the device on which it is trained.

    Returns
    -------
    path : Path
    weights : dict of str to torch.Tensor
    facts : dict
    """
    versions = [version(name).split(".")[:2] for name in ("torch", "torchvision")]

    def make() -> tuple[dict, dict]:
        network, facts = train()
        state = network.state_dict()
        return {name: tensor.cpu().numpy() for name, tensor in state.items()}, facts

    path, arrays, facts = store.arrays(
        kind,
        store.networks(),
        make,
        versions=versions,
        pinned=helpers.pinned,  # other kernels end in other weights
        **decides,
    )
    weights = {name: torch.from_numpy(array) for name, array in arrays.items()}
    return path, weights, facts


def _imagenet(architecture: str):
    """Return torchvision's record of the ImageNet weights of an architecture."""
    import torchvision  # takes seconds

    return torchvision.models.get_model_weights(architecture).DEFAULT


def _random(architecture: str, n_classes: int) -> nn.Module:
    """Return a network with random weights."""
    if architecture in reduced.REDUCED:
        network = reduced.REDUCED[architecture].build(n_classes)
        network.reduced_rate = reduced.REDUCED[architecture].rate
        return network
    import torchvision  # takes seconds

    return torchvision.models.get_model(architecture, num_classes=n_classes)


def _from_file(architecture: str, path: Path) -> nn.Module:
    """Return a network with a file's weights, and as many classes as these have."""
    state = read(path)
    last_layer = state.get(head_of(_random(architecture, 2)) + ".weight")
    n_classes = 2 if last_layer is None else len(last_layer)
    network = _random(architecture, n_classes)
    load(network, path)
    return network


def _replace_head(network: nn.Module, n_classes: int) -> None:
    """Give the last layer random weights, unless it has so many classes already."""
    head = network.get_submodule(head_of(network))
    if len(head.weight) == n_classes:
        return
    size = "out_features" if isinstance(head, nn.Linear) else "out_channels"
    setattr(head, size, n_classes)
    _, *shape = head.weight.shape
    head.weight = nn.Parameter(head.weight.new_empty(n_classes, *shape))
    if head.bias is not None:
        head.bias = nn.Parameter(head.bias.new_empty(n_classes))
    head.reset_parameters()

"""Classifiers that normalise their images themselves; their weights, and their store."""

import functools
import re
import warnings
from argparse import Namespace
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from pickle import UnpicklingError
from textwrap import shorten
from urllib.request import urlopen

import torch
from safetensors.torch import load_file
from torch import nn
from torch.serialization import safe_globals

import helpers
from helpers import store
from helpers.models.inference import refuse_other_ranges, seeded
from helpers.models.reduced import REDUCED

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)
STATES = ("state_dict", "model_state_dict", "model")  # of a checkpoint, in this order
INPUT_KEYS = ("mean", "std", "image_mean", "image_std", "do_normalize")
OTHER_KEYS = {  # of an image processor: what they are where images in [0, 1] are normalised once
    "include_top": (None, False), "rescale_offset": (None, False),
    "rescale_factor": (None, 1 / 255), "do_rescale": (None, True),
}  # fmt: skip


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
    """The logits, (N, classes), in what a network returned: its auxiliary outputs are left out."""
    found = output.get("logits") if isinstance(output, Mapping) else output
    found = getattr(found, "logits", found)
    if isinstance(found, tuple | list):
        tables = [
            one for one in found if isinstance(one, torch.Tensor) and one.ndim == 2
        ]
        found = tables[0] if len(tables) == 1 else found
    if isinstance(found, torch.Tensor) and found.ndim == 2:
        return found
    parts = output.items() if isinstance(output, Mapping) else [("", output)]
    parts = enumerate(output) if isinstance(output, tuple | list) else parts
    returned = [
        f"{k} {tuple(getattr(one, 'shape', ())) or type(one).__name__}"
        for k, one in parts
    ]
    raise ValueError(
        f"The network returns a {type(output).__name__} of {', '.join(returned).strip()}, which does "
        "not tell where the logits are. Wrap it in a module that returns these alone: (N, classes)."
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
        mean, std = _stated(
            like if like is not None else getattr(network, "pretrained_cfg", None)
        )
    if mean is None or std is None:
        raise ValueError(
            f"Nothing says how {type(network).__name__} wants its images normalised. Give what it "
            "was trained with: models.wrap(network, ResNet18_Weights.DEFAULT), "
            "models.wrap(network, image_processor), or mean=(...) and std=(...) on the [0, 1] "
            "scale; mean=0 and std=1 where it takes images in [0, 1] as they are."
        )
    try:
        mean, std = (
            torch.as_tensor(one).float().flatten().expand(3) for one in (mean, std)
        )
    except (TypeError, ValueError, RuntimeError):
        raise ValueError(
            f"mean={mean!r}, std={std!r}: give a number, or one a channel."
        ) from None
    return Classifier(network, mean, std)


def _stated(like) -> tuple:
    """Mean and std as torchvision, timm or Hugging Face state them; None where they do not."""
    like = like.transforms() if hasattr(like, "transforms") else like
    names = (*INPUT_KEYS, *OTHER_KEYS)
    known = (
        like if isinstance(like, dict) else {n: getattr(like, n, None) for n in names}
    )
    if odd := [n for n, usual in OTHER_KEYS.items() if known.get(n) not in usual]:
        setting = f"{odd[0]}={known[odd[0]]}"
        raise ValueError(
            f"This image processor does more than to normalise images in [0, 1] ({setting}). Give "
            "mean=(...) and std=(...) that do the same to images in [0, 1]."
        )
    if known.get("do_normalize") is False:
        return 0.0, 1.0
    return tuple(
        known.get(name) or known.get(f"image_{name}") for name in ("mean", "std")
    )


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


@functools.cache
def _say_once(sentence: str) -> None:
    """Print a sentence, the first time that it is said in this process."""
    print(sentence)


def read(
    path: Path, remark: Callable[[str], object] = _say_once
) -> dict[str, torch.Tensor]:
    """Read the tensors of a weights file.

    Parameters
    ----------
    path : Path
        A ``.safetensors`` file, or one that ``torch.save`` wrote.
    remark : callable, optional
        Called with a sentence where the file holds several sets of weights, such as
        ``state_dict`` and ``state_dict_ema``. It says which one was read. By default it is printed.

    Returns
    -------
    dict of str to torch.Tensor
        Tensors by name, without what wrappers such as DataParallel put before names.

    Raises
    ------
    ValueError
        If the file cannot be read, or holds NaN or infinite values.
    """
    path = _existing(path)
    with path.open("rb") as file:
        start = file.read(60)
    try:
        if start[8:9] == b"{" or path.suffix.lower() == ".safetensors":
            state = load_file(path)
        else:
            with warnings.catch_warnings(action="ignore"), safe_globals([Namespace]):
                saved = torch.load(path, map_location="cpu", weights_only=True)
            state = _state_in(saved)
            if others := _other_states(saved, state):
                remark(_which_was_read(path, saved, state, others))
        broken = [name for name, tensor in state.items() if not tensor.isfinite().all()]
    except (
        Exception
    ) as error:  # torch's own words advise to switch its safety off: not passed on
        own = path.resolve().parent == store.networks()
        todo = " Delete that file and run again: it will be made again." if own else ""
        raise ValueError(
            f"{path} cannot be read as weights: {_why(error, start)}{todo}"
        ) from None
    if broken:
        raise ValueError(
            f"{path} cannot be used: {broken[0]} has NaN or infinite values."
        )
    names = {re.sub(r"(?<![^.])(module|_orig_mod)\.", "", name): name for name in state}
    names.pop("n_averaged", None)  # of a running mean of weights
    before = min(
        (re.match(r"((model|network)\.)*", name).end() for name in names), default=0
    )
    return {name[before:]: state[full] for name, full in names.items()}


def _state_in(saved) -> Mapping[str, torch.Tensor]:
    """The state dict in what `torch.save` was given: itself, one by a usual name, or the only."""
    inside = saved.items() if isinstance(saved, Mapping) else ()
    states = {name: one for name, one in inside if _is_state(one)}
    usual = [states[name] for name in STATES if name in states]
    for state in (saved, *usual, *(states.values() if len(states) == 1 else ())):
        if _is_state(state):
            return state
    kinds = {
        name: type(one).__name__
        for name, one in inside
        if not isinstance(one, torch.Tensor)
    }
    holds = ", ".join(f"{name} ({kind})" for name, kind in kinds.items())
    raise LookupError(shorten(holds, 200) or f"a {type(saved).__name__}")


def _other_states(saved, state) -> list[str]:
    """Names of the other state dicts in what `torch.save` was given."""
    if saved is state:
        return []
    return [name for name, one in saved.items() if one is not state and _is_state(one)]


def _which_was_read(path: Path, saved, state, others: list[str]) -> str:
    """Say which of several state dicts of a file was read, and how to take another one."""
    name = next(name for name, one in saved.items() if one is state)
    return (
        f"{path.name} holds several sets of weights. {name!r} was read, not "
        f"{' or '.join(map(repr, others))}. To use another one, save it alone: "
        f"torch.save(torch.load({path.name!r})[{others[0]!r}], 'weights.pt')."
    )


def _is_state(one) -> bool:
    """Whether this is a state dict: names with a tensor each."""
    tensors = isinstance(one, Mapping) and all(
        isinstance(t, torch.Tensor) for t in one.values()
    )
    return tensors and len(one) > 0 and all(isinstance(name, str) for name in one)


def _why(error: Exception, start: bytes) -> str:
    """Why a file that begins so gave no state dict, in words of our own."""
    instead = "Where it was made, save them alone: torch.save(model.state_dict(), 'weights.pt')."
    if type(error) is LookupError:
        return f"it is no state dict, for it holds {error}. {instead}"
    if named := re.search(r"GLOBAL ([\w.]+)|(TorchScript)", str(error)):
        what = named[1] or "a TorchScript program"
        return f"besides tensors it holds code or objects ({what}), which are not run. {instead}"
    text = start.decode("ascii", "replace").split("\n")[0].strip()
    begin = (
        f"; it begins with {text!r}"
        if text and text.isascii() and text.isprintable()
        else ""
    )
    return f"it is cut short, or no file that torch.save or safetensors wrote{begin}."


def load(network: nn.Module, state: dict[str, torch.Tensor], path: Path) -> None:
    """Give a network the weights of a file; refused where names, shapes or kinds do not fit."""
    wanted = network.state_dict()
    try:
        network.load_state_dict(state)
    except (
        RuntimeError
    ) as error:  # torch's own list of what is missing, too much or of other shape
        raise ValueError(f"{path} does not fit: {shorten(str(error), 600)}") from error
    for name, tensor in wanted.items():
        if tensor.is_floating_point() > state[name].is_floating_point():
            kind = str(state[name].dtype).removeprefix("torch.")
            raise ValueError(
                f"{path} does not fit: {name} is {kind}, must be floating point."
            )


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
    try:  # downloads, checks the hash, and refuses a file that holds anything but weights
        entry.get_state_dict(progress=True, check_hash=True, weights_only=True)
    except (OSError, RuntimeError, EOFError, UnpicklingError) as error:
        why = (
            error
            if isinstance(error, OSError) or "hash" in str(error)
            else _why(error, b"\0")
        )
        raise _unreachable(architecture, why) from None
    return _torchvision().get_model(architecture, weights=entry)


def reach(architecture: str) -> None:
    """Refuse, with a ConnectionError, ImageNet weights that are neither kept here nor in reach."""
    address = _imagenet_entry(architecture).url
    if not Path(torch.hub.get_dir(), "checkpoints", Path(address).name).is_file():
        try:
            urlopen(address, timeout=10).close()
        except OSError as error:
            raise _unreachable(architecture, error) from error


def _unreachable(architecture: str, why: Exception | str) -> ConnectionError:
    return ConnectionError(
        f"The ImageNet weights of {architecture} could not be had from "
        f"{_imagenet_entry(architecture).url} ({why}). Try again (first delete a damaged copy in "
        f"{torch.hub.get_dir()}/checkpoints), or download that file by other means and give its "
        "path as `weights`."
    )


def _imagenet_entry(architecture: str):
    """torchvision's record (address, meaning) of an architecture's ImageNet weights."""
    if architecture in REDUCED:
        full, said = architecture.split("-")[0], "Nobody publishes ImageNet weights for"
        raise ValueError(
            f"{said} {architecture!r}. Use {full!r}, or start from the wider world."
        )
    return _torchvision().get_model_weights(_known(architecture)).DEFAULT


def _known(architecture: str) -> str:
    known = _torchvision().list_models(module=_torchvision())
    if architecture in known:
        return architecture
    raise ValueError(
        f"There is no architecture {architecture!r}. Take {', '.join(map(repr, REDUCED))} or "
        f"one of torchvision's classifiers: {', '.join(known)}."
    )


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
    return _torchvision().get_model(_known(architecture), num_classes=n_classes)


def _from_file(architecture: str, path: Path) -> nn.Module:
    """The architecture with a file's weights and as many classes as the file was made for."""
    state = read(path)
    fresh = _fresh(architecture, 2)
    head = head_of(fresh) + ".weight"
    if head not in state:
        others = [name for name in state if name not in fresh.state_dict()]
        has = f" Instead it has {shorten(', '.join(others), 100)}." if others else ""
        raise ValueError(
            f"{path} has no {head}: these are not weights of {architecture}.{has}"
        )
    network = _fresh(architecture, len(state[head]))
    load(network, state, path)
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

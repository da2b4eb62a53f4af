"""Reading a network's weights, from torchvision's servers or a file, without running any code."""

from pathlib import Path
from pickle import UnpicklingError
from textwrap import shorten

import torch
from safetensors.torch import load_file
from torch import nn
from torchvision import models as torchvision_models

from helpers.models.reduced import REDUCED
from helpers.run import artifacts, project


def digest(architecture: str, weights: str | Path | None) -> str | None:
    """What identifies the weights: the content of a file, or torchvision's versioned address."""
    if weights is None:
        return None
    if weights == "imagenet":
        return _imagenet_entry(architecture).url
    return artifacts.file_digest(_existing(Path(weights)))


def imagenet(architecture: str) -> nn.Module:
    """torchvision's network with its ImageNet weights, for 1000 classes."""
    entry = _imagenet_entry(architecture)
    try:  # downloads, checks the hash, and refuses a file that holds anything but weights
        entry.get_state_dict(progress=True, check_hash=True, weights_only=True)
    except (OSError, RuntimeError, EOFError, UnpicklingError) as error:
        raise ConnectionError(
            f"The ImageNet weights of {architecture} could not be had from {entry.url} ({error}). "
            f"Try again (first delete a damaged copy in {torch.hub.get_dir()}/checkpoints), or "
            "download that file by other means and give its path as `weights`."
        ) from error
    return torchvision_models.get_model(architecture, weights=entry)


def read(path: Path) -> dict[str, torch.Tensor]:
    """The tensors of a `.safetensors` file or of a state dict saved by `torch.save`.

    What is damaged, or holds anything but tensors of finite numbers, is refused.
    """
    path = _existing(path)
    try:
        state = _state(path)
    except Exception as error:
        own = path.resolve().parent == project.store()
        todo = " Delete that file and run again: it will be made anew." if own else ""
        raise ValueError(
            f"{path} cannot be read as weights: it must be a whole .safetensors file or a state "
            f"dict that torch.load(weights_only=True) accepts ({type(error).__name__}: {error})."
            + todo
        ) from error
    for name, tensor in state.items():
        if not tensor.isfinite().all():
            raise ValueError(
                f"{path} holds no weights that can be used: {name} has NaN or infinite values."
            )
    return state


def _state(path: Path) -> dict[str, torch.Tensor]:
    if path.suffix == ".safetensors":
        return load_file(path)
    state = torch.load(path, map_location="cpu", weights_only=True)
    state = state.get("state_dict", state)
    if not all(isinstance(tensor, torch.Tensor) for tensor in state.values()):
        raise TypeError("not every entry is a tensor")
    return state


def load(network: nn.Module, state: dict[str, torch.Tensor], path: Path) -> None:
    """Give a network the weights of a file; refused where names, shapes or kinds do not fit."""
    wanted = network.state_dict()
    try:
        network.load_state_dict(state)
    except RuntimeError as error:  # torch's own list of what is missing, too much or of other shape
        raise ValueError(f"{path} does not fit: {shorten(str(error), 600)}") from error
    for name, tensor in wanted.items():
        if tensor.is_floating_point() > state[name].is_floating_point():
            kind = str(state[name].dtype).removeprefix("torch.")
            raise ValueError(f"{path} does not fit: {name} is {kind}, must be floating point.")


def check_name(architecture: str) -> None:
    """Refuse a name that is none of torchvision's classifiers."""
    known = torchvision_models.list_models(module=torchvision_models)
    if architecture not in known:
        raise ValueError(
            f"There is no architecture {architecture!r}. Take {', '.join(map(repr, REDUCED))} or "
            f"one of torchvision's classifiers: {', '.join(known)}."
        )


def _imagenet_entry(architecture: str):
    """torchvision's record (address, meaning) of an architecture's ImageNet weights."""
    if architecture in REDUCED:
        full, _, _ = architecture.partition("-")
        raise ValueError(
            f"Nobody publishes ImageNet weights for {architecture!r}. Use {full!r}, or pretrain it "
            "on the wider world with `models.pretrained`."
        )
    check_name(architecture)
    return torchvision_models.get_model_weights(architecture).DEFAULT


def _existing(path: Path) -> Path:
    if not path.is_file():
        raise FileNotFoundError(
            f"There is no weights file {path} (looked from {Path.cwd()}). Give the "
            "path of a .safetensors or .pth file, 'imagenet', or None."
        )
    return path

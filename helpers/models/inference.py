"""Compute logits of images, and decide where and on how many threads torch computes."""

import functools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import nn

from helpers.store import progress

DEVICES = ("auto", "cpu", "cuda", "mps")
BATCH_SIZES = {"cpu": 64, "mps": 64, "cuda": 256}  # images, by the type of the device
THREADS = "SUITE_THREADS"  # environment variable: threads of a notebook in a workflow


@torch.no_grad()
def logits(
    model: nn.Module | Sequence[nn.Module],
    images: torch.Tensor | Iterable[torch.Tensor],
    *,
    finite: bool = True,
) -> torch.Tensor:
    """Compute the logits of images, in batches.

    Parameters
    ----------
    model : nn.Module or sequence of nn.Module
        A network, or the T training runs of a model, which are on the same device.
    images : torch.Tensor or iterable of torch.Tensor
        Images of shape (N, 3, H, W), uint8 or float in [0, 1], or batches of them.
    finite : bool, default=True
        Whether NaN and infinite logits are refused.

    Returns
    -------
    torch.Tensor
        float32 of shape (N, classes), or (T, N, classes), on the CPU.

    Raises
    ------
    FloatingPointError
        Logits are not finite.
    """
    networks = [model] if isinstance(model, nn.Module) else list(model)
    was_training = [network.training for network in networks]
    device = next(networks[0].parameters()).device
    if isinstance(images, torch.Tensor):
        images = images.split(batch_size(device))

    def stacked(batch: torch.Tensor) -> torch.Tensor:
        outputs = [network.eval()(batch).float().cpu() for network in networks]
        return torch.stack(outputs)

    parts = []
    for batch in progress(images, desc="logits", delay=2):
        if hasattr(networks[0], "mean"):  # it normalizes images in [0, 1]
            refuse_other_ranges(batch)
        parts += in_halves(stacked, batch.to(device))
    for network, training in zip(networks, was_training, strict=True):
        network.train(training)
    outputs = torch.cat(parts, dim=1)
    if finite:
        _refuse_other_than_finite(outputs)
    return outputs[0] if isinstance(model, nn.Module) else outputs


def _refuse_other_than_finite(outputs: torch.Tensor) -> None:
    """Refuse logits of shape (T, N, classes) that are NaN or infinite."""
    wrong = ~outputs.isfinite().all(dim=2).all(dim=0)
    if wrong.any():
        raise FloatingPointError(
            f"The model gave NaN or infinite logits for {int(wrong.sum())} of "
            f"{len(wrong)} images, first for image {int(wrong.nonzero()[0])}. Look for "
            "NaN in the weights and in this image."
        )


def batch_size(device: torch.device) -> int:
    """Return how many images are computed at a time by default on a device."""
    return BATCH_SIZES.get(device.type, BATCH_SIZES["cpu"])


def in_halves(compute: Callable, *tensors: torch.Tensor) -> list:
    """Apply a function to a batch, in smaller parts where the memory does not suffice.

    Parameters
    ----------
    compute : callable
        Function of as many tensors as are given.
    *tensors : torch.Tensor
        The batch: tensors with one row per image.

    Returns
    -------
    list
        What `compute` returned for each part of the batch, in order.

    Raises
    ------
    torch.OutOfMemoryError
        The memory does not suffice for a single image.
    """
    n_images = len(tensors[0])
    size = n_images
    start = 0
    results = []
    while True:
        too_large = False
        try:
            results.append(
                compute(*(tensor[start : start + size] for tensor in tensors))
            )
        except RuntimeError as error:
            if size <= 1 or not is_out_of_memory(error):
                raise
            too_large = True
        # outside of the handler, which keeps the tensors of the failed call alive
        if too_large:
            torch.cuda.empty_cache()
            print_once(
                "The memory does not suffice for a batch, so batches are halved."
            )
            size = size // 2
            continue
        start += size
        if start >= n_images:
            return results


def is_out_of_memory(error: RuntimeError) -> bool:
    """Return whether an error says that a GPU has too little memory."""
    # torch raises a plain RuntimeError on Apple's GPUs
    return isinstance(error, torch.OutOfMemoryError) or "out of memory" in str(error)


@functools.cache
def print_once(sentence: str) -> None:
    """Print a sentence, but not again in the same process."""
    print(sentence)


def refuse_other_ranges(images: torch.Tensor, spare: float = 0.5) -> None:
    """Refuse float images that are not in [0, 1].

    Parameters
    ----------
    images : torch.Tensor
    spare : float, default=0.5
        By how much values may leave [0, 1].

    Raises
    ------
    TypeError
        `images` is not a tensor.
    ValueError
        The images are in 0 to 255, or normalized.
    """
    if not isinstance(images, torch.Tensor):
        raise TypeError(
            f"Images must be a tensor, (N, 3, H, W), not a {type(images).__name__}."
        )
    if images.is_floating_point() and images.numel():
        low, high = images.detach().aminmax()
        if low < -spare or high > 1 + spare:
            raise ValueError(
                f"Float images must be in [0, 1]; these go from {low:.3g} to "
                f"{high:.3g}. Divide images in 0 to 255 by 255, or give them as uint8. "
                "Do not normalize them, because the model does."
            )


def device(name: str = "auto", *, synthetic: bool = False) -> torch.device:
    """Choose the device on which networks compute.

    Parameters
    ----------
    name : {"auto", "cpu", "cuda", "mps"}
        A device, or "auto": the CPU for the synthetic dataset, so that a machine with a
        GPU gives the stored numbers. For other images a CUDA GPU, else an Apple GPU
        (MPS), else the CPU.
    synthetic : bool
        Whether the images are those of the synthetic dataset.

    Returns
    -------
    torch.device

    Raises
    ------
    ValueError
        The name is unknown, or this machine has no such device.
    """
    if name not in DEVICES:
        raise ValueError(
            f"device={name!r} is not known. Use one of {', '.join(DEVICES)}."
        )
    has_cuda = torch.cuda.is_available()
    has_mps = torch.backends.mps.is_available()
    if name == "cuda" and not has_cuda:
        raise ValueError(
            f"device='cuda' asks for a CUDA GPU, but {_why_no_cuda()}. Use 'auto', "
            "which takes a GPU where there is one, or 'cpu'."
        )
    if name == "mps" and not has_mps:
        raise ValueError(
            "device='mps' asks for an Apple GPU, but torch finds none on this machine. "
            "Use 'auto' or 'cpu'."
        )
    if name != "auto":
        return torch.device(name)
    if synthetic:
        return torch.device("cpu")
    if has_cuda:
        return torch.device("cuda")
    return torch.device("mps" if has_mps else "cpu")


def _why_no_cuda() -> str:
    """Say what is missing: CUDA in torch, or the GPU."""
    if torch.version.cuda is None:
        return (
            "this torch is built without CUDA (`rm -rf .venv; make setup` installs one "
            "with it)"
        )
    return "torch finds none on this machine"


def threads(*, synthetic: bool = False) -> int:
    """Return on how many CPU threads torch computes.

    Parameters
    ----------
    synthetic : bool
        Whether the images are those of the synthetic dataset.

    Returns
    -------
    int
        1 for the synthetic dataset, whose stored numbers assume it. For other images
        the share of a notebook that a workflow runs next to others (the environment
        variable `SUITE_THREADS`), or all cores that this process may use.
    """
    if synthetic:
        return 1
    if os.environ.get(THREADS):
        return max(1, int(os.environ[THREADS]))
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def on_threads(number: int) -> Iterator[None]:
    """Run torch on so many CPU threads within a `with` block."""
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def seeded(seed: int, device: torch.device | None = None) -> Iterator[None]:
    """Seed torch within a `with` block, and leave its generators as they were before.

    The generator of a GPU that is given is seeded too. No other GPU is touched, because
    each that is touched takes memory, also for a process that computes on the CPU.
    """
    kind = "cpu" if device is None else device.type
    with torch.random.fork_rng(devices=[device] if kind == "cuda" else []):
        torch.default_generator.manual_seed(seed)
        if kind == "cuda":
            with torch.cuda.device(device):
                torch.cuda.manual_seed(seed)
        elif kind == "mps":
            torch.mps.manual_seed(seed)
        yield


def in_key(device: torch.device) -> dict[str, str]:
    """Return what a key of the store says of a device: nothing for the CPU."""
    return {} if device.type == "cpu" else {"device": device.type}

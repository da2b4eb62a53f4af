"""Compute logits of images, and decide where and on how many threads torch computes."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

import torch
from torch import nn

from helpers.store import progress

DEVICES = ("auto", "cpu", "cuda", "mps")
BATCH_SIZE = 64  # images at a time
CUDA_BATCH_SIZE = 256
THREADS = "SUITE_THREADS"  # environment variable: cores of a notebook in a workflow


@torch.no_grad()
def logits(
    model: nn.Module | Sequence[nn.Module],
    images: torch.Tensor | Iterable[torch.Tensor],
) -> torch.Tensor:
    """Compute the logits of images, in batches.

    Parameters
    ----------
    model : nn.Module or sequence of nn.Module
        A network, or the T training runs of a model, which are on the same device.
        They are put into eval mode.
    images : torch.Tensor or iterable of torch.Tensor
        Images of shape (N, 3, H, W), uint8 or float in [0, 1], or batches of them.

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
    for network in networks:
        network.eval()
    device = next(networks[0].parameters()).device
    if isinstance(images, torch.Tensor):
        images = images.split(CUDA_BATCH_SIZE if device.type == "cuda" else BATCH_SIZE)
    parts = []
    for batch in progress(images, desc="logits", delay=2):
        compute = partial(_stacked_logits, networks, batch.to(device))
        parts.append(with_halved_batches(compute, len(batch)))
    outputs = torch.cat(parts, dim=1)
    is_wrong = ~outputs.isfinite().all(dim=2).all(dim=0)
    if is_wrong.any():
        raise FloatingPointError(
            f"The model gave NaN or infinite logits for {int(is_wrong.sum())} of "
            f"{len(is_wrong)} images, first for image {int(is_wrong.nonzero()[0])}. "
            "Look for NaN in this image and in the weights. If the network is being "
            "trained, try a tenth of the learning rate."
        )
    return outputs[0] if isinstance(model, nn.Module) else outputs


def _stacked_logits(
    networks: Sequence[nn.Module], images: torch.Tensor, batch_size: int
) -> torch.Tensor:
    """Compute the logits (T, N, classes) of images by T networks, on the CPU."""
    parts = []
    for batch in images.split(batch_size):
        outputs = [network(batch).float().cpu() for network in networks]
        parts.append(torch.stack(outputs))
    return torch.cat(parts, dim=1)


def with_halved_batches(compute: Callable[[int], Any], batch_size: int) -> Any:
    """Call a function with a batch size, and halve it until the memory suffices.

    Parameters
    ----------
    compute : callable
        Function of the batch size.
    batch_size : int
        The first batch size to try.

    Returns
    -------
    object
        What `compute` returned.

    Raises
    ------
    torch.OutOfMemoryError
        The memory does not suffice for a batch of one.
    """
    while True:
        try:
            return compute(batch_size)
        except RuntimeError as error:
            # torch raises a plain RuntimeError on Apple's GPUs
            if batch_size <= 1 or "out of memory" not in str(error):
                raise
        # outside of the handler, which keeps the tensors of the failed call alive
        torch.cuda.empty_cache()
        print_once("The memory does not suffice for a batch, so batches are halved.")
        batch_size //= 2


@cache
def print_once(sentence: str) -> None:
    """Print a sentence, but not again in the same process."""
    print(sentence)


def device(name: str = "auto", *, synthetic: bool = False) -> torch.device:
    """Choose the device on which networks compute.

    Parameters
    ----------
    name : {"auto", "cpu", "cuda", "mps"}
        A device, or "auto". It means the CPU for the synthetic dataset, so that a
        machine with a GPU gives the stored numbers. For other images it is the GPU that
        torch finds (CUDA or Apple's MPS), else the CPU.
    synthetic : bool
        Whether the images belong to the synthetic dataset.

    Returns
    -------
    torch.device

    Raises
    ------
    ValueError
        The name is unknown, or this machine has no such device.
    """
    kind = "cpu"
    if torch.accelerator.is_available():
        kind = torch.accelerator.current_accelerator().type
    if name == "auto":
        return torch.device("cpu" if synthetic else kind)
    if name not in ("cpu", kind):
        raise ValueError(
            f"device={name!r}: torch finds no such device on this machine. Use 'auto', "
            "which takes a GPU where there is one, or 'cpu'."
        )
    return torch.device(name)


def threads() -> int:
    """Return on how many CPU threads torch computes for your own images and networks.

    Returns
    -------
    int
        The cores that a workflow gives to the notebook (the environment variable
        `SUITE_THREADS`), or all cores that this process may use.
    """
    if os.environ.get(THREADS):
        return int(os.environ[THREADS])
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def seeded(seed: int, device: torch.device | None = None) -> Iterator[None]:
    """Seed torch within a `with` block, and leave its generators as they were before.

    The generator of a GPU that is given is seeded too. No other GPU is touched, because
    each that is touched takes memory, also for a process that computes on the CPU.
    """
    is_gpu = device is not None and device.type not in ("cpu", "meta")
    kind = device.type if is_gpu else "cuda"
    with torch.random.fork_rng(devices=[device] if is_gpu else [], device_type=kind):
        torch.default_generator.manual_seed(seed)
        if is_gpu:
            torch.get_device_module(kind).manual_seed(seed)
        yield

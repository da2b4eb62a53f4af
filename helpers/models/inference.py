"""Asking a model: logits of many images, and where and on how many threads torch computes."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import nn

from helpers.store import progress

DEVICES = ("auto", "cpu", "cuda", "mps")
THREADS = "SUITE_THREADS"  # environment variable: CPU threads of a notebook that a workflow runs


@torch.no_grad()
def logits(
    model: nn.Module | Sequence[nn.Module],
    images: torch.Tensor | Iterable[torch.Tensor],
    *,
    finite: bool = True,
) -> torch.Tensor:
    """Compute the logits of images: float32 (N, classes), or (T, N, classes) for T training runs.

    `images` are uint8, or float in [0, 1], of shape (N, 3, H, W), or batches of such, made once for
    all runs. If `finite`, NaN and infinite logits raise a FloatingPointError."""
    networks = [model] if isinstance(model, nn.Module) else list(model)
    was_training = [network.training for network in networks]
    device = next(networks[0].parameters()).device
    batches = images.split(64) if isinstance(images, torch.Tensor) else images
    said = []
    for batch in progress(batches, desc="logits", delay=2):
        if hasattr(
            getattr(networks[0], "module", networks[0]), "mean"
        ):  # DataParallel's module
            refuse_other_ranges(batch)
        said += in_halves(lambda part: _stacked(networks, part), batch.to(device))
    for network, training in zip(networks, was_training, strict=True):
        network.train(training)
    out = torch.cat(said, dim=1)
    unfit = ~out.isfinite().all(dim=2).all(dim=0)
    if finite and unfit.any():
        raise FloatingPointError(
            f"The model gave NaN or infinite logits for {int(unfit.sum())} of {len(unfit)} images, "
            f"first for image {int(unfit.nonzero()[0])}: its weights are broken or the image "
            "holds NaN."
        )
    return out[0] if isinstance(model, nn.Module) else out


def _stacked(networks: Sequence[nn.Module], batch: torch.Tensor) -> torch.Tensor:
    """Logits of a batch by each network, float32 (T, B, classes), on the CPU."""
    return torch.stack([network.eval()(batch).float().cpu() for network in networks])


def in_halves(compute: Callable, *tensors: torch.Tensor) -> list:
    """Apply a function to a batch, and to smaller parts of it where a GPU has too little memory.

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
    try:
        return [compute(*tensors)]
    except torch.OutOfMemoryError:
        if len(tensors[0]) == 1:
            raise
    # outside of the handler: while the error is handled, its frames keep their tensors alive
    torch.cuda.empty_cache()
    half = len(tensors[0]) // 2
    first = in_halves(compute, *(tensor[:half] for tensor in tensors))
    second = in_halves(compute, *(tensor[half:] for tensor in tensors))
    return first + second


def refuse_other_ranges(images: torch.Tensor, spare: float = 0.5) -> None:
    """Refuse float images that leave [0, 1] by more than is to spare: 0 to 255, or normalised."""
    if not isinstance(images, torch.Tensor):
        raise TypeError(
            f"Images must be a tensor, (N, 3, H, W), not a {type(images).__name__}."
        )
    if images.is_floating_point() and images.numel():
        low, high = images.detach().aminmax()
        if low < -spare or high > 1 + spare:
            raise ValueError(
                f"Float images must be in [0, 1]; these go from {low:.3g} to {high:.3g}. Divide "
                "those in 0 to 255 by 255, or give them as uint8; normalising is the model's part."
            )


def device(name: str = "auto", *, synthetic: bool = False) -> torch.device:
    """Choose the device on which networks compute.

    Parameters
    ----------
    name : {"auto", "cpu", "cuda", "mps"}
        A device, or "auto": the CPU for the synthetic dataset, so that a machine with a GPU gives
        the stored numbers, and otherwise a CUDA GPU where there is one. "mps" (Apple's GPUs) must
        be asked for.
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
    if name == "auto":
        name = "cuda" if not synthetic and torch.cuda.is_available() else "cpu"
    if name == "cuda" and not torch.cuda.is_available():
        raise ValueError(
            f"device='cuda' asks for a CUDA GPU, but {_why_no_cuda()}. Use 'auto', which takes a "
            "GPU where there is one, or 'cpu'."
        )
    if name == "mps" and not torch.backends.mps.is_available():
        raise ValueError(
            "device='mps' asks for an Apple GPU, but torch finds none on this machine. Use 'auto' "
            "or 'cpu'."
        )
    return torch.device(name)


def _why_no_cuda() -> str:
    """Say what is missing: CUDA in torch, or the GPU."""
    if torch.version.cuda is None:
        return "this torch is built without CUDA (`rm -rf .venv; make setup` installs one with it)"
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
        1 for the synthetic dataset, whose stored numbers assume it. For other images the share of
        a notebook that a workflow runs next to others (the environment variable `SUITE_THREADS`),
        or all cores that this process may use.
    """
    if synthetic:
        return 1
    if given := os.environ.get(THREADS):
        return max(1, int(given))
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

    The generator of a GPU that is given is seeded too. No other GPU is touched: each that is
    touched takes memory, also for a process that computes on the CPU.
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
    """Return what a key of the store says of a device: nothing of the CPU, its type of a GPU."""
    return {} if device.type == "cpu" else {"device": device.type}


def single_thread():
    """Run torch on one thread within a `with` block: fast side by side, and repeatable."""
    return on_threads(1)

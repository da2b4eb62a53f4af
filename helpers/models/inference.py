"""Asking a model: logits of many images, and where and on how many threads torch computes."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import nn

from helpers.store import progress


@torch.no_grad()
def logits(
    model: nn.Module | Sequence[nn.Module],
    images: torch.Tensor | Iterable[torch.Tensor],
    *,
    finite: bool = True,
) -> torch.Tensor:
    """What `model` says of `images`: float32 (N, classes), or (T, N, classes) of T trainings.

    `images` are uint8, or float in [0, 1], of shape (N, 3, H, W), or batches of such, made once for
    all trainings. Where `finite`, NaN and infinite logits are a FloatingPointError."""
    networks = [model] if isinstance(model, nn.Module) else list(model)
    was_training = [network.training for network in networks]
    device = next(networks[0].parameters()).device
    batches = images.split(64) if isinstance(images, torch.Tensor) else images
    said = []
    for batch in progress(batches, desc="logits", delay=2):
        if hasattr(getattr(networks[0], "module", networks[0]), "mean"):  # DataParallel's module
            refuse_other_ranges(batch)
        batch = batch.to(device)
        said.append(torch.stack([network.eval()(batch).float().cpu() for network in networks]))
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


def refuse_other_ranges(images: torch.Tensor, spare: float = 0.5) -> None:
    """Refuse float images that leave [0, 1] by more than is to spare: 0 to 255, or normalised."""
    if not isinstance(images, torch.Tensor):
        raise TypeError(f"Images must be a tensor, (N, 3, H, W), not a {type(images).__name__}.")
    if images.is_floating_point() and images.numel():
        low, high = images.detach().aminmax()
        if low < -spare or high > 1 + spare:
            raise ValueError(
                f"Float images must be in [0, 1]; these go from {low:.3g} to {high:.3g}. Divide "
                "those in 0 to 255 by 255, or give them as uint8; normalising is the model's part."
            )


def default_device() -> torch.device:
    """The GPU where there is one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


@contextmanager
def single_thread() -> Iterator[None]:
    """Run torch on one thread within a `with` block: fast side by side, and repeatable."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)

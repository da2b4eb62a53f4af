"""Asking a model: logits of many images, and where and on how many threads torch computes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from helpers.progress import progress


@torch.no_grad()
def logits(
    model: nn.Module, images: torch.Tensor, batch_size: int = 64, *, finite: bool = True
) -> torch.Tensor:
    """What `model` says of `images`.

    Parameters
    ----------
    model : nn.Module
        Put in eval mode for the occasion.
    images : tensor (N, 3, H, W)
        uint8, or float in [0, 1]; moved to the model's device batch by batch.
    batch_size : int
        A progress bar shows when it takes more than 2 s.
    finite : bool
        Refuse NaN and infinite logits.

    Returns
    -------
    float32 tensor (N, n_classes), on the CPU

    Raises
    ------
    FloatingPointError
        When a logit is NaN or infinite, naming the first image it happened to.
    """
    device = next(model.parameters()).device
    was_training = model.training
    model.eval()
    batches = progress(images.split(batch_size), desc="logits", delay=2)
    out = torch.cat([model(batch.to(device)).float().cpu() for batch in batches])
    model.train(was_training)
    unfit = ~out.isfinite().all(dim=1)
    if finite and unfit.any():
        raise FloatingPointError(
            f"The model gave NaN or infinite logits for {int(unfit.sum())} of {len(out)} images, "
            f"first for image {int(unfit.nonzero()[0])}: its weights are broken or the image "
            "holds NaN."
        )
    return out


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

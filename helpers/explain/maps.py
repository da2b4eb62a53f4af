"""What an explanation method returns, and what is checked of it before anyone may score it."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch


@dataclass(frozen=True)
class Maps:
    """Relevance maps of one method.

    Attributes
    ----------
    maps : float32 tensor (N, H, W)
        Relevance of every pixel for the target class, at the images' size, on the CPU. Its unit
        is the method's own: only shares of it can be compared between methods.
    method : str
    settings : dict
        What the method was run with, its layer's name included where it has one.
    seconds : float
        Wall time.
    """

    maps: torch.Tensor
    method: str
    settings: dict = field(default_factory=dict)
    seconds: float = 0.0

    def __len__(self) -> int:
        return len(self.maps)

    @property
    def is_zero(self) -> torch.Tensor:
        """bool tensor (N,): maps that are zero everywhere."""
        return (self.maps == 0).all(-1).all(-1)

    @property
    def zero(self) -> int:
        """Number of maps that are zero everywhere."""
        return int(self.is_zero.sum())

    @property
    def no_positive(self) -> int:
        """Number of maps without any positive relevance: Focus is undefined for them."""
        return int((self.maps <= 0).all(-1).all(-1).sum())

    def report(self) -> str:
        """One sentence: how many maps there are, and how many of them say nothing."""
        return (
            f"{self.method}: {len(self)} maps, {self.zero} of them zero everywhere, "
            f"{self.no_positive} without positive relevance"
        )


def checked(maps: torch.Tensor, images: torch.Tensor, method: str) -> torch.Tensor:
    """A batch of maps as float32 on the CPU, refused where it does not fit its images.

    Raises
    ------
    ValueError
        For maps that are no tensor of shape (B, H, W) like the images' (B, 3, H, W).
    FloatingPointError
        For NaN or infinite relevance.
    """
    wanted = (len(images), *images.shape[-2:])
    if not isinstance(maps, torch.Tensor) or tuple(maps.shape) != wanted:
        given = tuple(maps.shape) if isinstance(maps, torch.Tensor) else type(maps).__name__
        raise ValueError(f"{method} must return a tensor of shape {wanted}, not {given}.")
    maps = maps.detach().float().cpu()
    if maps.sum().isfinite():  # of every map at once: most calls end here
        return maps
    unfit = ~maps.isfinite().all(-1).all(-1)
    if unfit.any():
        raise FloatingPointError(
            f"{method} gave NaN or infinite relevance for {int(unfit.sum())} of {len(maps)} images."
        )
    return maps

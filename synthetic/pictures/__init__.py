"""Draw image sets whose biases are known."""

from .sets import (
    CLASSES,
    CONTEXT_BIAS,
    CONTEXT_OF,
    CONTEXTS,
    SETS,
    contexts,
    make,
    marked_shares,
    planted,
)
from .wider import WIDER_KINDS, wider

__all__ = ["CLASSES", "CONTEXTS", "CONTEXT_BIAS", "CONTEXT_OF", "SETS", "WIDER_KINDS"]
__all__ += ["contexts", "make", "marked_shares", "planted", "wider"]

"""The planted world: procedural photographs whose biases are known."""

from .patch import PATCH_CLASSES
from .patch import planted as planted_patch
from .sets import (
    CLASSES,
    CONTEXT_BIAS,
    CONTEXT_OF,
    CONTEXTS,
    SETS,
    contexts,
    make,
    planted,
)
from .wider import WIDER_KINDS, wider

__all__ = [
    "CLASSES",
    "CONTEXTS",
    "CONTEXT_BIAS",
    "CONTEXT_OF",
    "PATCH_CLASSES",
    "SETS",
    "WIDER_KINDS",
    "contexts",
    "make",
    "planted",
    "planted_patch",
    "wider",
]

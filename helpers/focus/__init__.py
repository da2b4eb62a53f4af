"""*Focus! Rating XAI Methods and Finding Biases*: mosaics, scores, pairs, features."""

from helpers.focus.means import summary
from helpers.focus.mosaics import batches, design, layouts
from helpers.focus.rating import rate

__all__ = ["batches", "design", "layouts", "rate", "summary"]

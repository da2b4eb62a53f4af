"""*Focus! Rating XAI Methods and Finding Biases*: mosaics, scores, pairs, features."""

from helpers.focus.means import summary
from helpers.focus.mosaics import TARGETS, batches, design, layouts
from helpers.focus.rating import rate, score

__all__ = ["TARGETS", "batches", "design", "layouts", "rate", "score", "summary"]

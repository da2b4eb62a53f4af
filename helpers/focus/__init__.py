"""*Focus! Rating XAI Methods and Finding Biases*: `mosaics`, models (`networks`), scores
(`rating`), `means` with intervals, `controls`, class `pairs`, their `feature`, and `claims`."""

from helpers.focus.means import summary
from helpers.focus.mosaics import TARGETS, batches, design, layouts
from helpers.focus.rating import rate, score

__all__ = ["TARGETS", "batches", "design", "layouts", "rate", "score", "summary"]

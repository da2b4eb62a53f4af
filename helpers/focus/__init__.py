"""*Focus! Rating XAI Methods and Finding Biases*: mosaics (`mosaics`), models (`networks`), the
score and ratings (`rating`), means with intervals (`means`), controls and choices (`controls`),
class pairs ranked (`pairs`), the feature that a pair shares (`feature`), and what the paper claims
(`claims`)."""

from helpers.focus.means import summary
from helpers.focus.mosaics import TARGETS, batches, design, layouts
from helpers.focus.rating import rate, score

__all__ = ["TARGETS", "batches", "design", "layouts", "rate", "score", "summary"]

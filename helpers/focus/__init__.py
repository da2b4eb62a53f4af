"""Focus (*Focus! Rating XAI Methods and Finding Biases*): its score, its mosaics, its rating.

Each module holds one idea: the score of maps (`score`), which images make which mosaic (`design`),
a method rated over mosaics batch by batch (`rating`), means with intervals over trainings and over
mosaics that share images (`means`), and maps and networks whose score is known beforehand
(`controls`).
"""

from helpers.focus.design import IMAGES, TARGETS, batches, design, layouts
from helpers.focus.means import differences, summary
from helpers.focus.rating import rate, rate_maps
from helpers.focus.score import score

__all__ = [
    "IMAGES",
    "TARGETS",
    "batches",
    "design",
    "differences",
    "layouts",
    "rate",
    "rate_maps",
    "score",
    "summary",
]

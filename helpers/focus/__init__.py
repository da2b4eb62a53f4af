"""Focus (*Focus! Rating XAI Methods and Finding Biases*): its score, its mosaics, its rating.

Each module holds one idea: the score of maps (`score`), which images make which mosaic (`mosaics`),
the models that are explained (`networks`), methods rated over mosaics (`rating`), means with
intervals over trainings and over mosaics that share images (`means`); maps and deep networks whose
score is known beforehand (`controls`), what moves a score (`choices`); class pairs ranked
(`pairs`), the feature that a pair shares (`feature`), trials with a planted pair (`trials`), a walk
through mosaics (`look`); and what the paper claims (`claims`).
"""

from helpers.focus.means import summary
from helpers.focus.mosaics import TARGETS, batches, design, layouts
from helpers.focus.rating import rate
from helpers.focus.score import score

__all__ = ["TARGETS", "batches", "design", "layouts", "rate", "score", "summary"]

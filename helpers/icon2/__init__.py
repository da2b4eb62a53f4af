"""ICON2: is a detector worse for some groups, or are their scenes harder?

Labels and detections are read (`frames`, `reading`, `income`, `attributes`), matched once
(`matching`), and every average precision is read off the matches (`average_precision`): ranking,
control and a permutation null (`analysis`, by the paper's `formulas`), rules and their error rates
over planted worlds (`verdicts`), whose detector is measured on the real one (`calibration`), what
causes a gap (`intervention`), the choices that the paper leaves open (`options`), and its claims
(`printed`, `claims`).
"""

from helpers.icon2.analysis import analyse, change_each_choice, sigma_null
from helpers.icon2.attributes import Frames
from helpers.icon2.frames import read
from helpers.icon2.matching import match
from helpers.icon2.options import Options

__all__ = [
    "Frames",
    "Options",
    "analyse",
    "change_each_choice",
    "match",
    "read",
    "sigma_null",
]

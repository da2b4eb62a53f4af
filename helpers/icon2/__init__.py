"""ICON2: is a detector worse for some groups, or are their scenes harder?

Labels and detections are read (`reading`, `income`, `attributes`), matched once (`matching`), and
every average precision is read off the matches (`average_precision`, `cells`, `estimates`):
ranking and control (`analysis`), permutation nulls (`nulls`), verdicts and their error rates over
planted worlds (`verdicts`, `error_rates`), and the paper's claims (`printed`, `claims`).
"""

from helpers.icon2.analysis import Analysis, analyse, readable
from helpers.icon2.attributes import Attribute, AttributeDataError
from helpers.icon2.frames import Frames, planted, read
from helpers.icon2.matching import Matches, match
from helpers.icon2.nulls import delta_null, sigma_null
from helpers.icon2.options import PAPER, SOUND, Options
from helpers.icon2.reading import DetectionDataError, GroundTruth, read_detections, read_labels
from helpers.icon2.sensitivity import change_each_choice

__all__ = [
    "PAPER",
    "SOUND",
    "Analysis",
    "Attribute",
    "AttributeDataError",
    "DetectionDataError",
    "Frames",
    "GroundTruth",
    "Matches",
    "Options",
    "analyse",
    "change_each_choice",
    "delta_null",
    "match",
    "planted",
    "read",
    "read_detections",
    "read_labels",
    "readable",
    "sigma_null",
]

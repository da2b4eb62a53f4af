"""ICON2: is a detector worse for some groups, or are their scenes harder?"""

from helpers.icon2 import attributes
from helpers.icon2.analysis import analyse
from helpers.icon2.attributes import Attribute, AttributeDataError
from helpers.icon2.options import PAPER, SOUND, Options
from helpers.icon2.tables import Analysis

__all__ = [
    "PAPER",
    "SOUND",
    "Analysis",
    "Attribute",
    "AttributeDataError",
    "Options",
    "analyse",
    "attributes",
]

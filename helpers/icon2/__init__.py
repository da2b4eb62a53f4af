"""Distinguish worse detectors from harder scenes (ICON2)."""

from helpers.icon2.analysis import Options, analyse, sigma_null
from helpers.icon2.attributes import Frames
from helpers.icon2.formulas import controlled, proxy
from helpers.icon2.matching import match

__all__ = [
    "Frames",
    "Options",
    "analyse",
    "controlled",
    "match",
    "proxy",
    "sigma_null",
]

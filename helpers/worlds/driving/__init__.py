"""Planted streets: `street` renders frames; `make` draws boxes and detections from a law."""

from helpers.worlds.driving.city import drives
from helpers.worlds.driving.drive import (
    CORNERS,
    DrivingWorld,
    detected,
    make,
    of_frames,
    terms,
)
from helpers.worlds.driving.law import CLASSES, CONFOUNDERS, GROUPS, Law

__all__ = [
    "CLASSES",
    "CONFOUNDERS",
    "CORNERS",
    "GROUPS",
    "DrivingWorld",
    "Law",
    "detected",
    "drives",
    "make",
    "of_frames",
    "terms",
]

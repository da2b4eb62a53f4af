"""Planted streets: `street` renders frames; `make` draws boxes and detections from a law."""

from helpers.worlds.driving.drive import make
from helpers.worlds.driving.law import CLASSES, CONFOUNDERS, GROUPS, Law

__all__ = ["CLASSES", "CONFOUNDERS", "GROUPS", "Law", "make"]

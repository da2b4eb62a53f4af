"""The planted streets: frames, boxes and detections drawn from a stated law."""

from helpers.worlds.driving.drive import DrivingWorld, light, make
from helpers.worlds.driving.law import CONFOUNDERS, GROUPS, Law

__all__ = ["CONFOUNDERS", "GROUPS", "DrivingWorld", "Law", "light", "make"]

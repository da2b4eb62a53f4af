"""A planted driving world: frames, boxes and detections whose law is known."""

from helpers.driving_world import city, pictures
from helpers.driving_world.drive import DrivingWorld, make
from helpers.driving_world.law import CONFOUNDERS, GROUPS, Law

__all__ = ["CONFOUNDERS", "GROUPS", "DrivingWorld", "Law", "city", "make", "pictures"]

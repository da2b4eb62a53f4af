"""Mosaics, scores, pairs and features of the paper *Focus!*."""

from helpers.focus.means import summary
from helpers.focus.mosaics import compose, design, layouts
from helpers.focus.rating import rate

__all__ = ["compose", "design", "layouts", "rate", "summary"]

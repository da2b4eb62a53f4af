"""Figures, drawn from returned tables: one module a paper over the look they share, `style`."""

from helpers.figures.pairs import detection, mosaics_explained, on_patch, pair_matrix, pair_ranking
from helpers.figures.style import SET_COLOURS, image_grid, palette, show, style

__all__ = [
    "SET_COLOURS",
    "detection",
    "image_grid",
    "mosaics_explained",
    "on_patch",
    "pair_matrix",
    "pair_ranking",
    "palette",
    "show",
    "style",
]

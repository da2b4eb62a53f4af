"""Figures, drawn from returned tables: one module a paper over the look they share, `style`."""

from helpers.figures.style import SET_COLOURS, image_grid, palette, set_style, show

__all__ = ["SET_COLOURS", "image_grid", "palette", "set_style", "show"]

"""Measure how contexts of objects affect predictions, by mosaics and composites."""

"""Figures, one module a paper; they get tables and labels and compute nothing."""

"""Figures, one module a paper: each is drawn from a returned table and computes nothing."""

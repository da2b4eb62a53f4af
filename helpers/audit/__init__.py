"""Audit networks, detectors and tables of predictions that users provide."""

"""Colours that the figures of notebook 09 share."""

from __future__ import annotations

INK, FAINT, MARKED, CALM = "#222222", "#8a8a8a", "#C8553D", "#0072B2"

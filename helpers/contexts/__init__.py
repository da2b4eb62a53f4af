"""Contexts of objects: mosaics, composites, and their effects on predictions."""

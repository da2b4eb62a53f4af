"""Synthetic datasets whose biases are known: pictures, street scenes and a small detector.

The drawing code is frozen, so that the images keep their bits."""
